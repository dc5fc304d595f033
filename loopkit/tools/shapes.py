"""What a type hint says about a JSON value: the one form that a schema is written from and a conversion compiled from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from loopkit.messages import JSON

NO_DEFAULT = object()


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON value."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A plain value.

    Args:
        kind: `str`, `int`, `float`, `bool` or `type(None)`.
    """

    kind: type


@dataclass(frozen=True, slots=True)
class Written:
    """Text that stands for a value of another class.

    Args:
        name: what it is called in a message: `date and time`.
        keywords: JSON Schema keywords beside `type: string`.
        read: turns the text into the value; a `ValueError` says that it can't.
    """

    name: str
    keywords: Mapping[str, JSON]
    read: Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some plain values.

    Args:
        options: JSON value and Python value of each, in order.
    """

    options: tuple[tuple[JSON, Any], ...]


@dataclass(frozen=True, slots=True)
class Series:
    """A list of like items.

    Args:
        item: shape of each.
        build: makes the collection from an iterable.
        unique: items may not repeat.
    """

    item: Shape
    build: Callable[[Any], Any]
    unique: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A list of fixed length, each place with its own shape."""

    items: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """An object with free keys.

    Args:
        key: shape of the keys, always of text.
        value: shape of the values.
    """

    key: Shape
    value: Shape


@dataclass(frozen=True, slots=True)
class Member:
    """A key of an object: a field of a class or a parameter of a function.

    Args:
        name: the key.
        shape: what its value looks like.
        required: whether it must be there.
        default: what it is when it isn't there, or `NO_DEFAULT`.
        description: words for the model.
    """

    name: str
    shape: Shape
    required: bool
    default: object = NO_DEFAULT
    description: str = ""


@dataclass(slots=True, eq=False)
class Model:
    """An object with known keys; the one shape that may contain itself, so its members are filled in later.

    Args:
        name: class or function name.
        build: makes the value from keyword arguments.
        members: the keys in order.
        tag: value of the extra key `type` that tells the members of a union apart, or None.
        description: words for the model.
    """

    name: str
    build: Callable[..., Any]
    members: tuple[Member, ...] = ()
    tag: str | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class OneOf:
    """A value of any of several shapes; the first that fits counts."""

    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Described:
    """A shape with more JSON Schema keywords, from `Annotated`."""

    shape: Shape
    keywords: dict[str, JSON] = field(default_factory=dict)


Shape: TypeAlias = Anything | Scalar | Written | Choice | Series | Row | Table | Model | OneOf | Described

__all__ = [
    "NO_DEFAULT",
    "Anything",
    "Choice",
    "Described",
    "Member",
    "Model",
    "OneOf",
    "Row",
    "Scalar",
    "Series",
    "Shape",
    "Table",
    "Written",
]
