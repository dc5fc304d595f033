"""Finds words in a recording without loading it: bytes first, and only lines that may hold them are decoded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loopkit.errors import UserError
from loopkit.recording.lines import ENVELOPE
from loopkit.recording.sealing import opened

_PIECE = 1 << 20
_EXCERPT = 60
# characters that JSON writes as themselves, whoever writes it
_PLAIN_RUN = re.compile(r"[ !#-.0-\[\]-~]+")

_read_json = json.JSONDecoder().decode


@dataclass(frozen=True, slots=True)
class Hit:
    """A text that holds what was looked for; its strings are as recorded, and made safe where they are shown.

    Args:
        seq: number of the event.
        loop: path of its loop.
        field: where in the event the text stands, such as `message.parts[0].text`.
        before, found, after: the found words and what stands around them.
        start: byte offset of the event's line.
    """

    seq: int
    loop: str
    iteration: int
    type: str
    field: str
    before: str
    found: str
    after: str
    start: int


class Needle:
    """What is looked for.

    Args:
        text: words, or a regular expression.
        regex: whether it is one, in Python's notation.
        any_case: upper and lower case are the same.

    Raises:
        UserError: the expression can't be understood, in one line.
    """

    def __init__(self, text: str, *, regex: bool = False, any_case: bool = True) -> None:
        try:
            self.pattern = re.compile(text if regex else re.escape(text), re.IGNORECASE if any_case else 0)
        except (re.error, RecursionError, OverflowError) as error:
            raise UserError(f"the expression can't be understood: {error}") from None
        # the longest part that stands in the file as it is; without one every line is decoded
        run = "" if regex else max(_PLAIN_RUN.findall(text), key=len, default="")
        self._lowers = any_case
        self._run = (run.lower() if any_case else run).encode()

    def places(self, piece: bytes) -> Iterator[tuple[int, int]]:
        """Yield where the lines begin and end in a piece of whole lines that may hold it."""
        run = self._run
        searched = piece.lower() if self._lowers and run else piece
        start = 0
        while start < len(piece):
            place = searched.find(run, start)
            if place < 0:
                return
            begin = piece.rfind(b"\n", start, place) + 1 or start
            end = piece.find(b"\n", place) + 1 or len(piece)
            yield begin, end
            start = end


def search(path: Path, needle: Needle, *, start: int = 0, stop: int | None = None) -> Iterator[Hit | int]:
    """Search a recording's events in slices of about a megabyte, each followed by the number of bytes looked at.

    Whoever asks may stop between any two. Lines that are no events are passed over; the unfinished last one too.

    Args:
        start: byte offset of the first line that is looked at.
        stop: byte offset behind the last; None searches to the end of the file.

    Raises:
        OSError: the file can't be read.
    """
    with path.open("rb") as file:
        file.seek(start)
        while stop is None or start < stop:
            piece = file.read(_PIECE if stop is None else min(_PIECE, stop - start))
            if not piece.endswith(b"\n"):
                piece += file.readline()
            if not piece:
                return
            for begin, end in needle.places(piece):
                yield from hits_in(piece[begin:end], needle.pattern, start + begin)
            start += len(piece)
            yield start


def hits_in(line: bytes, pattern: re.Pattern[str], start: int) -> Iterator[Hit]:
    """Yield the texts of an event's line that hold what is looked for."""
    try:
        data = _read_json(opened(line)[0].decode())
        envelope = data["seq"], data["loop"], data["iteration"], data["type"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    for name, value in data.items():
        if name in ENVELOPE:
            continue
        for field, text in _texts(name, value):
            match = pattern.search(text)
            if match is not None:
                begin, end = match.span()
                yield Hit(
                    *envelope,
                    field,
                    text[max(0, begin - _EXCERPT) : begin],
                    match[0],
                    text[end : end + _EXCERPT],
                    start,
                )


def _texts(field: str, value: Any) -> Iterator[tuple[str, str]]:
    """Everything in a value that a person may look for, with its place; names of members only where people chose them."""
    waiting: list[tuple[str, Any]] = [(field, value)]
    while waiting:
        place, item = waiting.pop()
        if isinstance(item, str):
            yield place, item
        elif isinstance(item, Mapping):
            chosen = ".arguments" in place or place == "data"
            if chosen:
                yield place, ", ".join(item)
            waiting.extend(
                (f"{place}.{name}", part) for name, part in reversed(list(item.items())) if chosen or name != "type"
            )
        elif isinstance(item, list):
            waiting.extend((f"{place}[{index}]", part) for index, part in reversed(list(enumerate(item))))
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield place, str(item)
