"""Builds an outline by reading a recording's lines once, in slices; goes on where the file has grown."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from loopkit.debugger.outline import Outline
from loopkit.debugger.outline_facts import READERS, Head
from loopkit.debugger.outline_state import Place
from loopkit.debugger.outline_steps import STEPS, OutlineSteps, Step
from loopkit.encoding import DecodingError
from loopkit.events import Unrecognised
from loopkit.recording.index_lines import HEAD, place_of, text_of
from loopkit.recording.lines import event_line
from loopkit.recording.stored_events import LineDecoder

_CLOCK_BYTES = 1 << 15
_BUFFER = 1 << 17
_LINE_END, _OBJECT_END = 10, b"}\n"
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)

# number, time, place and type of an event, the step of its type and what that needs
Read: TypeAlias = tuple[int, float, Place, str, Step, Any]


class ReplacedError(Exception):
    """Something else stands in the file's place, or less of it."""


class OutlineBuilder:
    """Reads a recording into an outline.

    Args:
        path: the recording.
        start: bytes of its header's line.
        decoder: of the recording's format.

    Attributes:
        outline: what was read so far, and right up to there.
        ended: whether all whole lines that were there have been read.
    """

    def __init__(self, path: Path, start: int, decoder: LineDecoder) -> None:
        self.outline = Outline()
        self.outline.size = start
        self.ended = False
        self._steps = OutlineSteps(self.outline)
        self._decoder = decoder
        self._path = path
        self._file: tuple[int, int] | None = None
        self._line = 1
        self._due = 1
        self._unreadable = 0
        self._written_place = b""
        self._place: Place = ("", 0)

    def advance(self, seconds: float | None = None) -> bool:
        """Read on and say whether there was anything new.

        Args:
            seconds: stop after about this time; None reads all that is there.

        Raises:
            OSError: the file can't be read any more.
            ReplacedError: it is another file by now, or shorter than what was read.
        """
        deadline = None if seconds is None else time.perf_counter() + seconds
        before = self.outline.size
        with self._path.open("rb", buffering=_BUFFER) as file:
            self._require_same(os.fstat(file.fileno()))
            file.seek(before)
            self.ended = False
            while not self.ended and (deadline is None or time.perf_counter() < deadline):
                lines = file.readlines(_CLOCK_BYTES)
                self.ended = not lines
                if lines and lines[-1][-1] != _LINE_END and not self._is_whole(lines[-1]):
                    # the rest of the last one may be on its way
                    self.ended = True
                    del lines[-1]
                self._take(lines)
        self._steps.count_tokens()
        return self.outline.size > before

    def _require_same(self, found: os.stat_result) -> None:
        self._file = self._file or (found.st_dev, found.st_ino)
        if self._file != (found.st_dev, found.st_ino) or found.st_size < self.outline.size:
            raise ReplacedError

    def _is_whole(self, line: bytes) -> bool:
        """Whether a last line lacks nothing but its end."""
        try:
            self._decoder.event(line)
        except DecodingError:
            return False
        return True

    def _take(self, lines: list[bytes]) -> None:
        """Take in whole lines: the envelope by its looks where it is written as loopkit does, else decoded."""
        outline, steps, plain = self.outline, self._steps, self._decoder.plain
        begin, start, due = steps.begin, outline.size, self._due
        for number, line in enumerate(lines, self._line + 1):
            try:
                head = _match(line) if plain and line[-2:] == _OBJECT_END else None
                if head is None:
                    raise ValueError("it is written otherwise")
                written_seq, written_t, written_place, written_type, _ = head.groups()
                if written_place != self._written_place:
                    self._place = place_of(written_place)
                    self._written_place = written_place
                type_name, reader, step = _KNOWN.get(written_type) or _unknown(written_type)
                seq, t, place = int(written_seq), float(written_t), self._place
                fact = None if reader is None else reader(line, head)
            except _UNREADABLE:
                decoded = self._decoded(line, number)
                if decoded is None:
                    start += len(line)
                    continue
                seq, t, place, type_name, step, fact = decoded
            if seq != due or self._unreadable:
                self._note_gap(due, seq, number)
            due = seq + 1
            begin(start, seq, t, place, type_name)
            step(steps, fact)
            start += len(line)
        outline.size, self._due = start, due
        self._line += len(lines)

    def _note_gap(self, due: int, seq: int, number: int) -> None:
        if not due <= seq <= due + self._unreadable:
            self._damage(number, f"event {due} was due, event {seq} stands there")
        self._unreadable = 0

    def _decoded(self, line: bytes, number: int) -> Read | None:
        """Read a line that is not as loopkit writes them; None when there is no event in it."""
        if line.isspace():
            return None
        try:
            event = self._decoder.event(line)
        except DecodingError as error:
            self._damage(number, str(error))
            self._unreadable += 1
            return None
        place = (event.loop, event.iteration)
        if isinstance(event.fact, Unrecognised):
            # also one of a known type whose fields don't fit: it is shown as a note
            name = "" if event.type in STEPS else event.type
            return event.seq, event.t, place, name, OutlineSteps.note, None
        name, reader, step = _KNOWN[event.type.encode()]
        # with a time that every event may have
        written = event_line(replace(event, t=0.0))
        fact = None if reader is None else reader(written, cast("Head", _match(written)))
        return event.seq, event.t, place, name, step, fact

    def _damage(self, number: int, reason: str) -> None:
        self.outline.damage.append(f"line {number} is damaged: {reason}")


def _unknown(written_type: bytes) -> tuple[str, None, Step]:
    return text_of(written_type), None, OutlineSteps.note


_KNOWN = {name.encode(): (name, READERS.get(name), step) for name, step in STEPS.items()}
_match = HEAD.match
