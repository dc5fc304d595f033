"""Arguments as a person types them: what is wrong, and where."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from loopkit.debugger.arguments import read_arguments
from loopkit.messages import Problem
from tests.strategies import json_objects


@given(json_objects())
def test_what_json_says_is_what_is_read(arguments: dict[str, object]) -> None:
    assert read_arguments(json.dumps(arguments)) == (arguments, ())


def test_integers_are_exact() -> None:
    """No number passes through a float (spec/faults.md a32)."""
    assert read_arguments('{"id": 2512292042121000001, "x": 123456789012345678901234567890}')[0] == {
        "id": 2512292042121000001,
        "x": 123456789012345678901234567890,
    }


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "line 1, column 1", "not JSON: Expecting value"),
        ("{", "line 1, column 2", "not JSON: Expecting property name enclosed in double quotes"),
        ('{"a": 1,\n  "b": }', "line 2, column 8", "not JSON: Expecting value"),
        ('{"a": 1} x', "line 1, column 10", "not JSON: Extra data"),
        ("[1]", "$", "the arguments must be a JSON object, such as {}"),
        ("null", "$", "the arguments must be a JSON object, such as {}"),
        ('{"a": NaN}', "$", "not JSON: there is no NaN in it"),
        ('{"a": [-Infinity]}', "$", "not JSON: there is no -Infinity in it"),
        ('{"a": 1e999}', "$", "not JSON: 1e999 is too large a number"),
        ('{"a": ' + "9" * 5000 + "}", "$", "not JSON: a number of too many digits"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "$", "not JSON: nested too deeply"),
        ('{"a": 1, "b": 2, "a": 3}', "$", "'a' stands more than once in one object"),
        ('{"x": {"a": 1, "a": 1}}', "$", "'a' stands more than once in one object"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, place: str, words: str) -> None:
    """NaN, infinities and what is too deep or too long are refused (spec/loop.md 9.1)."""
    assert read_arguments(text) == (None, (Problem(place, words),))


def test_a_name_may_stand_in_two_objects() -> None:
    assert read_arguments('{"x": {"a": 1}, "y": {"a": 2}}') == ({"x": {"a": 1}, "y": {"a": 2}}, ())
