"""JSON Schema out of type hints and signatures."""

from __future__ import annotations

import collections.abc as abstract
import datetime
import enum
import pathlib
import typing
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, TypedDict

import pytest
from jsonschema import Draft202012Validator

from loopkit.encoding import encode_tagged
from loopkit.events import AnyFact, Decided, LoopStarted, ModelReplied, ToolReturned
from loopkit.messages import Message, Reasoning, Text, ToolCall, ToolDefinition, Usage
from loopkit.outcomes import Modify
from loopkit.tools.schema import schema_of


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Corner(enum.Enum):
    TOP = (0, 0)
    BOTTOM = (0, 1)


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass
class Labelled:
    """A place with a name.

    Args:
        name: what people call it.
    """

    name: str
    at: Point
    tags: list[str] = field(default_factory=list)


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list)


@dataclass
class Cat:
    lives: int


@dataclass
class Dog:
    name: str


class Range(NamedTuple):
    start: int
    stop: int = 10


class Options(TypedDict):
    deep: bool
    limit: NotRequired[int]


ORIGIN = Point(0)
UserId = typing.NewType("UserId", int)
POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
    "required": ["x"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (abstract.Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (
            tuple[int, str],
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False, "minItems": 2},
        ),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (dict, {"type": "object"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (abstract.Mapping[str, Any], {"type": "object"}),
        (
            dict[Literal["a", "b"], int],
            {
                "type": "object",
                "propertyNames": {"type": "string", "enum": ["a", "b"]},
                "additionalProperties": {"type": "integer"},
            },
        ),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045  # the old spelling counts too
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a"], {"type": "string", "const": "a"}),
        (Literal[1, "a", None], {"enum": [1, "a", None]}),  # noqa: PYI061  # null among literals is the case under test
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Corner, {"type": "string", "enum": ["TOP", "BOTTOM"]}),
        (UserId, {"type": "integer"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (pathlib.Path, {"type": "string"}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (Annotated[int, {"minimum": 1, "maximum": 600}], {"type": "integer", "minimum": 1, "maximum": 600}),
        (Annotated[str, "a name", {"pattern": "^a"}], {"type": "string", "description": "a name", "pattern": "^a"}),
        (Annotated[int, object()], {"type": "integer"}),
        (Point, POINT),
        (
            Range,
            {
                "type": "object",
                "properties": {"start": {"type": "integer"}, "stop": {"type": "integer", "default": 10}},
                "required": ["start"],
                "additionalProperties": False,
            },
        ),
        (
            Options,
            {
                "type": "object",
                "properties": {"deep": {"type": "boolean"}, "limit": {"type": "integer"}},
                "required": ["deep"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_each_kind_of_hint_has_its_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema
    Draft202012Validator.check_schema(schema)


def test_class_words_become_descriptions_and_single_uses_stand_in_place() -> None:
    assert schema_of(Labelled) == {
        "type": "object",
        "description": "A place with a name.",
        "properties": {
            "name": {"type": "string", "description": "what people call it."},
            "at": POINT,
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["name", "at"],
        "additionalProperties": False,
    }


def test_recursive_class_is_a_definition() -> None:
    schema = schema_of(Tree)
    assert schema["$ref"] == "#/$defs/Tree"
    assert schema["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    validator = Draft202012Validator(schema)
    assert validator.is_valid({"value": 1, "children": [{"value": 2, "children": []}]})
    assert not validator.is_valid({"value": 1, "children": [{"value": "2"}]})


def test_class_used_twice_is_one_definition() -> None:
    schema = schema_of(tuple[Point, Point])
    assert schema["prefixItems"] == [{"$ref": "#/$defs/Point"}] * 2
    assert schema["$defs"] == {"Point": POINT}


def test_classes_of_one_name_stay_apart() -> None:
    first = Point

    @dataclass
    class Point2:
        z: int

    Point2.__name__ = "Point"
    schema = schema_of(tuple[first, first, Point2, Point2])  # type: ignore[valid-type]  # classes held in variables
    assert set(schema["$defs"]) == {"Point", "Point2"}


def test_dataclasses_of_a_union_carry_their_name_as_type() -> None:
    """The rule of `loopkit.encoding`."""
    schema = schema_of(Cat | Dog | None)
    assert [branch.get("properties", {}).get("type") for branch in schema["anyOf"]] == [
        {"const": "Cat"},
        {"const": "Dog"},
        None,
    ]
    assert schema["anyOf"][0]["required"] == ["type", "lives"]
    assert Draft202012Validator(schema).is_valid(encode_tagged(Cat(9)))


def test_optional_dataclass_carries_no_type() -> None:
    assert schema_of(Point | None) == {"anyOf": [POINT, {"type": "null"}]}


def test_classes_with_a_type_field_of_their_own_are_told_apart_by_it() -> None:
    @dataclass
    class Circle:
        type: Literal["circle"]

    @dataclass
    class Square:
        type: Literal["square"]

    schema = schema_of(Circle | Square)
    assert [branch["properties"]["type"]["const"] for branch in schema["anyOf"]] == ["circle", "square"]


def test_open_objects_accept_other_keys() -> None:
    assert "additionalProperties" not in schema_of(Point, closed=False)


@pytest.mark.parametrize(
    "fact",
    [
        LoopStarted("a", (Message.system("s"), Message.user("u")), (ToolDefinition("t", "d", {"type": "object"}),)),
        ModelReplied(
            Message("assistant", (Reasoning("hm", signature="s"), Text("hi"), ToolCall("1", "t", {"a": [1, None]}))),
            Usage(1, 2),
            pieces=(0.5, 3),
        ),
        Decided("root/1.1", 1, Modify({"a": {"b": 1.5}}), "person"),
        ToolReturned("root/1.1", "ok"),
    ],
)
def test_facts_as_they_are_written_fit_the_schema_of_all_facts(fact: Any) -> None:
    """The format's JSON Schema is made of the same classes (DESIGN 3)."""
    schema = schema_of(AnyFact)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    written = encode_tagged(fact)
    assert [error.message for error in validator.iter_errors(written)] == []
    assert not validator.is_valid({**written, "type": "Nothing"})
    assert not validator.is_valid({**written, "surprise": 1})


# ── functions ────────────────────────────────────────────────────────────────────────────────────────────────────────
