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
        members: by class, what gives the members of the object that `encode` makes, each after a comma, no braces.
        tagged_members: the same of the object that `encode_tagged` makes.
    """

    def __init__(self, *, ensure_ascii: bool, sort_keys: bool, allow_nan: bool, default: Callable[[Any], Any]) -> None:
        self._sorted = sort_keys
        self.quote: Writer = json_encoder.encode_basestring_ascii if ensure_ascii else json_encoder.encode_basestring
        self.plain = self._plain_writer(allow_nan, default)
        self.members = _ByClass(lambda cls: self._generated(cls, {}))
        self.tagged_members = _ByClass(
            lambda cls: self._generated(cls, {"type": [_adding(f',"type":{self.quote(cls.__name__)}')]})
        )

    def text_of(self, value: object) -> str:
        """Return the text of an instance's object, as `encode` makes it."""
        return f"{{{self.members[type(value)](value)[1:]}}}"

    def _tagged_object(self, value: object) -> str:
        return f"{{{self.tagged_members[type(value)](value)[1:]}}}"

    # ── source ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _generated(self, cls: Any, members: dict[str, list[str]]) -> Writer:
        hints = typing.get_type_hints(cls)
        names: dict[str, Any] = {"quote": self.quote, "plain": self.plain}
        for field in dataclasses.fields(cls):
            members[field.name] = list(self._adding_field(field, hints[field.name], names))
        lines = [line for name in (sorted(members) if self._sorted else members) for line in members[name]]
        source = "\n    ".join(["def write(value):", "text = ''", *lines, "return text"])
        exec(compile(source, f"<JSON text of {cls.__name__}>", "exec"), names)  # noqa: S102  # made of field names only
        return typing.cast("Writer", names["write"])

    def _adding_field(self, field: dataclasses.Field[Any], hint: Any, names: dict[str, Any]) -> Iterator[str]:
        name, default = field.name, default_of(field)
        yield f"item = value.{name}"
        adding = _adding(f',"{name}":', self._expression(name, hint, default, names))
        if default is dataclasses.MISSING:
            yield adding
            return
        names[f"{name}_default"] = default
        differs = f"item is not {name}_default"
        if default is not None and not isinstance(default, (bool, Enum)):
            # `1 == True`, so a default only counts when its type is the same
            names[f"{name}_type"] = type(default)
            differs += f" and (type(item) is not {name}_type or item != {name}_default)"
        yield f"if {differs}: {adding}"

    def _expression(self, name: str, hint: Any, default: Any, names: dict[str, Any]) -> str:
        members = members_of(hint)
        if members == (str,):
            return "quote(item) if type(item) is str else plain(item)"
        if members == (int,):
            return "int.__repr__(item) if type(item) is int else plain(item)"
        write = self._writer(members)
        if write is self.plain:
            return "plain(item)"
        names[f"{name}_text"] = write
        may_be_none = default is not None and members != (hint,)
        return f"{name}_text(item) if item is not None else 'null'" if may_be_none else f"{name}_text(item)"

    def _writer(self, members: tuple[Any, ...]) -> Writer:
        classes = [member for member in members if dataclasses.is_dataclass(member)]
        if len(classes) > 1:
            return self._tagged_object
        first, plain = members[0], self.plain
        if len(classes) == len(members) == 1:
            return self.text_of
        if typing.get_origin(first) is tuple:
            inner = self._writer(members_of(typing.get_args(first)[0]))
            if inner is plain:
                return lambda items: plain(list(items))
            return lambda items: f"[{','.join([inner(item) for item in items])}]"
        if isinstance(first, type) and issubclass(first, Enum):
            return lambda item: plain(item.value)
        if _is_mapping(typing.get_origin(first)):
            return lambda item: plain(item if type(item) is dict else dict(item))
        return plain

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

    def __missing__(self, cls: type) -> Writer:
        self[cls] = self._make(cls)
        return self[cls]


def _is_mapping(cls: object) -> bool:
    return isinstance(cls, type) and issubclass(cls, Mapping)


def _adding(key: str, expression: str = "") -> str:
    return f"text += {key!r} + ({expression})" if expression else f"text += {key!r}"
