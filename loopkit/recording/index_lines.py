"""Reads what an index needs of a line without decoding it: the envelope's five keys stand first, in one order.

A line that is written otherwise is decoded and written again as loopkit does, which is slower and always right.
"""

from __future__ import annotations

import json
import re
from typing import Any

_QUOTED = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TEXT = rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
# number, time, place (loop and iteration as they are written: most events stand where the one before does), type, and
# the call that is named right behind, if one is and needs no decoding
HEAD = re.compile(
    rb'\{"seq":([1-9][0-9]*+),"t":(-?[0-9]{1,15}+(?:\.[0-9]++)?+(?:e-[0-9]++)?+),"loop":('
    + _QUOTED
    + rb',"iteration":[0-9]++),"type":'
    + _TEXT
    + rb'(?:,"call":"([^"\\]*+)")?+'
)
_ITERATION = b'","iteration":'

_read_json = json.JSONDecoder().raw_decode


def text_of(written: bytes) -> str:
    """Return the text that stands between two quotes of JSON."""
    if b"\\" in written:
        return str(json.loads(b'"%b"' % written))
    return written.decode()


def place_of(written: bytes) -> tuple[str, int]:
    """Return the loop and the iteration that `HEAD` found as one."""
    loop, _, iteration = written.rpartition(_ITERATION)
    return text_of(loop[1:]), int(iteration)


def object_of(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line.

    Raises:
        ValueError: it is none.
    """
    text = line.decode()
    data, end = _read_json(text)
    if text[end:].strip() or type(data) is not dict:
        raise ValueError("not a JSON object")
    return data
