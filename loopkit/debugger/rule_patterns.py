"""What a rule of a policy compares with: globs, numbers and argument patterns; each reads one value of the file."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from loopkit.core.detection.signatures import same_json
from loopkit.debugger.display import one_line

Test: TypeAlias = Callable[[Any], bool]

_COMPARISON = re.compile(r"\s*(<=|>=|<|>|==|=)?\s*(\d+(?:\.\d+)?)\s*")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
    "=": lambda value, limit: value == limit,
    "==": lambda value, limit: value == limit,
}
_NOTHING = object()


class BrokenRule(ValueError):
    """A part of a rule that can't be understood; the message says which and why."""


def globs(key: str, value: object) -> Test:
    """Read one glob or a list of them; `*` stands for any text, `/` included."""
    patterns = [value] if isinstance(value, str) else value
    if not isinstance(patterns, list) or not patterns or not all(isinstance(one, str) for one in patterns):
        raise BrokenRule(f"{key} is a glob such as 'read_*', or a list of them")
    return lambda text: any(fnmatchcase(text, pattern) for pattern in patterns)


def one_of(key: str, value: object, known: tuple[str, ...]) -> Test:
    """Read one or several of some words."""
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not words or not all(word in known for word in words):
        raise BrokenRule(f"{key} is one of {', '.join(known)}, or a list of them")
    return lambda word: word in words


def comparison(key: str, value: object) -> Test:
    """Read a number, or a comparison with one such as `>= 2`."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        limit = float(value)
        return lambda number: bool(number == limit)
    found = _COMPARISON.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise BrokenRule(f"{key} is a number, or a comparison such as '>= 2'")
    compare, bound = _COMPARE[found[1] or "="], float(found[2])
    return lambda number: compare(number, bound)


def arguments(key: str, value: object) -> Test:
    """Read the patterns of single arguments by name; all of them must match, and an absent argument matches none."""
    if not isinstance(value, Mapping) or not value:
        raise BrokenRule(f"{key} holds a pattern for each argument: {key}.path = 'docs/*'")
    tests = {name: argument(f"{key}.{name}", pattern) for name, pattern in value.items()}
    return lambda given: all(test(_value_at(given, name)) for name, test in tests.items())


def argument(key: str, pattern: object) -> Test:
    """Read the pattern of one argument: a glob, an exact value, or a table of conditions."""
    if isinstance(pattern, str):
        return lambda value: isinstance(value, str) and fnmatchcase(value, pattern)
    if isinstance(pattern, Mapping):
        tests = [_condition(key, name, wanted) for name, wanted in pattern.items()]
        if not tests:
            raise BrokenRule(f"{key} is an empty table: it says nothing")
        return lambda value: value is not _NOTHING and all(test(value) for test in tests)
    return lambda value: value is not _NOTHING and same_json(value, pattern)


def _condition(key: str, name: str, wanted: object) -> Test:
    match name, wanted:
        case "equals", _:
            return lambda value: same_json(value, wanted)
        case "not", _:
            inner = argument(f"{key}.not", wanted)
            return lambda value: not inner(value)
        case "regex", str():
            try:
                pattern = re.compile(wanted)
            except re.error as error:
                raise BrokenRule(f"{key}.regex is no regular expression: {error}") from None
            return lambda value: isinstance(value, str) and pattern.search(value) is not None
        case "within", str():
            return lambda value: isinstance(value, str) and _is_within(value, wanted)
        case (("above" | "below"), int() | float()) if not isinstance(wanted, bool):
            compare = _COMPARE[">" if name == "above" else "<"]
            return lambda value: _is_number(value) and compare(value, wanted)
    raise BrokenRule(
        f"{one_line(key, 60)} takes a glob, a value, or {{equals, not, regex = '…', within = 'folder', above, below}}"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_within(path: str, folder: str) -> bool:
    """Say whether a path stays in a folder, `..` and symbolic links included, both as seen from the working folder."""
    home = os.path.realpath(os.path.expanduser(folder))
    try:
        place = os.path.realpath(os.path.join(os.getcwd(), os.path.expanduser(path)))
    except (OSError, ValueError):
        return False
    return place == home or place.startswith(home.rstrip(os.sep) + os.sep)


def _value_at(given: object, name: str) -> object:
    """Return an argument by its name; a dotted name leads into objects, unless one has the dot in it."""
    if not isinstance(given, Mapping):
        return _NOTHING
    if name in given:
        return given[name]
    first, dot, rest = name.partition(".")
    return _value_at(given[first], rest) if dot and first in given else _NOTHING
