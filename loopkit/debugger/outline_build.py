"""Builds an outline by reading a recording's lines once, in slices; goes on where the file has grown."""

from __future__ import annotations

import os
import time
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from loopkit.debugger.outline import Outline
from loopkit.debugger.outline_facts import READERS
from loopkit.debugger.outline_state import Envelope
from loopkit.debugger.outline_steps import STEPS, OutlineSteps, Step
from loopkit.encoding import DecodingError
from loopkit.events import Unrecognised
from loopkit.recording.index_lines import HEAD, text_of
from loopkit.recording.lines import event_line
from loopkit.recording.stored_events import LineDecoder

_CLOCK_LINES = 32
_BUFFER = 1 << 18
_LINE_END, _OBJECT_END = 10, b"}\n"
_LONGEST = 1e15
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)

# an event's envelope, the step of its type and what that needs
Read: TypeAlias = tuple[Envelope, Step, Any]


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
        self._last_seq = 0
        self._unreadable = 0

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
                lines = list(islice(file, _CLOCK_LINES))
                self.ended = len(lines) < _CLOCK_LINES
                if lines and lines[-1][-1] != _LINE_END and not self._is_whole(lines[-1]):
                    # the rest of the last one may be on its way
                    self.ended = True
                    del lines[-1]
                for line in lines:
                    self._take(line)
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

    def _take(self, line: bytes) -> None:
        start = self.outline.size
        self.outline.size = start + len(line)
        self._line += 1
        if not self._decoder.plain or line[-2:] != _OBJECT_END:
            read = self._decoded(line)
        else:
            try:
                read = _written(line)
            except _UNREADABLE:
                read = self._decoded(line)
        if read is None:
            return
        envelope, step, fact = read
        seq = envelope[0]
        if seq != self._last_seq + 1 and not self._last_seq < seq <= self._last_seq + 1 + self._unreadable:
            self._damage(f"event {self._last_seq + 1} was due, event {seq} stands there")
        self._last_seq, self._unreadable = seq, 0
        self._steps.begin(start, envelope)
        step(self._steps, fact)

    def _decoded(self, line: bytes) -> Read | None:
        """Read a line that is not as loopkit writes them; None when there is no event in it."""
        if line.isspace():
            return None
        try:
            event = self._decoder.event(line)
        except DecodingError as error:
            self._damage(str(error))
            self._unreadable += 1
            return None
        if not isinstance(event.fact, Unrecognised):
            return _written(event_line(event))
        # also one of a known type whose fields don't fit: it is shown as a note
        name = "" if event.type in STEPS else event.type
        return (event.seq, event.t, event.loop, event.iteration, name), OutlineSteps.note, None

    def _damage(self, reason: str) -> None:
        self.outline.damage.append(f"line {self._line} is damaged: {reason}")


def _written(line: bytes) -> Read:
    """Read a line as loopkit writes them; anything unexpected raises one of `_UNREADABLE`."""
    head = HEAD.match(line)
    if head is None:
        raise ValueError("it begins otherwise")
    seq, written_t, loop, iteration, written_type = head.groups()
    t = float(written_t)
    if not -_LONGEST <= t <= _LONGEST:
        raise ValueError("t is no time")
    known = _KNOWN.get(written_type)
    if known is None:
        return (int(seq), t, text_of(loop), int(iteration), text_of(written_type)), OutlineSteps.note, None
    name, reader, step = known
    fact = None if reader is None else reader(line, head.end())
    path = loop.decode() if b"\\" not in loop else text_of(loop)
    return (int(seq), t, path, int(iteration), name), step, fact


_KNOWN = {name.encode(): (name, READERS.get(name), step) for name, step in STEPS.items()}
