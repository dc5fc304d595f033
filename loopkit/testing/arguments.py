"""What a test says of a call's arguments or of a text: a part of them, patterns and predicates beside plain values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from loopkit.debugger.display import json_text, one_line

NamePattern: TypeAlias = str | re.Pattern[str]
TextPattern: TypeAlias = str | re.Pattern[str] | Callable[[str], object]
ArgumentPattern: TypeAlias = Mapping[str, Any] | Callable[[Mapping[str, Any]], object]

_LONGEST_VALUE = 120


def argument_differences(pattern: ArgumentPattern, arguments: Mapping[str, Any], *, exactly: bool = False) -> list[str]:
    """Return why arguments are not what a test expects, one safe line each; nothing when they are.

    Args:
        pattern: a predicate of all arguments, or what is expected of some of them: a value, a compiled pattern that is
            searched for, a type, a predicate, `...` for any value, or lists and mappings of these; of a mapping the
            named keys count.
        exactly: no other arguments may be there; holds for the outermost mapping.
    """
    if not isinstance(pattern, Mapping):
        refusal = _refusal(pattern, arguments)
        return [] if refusal is None else [f"{_name(pattern)} {refusal or 'does not take them'}"]
    found = list(_of_mapping(pattern, arguments, ""))
    if exactly:
        found += [f"{one_line(name)} is there too" for name in arguments if name not in pattern]
    return found


def text_matches(pattern: TextPattern, text: str) -> bool:
    """Say whether a text holds a string, a compiled pattern is found in it, or a predicate takes it."""
    if isinstance(pattern, str):
        return pattern in text
    if isinstance(pattern, re.Pattern):
        return pattern.search(text) is not None
    return bool(pattern(text))


def name_matches(pattern: NamePattern, name: str) -> bool:
    """Say whether a whole name is the expected one."""
    return pattern == name if isinstance(pattern, str) else pattern.fullmatch(name) is not None


def pattern_words(pattern: Any) -> str:
    """Return an expectation as one safe line."""
    if isinstance(pattern, re.Pattern):
        return f"/{one_line(pattern.pattern, _LONGEST_VALUE)}/"
    if isinstance(pattern, Mapping):
        return "{" + ", ".join(f"{one_line(str(key))}: {pattern_words(value)}" for key, value in pattern.items()) + "}"
    if isinstance(pattern, (list, tuple)):
        return "[" + ", ".join(pattern_words(value) for value in pattern) + "]"
    if pattern is ...:
        return "…"
    return _name(pattern) if callable(pattern) else _shown(pattern)


def _of_mapping(pattern: Mapping[str, Any], value: Mapping[str, Any], path: str) -> Iterator[str]:
    for key, expected in pattern.items():
        place = f"{path}.{key}" if path else str(key)
        if key not in value:
            yield f"{one_line(place)} is missing"
        else:
            yield from _of_value(expected, value[key], place)


def _of_value(expected: Any, value: Any, path: str) -> Iterator[str]:
    if isinstance(expected, Mapping) and isinstance(value, Mapping):
        yield from _of_mapping(expected, value, path)
    elif isinstance(expected, (list, tuple)) and isinstance(value, (list, tuple)) and len(expected) == len(value):
        for place, (one, other) in enumerate(zip(expected, value, strict=True)):
            yield from _of_value(one, other, f"{path}[{place}]")
    elif callable(expected) and not isinstance(expected, type):
        refusal = _refusal(expected, value)
        if refusal is not None:
            yield f"{one_line(path)} is {_shown(value)}, {_name(expected)} {refusal or 'does not take it'}"
    elif not _is_as_expected(expected, value):
        yield f"{one_line(path)} is {_shown(value)}, expected {pattern_words(expected)}"


def _is_as_expected(expected: Any, value: Any) -> bool:
    if expected is ...:
        return True
    if isinstance(expected, re.Pattern):
        return isinstance(value, str) and expected.search(value) is not None
    if isinstance(expected, type):
        return isinstance(value, expected)
    # JSON tells true from 1, Python does not
    return bool(expected == value) and isinstance(expected, bool) == isinstance(value, bool)


def _refusal(predicate: Callable[[Any], object], value: Any) -> str | None:
    """Return None where a predicate takes a value, else what it raised, or nothing.

    One that raises does not take it: calls of one tool may hold other things than the one that is looked for.
    """
    try:
        return None if predicate(value) else ""
    except Exception as error:  # noqa: BLE001  # a test's own code, told in the failure
        return one_line(f"raises {type(error).__name__}: {error}", _LONGEST_VALUE)


def _shown(value: Any) -> str:
    return one_line(json_text(value, indent=None), _LONGEST_VALUE)


def _name(predicate: Any) -> str:
    return one_line(getattr(predicate, "__name__", None) or repr(predicate), _LONGEST_VALUE)
