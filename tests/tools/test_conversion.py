"""From JSON to what type hints say."""

from __future__ import annotations

import collections
import datetime
import enum
import json
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopkit.tools.checks import SchemaCheck
from loopkit.tools.conversion import ConversionError, compile_conversion
from loopkit.tools.hints import read_hint
from loopkit.tools.schema import write_schema


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Corner(enum.Enum):
    TOP = (0, 0)


@dataclass(frozen=True)
class Point:
    x: int
    y: float = 0.0


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list)


@dataclass
class Cat:
    lives: int


@dataclass
class Dog:
    lives: int


@dataclass
class Circle:
    type: Literal["circle"]
    r: int


@dataclass
class Square:
    type: Literal["square"]
    r: int


class Range(NamedTuple):
    start: int
    stop: int = 10


class Options(TypedDict):
    deep: bool
    at: NotRequired[Point]


def convert(hint: Any, value: Any) -> Any:
    return compile_conversion(read_hint(hint))(value)


@pytest.mark.parametrize(
    ("hint", "value", "result"),
    [
        (str, "a", "a"),
        (int, 2.0, 2),
        (float, 2, 2.0),
        (bool, True, True),
        (None, None, None),
        (list[int], [1, 2.0], [1, 2]),
        (Sequence[str], ["a"], ["a"]),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (tuple, [1, [2]], (1, [2])),
        (set[int], [1, 2], {1, 2}),
        (frozenset[Point], [{"x": 1}], frozenset({Point(1)})),
        (collections.deque[int], [1], collections.deque([1])),
        (dict[str, Point], {"a": {"x": 1}}, {"a": Point(1)}),
        (dict[Colour, int], {"red": 1}, {Colour.RED: 1}),
        (Literal["a", 1], 1.0, 1),
        (Literal[Colour.RED], "red", Colour.RED),
        (Colour, "blue", Colour.BLUE),
        (Level, 2, Level.HIGH),
        (Corner, "TOP", Corner.TOP),
        (Point, {"x": 1, "y": 2}, Point(1, 2.0)),
        (Range, {"start": 1}, Range(1)),
        (Options, {"deep": True, "at": {"x": 1}}, {"deep": True, "at": Point(1)}),
        (Tree, {"value": 1, "children": [{"value": 2}]}, Tree(1, [Tree(2)])),
        (int | str, "1", "1"),
        (int | float, 1.0, 1.0),
        (int | float, 1, 1),
        (str | None, None, None),
        (Point | str, "a", "a"),
        (Cat | Dog, {"type": "Dog", "lives": 1}, Dog(1)),
        (Circle | Square, {"type": "square", "r": 1}, Square("square", 1)),
        (list[Cat | Dog], [{"type": "Cat", "lives": 9}], [Cat(9)]),
        (Annotated[Point, "where"], {"x": 1}, Point(1)),
        (datetime.date, "2024-02-29", datetime.date(2024, 2, 29)),
        (datetime.datetime, "2024-02-29T12:00:00Z", datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)),
        (datetime.date | str, "soon", "soon"),
        (pathlib.Path, "a/b", pathlib.Path("a/b")),
        (bytes, "x/8=", b"\xc7\xff"),
    ],
)
def test_json_becomes_what_the_hint_says(hint: Any, value: Any, result: Any) -> None:
    converted = convert(hint, value)
    assert converted == result
    assert type(converted) is type(result)


@pytest.mark.parametrize(
    ("hint", "value", "path", "reason"),
    [
        (list[int], [1, True], (1,), "an integer is expected, not true"),
        (int, 1.5, (), "an integer is expected, not 1.5"),
        (float, 10**400, (), "a very large number is too large"),
        (Literal[1], True, (), "true is not one of the allowed values"),
        (dict[str, list[Point]], {"a": [{"x": "b"}]}, ("a", 0, "x"), "an integer is expected, not 'b'"),
        (Point, {}, (), "'x' is missing"),
        (Point, {"x": 1, "z": 2}, ("z",), "this key is not known"),
        (Cat | Dog, {"type": "Cow", "lives": 1}, (), "an object fits none of the allowed forms"),
        (Point | None, {"x": []}, ("x",), "an integer is expected, not a list"),
        (tuple[int, str], [1], (), "a list of 2 items is expected"),
        (set[list[int]], [[1]], (), "it can't be a set: unhashable type: 'list'"),
        (datetime.date, "soon", (), "'soon' is no date"),
        (bytes, "x", (), "'x' is no base64 text"),
        (str, None, (), "text is expected, not null"),
        (bool, 1, (), "true or false is expected, not 1"),
        (None, 0, (), "null is expected, not 0"),
        (dict[str, int], [], (), "an object is expected, not a list"),
    ],
)
def test_what_does_not_fit_says_where_and_why(hint: Any, value: Any, path: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(ConversionError) as refusal:
        convert(hint, value)
    assert refusal.value.path == path
    assert str(refusal.value) == reason


# ── any value that fits a schema converts ────────────────────────────────────────────────────────────────────────────

LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, st.text(max_size=5)),
    (int, st.integers(-5, 5) | st.sampled_from([1.0, -2.0])),
    (float, st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5)),
    (bool, st.booleans()),
    (None, st.none()),
    (Colour, st.sampled_from(["red", "blue"])),
    (Level, st.sampled_from([1, 2, 1.0])),
    (Literal["a", 1, True], st.sampled_from(["a", 1, True, 1.0])),
    (Point, st.fixed_dictionaries({"x": st.integers(-5, 5)}, optional={"y": st.integers(-5, 5)})),
    (Range, st.fixed_dictionaries({"start": st.integers(-5, 5)})),
    (Options, st.fixed_dictionaries({"deep": st.booleans()}, optional={"at": st.just({"x": 1})})),
    (Cat | Dog, st.sampled_from([{"type": "Cat", "lives": 1}, {"type": "Dog", "lives": 2}])),
    (Circle | Square, st.sampled_from([{"type": "circle", "r": 1}, {"type": "square", "r": 2}])),
    (Tree, st.just({"value": 1, "children": [{"value": 2, "children": []}]})),
    (Any, st.just({"a": [1, {"b": None}]})),
    (pathlib.Path, st.text("abc/", max_size=5)),
]
HASHABLE = (str, int, bool, Colour, Level)


def _wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def wrap(pairs: list[tuple[Any, st.SearchStrategy[Any]]]) -> st.SearchStrategy[Any]:
        (first, values), (second, others) = pairs
        forms: list[tuple[Any, st.SearchStrategy[Any]]] = [
            (list[first], st.lists(values, max_size=3)),  # type: ignore[valid-type]  # a hint made at run time
            (tuple[first, ...], st.lists(values, max_size=3)),  # type: ignore[valid-type]  # the same
            (tuple[first, second], st.tuples(values, others).map(list)),  # type: ignore[valid-type]  # the same
            (dict[str, first], st.dictionaries(st.text(max_size=3), values, max_size=3)),  # type: ignore[valid-type]  # the same
            (Annotated[first, "words"], values),
            (_union(first, second), values | others),
        ]
        if first in HASHABLE:
            forms.append((set[first], st.lists(values, max_size=3)))  # type: ignore[valid-type]  # the same
        return st.sampled_from(forms)

    return st.tuples(inner, inner).map(list).flatmap(wrap)


def _union(first: Any, second: Any) -> Any:
    import typing

    return typing.Union[first, second]  # noqa: UP007  # a hint made at run time


HINTS = st.recursive(st.sampled_from(LEAVES), _wider, max_leaves=4)


@settings(max_examples=300)
@given(st.data())
def test_any_json_that_fits_the_schema_of_a_hint_converts_and_stays_as_it_was(data: st.DataObject) -> None:
    """One form gives the schema and the conversion, so they can't disagree; spec/faults.md d16 for the second half."""
    hint, values = data.draw(HINTS, label="hint")
    value = data.draw(values, label="value")
    before = json.dumps(value)
    shape = read_hint(hint)
    if SchemaCheck(write_schema(shape)).problems(value) == ():
        converted = compile_conversion(shape)(value)
        assert _containers(converted).isdisjoint(_containers(value))
    assert json.dumps(value) == before


@settings(max_examples=300)
@given(st.data())
def test_what_converts_fits_the_schema(data: st.DataObject) -> None:
    """The other direction: a conversion takes nothing that the schema refuses."""
    hint, _ = data.draw(HINTS, label="hint")
    _, values = data.draw(HINTS, label="of another hint")
    value = data.draw(values, label="value")
    shape = read_hint(hint)
    schema = write_schema(shape)
    try:
        compile_conversion(shape)(value)
    except ConversionError:
        return
    # a set takes an item twice, its schema doesn't
    assert "uniqueItems" in json.dumps(schema) or SchemaCheck(schema).problems(value) == ()


def _containers(value: Any) -> set[int]:
    """Identities of everything in a value that can be changed."""
    if isinstance(value, dict):
        return {id(value)}.union(*map(_containers, value.values()))
    if isinstance(value, list):
        return {id(value)}.union(*map(_containers, value))
    if isinstance(value, tuple):
        return set().union(*map(_containers, value))
    return set()
