"""Events of a recording by their number, without an outline: at once, and in one read once their lines are known."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from loopkit.debugger.display import one_line
from loopkit.encoding import DecodingError
from loopkit.errors import UserError
from loopkit.events import Event
from loopkit.recording.index_lines import HEAD
from loopkit.recording.line_starts import LineStarts
from loopkit.recording.reader import open_lines
from loopkit.recording.stored_events import LineDecoder

_NEAR = 1 << 16
_BLOCK = 1 << 16


class NumberedEvents:
    """The events of one recording; the file stays open until it is closed.

    Args:
        path: the recording.

    Attributes:
        lines: where its lines begin, as far as `advance` got.

    Raises:
        RecordingError: it can't be read, in one line.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        with open_lines(self._path) as (header, first, _):
            self._decoder = LineDecoder(header.format)
            self._start = len(first)
        self._file = self._path.open("rb")
        self.lines = LineStarts(self._path, self._start)

    def advance(self, seconds: float | None = None) -> bool:
        """Find where lines begin, for at most about this long; say whether there is more to do.

        Raises:
            OSError: the file can't be read any more.
        """
        self.lines.advance(seconds)
        return not self.lines.ended

    def event(self, seq: int) -> Event:
        """Return the event with a number.

        Raises:
            UserError: there is none.
        """
        # where nothing is missing, the line has the number
        if 0 < seq <= self.lines.lines:
            event = self._event(self.lines.line(seq - 1))
            if event is not None and event.seq == seq:
                return event
        found = next((event for event in self.from_number(seq) if isinstance(event, Event)), None)
        if found is None or found.seq != seq:
            raise UserError(f"{one_line(str(self._path))}: there is no event {seq} in it")
        return found

    def from_number(self, seq: int) -> Iterator[Event | str]:
        """Yield the events from a number on; a damaged line comes as words on what is wrong with it."""
        started = False
        for item in self._from(self._near(seq)):
            started = started or (isinstance(item, Event) and item.seq >= seq)
            if started:
                yield item

    def last(self, count: int) -> Iterator[Event | str]:
        """Yield the last events, without reading what stands before them."""
        yield from self._from(self._start_of_last(count))

    def _from(self, start: int) -> Iterator[Event | str]:
        while True:
            self._file.seek(start)
            line = self._file.readline()
            if not line.endswith(b"\n") and self._event(line) is None:
                return
            place, start = start, start + len(line)
            if line.isspace():
                continue
            try:
                yield self._decoder.event(line)
            except DecodingError as error:
                yield f"the line at byte {place} is damaged: {error}"

    def _near(self, seq: int) -> int:
        """Where a line begins that is not behind the event with a number, and hardly before it."""
        low, high = self._start, os.fstat(self._file.fileno()).st_size
        while high - low > _NEAR:
            middle = (low + high) // 2
            found = self._numbered_line(middle, high)
            if found is None or found[1] >= seq:
                high = middle
            else:
                low = found[0]
        return low

    def _numbered_line(self, start: int, end: int) -> tuple[int, int] | None:
        """The first event whose line begins in a part of the file: where, and its number."""
        self._file.seek(start)
        place = start + len(self._file.readline())
        while place < end:
            line = self._file.readline()
            number = self._number(line)
            if number is not None:
                return place, number
            if not line:
                return None
            place += len(line)
        return None

    def _number(self, line: bytes) -> int | None:
        head = HEAD.match(line) if self._decoder.plain else None
        if head is not None:
            return int(head[1])
        event = self._event(line)
        return None if event is None else event.seq

    def _event(self, line: bytes) -> Event | None:
        try:
            return self._decoder.event(line)
        except DecodingError:
            return None

    def _start_of_last(self, count: int) -> int:
        """Where the last lines begin, found backwards from the end."""
        file: BinaryIO = self._file
        end = place = os.fstat(file.fileno()).st_size
        left = count
        while place > self._start:
            begin = max(self._start, place - _BLOCK)
            file.seek(begin)
            block = file.read(place - begin)
            found = len(block)
            while (found := block.rfind(b"\n", 0, found)) >= 0:
                # the file's own last line end ends the last line
                if begin + found + 1 < end:
                    left -= 1
                    if left == 0:
                        return begin + found + 1
            place = begin
        return self._start

    def close(self) -> None:
        """Give the file up."""
        self._file.close()
        self.lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
