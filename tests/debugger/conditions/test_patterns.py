"""Regular expressions that take time that grows with the text only."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from loopkit.debugger.pattern_parts import PatternError
from loopkit.debugger.patterns import Pattern

CHARACTERS = "ab_ B\n-"
ATOMS = ["a", "b", "_", " ", "-", ".", r"\w", r"\d", r"\s", r"\W", "[ab]", "[^a]", "[a-b_]", r"\b", "^", "$", r"\B"]


def expressions() -> st.SearchStrategy[str]:
    repeated = st.sampled_from(["", "*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"])
    atoms = st.sampled_from(ATOMS)
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
            st.tuples(inner, repeated).map(lambda two: f"({two[0]}){two[1]}"),
        ),
        max_leaves=6,
    )


@given(expressions(), st.text(CHARACTERS, max_size=8), st.booleans())
def test_a_pattern_finds_what_re_finds(expression: str, text: str, any_case: bool) -> None:
    try:
        pattern = Pattern(expression, any_case=any_case)
    except PatternError:
        assume(False)
        raise
    expected = re.search(expression, text, re.MULTILINE | (re.IGNORECASE if any_case else 0))
    # before Python 3.14 `\B` didn't match in an empty text
    assume(text or r"\B" not in expression)
    assert pattern.found_in(text) is (expected is not None)


@given(st.text("ab()[]{}*+?|\\.^$-,1:d", max_size=12))
def test_any_text_is_a_pattern_or_an_error_with_a_place(text: str) -> None:
    place = 0
    try:
        Pattern(text).found_in("abba")
    except PatternError as error:
        place = error.place
    assert 0 <= place <= len(text)


@pytest.mark.parametrize("expression", ["(a*)*b", "(a|a)*b", "(a+)+$|b", "a*a*a*a*a*a*b", "(.*a){12}b", "(a|aa){40}b"])
def test_a_hostile_pattern_is_worked_out_once_however_long_the_text(expression: str) -> None:
    """A character costs a look-up; what has to be worked out doesn't grow with the text."""

    def worked_out(size: int) -> int:
        pattern = Pattern(expression)
        pattern.found_in("a" * size + "c")
        return sum(len(ways) for ways in pattern._kept.values())

    assert 0 < worked_out(20_000) == worked_out(200)


@pytest.mark.parametrize(
    ("expression", "words", "place"),
    [
        ("a(b", "not closed", 1),
        ("ab)", "closes nothing", 2),
        ("*a", "nothing to repeat", 0),
        ("a**", "repeated already", 2),
        (r"(a)\1", "not supported", 3),
        ("(?=a)", "not supported", 0),
        ("[ab", "not closed", 0),
        ("[b-a]", "backwards", 1),
        ("a{9999}", "at most 200", 1),
        ("((a{200}){200})", "too large", 0),
        ("a" * 501, "at most 500", 500),
    ],
)
def test_what_can_not_be_followed_is_refused_with_its_place(expression: str, words: str, place: int) -> None:
    with pytest.raises(PatternError, match=words) as caught:
        Pattern(expression)
    assert caught.value.place == place


def test_more_states_than_are_kept_are_forgotten_and_the_result_stays_right() -> None:
    pattern = Pattern("x(a|b){14}y")
    text = "".join("xab"[(place * place + place // 7) % 3] for place in range(30_000))
    assert pattern.found_in(text) is (re.search("x[ab]{14}y", text) is not None)
    assert pattern.found_in(text + "x" + "ab" * 7 + "y")
    many = "".join(chr(0x4E00 + place) for place in range(12_000))
    assert not Pattern("a").found_in(many)
    assert Pattern("a").found_in(many + "a")
