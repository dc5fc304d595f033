"""Says at once that a value fits a schema of plain objects, arrays and scalars, as nearly all tools have them.

It never says what is wrong, and leaves a schema that holds anything else to jsonschema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from loopkit.messages import JSON

Fit: TypeAlias = Callable[[Any], bool]

_CLASSES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated", "format", "$comment"})
_OF_OBJECTS = frozenset({"properties", "required", "additionalProperties"})


class _NotPlain(Exception):
    pass


def fit_of(schema: JSON) -> Fit | None:
    """Return a check that is true for exactly the values that fit, or None when the schema is not plain.

    Args:
        schema: JSON Schema 2020-12. The check takes what `json.loads` gives, without NaN and infinities.
    """
    if isinstance(schema, Mapping):
        # the dialect at the root decides nothing: every schema is read as 2020-12
        schema = {key: value for key, value in schema.items() if key != "$schema"}
    try:
        return _fit(schema)
    except (_NotPlain, RecursionError):
        return None


def _fit(schema: Any) -> Fit:
    if isinstance(schema, bool):
        return _anything if schema else _nothing
    if not isinstance(schema, Mapping):
        raise _NotPlain
    checks: list[Fit] = []
    keywords = schema.keys() - _ANNOTATIONS
    if "type" in keywords:
        checks.append(_of_types(schema["type"]))
    if keywords & _OF_OBJECTS:
        checks.append(_object(schema))
    if "items" in keywords:
        checks.append(_array(schema["items"]))
    if "enum" in keywords:
        checks.append(_one_of_texts(schema["enum"]))
    if "anyOf" in keywords:
        checks.append(_any_of(schema["anyOf"]))
    if keywords - _OF_OBJECTS - {"type", "items", "enum", "anyOf"}:
        raise _NotPlain
    return _all_of(checks)


def _anything(_: Any) -> bool:
    return True


def _nothing(_: Any) -> bool:
    return False


def _all_of(checks: list[Fit]) -> Fit:
    if len(checks) <= 1:
        return checks[0] if checks else _anything
    first, rest = checks[0], _all_of(checks[1:])
    return lambda value: first(value) and rest(value)


def _of_types(names: Any) -> Fit:
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(name, str) and name in _CLASSES for name in names):
        raise _NotPlain
    # by class alone: `True` is an instance of `int`, but no number
    classes = frozenset(cls for name in names for cls in _CLASSES[name])
    if "integer" in names and float not in classes:
        return lambda value: type(value) in classes or (type(value) is float and value.is_integer())
    return lambda value: type(value) in classes


def _object(schema: Mapping[str, Any]) -> Fit:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not _all_texts(required):
        raise _NotPlain
    members = {name: _fit(member) for name, member in properties.items()}
    others = _fit(schema.get("additionalProperties", True))

    def fits_object(value: Any) -> bool:
        if type(value) is not dict:
            return True
        for name in required:
            if name not in value:
                return False
        for name in value:  # noqa: SIM110  # `all` of a generator takes twice as long, and every call comes by here
            if not members.get(name, others)(value[name]):
                return False
        return True

    return fits_object


def _array(schema: Any) -> Fit:
    item_fits = _fit(schema)
    return lambda value: type(value) is not list or all(map(item_fits, value))


def _one_of_texts(options: Any) -> Fit:
    if not _all_texts(options):
        raise _NotPlain
    allowed = frozenset(options)
    return lambda value: type(value) is str and value in allowed


def _any_of(schemas: Any) -> Fit:
    if not isinstance(schemas, list):
        raise _NotPlain
    branches = [_fit(schema) for schema in schemas]
    return lambda value: any(fits(value) for fits in branches)


def _all_texts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is str for value in values)
