"""Searches several recordings one after another, some milliseconds at a time; sessions of other programs too."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loopkit.debugger.recorded import is_foreign, open_recording
from loopkit.debugger.searching import MOST_HITS
from loopkit.errors import UserError
from loopkit.events import Event
from loopkit.recording.lines import event_line
from loopkit.recording.reader import open_lines
from loopkit.recording.search import Hit, Needle, hits_in, search


@dataclass(frozen=True, slots=True)
class Found:
    """A text of a recording that holds what was looked for."""

    path: Path
    hit: Hit


class SearchOver:
    """A search that goes on while something else is done; dropping it ends it.

    Args:
        paths: the recordings, in the order in which they are searched.
        text: words; upper and lower case are the same.

    Attributes:
        found: the hits so far, in the order of the files.
        ended: whether everything was searched, or more was found than anyone looks at.
        searched: how many of the files were searched to their end.
        unreadable: files that could not be read.
    """

    def __init__(self, paths: Sequence[Path], text: str) -> None:
        self.found: list[Found] = []
        self.ended = False
        self.searched = 0
        self.unreadable = 0
        self.files = len(paths)
        self._pieces = self._search(paths, Needle(text))

    def advance(self, seconds: float) -> bool:
        """Search on for about this long; say whether anything changed."""
        before = len(self.found), self.searched
        until = time.monotonic() + seconds
        while not self.ended and time.monotonic() < until:
            self.ended = next(self._pieces, None) is None or len(self.found) >= MOST_HITS
        return self.ended or before != (len(self.found), self.searched)

    def _search(self, paths: Sequence[Path], needle: Needle) -> Iterator[bool]:
        for path in paths:
            try:
                for hit in _hits_of(path, needle):
                    if hit is not None:
                        self.found.append(Found(path, hit))
                    yield True
            except (UserError, OSError):
                self.unreadable += 1
            self.searched += 1
            yield True


def _hits_of(path: Path, needle: Needle) -> Iterator[Hit | None]:
    """Yield what is found in a file, and None after each piece of it that was looked at."""
    if is_foreign(path):
        for event in open_recording(path).events:
            yield from _hits_of_event(event, needle)
            yield None
        return
    with open_lines(path) as (_, header, _):
        start = len(header)
    for piece in search(path, needle, start=start):
        yield piece if isinstance(piece, Hit) else None


def _hits_of_event(event: Event, needle: Needle) -> Iterator[Hit]:
    line = event_line(event)
    if any(needle.places(line)):
        yield from hits_in(line, needle.pattern, 0)
