"""Writes which test covers which rule, as Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from tests.rules.catalogue import FAULT_KINDS, FAULTS, RULES, SECTIONS
from tests.rules.citations import TESTS, Citation, citations

DOCUMENT = TESTS.parent / "docs" / "rules.md"
_HEAD = """# Which test covers which rule

Made by `make rules` from the numbers that tests cite in their docstrings. The rules are those of the loop's contract, the
faults those that other projects shipped, both in a few words. A line names a file below `tests/` and its tests.
"""


def listing(cited: Iterable[Citation]) -> str:
    """Return the whole document."""
    tests: dict[str, list[Citation]] = defaultdict(list)
    for citation in sorted(cited):
        tests[citation.number].append(citation)
    lines = [
        _HEAD,
        *_part("Rules", RULES, SECTIONS, lambda number: number.partition(".")[0], tests),
        *_part("Faults", FAULTS, FAULT_KINDS, lambda number: number[0], tests),
    ]
    return "\n".join(lines).rstrip() + "\n"


def write(document: Path = DOCUMENT) -> None:
    """Write the document anew."""
    document.write_text(listing(citations()), encoding="utf-8")


def _part(
    title: str,
    words: Mapping[str, str],
    kinds: Mapping[str, str],
    kind_of: Callable[[str], str],
    tests: Mapping[str, list[Citation]],
) -> Iterator[str]:
    yield f"## {title}\n"
    for kind, numbers in groupby(words, kind_of):
        yield f"### {kind} · {kinds[kind]}\n"
        for number in numbers:
            yield f"**{number}** · {words[number]}\n"
            if not tests[number]:
                yield "- no test cites it"
            for module, citing in groupby(tests[number], lambda citation: citation.module):
                names = ", ".join(each.test.removeprefix("test_") for each in citing)
                yield f"- `{module.removesuffix('.py')}`: {names}"
            yield ""
