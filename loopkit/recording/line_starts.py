"""Where the lines of a recording begin, found without looking into them, in slices; every sixteenth is kept.

That is half a byte of memory a line, and a line between two that are kept is found by reading both ends' bytes.
"""

from __future__ import annotations

import os
import time
from array import array
from itertools import accumulate
from pathlib import Path

EVERY = 16
_CLOCK_BYTES = 1 << 18
_BUFFER = 1 << 17
_LINE_END = 10


class LineStarts:
    """The whole lines of a file from some place on.

    Args:
        path: the file.
        start: byte offset of the first line.

    Attributes:
        lines: how many were found so far.
        size: byte offset behind the last of them.
        ended: whether all whole lines that were there have been found.
    """

    def __init__(self, path: Path, start: int) -> None:
        self.lines = 0
        self.size = start
        self.ended = False
        self._kept = array("Q")
        self._file = path.open("rb", buffering=0)

    def advance(self, seconds: float | None = None) -> None:
        """Look on, for at most about this long; None finds all that are there.

        Raises:
            OSError: the file can't be read any more.
        """
        deadline = None if seconds is None else time.perf_counter() + seconds
        with open(os.dup(self._file.fileno()), "rb", buffering=_BUFFER) as file:
            file.seek(self.size)
            self.ended = False
            while not self.ended:
                lines = file.readlines(_CLOCK_BYTES)
                self.ended = not lines
                if lines and lines[-1][-1] != _LINE_END:
                    # the rest of the last one may be on its way
                    self.ended = True
                    del lines[-1]
                self._take(lines)
                if deadline is not None and time.perf_counter() > deadline:
                    return

    def _take(self, lines: list[bytes]) -> None:
        starts = list(accumulate(map(len, lines), initial=self.size))
        self.size = starts.pop()
        self._kept.extend(starts[-self.lines % EVERY :: EVERY])
        self.lines += len(lines)

    def line(self, number: int) -> bytes:
        """Return a line by its number, counted from 0 at `start`, without its end.

        Raises:
            IndexError: it was not found so far.
            OSError: the file can't be read any more.
        """
        if not 0 <= number < self.lines:
            raise IndexError(number)
        place, within = divmod(number, EVERY)
        start = self._kept[place]
        end = self._kept[place + 1] if place + 1 < len(self._kept) else self.size
        self._file.seek(start)
        return self._file.read(end - start).split(b"\n", within + 1)[within]

    def close(self) -> None:
        """Give the file up."""
        self._file.close()
