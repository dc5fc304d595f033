"""Every rule and every known fault has its test, and the list that says so is current."""

from __future__ import annotations

import pytest

from tests.rules.catalogue import FAULTS, RULES, SECTIONS, UNCITED
from tests.rules.citations import Citation, citations, numbers_in
from tests.rules.listing import DOCUMENT, listing


@pytest.fixture(scope="module")
def cited() -> list[Citation]:
    return list(citations())


def test_every_rule_and_fault_is_cited_by_a_test(cited: list[Citation]) -> None:
    numbers = {citation.number for citation in cited}
    assert [number for number in (*RULES, *FAULTS) if number not in numbers and number not in UNCITED] == []


def test_no_test_cites_what_there_is_not(cited: list[Citation]) -> None:
    known = {*RULES, *SECTIONS, *FAULTS}
    assert [citation for citation in cited if citation.number not in known] == []


def test_the_list_is_current(cited: list[Citation]) -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == listing(cited), "run `make rules`"


@pytest.mark.parametrize(
    ("docstring", "numbers"),
    [
        ("3.9, spec/faults.md a20: never run.", {"3.9", "a20"}),
        ("2: refused by name.", {"2"}),
        ("5", {"5"}),
        ("8, 8.4: both.", {"8", "8.4"}),
        ("3 dots and 12, not cited.", set()),
        ("Rule 10.2.", {"10.2"}),
        ("As a sentence (spec/loop.md 4.1, 3.12).", {"4.1", "3.12"}),
        ("The limits (spec/loop.md 2, last row).", {"2"}),
        ("As seen (3.7, spec/loop.md 3.8, 5).", {"3.7", "3.8", "5"}),
        ("With anyio 4.16.0 and Python 3.11, version 1.0, a256, DESIGN §4.5.", set()),
    ],
)
def test_numbers_are_found_wherever_they_stand(docstring: str, numbers: set[str]) -> None:
    assert numbers_in(docstring) == numbers
