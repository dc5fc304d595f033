"""Line 1 of a recording: which format, which program, which run, and what it was forked from (spec/faults.md j22)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from loopkit import __version__
from loopkit.encoding import DecodingError, decode
from loopkit.recording.upgrades import upgrade_from

FORMAT = 1
SNIFFED_BYTES = 512

_FIRST_KEYS = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"loopkit"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*"format"\s*:\s*\d')


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a recording says of itself.

    Args:
        loopkit: version of the program that wrote it; the first key of the line, which tells the file by its content.
        format: version of the format.
        run: id of the run.
        created: when the run started, ISO 8601 in UTC.
        parent: id of the run that it was forked from, or None.
        fork_seq: number of the last event copied from the parent, or None.
        redaction: names of the rules that replaced secrets, never a value.
        flags: names of rules of the loop that were not yet, or no longer, the default when it was written.
    """

    loopkit: str = __version__
    format: int = FORMAT
    run: str
    created: str
    parent: str | None = None
    fork_seq: int | None = None
    redaction: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def looks_like_recording(first_bytes: bytes) -> bool:
    """Tell a recording of any format by the first bytes of the file; `SNIFFED_BYTES` of them are enough."""
    return _FIRST_KEYS.match(first_bytes) is not None


def header_line(header: Header) -> bytes:
    """Return the header as a line, every key written out."""
    data = {field.name: getattr(header, field.name) for field in fields(header)}
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def read_header(line: bytes) -> Header:
    """Read the header's line, also of another format: an older one is upgraded, a later one's additions are passed over.

    Raises:
        DecodingError: it is none.
    """
    try:
        data = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise DecodingError("the header is not JSON") from None
    if not isinstance(data, Mapping) or "loopkit" not in data or "format" not in data:
        raise DecodingError("the header names neither loopkit nor a format")
    number = data["format"]
    if not isinstance(number, int) or number < 1:
        raise DecodingError(f"format {number!r} was never written")
    upgrade = upgrade_from(number)
    return decode(Header, data if upgrade is None else upgrade.header(dict(data)))
