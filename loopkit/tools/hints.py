"""Reads type hints into shapes: plain types, collections, unions, literals, enums and classes with fields."""

from __future__ import annotations

import base64
import binascii
import collections
import collections.abc as abstract
import dataclasses
import datetime
import enum
import pathlib
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from loopkit.errors import AgentBuildError
from loopkit.messages import JSON
from loopkit.tools.annotations import annotated_keywords
from loopkit.tools.docstring import Documentation, read_docstring
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

_NONE = type(None)
_SCALARS = (str, int, float, bool, _NONE)
_SERIES: dict[Any, tuple[Callable[[Any], Any], bool]] = {
    list: (list, False),
    abstract.Sequence: (list, False),
    abstract.MutableSequence: (list, False),
    abstract.Collection: (list, False),
    abstract.Iterable: (list, False),
    collections.deque: (collections.deque, False),
    set: (set, True),
    abstract.Set: (frozenset, True),
    abstract.MutableSet: (set, True),
    frozenset: (frozenset, True),
}
_TABLES = (dict, abstract.Mapping, abstract.MutableMapping)


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


_WRITTEN: dict[Any, Written] = {
    datetime.datetime: Written("date and time", {"format": "date-time"}, datetime.datetime.fromisoformat),
    datetime.date: Written("date", {"format": "date"}, datetime.date.fromisoformat),
    datetime.time: Written("time of day", {"format": "time"}, datetime.time.fromisoformat),
    pathlib.Path: Written("path", {}, pathlib.Path),
    pathlib.PurePath: Written("path", {}, pathlib.PurePath),
    bytes: Written("base64 text", {"contentEncoding": "base64"}, _from_base64),
}


def read_hint(hint: Any, names: Mapping[str, Any] | None = None) -> Shape:
    """Read one type hint.

    Args:
        hint: a resolved hint, not a string.
        names: further names that the hints of its classes may use.

    Raises:
        AgentBuildError: the hint has no form in JSON.
    """
    return HintReader(names or {}).read(hint, f"{hint!r}")


class HintReader:
    """Reads the hints of one function or value; each class is read once, so that classes may contain themselves.

    Args:
        names: names beside the module's own that hints may use, such as classes defined inside a function.
    """

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._models: dict[tuple[Any, bool], Model] = {}
        self._open_aliases: list[Any] = []

    def read(self, hint: Any, where: str) -> Shape:
        """Read one hint; `where` names its place in error messages."""
        if hint is Any or hint is object:
            return Anything()
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            keywords = annotated_keywords(hint.__metadata__, where)
            shape = self.read(hint.__origin__, where)
            return Described(shape, keywords) if keywords else shape
        if origin in (typing.Union, types.UnionType):
            return self._read_union(arguments, where)
        if origin is typing.Literal:
            return Choice(tuple(_literal_option(value, where) for value in arguments))
        if origin in (typing.Required, typing.NotRequired, typing.Final):
            return self.read(arguments[0], where)
        if (target := _alias_target(hint)) is not hint:
            return self._read_alias(hint, target, where)
        return self._read_class(hint if origin is None else origin, arguments, where)

    def _read_alias(self, hint: Any, target: Any, where: str) -> Shape:
        if hint in self._open_aliases:
            raise AgentBuildError(f"{where}: the type alias {hint!r} contains itself; use a dataclass, or Any")
        self._open_aliases.append(hint)
        try:
            return self.read(target, where)
        finally:
            self._open_aliases.pop()

    def _read_class(self, cls: Any, arguments: tuple[Any, ...], where: str) -> Shape:
        if cls in _SCALARS or cls is None:
            return Scalar(_NONE if cls is None else cls)
        if cls in _WRITTEN:
            return _WRITTEN[cls]
        if cls is tuple:
            return self._read_tuple(arguments, where)
        if cls in _SERIES:
            build, unique = _SERIES[cls]
            return Series(self.read(arguments[0] if arguments else Any, where), build, unique)
        if cls in _TABLES:
            return self._read_table(arguments, where)
        if isinstance(cls, type):
            if issubclass(cls, enum.Enum):
                return _read_enum(cls, where)
            if _has_fields(cls) and not arguments:
                return self.read_model(cls, where)
        name = cls.__name__ if isinstance(cls, type) else repr(cls)
        raise AgentBuildError(
            f"{where}: {name} has no form in JSON; use plain types, collections of them, Literal, an Enum, a dataclass, "
            "a TypedDict, a NamedTuple, or Any"
        )

    def _read_union(self, hints: tuple[Any, ...], where: str) -> Shape:
        classes = [hint for hint in hints if isinstance(hint, type) and dataclasses.is_dataclass(hint)]
        # the rule of `loopkit.encoding`; classes with a `type` of their own are told apart by that
        tagged = len(classes) > 1 and not any(
            field.name == "type" for cls in classes for field in dataclasses.fields(cls)
        )
        return OneOf(
            tuple(
                self.read_model(hint, where, tagged=True) if tagged and hint in classes else self.read(hint, where)
                for hint in hints
            )
        )

    def _read_tuple(self, arguments: tuple[Any, ...], where: str) -> Shape:
        if not arguments:
            return Series(Anything(), tuple)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return Series(self.read(arguments[0], where), tuple)
        return Row(tuple(self.read(argument, where) for argument in arguments))

    def _read_table(self, arguments: tuple[Any, ...], where: str) -> Shape:
        key_hint, value_hint = arguments or (str, Any)
        key = Scalar(str) if key_hint is Any else self.read(key_hint, where)
        if not _is_textual(key):
            raise AgentBuildError(
                f"{where}: keys of a JSON object are text, not {key_hint!r}; use str, Literal or an Enum"
            )
        return Table(key, self.read(value_hint, where))

    def read_model(self, cls: Any, where: str, *, tagged: bool = False) -> Model:
        """Read a class with fields.

        Args:
            tagged: an extra key `type` holds the class name.
        """
        known = self._models.get((cls, tagged))
        if known is not None:
            return known
        words = _documentation(cls)
        tag = cls.__name__ if tagged else None
        model = Model(cls.__name__, dict if _is_typed_dict(cls) else cls, tag=tag, description=words.description)
        self._models[cls, tagged] = model
        hints = class_hints(cls, self._names, where)
        model.members = tuple(
            Member(
                name,
                self.read(hints[name], f"field {name!r} of {cls.__name__}"),
                required,
                default,
                words.parameters.get(name, ""),
            )
            for name, required, default in _fields(cls, hints)
        )
        return model


def class_hints(cls: Any, names: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the resolved hints of a class's fields.

    Raises:
        AgentBuildError: a hint is a string whose names can't be found.
    """
    try:
        try:
            return typing.get_type_hints(cls, include_extras=True)
        except NameError:
            return typing.get_type_hints(cls, localns=dict(names), include_extras=True)
    except (NameError, TypeError, SyntaxError) as error:
        raise AgentBuildError(f"{where}: the hints of {cls.__name__} can't be resolved: {error}") from None


def _alias_target(hint: Any) -> Any:
    """What a `NewType`, a `type` statement or a type variable stands for; the hint itself if it is none of these."""
    if isinstance(hint, typing.NewType):
        return hint.__supertype__
    if isinstance(hint, typing.TypeVar):
        return hint.__bound__ or Any
    if type(hint).__name__ == "TypeAliasType":
        return hint.__value__
    return hint


def _is_typed_dict(cls: Any) -> bool:
    # `typing_extensions.TypedDict` is another class than `typing.TypedDict`
    return isinstance(cls, type) and issubclass(cls, dict) and hasattr(cls, "__required_keys__")


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def _has_fields(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) or _is_typed_dict(cls) or _is_named_tuple(cls)


def _fields(cls: Any, hints: Mapping[str, Any]) -> list[tuple[str, bool, object]]:
    """Name, whether it is required, and default of each field that a caller gives."""
    missing = dataclasses.MISSING
    if dataclasses.is_dataclass(cls):
        return [
            (
                field.name,
                field.default is missing and field.default_factory is missing,
                NO_DEFAULT if field.default is missing else field.default,
            )
            for field in dataclasses.fields(cls)
            if field.init
        ]
    if _is_typed_dict(cls):
        return [(name, _is_required(cls, name, hint), NO_DEFAULT) for name, hint in hints.items()]
    defaults = cls._field_defaults
    return [(name, name not in defaults, defaults.get(name, NO_DEFAULT)) for name in cls._fields]


def _is_required(cls: Any, name: str, hint: Any) -> bool:
    # `__required_keys__` is wrong for marks inside postponed annotations
    origin = typing.get_origin(hint)
    if origin in (typing.Required, typing.NotRequired):
        return bool(origin is typing.Required)
    return name in cls.__required_keys__


def _documentation(cls: type) -> Documentation:
    text = cls.__dict__.get("__doc__")
    # dataclass and NamedTuple write `Name(field, …)` where there is no docstring
    return read_docstring(None if text and text.startswith(f"{cls.__name__}(") else text)


def _literal_option(value: Any, where: str) -> tuple[Any, Any]:
    plain = value.value if isinstance(value, enum.Enum) else value
    if not isinstance(plain, (str, int, bool, _NONE)):
        raise AgentBuildError(f"{where}: the literal {value!r} has no form in JSON")
    return plain, value


def _read_enum(cls: type[enum.Enum], where: str) -> Choice:
    members = list(cls)
    if not members:
        raise AgentBuildError(f"{where}: the enum {cls.__name__} has no members")
    return Choice(tuple((enum_json(member), member) for member in members))


def enum_json(member: enum.Enum) -> JSON:
    """Return an enum member as JSON: its value, or its name where the enum's values are not all plain."""
    if not all(isinstance(other.value, (str, int, float)) for other in type(member)):
        return member.name
    # a member of `StrEnum` or `IntEnum` is itself a str or int; JSON wants the plain one
    for kind in (bool, str, int):
        if isinstance(member.value, kind):
            return kind(member.value)
    return float(member.value)


def _is_textual(shape: Shape) -> bool:
    if isinstance(shape, Described):
        return _is_textual(shape.shape)
    if isinstance(shape, Choice):
        return all(isinstance(plain, str) for plain, _ in shape.options)
    return isinstance(shape, Written) or (isinstance(shape, Scalar) and shape.kind is str)
