"""Reads conditions as people type them; an error points at the spot (docs/conditions.md)."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from loopkit.debugger.conditions import (
    All,
    Comparison,
    Condition,
    Field,
    Match,
    Not,
    OneOf,
    Operator,
    Presence,
)
from loopkit.debugger.fields import FIELDS, SHORT_NAMES
from loopkit.debugger.pattern_parts import PatternError
from loopkit.debugger.patterns import Pattern
from loopkit.errors import ConditionError

MOST_CHARACTERS = 2_000
_DEEPEST = 50

_TokenKind: TypeAlias = Literal["blank", "name", "number", "string", "pattern", "operator", "end"]
_STRING = r'"(?:[^"\\]|\\.)*"' + r"|'(?:[^'\\]|\\.)*'"
_TOKENS = re.compile(
    rf"""(?P<blank>\s+)
    | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<string>{_STRING})
    | (?P<pattern>/(?:[^/\\]|\\.)+/[a-z]*)
    | (?P<name>[A-Za-z_]\w*(?:\.(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"))*)
    | (?P<operator>==|!=|!~|<=|>=|<|>|~|\(|\))""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_KEYS = re.compile(r'\.([A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*")', re.DOTALL)
_INSTEAD = {"=": "==", "&": "and", "|": "or", "!": "not", "[": "( )", "{": "( )"}
_JOINERS = ("and", "or")
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_KEYWORDS = {*_JOINERS, "not", *_CONSTANTS}
_ESCAPES = re.compile(r"\\(.)", re.DOTALL)
_PARTS = re.compile(r"\\?.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: _TokenKind
    text: str
    place: int


def read_condition(text: str) -> Condition:
    """Return the condition that a text says.

    Raises:
        ConditionError: it says none; the message points at the spot.
    """
    if len(text) > MOST_CHARACTERS:
        raise ConditionError(f"it has more than {MOST_CHARACTERS} characters", text, MOST_CHARACTERS)
    lone = next((place for place, character in enumerate(text) if "\ud800" <= character <= "\udfff"), None)
    if lone is not None:
        raise ConditionError("half a character stands here", text, lone)
    return _ConditionReader(text).read()


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    while place < len(text):
        found = _TOKENS.match(text, place)
        if found is None:
            raise ConditionError(_unreadable(text, place), text, place)
        tokens.append(_Token(cast("_TokenKind", found.lastgroup), found[0], place))
        place = found.end()
    return [*(token for token in tokens if token.kind != "blank"), _Token("end", "", len(text))]


def _unreadable(text: str, place: int) -> str:
    character = text[place]
    if character in "\"'":
        return f"this {character} is not closed"
    if character == "/":
        return "this / begins a pattern that no / ends"
    instead = _INSTEAD.get(character)
    return f"write {instead} here" if instead else "this character means nothing here"


class _ConditionReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._number = 0
        self._depth = 0

    def read(self) -> Condition:
        if len(self._tokens) == 1:
            raise self._error('it is empty; try tool == "NAME", text ~ /WORDS/ or error')
        condition = self._any()
        if self._next.kind != "end":
            closes = self._next.text == ")"
            raise self._error("this ) closes nothing" if closes else "and, or, or the end was expected here")
        return condition

    # ── tokens ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _next(self) -> _Token:
        return self._tokens[self._number]

    def _take(self) -> _Token:
        token = self._next
        self._number += 1
        return token

    def _takes(self, *words: str) -> bool:
        found = self._next.kind in ("name", "operator") and self._next.text in words
        self._number += found
        return found

    def _error(self, problem: str, place: int | None = None) -> ConditionError:
        return ConditionError(problem, self._text, self._next.place if place is None else place)

    # ── and, or, not ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _any(self) -> Condition:
        parts = [self._all()]
        while self._takes("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else OneOf(tuple(parts))

    def _all(self) -> Condition:
        parts = [self._single()]
        while self._takes("and"):
            parts.append(self._single())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _single(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error("too much stands inside each other")
        start = self._next.place
        if self._takes("not"):
            condition: Condition = Not(self._single())
        elif self._takes("("):
            condition = self._any()
            if not self._takes(")"):
                raise self._error("this ( is not closed", start)
        else:
            condition = self._about_field()
        self._depth -= 1
        return condition

    # ── one field ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _about_field(self) -> Condition:
        token = self._next
        if token.kind in ("string", "pattern"):
            return Match(Field("text"), self._sought())
        if token.kind != "name" or token.text in _KEYWORDS:
            raise self._error("a field was expected here, such as tool, text or error")
        field = self._field(self._take())
        operator = self._next
        if operator.kind != "operator" or operator.text in ("(", ")"):
            return Presence(field)
        self._take()
        if operator.text in ("~", "!~"):
            if FIELDS[field.name].kind == "number":
                raise self._error(f"{field} is a number: compare it with == != < <= > >=", operator.place)
            return Match(field, self._sought(), operator.text == "~")
        return self._comparison(field, operator)

    def _field(self, token: _Token) -> Field:
        name, keys = self._known_name(token)
        path = tuple(_unquoted(key) if key.startswith('"') else key for key in _KEYS.findall(keys))
        if path and name != "args":
            raise self._error(f"{name} has no parts; only args has", token.place + len(name))
        return Field(name, path)

    def _known_name(self, token: _Token) -> tuple[str, str]:
        text = token.text
        if text in SHORT_NAMES:
            return SHORT_NAMES[text], ""
        if text in FIELDS:
            return text, ""
        name, dot, rest = text.partition(".")
        if name in FIELDS:
            return name, dot + rest
        if name in SHORT_NAMES:
            raise self._error(f"{name} has own and total only", token.place + len(name))
        near = difflib.get_close_matches(name, [*FIELDS, *SHORT_NAMES], 1, 0.5)
        known = f"did you mean {near[0]}?" if near else f"there are {', '.join(FIELDS)}"
        raise self._error(f"there is no field {name[:40]}; {known}", token.place)

    def _sought(self) -> str | Pattern:
        token = self._take()
        if token.kind == "string":
            return self._string(token)
        if token.kind != "pattern":
            raise self._error('a pattern was expected here, as /WORDS/, or words in " "', token.place)
        source, _, flags = token.text[1:].rpartition("/")
        if flags not in ("", "i"):
            raise self._error("a pattern ends in / or /i", token.place + len(token.text) - len(flags))
        # a / is escaped for us, everything else for the pattern
        characters = ["/" if part == r"\/" else part for part in _PARTS.findall(source)]
        try:
            return Pattern("".join(characters), any_case=flags == "i")
        except PatternError as error:
            place = token.place + 1 + len("".join(_PARTS.findall(source)[: _count(characters, error.place)]))
            raise self._error(str(error), min(place, token.place + len(token.text) - 1)) from None

    def _string(self, token: _Token) -> str:
        try:
            return _unquoted(token.text)
        except ValueError:
            raise self._error("an escape in this text is unknown", token.place) from None

    def _comparison(self, field: Field, operator: _Token) -> Comparison:
        token = self._take()
        value = self._value(token)
        kind = FIELDS[field.name].kind
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if operator.text not in ("==", "!="):
            if kind == "text":
                raise self._error(f"{field} is text: compare it with == != ~ or !~", operator.place)
            if not number:
                raise self._error(f"{operator.text} needs a number", token.place)
        if kind == "text" and not isinstance(value, str):
            raise self._error(f'{field} is text: put it in " "', token.place)
        if kind == "number" and not number:
            raise self._error(f"{field} is a number", token.place)
        return Comparison(field, cast("Operator", operator.text), value)

    def _value(self, token: _Token) -> str | float | bool | None:
        if token.kind == "string":
            return self._string(token)
        if token.kind == "number":
            value = float(token.text) if set(token.text) & set(".eE") else int(token.text)
            if isinstance(value, float) and value in (float("inf"), float("-inf")):
                raise self._error("this number is too large", token.place)
            return value
        if token.kind == "name" and token.text in _CONSTANTS:
            return _CONSTANTS[token.text]
        if token.kind == "pattern":
            raise self._error("a pattern is looked for with ~ or !~", token.place)
        if token.kind == "name":
            raise self._error('text is put in " "', token.place)
        raise self._error('a value was expected here: a number, text in " ", true, false or null', token.place)


def _count(parts: list[str], characters: int) -> int:
    """How many parts, from the first, make up so many characters."""
    return next((count for count in range(len(parts)) if len("".join(parts[:count])) >= characters), len(parts))


def _unquoted(text: str) -> str:
    inner = text[1:-1]
    if text[0] == "'":
        inner = _ESCAPES.sub(lambda found: "'" if found[1] == "'" else found[0], inner)
        inner = re.sub(r'\\.|"', lambda found: r"\"" if found[0] == '"' else found[0], inner, flags=re.DOTALL)
    value = json.loads(f'"{inner}"', strict=False)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("half a character")
    return str(value)
