"""The language of conditions: what it says, what it means, and where it is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.debugger.condition_text import read_condition
from loopkit.debugger.conditions import All, Comparison, Condition, Field, Match, Not, OneOf, Presence, scope_of
from loopkit.debugger.fields import FIELDS, Scope
from loopkit.debugger.patterns import Pattern
from loopkit.errors import ConditionError
from tests.debugger.conditions.random_conditions import PlainMoment, conditions, naively_holds, values


@given(conditions())
def test_a_condition_says_itself(condition: Condition) -> None:
    assert read_condition(str(condition)) == condition


@given(conditions(), values())
def test_a_condition_holds_when_the_naive_reading_says_so(condition: Condition, given_values: dict[str, Any]) -> None:
    assert condition.holds(PlainMoment(given_values)) is naively_holds(condition, given_values)


TOKENS = [
    *FIELDS,
    "tokens",
    "args.a",
    "and",
    "or",
    "not",
    "(",
    ")",
    "==",
    "~",
    "<",
    '"a"',
    "/a/i",
    "3",
    "true",
    " ",
    "'",
]


@given(st.text(max_size=30) | st.lists(st.sampled_from(TOKENS), max_size=8).map(" ".join))
def test_any_text_is_a_condition_or_an_error_that_points_into_it(text: str) -> None:
    error: ConditionError | None = None
    try:
        condition = read_condition(text)
        assert read_condition(str(condition)) == condition
    except ConditionError as raised:
        error = raised
    if error is not None:
        assert 0 <= error.place <= len(text)
        line, caret = error.pointer
        assert "\n" not in str(error) + line + caret
        assert caret.index("^") <= len(line)


def test_and_binds_closer_than_or_and_not_closer_than_both() -> None:
    read = read_condition('tool == "run_tests" and args.rounds > 3 or not text ~ /flaky/ and depth >= 1')
    assert read == OneOf(
        (
            All((Comparison(Field("tool"), "==", "run_tests"), Comparison(Field("args", ("rounds",)), ">", 3))),
            All((Not(Match(Field("text"), Pattern("flaky"))), Comparison(Field("depth"), ">=", 1))),
        )
    )


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("error", Presence(Field("error"))),
        ('"flaky"', Match(Field("text"), "flaky")),
        (r"/a\/b/i", Match(Field("text"), Pattern("a/b", any_case=True))),
        ("args.files.0 == 'it'", Comparison(Field("args", ("files", "0")), "==", "it")),
        (r"""tool == 'it\'s "so"'""", Comparison(Field("tool"), "==", 'it\'s "so"')),
        ('args."a b".c', Presence(Field("args", ("a b", "c")))),
        ("tokens > 1e3", Comparison(Field("tokens.total"), ">", 1000.0)),
        ("args.dry_run == false", Comparison(Field("args", ("dry_run",)), "==", value=False)),
        ("args.limit != null", Comparison(Field("args", ("limit",)), "!=", None)),
        ("((iteration<=2))", Comparison(Field("iteration"), "<=", 2)),
    ],
)
def test_what_may_be_typed(text: str, means: Condition) -> None:
    assert read_condition(text) == means


@pytest.mark.parametrize(
    ("text", "problem", "place"),
    [
        ("", "it is empty", 0),
        ("tol == 3", "did you mean tool?", 0),
        ("zzzz", "there are kind, event", 0),
        ("tool = 'x'", "write == here", 5),
        ("error && warning", "write and here", 6),
        ("error | warning", "write or here", 6),
        ("error warning", "and, or, or the end", 6),
        ("tool == run_tests", 'text is put in " "', 8),
        ("tool == 3", "tool is text", 8),
        ("tool > 3", "compare it with == != ~", 5),
        ("depth ~ /1/", "depth is a number", 6),
        ('depth == "1"', "depth is a number", 9),
        ("args.n > 'x'", "> needs a number", 9),
        ("text == /x/", "looked for with ~", 8),
        ("text ~ x", "a pattern was expected", 7),
        ("text ~ /a(b/", "this ( is not closed", 9),
        (r"text ~ /\/(b/", "this ( is not closed", 10),
        ("text ~ /a/x", "ends in / or /i", 10),
        ("text ~ /a", "that no / ends", 7),
        ("tool == 'x", "is not closed", 8),
        ("(error", "this ( is not closed", 0),
        ("error)", "closes nothing", 5),
        ("error and", "a field was expected", 9),
        ("tool.name", "tool has no parts", 4),
        ("tokens.foo > 1", "own and total only", 6),
        ("depth == 1e999", "too large", 9),
        (r'tool == "\x"', "unknown", 8),
        ("not " * 60 + "error", "inside each other", 200),
        ("error or " * 300 + "error", "more than 2000", 2000),
        ('tool == "\ud83d"', "half a character", 9),
    ],
)
def test_an_error_points_at_the_spot(text: str, problem: str, place: int) -> None:
    with pytest.raises(ConditionError) as caught:
        read_condition(text)
    assert problem in str(caught.value)
    assert caught.value.place == place


def test_the_caret_stands_under_the_spot() -> None:
    with pytest.raises(ConditionError) as caught:
        read_condition('text ~ "\x1b日本" and tol')
    assert caught.value.pointer == ('  text ~ " ??" and tol', "                   ^")


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("cost > 1", Scope.RUN),
        ('agent == "fixer" and cost > 1', Scope.LOOP),
        ("iteration == 3 or depth > 1", Scope.ITERATION),
        ('iteration == 3 and tool == "x"', Scope.CALL),
        ('tool == "x" and not error', Scope.MOMENT),
    ],
)
def test_the_closest_field_says_how_often_a_breakpoint_stops(text: str, scope: Scope) -> None:
    assert scope_of(read_condition(text)) is scope
