"""A foreign file as JSON values: damaged bytes, torn lines and glued objects become reports, never exceptions."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from loopkit.errors import ImportFormatError

_SALVAGE_ATTEMPTS = 200
_BLANK = " \t\r\n"
_INK = re.compile(f"[^{_BLANK}]")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Bytes that are not JSON.

    Args:
        offset: where they begin in the file, from 0.
        size: how many they are.
        text: the bytes as text; what is not UTF-8 shows as U+FFFD.
    """

    offset: int
    size: int
    text: str

    @property
    def words(self) -> str:
        return f"unreadable {self.size:,} bytes at offset {self.offset:,}"

    @property
    def facts(self) -> dict[str, Any]:
        """All that is known of them, as a note keeps it."""
        return {"text": self.text, "offset": self.offset, "bytes": self.size}


@dataclass(frozen=True, slots=True)
class Value:
    """One JSON value of a file, whatever its kind."""

    value: Any


Found: TypeAlias = Value | Unreadable


def _float(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _int(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:  # more digits than the interpreter converts: the text keeps them exact
        return text


# Numbers that JSON text can't hold again (NaN, infinities) stay as their own text.
_FAST: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_float=_float, parse_constant=str).raw_decode
_EXACT: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(
    parse_float=_float, parse_int=_int, parse_constant=str
).raw_decode


def decode_value(text: str, start: int = 0) -> tuple[Any, int] | None:
    """Read one JSON value, or return None where none can be read.

    Returns:
        The value and the index behind it; integers are exact at any length, if need be as text.
    """
    try:
        return _FAST(text, start)
    except RecursionError:
        return None
    except json.JSONDecodeError:
        return None
    except ValueError:
        try:
            return _EXACT(text, start)
        except (RecursionError, ValueError):
            return None


@dataclass
class Source:
    """The bytes of one file and the ways to read them.

    Args:
        path: where they come from.
        data: UTF-8, without a byte order mark.
    """

    path: Path
    data: bytes
    badly_encoded_lines: int = field(default=0, init=False)

    @classmethod
    def open(cls, path: Path) -> Source:
        """Read a file whole.

        Raises:
            ImportFormatError: it is missing, a folder, unreadable or empty.
        """
        try:
            data = path.read_bytes()
        except IsADirectoryError:
            raise ImportFormatError(f"{str(path)!r} is a folder; name a session file in it") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise ImportFormatError(f"{str(path)!r} can't be read: {reason}") from None
        data = _as_utf8(data)
        if not data.strip():
            raise ImportFormatError(f"{str(path)!r} is empty; name a file that holds a session")
        return cls(path, data)

    @cached_property
    def document(self) -> Any:
        """The file as one JSON value, or None when it isn't one; items of a torn array that are whole count."""
        text = self._text(self.data).strip(_BLANK)
        found = decode_value(text)
        if found is not None and found[1] == len(text):
            return found[0]
        return self._torn_array(text) if text.startswith("[") else None

    @cached_property
    def damage(self) -> list[Unreadable]:
        """What `document` had to leave out."""
        return []

    @cached_property
    def is_lines(self) -> bool:
        """Whether the file holds one JSON value a line (formats.md §0.2)."""
        start = self.data.lstrip()
        first, _, rest = start.partition(b"\n")
        if start[:1] == b"[" and not rest.lstrip().startswith(b"["):
            return False
        if decode_value(self._text(first).strip(_BLANK)) is not None:
            return bool(rest.strip()) or start[:1] != b"{"
        return start[:1] != b"[" and self.document is None

    def lines(self) -> Iterator[Found]:
        """Yield what stands in each line, in order; a line may hold several values, or none that can be read."""
        offset = 0
        self.badly_encoded_lines = 0
        for line in self.data.split(b"\n"):
            if line and not line.isspace():
                yield from self._line(line, offset)
            offset += len(line) + 1

    def values(self) -> Iterator[Any]:
        """Yield the value of each line, or of the document: an array's items one by one; what can't be read as such."""
        if self.is_lines:
            for found in self.lines():
                yield found if isinstance(found, Unreadable) else found.value
            return
        document = self.document
        yield from document if isinstance(document, list) else [document]
        yield from self.damage

    def notices(self) -> list[str]:
        """Return one line on each kind of damage met so far."""
        found = [damage.words for damage in self.damage]
        if self.badly_encoded_lines:
            found.append(f"bytes that are not UTF-8 are shown as \ufffd (lines: {self.badly_encoded_lines})")
        return found

    def _text(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.badly_encoded_lines += 1
            return data.decode("utf-8", "replace")

    def _line(self, line: bytes, offset: int) -> Iterator[Found]:
        text = self._text(line).rstrip(_BLANK)
        index = _skip_blank(text, 0)
        while index < len(text):
            found = decode_value(text, index)
            if found is not None:
                yield Value(found[0])
                index = _skip_blank(text, found[1])
                continue
            whole = _last_whole_object(text, index)
            end = len(text) if whole is None else whole[0]
            yield _unreadable(text[index:end], offset + _size(text[:index]))
            if whole is not None:
                yield Value(whole[1])
            return

    def _torn_array(self, text: str) -> list[Any] | None:
        items: list[Any] = []
        index = _skip_blank(text, 1)
        while (found := decode_value(text, index)) is not None:
            items.append(found[0])
            index = _skip_blank(text, found[1])
            if text[index : index + 1] != ",":
                break
            index = _skip_blank(text, index + 1)
        if not items:
            return None
        self.damage.append(_unreadable(text[index:], _size(text[:index])))
        return items


def _as_utf8(data: bytes) -> bytes:
    if data.startswith(codecs.BOM_UTF8):
        return data[len(codecs.BOM_UTF8) :]
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data


def _skip_blank(text: str, index: int) -> int:
    match = _INK.search(text, index)
    return len(text) if match is None else match.start()


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _unreadable(text: str, offset: int) -> Unreadable:
    return Unreadable(offset, _size(text), text)


def _last_whole_object(text: str, start: int) -> tuple[int, Any] | None:
    """Find an object that reaches to the end of a damaged line: a record that was appended to a torn one.

    One that follows `:`, `,` or `[` is a part of the torn record, not a record.
    """
    index = start
    for _ in range(_SALVAGE_ATTEMPTS):
        index = text.find('{"', index + 1)
        if index < 0:
            return None
        if text[start:index].rstrip(_BLANK).endswith((":", ",", "[")):
            continue
        found = decode_value(text, index)
        if found is not None and found[1] == len(text):
            return index, found[0]
    return None
