"""The whole run in the rule above its timeline: marks of what failed, was warned of or decided, and where one is."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from loopkit.debugger.overview import Mark, cell_of, overview
from loopkit.debugger.timeline import Timeline
from loopkit_tui.painting import Span
from loopkit_tui.widgets.timeline import TimelineView

_DRAWN: dict[Mark, Span] = {
    Mark.NOTHING: ("─", "rule"),
    Mark.AGENT: ("┄", "agent"),
    Mark.DECIDED: ("·", "person"),
    Mark.WARNING: ("⚠", "warning"),
    Mark.FAILED: ("✗", "bad"),
    Mark.WAITING: ("◆", "waiting"),
}
_REDRAW_SECONDS = 0.5


class Minimap:
    """Draws it for a number of cells; what it is made of is looked at again when something has changed, and not too often."""

    def __init__(self, view: TimelineView) -> None:
        self._view = view
        self._marks: Sequence[Mark] = ()
        self._known: tuple[int, ...] = ()
        self._looked = 0.0

    def __call__(self, cells: int) -> list[Span]:
        timeline = self._view.timeline
        self._look(timeline, cells)
        spans = [_DRAWN[mark] for mark in self._marks]
        rows = len(timeline.rows)
        if rows and len(spans) == cells and cells:
            here = cell_of(self._view.selected_index, rows, cells)
            text, _ = spans[here]
            spans[here] = ("▾" if text in "─┄·" else text, "key")
        return spans

    def _look(self, timeline: Timeline, cells: int) -> None:
        counts = (timeline.errors, timeline.warnings, timeline.edited, timeline.denied, len(timeline.waiting))
        known = (cells, len(timeline.rows), *counts)
        # a run that grows would otherwise be looked through at each of its events
        rests = len(self._marks) == cells and monotonic() - self._looked < _REDRAW_SECONDS
        if known != self._known and not rests:
            self._marks = overview(timeline, cells)
            self._known = known
            self._looked = monotonic()
