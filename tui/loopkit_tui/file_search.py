"""Searches a recording that is not in memory: goes to the next match as soon as it is found, and on while keys are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.nodes import Row
from loopkit.debugger.searching import BackgroundSearch
from loopkit.debugger.ways import same_row

if TYPE_CHECKING:
    from loopkit_tui.screens.run import RunScreen

SLICE_SECONDS = 0.005
PAUSE_SECONDS = 0.01


class FileSearch:
    """What was searched for last, and where its matches are."""

    def __init__(self, screen: RunScreen, timeline: LargeTimeline, needle: str) -> None:
        self.needle = needle
        self._screen = screen
        self._timeline = timeline
        self._search: BackgroundSearch = timeline.search(needle, screen.timeline.selected)
        self._here = -1
        self._row: Row | None = None
        self._asked = 0

    def go(self, direction: int) -> None:
        """To the next match, or the one before, going round at the ends; an older wish is forgotten."""
        self._asked += 1
        row = self._screen.timeline.selected
        if row is None:
            return
        if not same_row(row, self._row):
            number = self._timeline.number_of(row)
            outline = self._timeline.outline
            # the row's own words count too, the first time
            self._here = -1 if number is None else outline.event_start[outline.row_event[number]] - (self._row is None)
        self._look(direction, self._asked)

    def _look(self, direction: int, asked: int) -> None:
        if asked != self._asked or not self._screen.is_current:
            return
        self._search.advance(SLICE_SECONDS)
        start = self._search.after(self._here, direction)
        around = ""
        edges = self._search.edges
        if start is None and self._search.ended and edges is not None:
            start = edges[0] if direction > 0 else edges[1]
            end, other = ("end", "top") if direction > 0 else ("top", "end")
            around = f"past the {end}: this match was found from the {other}"
        place = None if start is None else self._timeline.place_found(start)
        if start is not None and place is not None:
            self._screen.walk.go_to(place)
            self._here, self._row = start, self._screen.timeline.selected
            if around:
                self._screen.notice(around, "muted")
        elif self._search.ended and edges is None:
            self._screen.notice("no match in the whole run", "muted")
        else:
            self._screen.notice("searching …", "muted")
            self._screen.set_timer(PAUSE_SECONDS, lambda: self._look(direction, asked))
