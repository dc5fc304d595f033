"""Hypothesis strategies for everything a recording can hold, built from the dataclasses themselves."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal

from hypothesis import strategies as st

from loopkit.events import FACT_CLASSES, Event, Fact, Unrecognised


def _as_json_tells_it(text: str) -> str:
    """Join surrogate halves that stand side by side: in JSON they are one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def texts(max_size: int = 12) -> st.SearchStrategy[str]:
    """Any text that a model or a tool can send: lone surrogates, NUL, U+2028 and control characters included."""
    awkward = st.sampled_from("\x00\n\r\x1b\x85\u2028\u2029\ud800\udcb2\U0001f600")
    return st.text(st.characters(exclude_categories=()) | awkward, max_size=max_size).map(_as_json_tells_it)


def json_values() -> st.SearchStrategy[Any]:
    """Any JSON value, integers beyond 2^53 included."""
    leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts()
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(), inner, max_size=3),
        max_leaves=6,
    )


def json_objects() -> st.SearchStrategy[dict[str, Any]]:
    """Any JSON object."""
    return st.dictionaries(texts(), json_values(), max_size=3)


def instances(cls: type) -> st.SearchStrategy[Any]:
    """Any instance of a dataclass, every field drawn from its type hint."""
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{field.name: _values(hints[field.name]) for field in dataclasses.fields(cls)})


def facts() -> st.SearchStrategy[Fact]:
    """Any fact of the catalogue."""
    return st.one_of([instances(cls) for cls in FACT_CLASSES.values()])


def unrecognised_facts() -> st.SearchStrategy[Unrecognised]:
    """Any record of a type that is not in the catalogue, also one whose keys are those of the envelope."""
    keys = texts() | st.sampled_from(["seq", "t", "loop", "iteration", "type", "data"])
    data = st.dictionaries(keys, json_values(), max_size=4)
    boxed = data.map(lambda inner: {"data": inner})
    names = texts().filter(lambda name: name not in FACT_CLASSES)
    return st.builds(Unrecognised, names, data | boxed)


def events(seq: int | None = None, *, fact: st.SearchStrategy[Fact] | None = None) -> st.SearchStrategy[Event]:
    """Any event, or any that can stand at `seq`."""
    return st.builds(
        Event,
        seq=st.integers(1, 2**40) if seq is None else st.just(seq),
        t=st.floats(0, 1e6).map(lambda seconds: round(seconds, 6)),
        loop=texts(),
        iteration=st.integers(0, 10_000),
        fact=facts() if fact is None else fact,
    )


@st.composite
def logs(draw: st.DrawFn, max_size: int = 6) -> list[Event]:
    """Any events with gapless numbers from 1; what they say together makes no sense."""
    return [draw(events(seq)) for seq in range(1, draw(st.integers(1, max_size)) + 1)]


def _values(hint: Any) -> st.SearchStrategy[Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    plain: dict[Any, st.SearchStrategy[Any]] = {
        Any: json_values(),
        str: texts(),
        bool: st.booleans(),
        int: st.integers(),
        float: st.floats(allow_nan=False, allow_infinity=False),
        type(None): st.none(),
    }
    if hint in plain:
        return plain[hint]
    if origin in (typing.Union, types.UnionType):
        return st.one_of([_values(member) for member in arguments])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(_values(arguments[0]), max_size=3).map(tuple)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return json_objects()
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return instances(hint)
    raise TypeError(f"no strategy for {hint}")
