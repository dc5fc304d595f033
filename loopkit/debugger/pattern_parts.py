"""Reads a regular expression into the parts that a linear-time search can follow: no look-around, no back references."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

MOST_CHARACTERS = 500
MOST_REPEATS = 200
_DEEPEST = 40

Test: TypeAlias = Callable[[str], bool]


class PatternError(ValueError):
    """A regular expression can't be used.

    Args:
        message: what is wrong, in one line.
        place: where, in characters from its beginning.
    """

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True, slots=True)
class One:
    """One character that passes a test."""

    test: Test


@dataclass(frozen=True, slots=True)
class Edge:
    """A place between characters: `^` and `$` of a line, `b` and `B` of a word."""

    kind: str


@dataclass(frozen=True, slots=True)
class Row:
    """Parts one after another."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of several parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part `least` to `most` times; `most` None is without end."""

    part: Part
    least: int
    most: int | None


Part: TypeAlias = One | Edge | Row | Either | Repeat

_ENDS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_CLASSES: dict[str, Test] = {
    "d": lambda c: unicodedata.category(c) == "Nd",
    "w": lambda c: c.isalnum() or c == "_",
    "s": str.isspace,
}
_CLASSES |= {name.upper(): (lambda c, test=test: not test(c)) for name, test in list(_CLASSES.items())}  # type: ignore[misc]  # a default binds it


def is_word(character: str) -> bool:
    """Whether a character is part of a word, as `\\w` and `\\b` understand it."""
    return character.isalnum() or character == "_"


def read_pattern(text: str, *, any_case: bool) -> Part:
    """Return the parts of a regular expression.

    Raises:
        PatternError: it can't be understood, or holds what no linear-time search can follow.
    """
    if len(text) > MOST_CHARACTERS:
        raise PatternError(f"a pattern has at most {MOST_CHARACTERS} characters", MOST_CHARACTERS)
    return _PatternReader(text, any_case=any_case).read()


class _PatternReader:
    def __init__(self, text: str, *, any_case: bool) -> None:
        self._text = text
        self._place = 0
        self._depth = 0
        self._any_case = any_case

    def read(self) -> Part:
        part = self._either()
        if self._place < len(self._text):
            raise PatternError("this ) closes nothing", self._place)
        return part

    def _next(self) -> str:
        return self._text[self._place : self._place + 1]

    def _either(self) -> Part:
        parts = [self._row()]
        while self._next() == "|":
            self._place += 1
            parts.append(self._row())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _row(self) -> Part:
        parts: list[Part] = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated())
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def _repeated(self) -> Part:
        start = self._place
        part = self._single()
        bounds = self._bounds()
        if bounds is None:
            return part
        if isinstance(part, Edge):
            raise PatternError("there is nothing to repeat here", start)
        self._place += self._next() == "?"  # lazy or not, what is found is the same
        again = self._place
        if self._bounds() is not None:
            raise PatternError("this repeats what is repeated already; put it in ( )", again)
        return Repeat(part, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        match self._next():
            case "*":
                bounds: tuple[int, int | None] = (0, None)
            case "+":
                bounds = (1, None)
            case "?":
                bounds = (0, 1)
            case "{":
                return self._counted()
            case _:
                return None
        self._place += 1
        return bounds

    def _counted(self) -> tuple[int, int | None]:
        start = self._place
        end = self._text.find("}", start)
        least, comma, most = self._text[start + 1 : max(start, end)].partition(",")
        numbers = [number for number in (least, most) if number]
        if end < 0 or not numbers or not all(number.isascii() and number.isdigit() for number in numbers):
            raise PatternError("a count is written {2}, {2,} or {2,5}; a brace as \\{", start)
        low = int(least or 0)
        high = int(most) if most else None if comma else low
        if max(low, high or 0) > MOST_REPEATS or (high is not None and high < low):
            raise PatternError(f"a count goes from a smaller to a greater number, at most {MOST_REPEATS}", start)
        self._place = end + 1
        return low, high

    def _single(self) -> Part:
        start = self._place
        character = self._next()
        self._place += 1
        match character:
            case "(":
                return self._group(start)
            case "[":
                return One(self._set(start))
            case ".":
                return One(lambda c: c != "\n")
            case "^" | "$":
                return Edge(character)
            case "\\":
                return self._escaped(start)
            case "*" | "+" | "?" | "{":
                raise PatternError("there is nothing to repeat here", start)
        return One(self._same(character))

    def _group(self, start: int) -> Part:
        if self._text.startswith("?:", self._place):
            self._place += 2
        elif self._next() == "?":
            raise PatternError("look-around, named groups and flags in ( ) are not supported", start)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise PatternError("too many ( inside each other", start)
        part = self._either()
        self._depth -= 1
        if self._next() != ")":
            raise PatternError("this ( is not closed", start)
        self._place += 1
        return part

    def _escaped(self, start: int) -> Part:
        character = self._next()
        if character in ("b", "B"):
            self._place += 1
            return Edge(character)
        return One(self._escape(start))

    def _escape(self, start: int) -> Test:
        character = self._next()
        self._place += 1
        if character in _CLASSES:
            return _CLASSES[character]
        if character in _ENDS:
            return self._same(_ENDS[character])
        if not character or character.isalnum():
            raise PatternError(f"\\{character} is not supported", start)
        return self._same(character)

    def _same(self, character: str) -> Test:
        if not self._any_case:
            return character.__eq__
        both = {character, character.lower(), character.upper()}
        return both.__contains__

    def _set(self, start: int) -> Test:
        inverted = self._next() == "^"
        self._place += inverted
        tests: list[Test] = []
        first = True
        while first or self._next() != "]":
            first = False
            if not self._next():
                raise PatternError("this [ is not closed", start)
            tests.append(self._member())
        self._place += 1
        return lambda c: any(test(c) for test in tests) is not inverted

    def _member(self) -> Test:
        start = self._place
        low = self._next()
        self._place += 1
        if low == "\\":
            kind = self._next()
            test = self._escape(start)
            if kind in _CLASSES:
                return test
            low = _ENDS.get(kind, kind)
        if self._next() != "-" or self._text[self._place + 1 : self._place + 2] in ("]", ""):
            return self._same(low)
        self._place += 1
        high = self._next()
        self._place += 1
        if high == "\\":
            high = _ENDS.get(self._next(), self._next())
            self._place += 1
        if high < low:
            raise PatternError("this range goes backwards", start)
        return self._between(low, high)

    def _between(self, low: str, high: str) -> Test:
        if not self._any_case:
            return lambda c: low <= c <= high
        return lambda c: low <= c <= high or low <= c.lower() <= high or low <= c.upper() <= high
