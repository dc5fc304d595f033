"""A whole run in a few cells: where something failed, was warned of, or was decided by a person."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise

from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.nodes import CallStatus, Row, RowKind
from loopkit.debugger.outline import DECIDED, FAILED, KINDS
from loopkit.debugger.row_marks import is_error
from loopkit.debugger.timeline import Timeline

_WARNING_KIND = KINDS.index(RowKind.WARNING)
_BY_NOBODY = (None, "default")


class Mark(IntEnum):
    """What is worth seeing of some rows, the most important last."""

    NOTHING = 0
    AGENT = 1
    DECIDED = 2
    WARNING = 3
    FAILED = 4
    WAITING = 5


def overview(timeline: Timeline, cells: int) -> list[Mark]:
    """Return the most important mark of the rows that fall into each of some cells.

    Args:
        cells: how many there are; a run of fewer rows fills only some of them.
    """
    rows = len(timeline.rows)
    if not rows or cells <= 0:
        return [Mark.NOTHING] * max(0, cells)
    edges = [rows * cell // cells for cell in range(cells + 1)]
    spans = list(pairwise(edges))
    if isinstance(timeline, LargeTimeline):
        return [_of_outline(timeline, start, end) for start, end in spans]
    return [_of_rows(timeline.rows[start:end]) for start, end in spans]


def cell_of(place: int, rows: int, cells: int) -> int:
    """Return the cell into which a row falls."""
    return min(cells - 1, place * cells // rows) if rows > 0 and cells > 0 else 0


def _of_rows(rows: Sequence[Row]) -> Mark:
    return max((_of_row(row) for row in rows), default=Mark.NOTHING)


def _of_row(row: Row) -> Mark:
    if row.kind is RowKind.CALL and row.call is not None and row.call.status is CallStatus.WAITING:
        return Mark.WAITING
    if is_error(row):
        return Mark.FAILED
    if row.kind is RowKind.WARNING:
        return Mark.WARNING
    if row.kind is RowKind.CALL and row.call is not None and row.call.decided_by not in _BY_NOBODY:
        return Mark.DECIDED
    return Mark.AGENT if row.kind is RowKind.AGENT else Mark.NOTHING


def _of_outline(timeline: LargeTimeline, start: int, end: int) -> Mark:
    """By the columns; rows that stand beside each other mostly came after each other, so they are taken for such."""
    outline = timeline.outline
    if start >= end:
        return Mark.NOTHING
    first = outline.order[start]
    marks = set(outline.row_marks[first : first + end - start])
    if any(mark & FAILED for mark in marks):
        return Mark.FAILED
    if _WARNING_KIND in set(outline.row_kind[first : first + end - start]):
        return Mark.WARNING
    return Mark.DECIDED if any(mark & DECIDED for mark in marks) else Mark.NOTHING
