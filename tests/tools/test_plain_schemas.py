"""A plain schema is checked without jsonschema, and never with another outcome."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from loopkit.tools.plain_schemas import fit_of

KEYS = st.sampled_from(["a", "b", "c"])
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
WORDS = st.sampled_from(["", "a", "b", "1"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, 1.5, 1e300]) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "properties": st.dictionaries(KEYS, inner, max_size=3),
            "required": st.lists(KEYS, max_size=2, unique=True),
            "additionalProperties": inner,
            "items": inner,
            "enum": st.lists(WORDS, min_size=1, max_size=3),
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "title": st.just("words for people"),
            "default": VALUES,
        },
    )


SCHEMAS: st.SearchStrategy[Any] = st.recursive(st.booleans() | _schemas(st.booleans()), _schemas, max_leaves=5)


@settings(max_examples=150, deadline=None)
@given(schema=SCHEMAS, values=st.lists(VALUES, min_size=4, max_size=8))
def test_what_fits_is_what_jsonschema_says(schema: Any, values: list[Any]) -> None:
    """spec/loop.md 9.1."""
    fits = fit_of(schema)
    assert fits is not None
    validator = Draft202012Validator(schema)
    assert [fits(value) for value in values] == [validator.is_valid(value) for value in values]


@pytest.mark.parametrize(
    ("value", "types", "expected"),
    [
        (True, "integer", False),
        (True, "number", False),
        (1.0, "integer", True),
        (1.5, "integer", False),
        (1, "number", True),
        (1, "boolean", False),
        (1.0, ["integer", "string"], True),
    ],
)
def test_numbers_and_booleans_are_told_apart(value: object, types: Any, expected: bool) -> None:
    fits = fit_of({"type": types})
    assert fits is not None
    assert fits(value) is expected


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "text"},
        {"minimum": 1},
        {"properties": {"a": {"pattern": "^a"}}},
        {"properties": ["a"]},
        {"required": "a"},
        {"enum": ["a", 1]},
        {"anyOf": {}},
        {"anyOf": [{"$ref": "#"}]},
        {"items": {"$schema": "http://json-schema.org/draft-04/schema#"}},
        {"additionalProperties": None},
        {"x-unknown": 1},
        "object",
        None,
    ],
)
def test_a_schema_that_holds_anything_else_is_left_to_jsonschema(schema: object) -> None:
    assert fit_of(schema) is None


def test_a_schema_nested_without_end_is_left_to_jsonschema() -> None:
    schema: dict[str, Any] = {}
    schema["items"] = schema
    assert fit_of(schema) is None


def test_arguments_that_fit_need_no_jsonschema() -> None:
    """Its import takes longer than all else that a short run does."""
    code = (
        "import sys\n"
        "from loopkit import tool\n"
        "@tool\n"
        "def find(key: str, limit: int = 3, tags: list[str] | None = None) -> str: ...\n"
        "assert find.problems({'key': 'a', 'tags': ['b']}) == ()\n"
        "assert 'jsonschema' not in sys.modules\n"
        "assert find.problems({'limit': 1})\n"
        "assert 'jsonschema' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
