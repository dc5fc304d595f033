"""Checks of arguments: what is no JSON, what no schema allows, and how it is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.messages import Problem
from loopkit.tools.checks import DEEPEST, MOST_PROBLEMS, SchemaCheck, json_problem
from loopkit.tools.schema import schema_of


@dataclass
class Cat:
    lives: int


@dataclass
class Dog:
    name: str


@dataclass
class Chain:
    value: int
    next: Chain | None = None


def reasons(schema: dict[str, Any], value: object) -> list[str]:
    return [str(problem) for problem in SchemaCheck(schema).problems(value)]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a": [1, float("nan")]}, Problem("$.a[1]", "nan is not a JSON number")),
        ({"a": float("-inf")}, Problem("$.a", "-inf is not a JSON number")),
        (nested(DEEPEST + 1), Problem("$" + "[0]" * 100, "nested deeper than 100 levels")),
        ({"a": {1: 2}}, Problem("$.a", "the key 1 is not text")),
        ({"a": (1, 2)}, Problem("$.a", "tuple is not a JSON type")),
        ({"a": {1, 2}}, Problem("$.a", "set is not a JSON type")),
        ({"a": b"x"}, Problem("$.a", "bytes is not a JSON type")),
        ({"a": 10**5000}, Problem("$.a", "a number of too many digits")),
        ([None] * 100_000, Problem("$[99999]", "more than 100000 values")),
        ({"a": "x" * 10_000_001}, Problem("$.a", "more than 10000000 characters of text")),
    ],
)
def test_what_is_no_sensible_json_is_a_problem(value: object, problem: Problem) -> None:
    """Rule 9.1: NaN, infinities, over-deep and over-long JSON are invalid arguments."""
    found = json_problem(value)
    assert found is not None
    assert found.message == problem.message
    assert found.path[:100] == problem.path[:100]
    assert SchemaCheck({}).problems(value) == (found,)


def test_value_that_contains_itself_ends_as_too_deep() -> None:
    endless: dict[str, Any] = {}
    endless["self"] = endless
    found = json_problem(endless)
    assert found is not None
    assert "deeper" in found.message


def test_deepest_allowed_value_of_a_recursive_class_is_checked() -> None:
    schema = schema_of(Chain)
    value: dict[str, Any] = {"value": 0}
    for number in range(DEEPEST - 1):
        value = {"value": number, "next": value}
    assert SchemaCheck(schema).problems(value) == ()


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(JSON_VALUES)
def test_every_json_value_passes_where_everything_is_allowed(value: Any) -> None:
    assert SchemaCheck({}).problems(value) == ()


@given(JSON_VALUES)
def test_every_message_is_one_short_line(value: Any) -> None:
    """A problem is shown beside an editor and sent to a model: bounded, without control characters."""
    schema = {
        "anyOf": [{"type": "object", "additionalProperties": False}, {"type": "string", "maxLength": 0}, schema_of(Cat)]
    }
    for problem in SchemaCheck(schema).problems(value):
        assert len(problem.message) < 500
        assert problem.message.isprintable()
        assert len(problem.path) < 250
        assert problem.path.isprintable()


def test_huge_and_hostile_values_are_not_repeated() -> None:
    hostile = "\x1b[2J\n" + "x" * 100_000
    (problem,) = SchemaCheck({"type": "object", "properties": {"a": {"type": "integer"}}}).problems({"a": hostile})
    assert problem.path == "$.a"
    assert len(problem.message) < 150
    assert problem.message.isprintable()
    assert "(100005 characters)" in problem.message


def test_number_of_problems_is_bounded() -> None:
    found = SchemaCheck({"items": {"type": "string"}}).problems(list(range(1000)))
    assert len(found) == MOST_PROBLEMS + 1
    assert found[-1].message == "there are more than 20 problems"


def test_frozen_mapping_at_the_top_is_an_object() -> None:
    from types import MappingProxyType

    assert SchemaCheck({"type": "object"}).problems(MappingProxyType({"a": 1})) == ()


def test_missing_keys_are_one_problem() -> None:
    schema = {"type": "object", "required": ["a", "b", "c"]}
    assert reasons(schema, {"b": 1}) == ["'a', 'c' are missing"]
    assert reasons(schema, {"b": 1, "c": 1}) == ["'a' is missing"]


@pytest.mark.parametrize(
    ("schema", "value", "reason"),
    [
        ({"type": "integer"}, True, "an integer is expected, not true"),
        ({"type": "integer"}, 1.5, "an integer is expected, not 1.5"),
        ({"type": "object"}, [1], "an object is expected, not a list"),
        ({"type": ["string", "null"]}, {}, "text or null is expected, not an object"),
        ({"const": "a"}, "b", "'b' is not 'a'"),
        ({"enum": [1, True]}, "1", "'1' is not one of 1, true"),
        ({"enum": list(range(20))}, 30, "30 is not one of 0, 1, 2, 3, 4, 5, 6, 7 and 12 more"),
        ({"minimum": 1}, 0, "0 is less than 1"),
        ({"exclusiveMinimum": 1}, 1, "1 is not more than 1"),
        ({"exclusiveMaximum": 1}, 1, "1 is not less than 1"),
        ({"multipleOf": 5}, 7, "7 is not a multiple of 5"),
        ({"minLength": 2}, "a", "1 character, at least 2 expected"),
        ({"maxLength": 2}, "abc", "3 characters, at most 2 allowed"),
        ({"pattern": "^a"}, "b", "'b' does not match '^a'"),
        ({"minItems": 1}, [], "0 items, at least 1 expected"),
        ({"maxItems": 1}, [1, 2], "2 items, at most 1 allowed"),
        ({"uniqueItems": True}, [1, 1], "an item is there twice"),
        ({"prefixItems": [{}], "items": False}, [1, 2], "2 items, at most 1 allowed"),
        ({"minProperties": 1}, {}, "0 keys, at least 1 expected"),
        ({"maxProperties": 0}, {"a": 1}, "1 key, at most 0 allowed"),
        ({"not": {}}, 1, "a number that does not fit 'not' of the schema"),
        (schema_of(int | None), "x", "an integer or null is expected, not 'x'"),
        (schema_of(Cat | None), {"lives": "x"}, "lives: an integer is expected, not 'x'"),
        (schema_of(Cat | Dog), {"type": "Dog", "name": 1}, "name: text is expected, not 1"),
        (schema_of(Cat | Dog), {"type": "Cow"}, "type: 'Cat' or type: 'Dog' is expected, not an object"),
    ],
)
def test_reasons_are_plain_words(schema: dict[str, Any], value: object, reason: str) -> None:
    assert reason in reasons(schema, value)


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("text", "$.text"),
        ("a b", "$['a b']"),
        ("", "$['']"),
        ("a\nb", r"$['a\nb']"),
        ("x" * 500, "$['" + "x" * 57 + "… (500 characters)]"),
    ],
)
def test_paths_are_readable_whatever_the_keys_are(key: str, path: str) -> None:
    (problem,) = SchemaCheck({"additionalProperties": {"type": "integer"}}).problems({key: None})
    assert problem.path == path


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "http://127.0.0.1:9/schema.json"}, "Unresolvable"),
        ({"type": "strnig"}, "strnig"),
        ({"properties": []}, "AttributeError"),
        ({"pattern": "("}, "unterminated"),
    ],
)
def test_schema_that_cannot_be_used_is_a_problem_and_fetches_nothing(schema: dict[str, Any], words: str) -> None:
    """A recorded or foreign tool's schema may be anything."""
    (problem,) = SchemaCheck(schema).problems({} if "pattern" not in schema else "text")
    assert problem.path == "$"
    assert problem.message.startswith("the tool's schema can't be used")
    assert words in problem.message
    assert problem.message.isprintable()
