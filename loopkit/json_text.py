"""Frozen dataclasses → JSON text at once, for what is written most: the text of `encode`'s object, without that object.

A class's writer is generated as source, as `dataclass` does it for `__init__`; it takes a third of the time that the
object and `json` would take together.
"""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from json import encoder as json_encoder
from typing import Any, TypeAlias

from loopkit.encoding import default_of, members_of

Writer: TypeAlias = Callable[[Any], str]


class JSONWriter:
    """Writes plain values and dataclass instances as JSON without blanks.

    Args:
        ensure_ascii: escape whatever is not ASCII.
        sort_keys: keys in alphabetical order, in place of the fields' own.
        allow_nan: write NaN and infinities as Python does; otherwise they raise ValueError.
        default: gives something plain for what JSON does not know.

    Attributes:
        quote: gives the text of a string.
        plain: gives the text of a value that holds no dataclasses; endless nesting raises RecursionError.
        objects: by class, what gives the text of the object that `encode` makes of an instance.
        tagged_objects: the same of the object that `encode_tagged` makes.
        tagged_members: the members of that object, each after a comma, without the braces.
    """

    def __init__(self, *, ensure_ascii: bool, sort_keys: bool, allow_nan: bool, default: Callable[[Any], Any]) -> None:
        self._sorted = sort_keys
        self.quote: Writer = json_encoder.encode_basestring_ascii if ensure_ascii else json_encoder.encode_basestring
        self.plain = self._plain_writer(allow_nan, default)
        self.objects = _ByClass(lambda cls: self._generated(cls, "{", "}"))
        self.tagged_objects = _ByClass(lambda cls: self._generated(cls, "{", "}", tagged=True))
        self.tagged_members = _ByClass(lambda cls: self._generated(cls, ",", "", tagged=True))

    # ── source ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _generated(self, cls: Any, start: str, end: str, *, tagged: bool = False) -> Writer:
        hints = typing.get_type_hints(cls)
        names: dict[str, Any] = {"quote": self.quote, "plain": self.plain}
        members = [_Member("type", repr(self.quote(cls.__name__)))] if tagged else []
        members += [self._member(field, hints[field.name], names) for field in dataclasses.fields(cls)]
        if self._sorted:
            members.sort(key=lambda member: member.name)
        source = "\n    ".join(["def write(value):", *_lines(members, start, end)])
        exec(compile(source, f"<JSON text of {cls.__name__}>", "exec"), names)  # noqa: S102  # made of field names only
        return typing.cast("Writer", names["write"])

    def _member(self, field: dataclasses.Field[Any], hint: Any, names: dict[str, Any]) -> _Member:
        name, default = field.name, default_of(field)
        expression = self._expression(name, members_of(hint), names)
        if default is dataclasses.MISSING:
            return _Member(name, expression, is_field=True)
        names[f"default_{name}"] = default
        differs = f"its_{name} is not default_{name}"
        if default is not None and not isinstance(default, (bool, Enum)):
            # `1 == True`, so a default only counts when its type is the same
            names[f"type_{name}"] = type(default)
            differs += f" and (type(its_{name}) is not type_{name} or its_{name} != default_{name})"
            if members_of(hint) != (hint,):
                expression = f"({expression}) if its_{name} is not None else 'null'"
        return _Member(name, expression, is_field=True, condition=differs)

    def _expression(self, name: str, members: tuple[Any, ...], names: dict[str, Any]) -> str:
        """Source of the text of a field, which stands in a variable `its_…` of its name."""
        if members == (str,):
            return f"quote(its_{name}) if type(its_{name}) is str else plain(its_{name})"
        if members == (int,):
            return f"int.__repr__(its_{name}) if type(its_{name}) is int else plain(its_{name})"
        names[f"write_{name}"] = self._writer(members)
        return f"write_{name}(its_{name})"

    def _writer(self, members: tuple[Any, ...]) -> Writer:
        classes: list[Any] = [member for member in members if dataclasses.is_dataclass(member)]
        first, plain, tagged_objects = members[0], self.plain, self.tagged_objects
        if len(classes) > 1:
            return tagged_objects.text
        if len(classes) == len(members) == 1:
            return self.objects[classes[0]]
        if typing.get_origin(first) is tuple:
            return self._items_writer(members_of(typing.get_args(first)[0]))
        if isinstance(first, type) and issubclass(first, Enum):
            # a member that is a text is written as one; `value` of any other takes a detour through its class
            return self.quote if issubclass(first, str) else lambda item: plain(item.value)
        if _is_mapping(typing.get_origin(first)):
            return lambda item: plain(item if type(item) is dict else dict(item))
        return plain

    def _items_writer(self, members: tuple[Any, ...]) -> Writer:
        inner, plain, tagged_objects = self._writer(members), self.plain, self.tagged_objects
        if inner is plain:
            return lambda items: plain(list(items))
        if sum(map(dataclasses.is_dataclass, members)) > 1:
            inner = tagged_objects.text

        def write_items(items: tuple[Any, ...]) -> str:
            # most often there is one
            return f"[{inner(items[0])}]" if len(items) == 1 else f"[{','.join(map(inner, items))}]"

        return write_items

    def _plain_writer(self, allow_nan: bool, default: Callable[[Any], Any]) -> Writer:
        make = getattr(json_encoder, "c_make_encoder", None)
        if make is None:
            ascii_only = self.quote is json_encoder.encode_basestring_ascii
            return json.JSONEncoder(
                ensure_ascii=ascii_only,
                allow_nan=allow_nan,
                sort_keys=self._sorted,
                separators=(",", ":"),
                default=default,
            ).encode
        # `JSONEncoder.encode` makes one of these at every call, which takes as long as a short text itself
        chunks = make(None, default, self.quote, None, ":", ",", self._sorted, False, allow_nan)
        return lambda value: "".join(chunks(value, 0))


class _ByClass(dict[type, Writer]):
    """Writers, each made when it is first asked for."""

    def __init__(self, make: Callable[[type], Writer]) -> None:
        super().__init__()
        self._make = make

    def text(self, item: Any) -> str:
        """Return the text of an instance of any class."""
        return self[type(item)](item)

    def __missing__(self, cls: type) -> Writer:
        self[cls] = self._make(cls)
        return self[cls]


def _is_mapping(cls: object) -> bool:
    return isinstance(cls, type) and issubclass(cls, Mapping)


@dataclasses.dataclass(frozen=True, slots=True)
class _Member:
    """Source of one member of an object: its text, and when it is written at all."""

    name: str
    expression: str
    is_field: bool = False
    condition: str = ""


def _lines(members: list[_Member], start: str, end: str) -> Iterator[str]:
    """Source of a function's body that puts members together, commas between them."""
    comma_first = bool(members) and bool(members[0].condition)
    # where the first may be missing, each brings a comma along, and the first of them is cut off
    text, separator = ("", ",") if comma_first else (start, "")
    yield f"text = {text!r}"
    for member in members:
        if member.is_field:
            yield f"its_{member.name} = value.{member.name}"
        key = f'{separator}"{member.name}":'
        yield f"{f'if {member.condition}: ' if member.condition else ''}text += {key!r} + ({member.expression})"
        separator = ","
    if comma_first:
        yield f"return {start!r} + text[1:] + {end!r}"
    else:
        yield f"return text + {end!r}"
