"""Checks arguments against a tool's JSON Schema: first that they are JSON at all, then the schema, in short messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from loopkit.messages import JSON, JSONObject, Problem
from loopkit.tools.plain_schemas import Fit, fit_of
from loopkit.tools.showing import json_path, listed, short, type_word

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

DEEPEST = 100
MOST_VALUES = 100_000
MOST_CHARACTERS = 10_000_000
LONGEST_INTEGER_BITS = 14_000
MOST_PROBLEMS = 20

_MORE = Problem("$", f"there are more than {MOST_PROBLEMS} problems")
_TOO_DEEP = f"nested deeper than {DEEPEST} levels"


class SchemaCheck:
    """The check of one schema, built once at its first use; `jsonschema` is imported when the first value needs it.

    Args:
        schema: JSON Schema 2020-12; references may only point into the schema itself.
    """

    __slots__ = ("_fits", "_schema", "_validator")

    def __init__(self, schema: JSONObject) -> None:
        self._schema = schema
        self._fits: Fit | None = None
        self._validator: Draft202012Validator | None = None

    def problems(self, arguments: JSON) -> tuple[Problem, ...]:
        """Return what is wrong with a value, nothing when it fits; at most about 20 problems (spec/loop.md 9.1)."""
        value = dict(arguments) if isinstance(arguments, Mapping) and type(arguments) is not dict else arguments
        problem = json_problem(value)
        if problem is not None:
            return (problem,)
        if self._fits is None:
            self._fits = fit_of(self._schema) or _not_known_to_fit
        if self._fits(value):
            return ()
        # a dictionary keeps the order and drops the repeats that jsonschema makes of one missing key
        found: dict[Problem, None] = {}
        try:
            for error in self._built().iter_errors(value):
                found.update(dict.fromkeys(_problems(error)))
                if len(found) > MOST_PROBLEMS:
                    return (*list(found)[:MOST_PROBLEMS], _MORE)
        except RecursionError:
            return (Problem("$", "nested too deeply to be checked"),)
        except Exception as error:  # noqa: BLE001  # a recorded or foreign schema may be broken in any way
            reason = f"{type(error).__name__.lstrip('_')}: {error}"
            return (Problem("$", f"the tool's schema can't be used ({short(reason, quoted=False)})"),)
        return tuple(found)

    def _built(self) -> Draft202012Validator:
        if self._validator is None:
            # half of a cold start: loaded when the first call is checked, not when a tool is defined
            from jsonschema import Draft202012Validator  # noqa: PLC0415
            from referencing import Registry  # noqa: PLC0415

            # an empty registry: a reference to an address is never fetched
            self._validator = Draft202012Validator(dict(self._schema), registry=Registry())
        return self._validator


def _not_known_to_fit(_: JSON) -> bool:
    return False


class _NotJson(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.path: list[str | int] = []


class _Size:
    """How much of the allowed length is left."""

    __slots__ = ("characters", "values")

    def __init__(self) -> None:
        self.values = MOST_VALUES
        self.characters = MOST_CHARACTERS


def json_problem(value: object) -> Problem | None:
    """Return why a Python value is no JSON value of sensible size, or None.

    `NaN`, infinities, values of other classes, keys that are not text, and what is too deep or too long are refused
    (spec/loop.md 9.1).
    """
    try:
        _inspect(value, 0, _Size())
    except _NotJson as refusal:
        return Problem(json_path(reversed(refusal.path)), str(refusal))
    return None


def _inspect(value: Any, depth: int, size: _Size) -> None:
    size.values -= 1
    if size.values < 0:
        raise _NotJson(f"more than {MOST_VALUES} values")
    kind = type(value)
    if kind is dict or kind is list:
        if depth >= DEEPEST:
            raise _NotJson(_TOO_DEEP)
        _inspect_members(value, depth + 1, size)
    elif kind is str:
        _count(value, size)
    elif kind is float:
        if not math.isfinite(value):
            raise _NotJson(f"{value} is not a JSON number")
    elif kind is int:
        if value.bit_length() > LONGEST_INTEGER_BITS:
            raise _NotJson("a number of too many digits")
    elif value is not None and kind is not bool:
        raise _NotJson(f"{short(kind.__name__, quoted=False)} is not a JSON type")


def _inspect_members(value: Any, depth: int, size: _Size) -> None:
    members: Iterable[tuple[Any, object]] = value.items() if type(value) is dict else enumerate(value)
    for key, item in members:
        if type(value) is dict:
            if type(key) is not str:
                raise _NotJson(f"the key {short(key)} is not text")
            _count(key, size)
        try:
            _inspect(item, depth, size)
        except _NotJson as refusal:
            refusal.path.append(key)
            raise


def _count(text: Any, size: _Size) -> None:
    size.characters -= len(text)
    if size.characters < 0:
        raise _NotJson(f"more than {MOST_CHARACTERS} characters of text")


# ── words for the errors of jsonschema, whose own repeat the whole value ─────────────────────────────────────────────


def _problems(error: ValidationError) -> Iterator[Problem]:
    path = list(error.absolute_path)
    if error.validator == "additionalProperties" and error.validator_value is False:
        schema: Any = error.schema
        known = schema.get("properties", {})
        allowed = f"allowed are {listed(known)}" if known else "none is allowed"
        instance: Any = error.instance
        for key in instance:
            if key not in known:
                yield Problem(json_path([*path, key]), f"this key is not known; {allowed}")
    elif error.validator in ("anyOf", "oneOf"):
        yield from _union_problems(error)
    else:
        yield Problem(json_path(path), _message(error))


def _union_problems(error: ValidationError) -> Iterator[Problem]:
    """The problems of the one branch that was meant, or one that names what each branch wants."""
    branches: dict[int | str, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.schema_path[0], []).append(inner)
    meant = [errors for errors in branches.values() if not any(_is_other_kind(inner) for inner in errors)]
    if len(meant) == 1:
        for inner in meant[0]:
            yield from _problems(inner)
        return
    wanted = list(dict.fromkeys(wish for errors in branches.values() for wish in map(_wish, errors) if wish))
    message = f"{short(error.instance)} fits none of the allowed forms"
    if wanted and not meant:
        message = f"{' or '.join(wanted[:8])} is expected, not {short(error.instance)}"
    yield Problem(json_path(error.absolute_path), message)


def _is_other_kind(error: ValidationError) -> bool:
    """Whether a branch of a union is out of the question: another type of value, or another class's tag."""
    place = list(error.relative_path)
    return (error.validator == "type" and not place) or (error.validator == "const" and place in ([], ["type"]))


def _wish(error: ValidationError) -> str:
    if error.validator == "type" and not error.relative_path:
        return _types(error.validator_value)
    if error.validator == "const":
        key = "".join(f"{part}: " for part in error.relative_path)
        return f"{key}{short(error.validator_value)}"
    return ""


_TYPE_WORDS = {
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}


def _types(names: Any) -> str:
    return " or ".join(_TYPE_WORDS.get(name, str(name)) for name in ([names] if isinstance(names, str) else names))


def _items(count: int, what: str = "item") -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


_MESSAGES: dict[str, Callable[[Any, Any], str]] = {
    "type": lambda value, names: f"{_types(names)} is expected, not {short(value)}",
    "enum": lambda value, options: f"{short(value)} is not one of {listed(options)}",
    "const": lambda value, constant: f"{short(value)} is not {short(constant)}",
    "minimum": lambda value, limit: f"{short(value)} is less than {limit}",
    "maximum": lambda value, limit: f"{short(value)} is more than {limit}",
    "exclusiveMinimum": lambda value, limit: f"{short(value)} is not more than {limit}",
    "exclusiveMaximum": lambda value, limit: f"{short(value)} is not less than {limit}",
    "multipleOf": lambda value, step: f"{short(value)} is not a multiple of {step}",
    "minLength": lambda value, limit: f"{_items(len(value), 'character')}, at least {limit} expected",
    "maxLength": lambda value, limit: f"{_items(len(value), 'character')}, at most {limit} allowed",
    "pattern": lambda value, pattern: f"{short(value)} does not match {short(pattern)}",
    "minItems": lambda value, limit: f"{_items(len(value))}, at least {limit} expected",
    "maxItems": lambda value, limit: f"{_items(len(value))}, at most {limit} allowed",
    "uniqueItems": lambda _value, _wanted: "an item is there twice",
    "minProperties": lambda value, limit: f"{_items(len(value), 'key')}, at least {limit} expected",
    "maxProperties": lambda value, limit: f"{_items(len(value), 'key')}, at most {limit} allowed",
    "format": lambda value, name: f"{short(value)} is not a {name}",
    "dependentRequired": lambda _value, _wanted: "a key that another one needs is missing",
}


def _message(error: ValidationError) -> str:
    keyword = str(error.validator)
    schema: Any = error.schema
    value: Any = error.instance
    wanted: Any = error.validator_value
    if keyword == "required":
        missing = [key for key in wanted if key not in value]
        return f"{listed(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    if keyword == "items" and wanted is False:
        return f"{_items(len(value))}, at most {len(schema.get('prefixItems', ()))} allowed"
    words = _MESSAGES.get(keyword)
    return words(value, wanted) if words else f"{type_word(value)} that does not fit {short(keyword)} of the schema"
