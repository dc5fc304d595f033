"""Writes JSON Schema 2020-12 for type hints and for the parameters of functions."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

from loopkit.messages import JSON
from loopkit.tools.hints import enum_json, read_hint
from loopkit.tools.shapes import (
    NO_DEFAULT,
    Anything,
    Choice,
    Described,
    Member,
    Model,
    OneOf,
    Row,
    Scalar,
    Series,
    Shape,
    Table,
    Written,
)
from loopkit.tools.signature import read_signature

Schema = dict[str, Any]
_TYPE_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_POINTER = "#/$defs/"


def schema_of(hint: Any, *, closed: bool = True) -> Schema:
    """Return the JSON Schema of a type hint.

    Dataclasses, TypedDicts and NamedTuples are objects. Where a union has several dataclasses, each carries its class
    name as `type`, as `loopkit.encoding` writes them. A class that is used more than once stands in `$defs`.

    Args:
        hint: plain types, collections, unions, Literal, Enum, `Annotated`, classes with fields, in any nesting.
        closed: objects of known keys refuse others.

    Raises:
        AgentBuildError: the hint has no form in JSON.
    """
    return write_schema(read_hint(hint), closed=closed)


def function_schema(function: Callable[..., Any]) -> Schema:
    """Return the JSON Schema of a function's arguments, always of type `object`; a context parameter is not in it.

    Raises:
        AgentBuildError: a parameter has no hint, or one that has no form in JSON.
    """
    return arguments_schema(read_signature(function).model)


def write_schema(shape: Shape, *, closed: bool = True) -> Schema:
    """Return the JSON Schema of a shape."""
    writer = _Writer(closed)
    return writer.finish(writer.write(shape))


def arguments_schema(model: Model) -> Schema:
    """Return the JSON Schema of a function's parameters, never a reference at the top."""
    writer = _Writer(closed=True)
    return writer.finish(writer.write_object(model))


class _Writer:
    def __init__(self, closed: bool) -> None:
        self._closed = closed
        self._names: dict[Model, str] = {}
        self._definitions: dict[str, Schema] = {}

    def write(self, shape: Shape) -> Schema:  # one row per shape
        match shape:
            case Anything():
                return {}
            case Scalar(kind):
                return {"type": _TYPE_NAMES[kind]}
            case Written():
                return {"type": "string", **shape.keywords}
            case Choice(options):
                return _choice([plain for plain, _ in options])
            case Series(item, _, unique):
                return {"type": "array", **self._items(item), **({"uniqueItems": True} if unique else {})}
            case Row(items):
                places = [self.write(item) for item in items]
                return {"type": "array", "prefixItems": places, "items": False, "minItems": len(items)}
            case Table(key, value):
                return self._table(key, value)
            case OneOf(shapes):
                return {"anyOf": [self.write(member) for member in shapes]}
            case Described(inner, keywords):
                return {**self.write(inner), **copy.deepcopy(keywords)}
            case Model():
                return {"$ref": _POINTER + self._define(shape)}

    def _items(self, item: Shape) -> Schema:
        schema = self.write(item)
        return {"items": schema} if schema else {}

    def _table(self, key: Shape, value: Shape) -> Schema:
        keys, values = self.write(key), self.write(value)
        schema: Schema = {"type": "object"}
        if keys != {"type": "string"}:
            schema["propertyNames"] = keys
        if values:
            schema["additionalProperties"] = values
        return schema

    def write_object(self, model: Model) -> Schema:
        schema: Schema = {"type": "object"}
        if model.description:
            schema["description"] = model.description
        properties: Schema = {} if model.tag is None else {"type": {"const": model.tag}}
        properties.update({member.name: self._property(member) for member in model.members})
        schema["properties"] = properties
        required = [] if model.tag is None else ["type"]
        required += [member.name for member in model.members if member.required]
        if required:
            schema["required"] = required
        if self._closed:
            schema["additionalProperties"] = False
        return schema

    def _property(self, member: Member) -> Schema:
        schema = self.write(member.shape)
        if member.description:
            schema = {"description": member.description, **schema}
        if member.default is not NO_DEFAULT:
            try:
                schema["default"] = _default(member.default)
            except TypeError:
                # a default that JSON can't say stays the function's own business
                return schema
        return schema

    def _define(self, model: Model) -> str:
        name = self._names.get(model)
        if name is None:
            wanted = name = model.name if model.tag is None else f"Tagged{model.name}"
            number = 2
            while name in self._definitions:
                name, number = f"{wanted}{number}", number + 1
            self._names[model] = name
            self._definitions[name] = {}
            self._definitions[name] = self.write_object(model)
        return name

    def finish(self, root: Schema) -> Schema:
        """Put definitions that are used once in their place, where models and people read them more easily."""
        uses = Counter(_references([root, *self._definitions.values()]))
        once = {_POINTER + name for name in self._definitions if uses[_POINTER + name] == 1}
        inline = {pointer: self._definitions[pointer.removeprefix(_POINTER)] for pointer in once}
        finished: Schema = _inlined(root, inline)
        kept = {
            name: _inlined(schema, inline) for name, schema in self._definitions.items() if _POINTER + name not in once
        }
        return {**finished, "$defs": kept} if kept else finished


def _references(value: JSON) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _inlined(value: JSON, inline: Mapping[str, Schema]) -> Any:
    if isinstance(value, dict):
        target = inline.get(value["$ref"]) if isinstance(value.get("$ref"), str) else None
        if target is not None:
            beside = {key: item for key, item in value.items() if key != "$ref"}
            return _inlined({**target, **beside}, inline)
        return {key: _inlined(item, inline) for key, item in value.items()}
    if isinstance(value, list):
        return [_inlined(item, inline) for item in value]
    return value


def _choice(values: list[JSON]) -> Schema:
    kinds = {type(value) for value in values}
    schema: Schema = {"type": _TYPE_NAMES[kinds.pop()]} if len(kinds) == 1 else {}
    return {**schema, "const": values[0]} if len(values) == 1 else {**schema, "enum": values}


def _default(value: Any) -> JSON:
    """A default as JSON.

    Raises:
        TypeError: JSON has no such value.
    """
    if isinstance(value, Enum):
        return enum_json(value)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return [_default(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _default(item) for key, item in value.items()}
    raise TypeError(type(value).__name__)
