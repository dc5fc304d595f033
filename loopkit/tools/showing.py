"""Short words for JSON values in messages: one line, bounded, without control characters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from loopkit.messages import JSON

_LONGEST_VALUE = 60
_LONGEST_PATH = 200
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,59}\Z")


def type_word(value: JSON) -> str:
    """Return what kind of JSON value it is, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, (list, tuple)) else type(value).__name__


def short(value: JSON, *, quoted: bool = True) -> str:
    """Return a value as at most about 60 characters of one line; lists and objects only by their kind.

    Args:
        quoted: text stands in quotation marks.
    """
    if isinstance(value, str):
        words = repr(value[: _LONGEST_VALUE + 1])
        words = words if quoted else words[1:-1]
        fits = len(value) <= _LONGEST_VALUE and len(words) <= 2 * _LONGEST_VALUE
        return words if fits else f"{words[: _LONGEST_VALUE - 2]}… ({len(value)} characters)"
    if isinstance(value, int) and not isinstance(value, bool):
        # Python refuses to write integers of more than 4300 digits
        return str(value) if value.bit_length() <= 200 else "a very large number"
    return str(value) if isinstance(value, float) else type_word(value)


def listed(values: Iterable[JSON], most: int = 8) -> str:
    """Return values separated by commas, cut after `most` of them."""
    items = list(values)
    words = ", ".join(short(item) for item in items[:most])
    return words if len(items) <= most else f"{words} and {len(items) - most} more"


def json_path(parts: Iterable[str | int]) -> str:
    """Return a JSON path such as `$.edits[0].text`; keys that are not plain words stand in brackets and quotes."""
    words = ["$"]
    for part in parts:
        if isinstance(part, str):
            words.append(f".{part}" if _PLAIN_KEY.match(part) else f"[{short(part)}]")
        else:
            words.append(f"[{part}]")
    path = "".join(words)
    return path if len(path) <= _LONGEST_PATH else f"{path[: _LONGEST_PATH // 2]}…{path[-_LONGEST_PATH // 2 :]}"
