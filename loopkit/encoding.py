"""Frozen dataclasses ↔ plain JSON values, compiled once per class from its type hints.

A field that holds its default is left out. A member of a union of dataclasses carries its class name as `type`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast

Encoder = Callable[[Any], Any]
Decoder = Callable[[Any], Any]
T = TypeVar("T")


class DecodingError(ValueError):
    """A JSON value has not the shape of the class it is read into."""


def encode(value: object) -> dict[str, Any]:
    """Turn a dataclass instance into a JSON object.

    Args:
        value: an instance whose fields are plain values, dataclasses, or tuples of them.
    """
    cls: Any = type(value)
    return cast("dict[str, Any]", _class_encoder(cls)(value))


def decode(cls: type[T], data: object) -> T:
    """Build an instance of `cls` from a JSON object; keys that it doesn't know are ignored.

    Raises:
        DecodingError: a field is missing or has another shape.
    """
    hint: Any = cls
    return cast("T", _class_decoder(hint)(data))


def encode_value(hint: Any, value: Any) -> Any:
    """Turn a value of a type, such as a field's or an argument's, into plain JSON data."""
    encoder = _encoder(hint)
    return value if encoder is None or value is None else encoder(value)


def decode_value(hint: Any, data: object) -> Any:
    """Read a value of a type from plain JSON data.

    Raises:
        DecodingError: it has another shape.
    """
    if hint is type(None):
        return None
    decoder = _decoder(hint)
    return data if decoder is None else decoder(data)


def encode_tagged(value: object) -> dict[str, Any]:
    """As `encode`, with the class name first, as `type`."""
    return {"type": type(value).__name__, **encode(value)}


@cache
def _class_encoder(cls: Any) -> Encoder:
    hints = typing.get_type_hints(cls)
    plan = [(field.name, _encoder(hints[field.name]), default_of(field)) for field in dataclasses.fields(cls)]
    missing = dataclasses.MISSING

    def encode_instance(value: Any) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for name, encoder, default in plan:
            item = getattr(value, name)
            # `1 == True`, so a default only counts when its type is the same
            if default is not missing and item == default and type(item) is type(default):
                continue
            data[name] = item if encoder is None or item is None else encoder(item)
        return data

    return encode_instance


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Return what a field holds when nothing was given for it, or `dataclasses.MISSING`."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def members_of(hint: Any) -> tuple[Any, ...]:
    """Return the types that a hint allows, `None` left out."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(member for member in typing.get_args(hint) if member is not type(None))
    return (hint,)


def _encoder(hint: Any) -> Encoder | None:
    members = members_of(hint)
    classes = [member for member in members if isinstance(member, type) and dataclasses.is_dataclass(member)]
    if len(classes) > 1:
        return encode_tagged
    if len(classes) == 1 and len(members) == 1:
        return _class_encoder(classes[0])
    origin = typing.get_origin(members[0])
    if origin is tuple:
        inner = _encoder(typing.get_args(members[0])[0])
        if inner is None:
            return list
        return lambda items: [inner(item) for item in items]
    if isinstance(members[0], type) and issubclass(members[0], Enum):
        return lambda item: item.value
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return dict
    return None


@cache
def _class_decoder(cls: Any) -> Decoder:
    hints = typing.get_type_hints(cls)
    plan = []
    for field in dataclasses.fields(cls):
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        plan.append((field.name, _decoder(hints[field.name]), required))
    name = cls.__name__

    def decode_instance(data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise DecodingError(f"{name}: an object was expected, not {type(data).__name__}")
        arguments: dict[str, Any] = {}
        for field_name, decoder, required in plan:
            if field_name in data:
                item = data[field_name]
                try:
                    arguments[field_name] = item if decoder is None else decoder(item)
                except DecodingError as error:
                    raise DecodingError(f"{name}.{field_name}: {error}") from None
            elif required:
                raise DecodingError(f"{name}: {field_name!r} is missing")
        return cls(**arguments)

    return decode_instance


def _decoder(hint: Any) -> Decoder | None:
    optional = type(None) in typing.get_args(hint) and len(members_of(hint)) >= 1 and hint is not members_of(hint)[0]
    inner = _present_decoder(hint)
    if inner is None or not optional:
        return inner
    return lambda item: None if item is None else inner(item)


def _present_decoder(hint: Any) -> Decoder | None:
    members = members_of(hint)
    classes = {
        member.__name__: member for member in members if isinstance(member, type) and dataclasses.is_dataclass(member)
    }
    if len(classes) > 1:
        return _tagged_decoder(classes)
    first = members[0]
    origin = typing.get_origin(first)
    if len(members) > 1:
        return None
    if classes:
        return _class_decoder(first)
    if origin is tuple:
        return _tuple_decoder(_decoder(typing.get_args(first)[0]))
    if isinstance(first, type) and issubclass(first, Enum):
        return _enum_decoder(first)
    if first is float:
        return _number
    if first in (str, int, bool):
        return _exact(first)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return _exact(dict)
    return None


def _tagged_decoder(classes: Mapping[str, type]) -> Decoder:
    decoders = {name: _class_decoder(cls) for name, cls in classes.items()}

    def decode_tagged(data: Any) -> Any:
        tag = data.get("type") if isinstance(data, Mapping) else None
        if not isinstance(tag, str) or tag not in decoders:
            raise DecodingError(f"type {tag!r} is none of {', '.join(decoders)}")
        return decoders[tag](data)

    return decode_tagged


def _tuple_decoder(inner: Decoder | None) -> Decoder:
    def decode_items(items: Any) -> tuple[Any, ...]:
        if not isinstance(items, Sequence) or isinstance(items, str):
            raise DecodingError(f"a list was expected, not {type(items).__name__}")
        return tuple(items) if inner is None else tuple(inner(item) for item in items)

    return decode_items


def _enum_decoder(cls: type[Enum]) -> Decoder:
    def decode_member(value: Any) -> Enum:
        try:
            return cls(value)
        except ValueError:
            raise DecodingError(f"{value!r} is not a {cls.__name__}") from None

    return decode_member


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DecodingError(f"a number was expected, not {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        raise DecodingError("the number is too large") from None


def _exact(cls: type) -> Decoder:
    def decode_plain(value: Any) -> Any:
        if not isinstance(value, cls) or (cls is int and isinstance(value, bool)):
            raise DecodingError(f"{cls.__name__} was expected, not {type(value).__name__}")
        return value

    return decode_plain
