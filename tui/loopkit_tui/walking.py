"""Ways through the rows of a run: by step, by iteration, to the next row of a kind, to words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.nodes import Row, RowKind
from loopkit.debugger.rows import row_text
from loopkit.debugger.searching import Hit
from loopkit.debugger.ways import Landmark
from loopkit.encoding import encode

if TYPE_CHECKING:
    from loopkit_tui.screens.run import RunScreen

_REMEMBERED = 100
_LOOK_SECONDS = 0.05


def holds(row: Row, needle: str) -> bool:
    """Whether a row, or what it stands for, holds words; upper and lower case are the same."""
    return any(needle in text.casefold() for text in _texts(row))


def _texts(row: Row) -> list[str]:
    words = row_text(row)
    texts = [words.label, words.detail, words.state]
    if row.kind is RowKind.CALL and row.call is not None:
        call = row.call
        texts += [str(call.effective_arguments), call.raw_arguments or "", call.content or ""]
        texts += [fact.content for fact in call.rewrites if fact.content is not None]
    elif row.kind is RowKind.ITERATION and row.iteration is not None and row.iteration.message is not None:
        message = row.iteration.message
        texts += [message.text, message.reasoning, message.refusal or ""]
    elif row.event is not None:
        texts.append(str(encode(row.event.fact)))
    return texts


class Walk:
    """Moves a run screen's selection and remembers where it was."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen
        self._places: list[Row] = []

    def step(self, rows: int) -> None:
        """To the next row, or the one before, into sub-agents that are folded."""
        timeline = self._screen.timeline
        self.go_to(timeline.selected_index + rows)

    def find(self, landmark: Landmark, direction: int) -> None:
        """To the next row of a kind, or the one before; says so when there is none."""
        timeline = self._screen.timeline
        self._found(timeline.ways.find(landmark, timeline.selected_index + direction, direction), landmark, direction)

    def _found(self, index: int | None, what: str, direction: int) -> None:
        if index is None:
            self._screen.notice(f"no {what} {'after' if direction > 0 else 'before'} this row", "muted")
        else:
            self.go_to(index)

    def search(self, wanted: Callable[[Row], bool], direction: int) -> None:
        """To the next match, or the one before, going round at the ends; says when it went round."""
        rows = self._screen.timeline.timeline.rows
        here = self._screen.timeline.selected_index
        for distance in range(1, len(rows) + 1):
            index = (here + direction * distance) % len(rows)
            if not wanted(rows[index]):
                continue
            if index == here:
                self._screen.notice("this row is the only match", "muted")
                return
            self.go_to(index)
            if (index - here) * direction < 0:
                end, other = ("end", "top") if direction > 0 else ("top", "end")
                self._screen.notice(f"past the {end}: this match was found from the {other}", "muted")
            return
        self._screen.notice("no match in the whole run", "muted")

    def over(self, direction: int) -> None:
        """To the next iteration, or the one before, of this loop or one above it: over sub-agents."""
        row = self._screen.timeline.selected
        if row is None:
            return
        level = row.loop.level - (row.kind is RowKind.AGENT)
        timeline = self._screen.timeline
        self._found(timeline.ways.over(level, timeline.selected_index + direction, direction), "iteration", direction)

    def to_iteration(self, number: int) -> None:
        """To an iteration of the selected row's loop."""
        timeline = self._screen.timeline
        loop = timeline.selected.loop if timeline.selected is not None else None
        index = None if loop is None else timeline.ways.iteration(loop, number)
        if index is not None:
            self.go_to(index)
            return
        count = loop.iteration_count if loop is not None else 0
        self._screen.notice(f"there is no iteration {number} here; the last is {count}")

    def to_place(self, path: str, number: int) -> None:
        """To an iteration of a loop, where it is there."""
        timeline = self._screen.timeline
        loop = timeline.timeline.loops.get(path)
        index = None if loop is None else timeline.ways.iteration(loop, number)
        if index is not None:
            self.go_to(index)

    def to_hit(self, hit: Hit) -> None:
        """To the row that shows a found event; in a large recording as soon as it was read that far."""
        timeline = self._screen.timeline
        large = timeline.timeline
        if isinstance(large, LargeTimeline):
            index = large.place_found(hit.start)
            if index is None and self._screen.session.unsettled:
                self._screen.set_timer(_LOOK_SECONDS, lambda: self.to_hit(hit))
                return
        else:
            index = timeline.ways.event(hit.seq, self._screen.session.events)
        if index is not None:
            self.go_to(index)

    def to_edge(self, *, end: bool) -> None:
        """To the first or the last row."""
        self.go_to(len(self._screen.timeline.timeline.rows) - 1 if end else 0)
        self._screen.timeline.following = end and self._screen.steers

    def back(self) -> None:
        """To where the selection was before the last jump."""
        if not self._places:
            self._screen.notice("this is where you started", "muted")
            return
        self._screen.timeline.select(self._places.pop())
        self._screen.show_selected()

    def go_to(self, index: int) -> None:
        """To a row by its place, remembering where it came from; says so when there is none."""
        timeline = self._screen.timeline
        rows = timeline.timeline.rows
        if not rows:
            return
        if not 0 <= index < len(rows):
            self._screen.notice("this is the last row" if index > 0 else "this is the first row", "muted")
            return
        if timeline.selected is not None and abs(index - timeline.selected_index) > 1:
            self._places.append(timeline.selected)
            del self._places[:-_REMEMBERED]
        timeline.following = False
        timeline.select_index(index)
        self._screen.show_selected()
