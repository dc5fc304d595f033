"""Rows of a large recording one after the other while it is still read, each as soon as it is settled."""

from __future__ import annotations

from collections.abc import Iterator

from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.nodes import Row
from loopkit.debugger.outline import Outline

_SLICE_SECONDS = 0.05
_ROOT = 0


def rows_as_read(large: LargeTimeline) -> Iterator[Row]:
    """Yield all rows in display order: those of an iteration of the root once its next one has begun.

    What comes to an iteration later still, such as the end of a call that was given up, isn't in them.

    Raises:
        OSError: the file can't be read any more.
    """
    place = 0
    while True:
        settled = len(large.rows) if large.complete else _settled(large.outline)
        while place < settled:
            yield large.rows[place]
            place += 1
        if large.complete:
            return
        large.advance(_SLICE_SECONDS)


def _settled(outline: Outline) -> int:
    """How many rows stand before the root's newest iteration."""
    groups = outline.groups_of(_ROOT)
    return outline.place_of_event(outline.group_first[groups[-1]]) if groups else 0
