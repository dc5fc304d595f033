"""Reads what an index needs of a line without decoding it: the envelope's five keys stand first, in one order.

A line that is written otherwise is decoded and written again as loopkit does, which is slower and always right.
"""

from __future__ import annotations

import json
import re
from typing import Any

_TEXT = rb'"([^"\\]*(?:\\.[^"\\]*)*)"'
HEAD = re.compile(
    rb'\{"seq":([1-9][0-9]*),"t":(-?[0-9.]+(?:e[-+]?[0-9]+)?),"loop":'
    + _TEXT
    + rb',"iteration":([0-9]+),"type":'
    + _TEXT
)
_CALL = b',"call":"'
_ANY_CALL = re.compile(rb',"call":' + _TEXT)

_read_json = json.JSONDecoder().decode


def text_of(written: bytes) -> str:
    """Return the text that stands between two quotes of JSON."""
    if b"\\" in written:
        return str(_read_json(f'"{written.decode()}"'))
    return written.decode()


def call_of(line: bytes, start: int) -> str:
    """Return the call that a line names right behind its envelope.

    Args:
        start: where the envelope ends.

    Raises:
        ValueError: none is named there.
    """
    begin = start + len(_CALL)
    if line[start:begin] != _CALL:
        raise ValueError("no call stands there")
    written = line[begin : line.index(b'"', begin)]
    if b"\\" in written:
        match = _ANY_CALL.match(line, start)
        if match is None:
            raise ValueError("it has no end")
        return text_of(match[1])
    return written.decode()


def object_of(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line.

    Raises:
        ValueError: it is none.
    """
    data = _read_json(line.decode())
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    return data
