"""Searches a recording that is not loaded, in the background of an interface: some milliseconds at a time."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path

from loopkit.errors import UserError
from loopkit.recording.reader import open_lines
from loopkit.recording.search import Hit, Needle, search

MOST_HITS = 100_000


def find_in(path: str | Path, text: str, *, regex: bool = False, any_case: bool = True) -> Iterator[Hit]:
    """Yield what is found in a recording, as soon as it is found.

    Raises:
        UserError: the expression, or the recording, can't be read, in one line.
    """
    needle = Needle(text, regex=regex, any_case=any_case)
    path = Path(path)
    with open_lines(path) as (_, header, _):
        pass
    try:
        for found in search(path, needle, start=len(header)):
            if isinstance(found, Hit):
                yield found
    except OSError as error:
        raise UserError(f"{path}: can't be read ({error.strerror or error})") from None


class BackgroundSearch:
    """A search that goes on while something else is done; dropping it ends it.

    Args:
        path: the recording.
        start: where to begin, in bytes; the rest is searched afterwards.
        first: byte offset of the first event's line.

    Attributes:
        ended: whether the whole file was searched.
    """

    def __init__(self, path: Path, needle: Needle, *, start: int, first: int) -> None:
        self.ended = False
        self._starts: list[int] = []
        self._passes = [(start, None), (first, start)] if start > first else [(first, None)]
        self._path = path
        self._needle = needle
        self._searched = search(path, needle, start=self._passes[0][0], stop=self._passes[0][1])

    def advance(self, seconds: float) -> None:
        """Search on for about this long.

        Raises:
            OSError: the file can't be read.
        """
        deadline = time.perf_counter() + seconds
        while not self.ended and time.perf_counter() < deadline:
            found = next(self._searched, None)
            if isinstance(found, Hit):
                place = bisect_left(self._starts, found.start)
                if self._starts[place : place + 1] != [found.start]:
                    self._starts.insert(place, found.start)
            elif found is None:
                self._next_pass()
            if len(self._starts) >= MOST_HITS:
                self.ended = True

    def _next_pass(self) -> None:
        self._passes.pop(0)
        if not self._passes:
            self.ended = True
            return
        start, stop = self._passes[0]
        self._searched = search(self._path, self._needle, start=start, stop=stop)

    def after(self, start: int, direction: int) -> int | None:
        """Return where the line of the next hit begins, or of the one before, among those found so far."""
        if direction > 0:
            place = bisect_right(self._starts, start)
            return self._starts[place] if place < len(self._starts) else None
        place = bisect_left(self._starts, start) - 1
        return self._starts[place] if place >= 0 else None

    @property
    def edges(self) -> tuple[int, int] | None:
        """Where the first and the last hit so far begin, or None."""
        return (self._starts[0], self._starts[-1]) if self._starts else None


__all__ = ["MOST_HITS", "BackgroundSearch", "Hit", "find_in"]
