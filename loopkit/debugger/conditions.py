"""Conditions on moments of a run: plain values that hold or don't, never code (docs/conditions.md).

A comparison with something that isn't there is false, `!=` and `!~` too; `not` turns that round.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, Protocol, TypeAlias

from loopkit.debugger.fields import FIELDS, Scope
from loopkit.debugger.patterns import Pattern
from loopkit.messages import JSON

Operator: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]
Value: TypeAlias = JSON


class Missing(Enum):
    """What a field says that isn't there."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Field:
    """A field, with the way into it where it holds JSON.

    Args:
        name: one of `FIELDS`.
        path: keys and places, from the outside in; of `args` only.
    """

    name: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        keys = (key if _PLAIN_KEY.fullmatch(key) else quoted(key) for key in self.path)
        return ".".join((self.name, *keys))


class Moment(Protocol):
    """What a condition is asked about."""

    def value(self, field: Field) -> Value | tuple[str, ...] | Missing:
        """Return what a field says here; several texts as a tuple."""
        ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """A field beside a plain value."""

    field: Field
    operator: Operator
    value: str | float | bool | None

    def holds(self, moment: Moment) -> bool:
        """Return whether it is true at a moment."""
        found = moment.value(self.field)
        if found is MISSING:
            return False
        match self.operator:
            case "==":
                return _equals(found, self.value)
            case "!=":
                return not _equals(found, self.value)
        if not (_is_number(found) and _is_number(self.value)):
            return False
        return _ordered(found, self.operator, self.value)

    def __str__(self) -> str:
        value = quoted(self.value) if isinstance(self.value, str) else json.dumps(self.value)
        return f"{self.field} {self.operator} {value}"


@dataclass(frozen=True, slots=True)
class Match:
    """A field that holds words, or a match of a pattern.

    Args:
        sought: words, in upper or lower case, or a pattern.
        wanted: False for `!~`: that it holds none.
    """

    field: Field
    sought: str | Pattern
    wanted: bool = True

    def holds(self, moment: Moment) -> bool:
        """Return whether it is true at a moment."""
        found = moment.value(self.field)
        if found is MISSING:
            return False
        return any(self._in(text) for text in _texts(found)) is self.wanted

    def _in(self, text: str) -> bool:
        if isinstance(self.sought, Pattern):
            return self.sought.found_in(text)
        return self.sought.casefold() in text.casefold()

    def __str__(self) -> str:
        sought = self.sought
        words = quoted(sought) if isinstance(sought, str) else slashed(sought)
        return f"{self.field} {'~' if self.wanted else '!~'} {words}"


@dataclass(frozen=True, slots=True)
class Presence:
    """A field that is there and is not false, 0 or empty."""

    field: Field

    def holds(self, moment: Moment) -> bool:
        """Return whether it is true at a moment."""
        found = moment.value(self.field)
        # an error or a warning may have no words
        return found is not MISSING and (bool(found) or (found == "" and not self.field.path))

    def __str__(self) -> str:
        return str(self.field)


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    part: Condition

    def holds(self, moment: Moment) -> bool:
        """Return whether it is true at a moment."""
        return not self.part.holds(moment)

    def __str__(self) -> str:
        return f"not {_inner(self.part)}"


@dataclass(frozen=True, slots=True)
class All:
    """All parts hold."""

    parts: tuple[Condition, ...]

    def holds(self, moment: Moment) -> bool:
        """Return whether it is true at a moment."""
        return all(part.holds(moment) for part in self.parts)

    def __str__(self) -> str:
        return " and ".join(map(_inner, self.parts))


@dataclass(frozen=True, slots=True)
class OneOf:
    """At least one part holds."""

    parts: tuple[Condition, ...]

    def holds(self, moment: Moment) -> bool:
        """Return whether it is true at a moment."""
        return any(part.holds(moment) for part in self.parts)

    def __str__(self) -> str:
        return " or ".join(str(part) if isinstance(part, All) else _inner(part) for part in self.parts)


Condition: TypeAlias = Comparison | Match | Presence | Not | All | OneOf


def _inner(part: Condition) -> str:
    return f"({part})" if isinstance(part, (All, OneOf)) else str(part)


def fields_of(condition: Condition) -> Iterator[Field]:
    """Yield every field that a condition speaks of."""
    match condition:
        case Not(part):
            yield from fields_of(part)
        case All(parts) | OneOf(parts):
            for part in parts:
                yield from fields_of(part)
        case _:
            yield condition.field


def scope_of(condition: Condition) -> Scope:
    """Return what a condition speaks of: that of its field which looks closest."""
    return max(FIELDS[field.name].scope for field in fields_of(condition))


def quoted(text: str) -> str:
    """Return a text as it may be typed into a condition."""
    return json.dumps(text, ensure_ascii=False)


def slashed(pattern: Pattern) -> str:
    """Return a pattern as it may be typed into a condition."""
    text = re.sub(r"\\.|/", lambda found: r"\/" if found[0] == "/" else found[0], pattern.text, flags=re.DOTALL)
    return f"/{text}/{'i' if pattern.any_case else ''}"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _equals(found: Value | tuple[str, ...], value: object) -> bool:
    if isinstance(found, tuple):
        return value in found
    if isinstance(found, bool) or isinstance(value, bool):
        return found is value
    return bool(found == value)


def _ordered(found: Any, operator: str, value: Any) -> bool:
    match operator:
        case "<":
            return bool(found < value)
        case "<=":
            return bool(found <= value)
        case ">":
            return bool(found > value)
    return bool(found >= value)


def _texts(found: Value | tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(found, str):
        return (found,)
    return found if isinstance(found, tuple) else (json.dumps(found, ensure_ascii=False, default=str),)
