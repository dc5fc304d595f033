"""The words that a model gets for what a handler returned or raised."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any

from loopkit.errors import ToolError
from loopkit.messages import JSON, ToolOutput

_TOO_DEEP = "The tool's result is nested too deeply to be written as text."


def output_text(value: object) -> tuple[str, bool]:
    """Return the text that a model gets for a handler's answer, and whether it is an error.

    Text stays as it is, lone surrogates included (spec/faults.md e20); None is empty; numbers, lists, mappings, sets,
    dataclasses and named tuples become JSON text; bytes are read as UTF-8, or become a `data:` address that names its
    encoding, base64 (spec/faults.md d4); anything else is its `str`.

    Raises:
        Exception: what the `__str__` of an object raises; it is the handler's failure.
    """
    is_error = False
    while isinstance(value, ToolOutput):
        is_error = is_error or value.is_error
        value = value.content
    if value is None:
        return "", is_error
    try:
        plain = _as_json(value)
        return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False), is_error
    except RecursionError:
        return _TOO_DEEP, True


def _as_json(value: Any) -> JSON:
    """The nearest JSON value; text of its own for what JSON does not know."""
    if isinstance(value, Enum):
        return _as_json(value.value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes_text(bytes(value))
    if isinstance(value, Mapping):
        return {_key(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: _as_json(getattr(value, name)) for name in value._fields}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _as_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, AbstractSet):
        # the order of a set of strings changes from process to process, and a replay would differ
        return sorted((_as_json(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(value, Sequence) and not isinstance(value, range):
        return [_as_json(item) for item in value]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)


def _key(key: object) -> str:
    plain = _as_json(key)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _bytes_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"data:application/octet-stream;base64,{base64.b64encode(data).decode('ascii')}"


def failure_text(exception: BaseException) -> str:
    """Return what a model is told when a handler raised: class name and message, without a traceback.

    A `ToolError` gives its plain message; a group gives the text of each exception in it.
    """
    if isinstance(exception, BaseExceptionGroup):
        return "\n".join(failure_text(inner) for inner in exception.exceptions)
    message = _message(exception)
    if message and isinstance(exception, ToolError):
        return message
    name = type(exception).__name__
    return f"{name}: {message}" if message else name


def _message(exception: BaseException) -> str:
    try:
        return str(exception).strip()
    except Exception as broken:  # noqa: BLE001  # an exception of a tool may not even be printable
        return f"its message can't be read ({type(broken).__name__})"
