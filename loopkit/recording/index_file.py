"""Keeps what was found out about a large recording beside other caches, never beside the recording (docs/decisions).

A file of columns: a magic line, one JSON line that says what stands where, then each column as the machine's own
numbers, so that opening is a `mmap`, and a check sum of all that. It is a copy of what the recording says: one that is old, of another version or
broken is passed over and made again, and where none can be written the columns stay in memory.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import sys
import tempfile
from array import array
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

MAGIC = b"loopkit index 2\n"
ALIGNMENT = 16
_SAMPLE = 4096
_PIECE = 1 << 20
_SUM_BYTES = 8


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells that a recording is the one that was indexed.

    Args:
        size: in bytes.
        changed: its last change, in nanoseconds.
        ends: a digest of its first and last bytes, for copies and restored times.
    """

    size: int
    changed: int
    ends: str


def fingerprint_of(path: Path) -> Fingerprint:
    """Look at a recording as it stands now.

    Raises:
        OSError: it can't be read.
    """
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        digest = hashlib.blake2b(file.read(_SAMPLE), digest_size=16)
        file.seek(max(0, status.st_size - _SAMPLE))
        digest.update(file.read(_SAMPLE))
    return Fingerprint(status.st_size, status.st_mtime_ns, digest.hexdigest())


def index_folder() -> Path:
    """Return where indexes are kept: `LOOPKIT_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("LOOPKIT_CACHE")
    if chosen:
        return Path(chosen).expanduser() / "index"
    cache = os.environ.get("XDG_CACHE_HOME")
    base = Path(cache) if cache and Path(cache).is_absolute() else Path.home() / ".cache"
    return base / "loopkit" / "index"


def index_path(recording: Path) -> Path:
    """Return where the index of a recording is kept."""
    name = hashlib.blake2b(os.fsencode(recording.resolve()), digest_size=16).hexdigest()
    return index_folder() / f"{name}.index"


def read_index(
    recording: Path, version: str, typecodes: Mapping[str, str]
) -> tuple[dict[str, memoryview], dict[str, Any]] | None:
    """Return the columns and the figures that were kept of a recording; None unless they are of what it is now.

    Args:
        version: what the columns mean, and to whom.
        typecodes: how each column's numbers are written, as `array` names it.
    """
    try:
        path = index_path(recording)
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return None
            head = json.loads(file.readline())
            start = _aligned(file.tell())
            if head["made_of"] != _identity(recording, version, fingerprint_of(recording)) or not _is_sound(file):
                return None
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return _columns(memoryview(content), start, head["columns"], typecodes), dict(head["figures"])
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, RecursionError):
        return None


def write_index(
    recording: Path, version: str, found: Fingerprint, columns: Mapping[str, array[Any]], figures: Mapping[str, Any]
) -> Iterator[None]:
    """Write an index piece by piece, so that whoever waits for it may do something else in between.

    The old one is replaced at the end at once; where it can't be written, nothing happens.

    Args:
        found: how the recording stood when the columns were begun.
    """
    target = index_path(recording)
    part = None
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, part = tempfile.mkstemp(prefix=target.name, suffix=".part", dir=target.parent)
        with os.fdopen(descriptor, "wb") as file:
            described = {name: [column.typecode, len(column)] for name, column in columns.items()}
            head = {
                "made_of": _identity(recording, version, found),
                "columns": described,
                "figures": figures,
            }
            beginning = MAGIC + json.dumps(head, separators=(",", ":")).encode() + b"\n"
            checked = 0
            for piece in _pieces(beginning, columns):
                file.write(piece)
                checked = crc32(piece, checked)
                yield
            file.write(_written_sum(checked))
        os.replace(part, target)
    except OSError:
        return
    finally:
        if part is not None:
            with suppress(OSError):
                os.unlink(part)


def _pieces(beginning: bytes, columns: Mapping[str, array[Any]]) -> Iterator[bytes | memoryview]:
    yield beginning
    end = len(beginning)
    for column in columns.values():
        yield bytes(_aligned(end) - end)
        data = memoryview(column).cast("B")
        for place in range(0, len(data), _PIECE):
            yield data[place : place + _PIECE]
        end = _aligned(end) + len(data)
        data.release()


def _is_sound(file: BinaryIO) -> bool:
    """Whether the sum fits; read rather than mapped, so that no memory is taken for what nobody looks at."""
    left = os.fstat(file.fileno()).st_size - _SUM_BYTES
    file.seek(0)
    checked = 0
    while left > 0 and (piece := file.read(min(_PIECE, left))):
        checked = crc32(piece, checked)
        left -= len(piece)
    return left == 0 and file.read() == _written_sum(checked)


def _written_sum(checked: int) -> bytes:
    return b"%08x" % checked


def _identity(recording: Path, version: str, found: Fingerprint) -> dict[str, Any]:
    return {
        "version": version,
        "byte_order": sys.byteorder,
        "recording": os.fsencode(recording.resolve()).hex(),
        "size": found.size,
        "changed": found.changed,
        "ends": found.ends,
    }


def _columns(
    content: memoryview, start: int, described: Mapping[str, Any], typecodes: Mapping[str, str]
) -> dict[str, memoryview]:
    columns = {}
    for name, typecode in typecodes.items():
        written, count = described[name]
        size = array(typecode).itemsize * count
        if written != typecode or start + size > len(content):
            raise ValueError(f"{name} is not whole")
        code: Any = typecode
        columns[name] = content[start : start + size].cast(code)
        start = _aligned(start + size)
    return columns


def _aligned(place: int) -> int:
    return -(-place // ALIGNMENT) * ALIGNMENT
