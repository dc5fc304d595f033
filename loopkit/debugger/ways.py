"""Ways through the rows of a run that every interface offers, held in memory or not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, TypeAlias

from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.matching import Wanted
from loopkit.debugger.nodes import LoopNode, Row, RowKind
from loopkit.debugger.outline import DECIDED, FAILED
from loopkit.debugger.row_marks import is_decision, is_error
from loopkit.debugger.timeline import Timeline
from loopkit.events import Event

Landmark: TypeAlias = Literal["error", "warning", "decision", "sub-agent", "iteration"]


def same_row(one: Row | None, other: Row | None) -> bool:
    """Whether two rows stand for the same thing, also when one was made anew."""
    if one is None or other is None or one is other:
        return one is other
    call = None if one.call is None else one.call.id
    other_call = None if other.call is None else other.call.id
    return (one.seq, one.kind, call) == (other.seq, other.kind, other_call)


_OF_KIND: dict[Landmark, RowKind] = {
    "warning": RowKind.WARNING,
    "sub-agent": RowKind.AGENT,
    "iteration": RowKind.ITERATION,
}
_OF_ROW: dict[Landmark, Callable[[Row], bool]] = {"error": is_error, "decision": is_decision}
_OF_MARKS: dict[Landmark, int] = {"error": FAILED, "decision": DECIDED}


_ROWS_AT_ONCE = 4096


class Ways:
    """Ways through the rows of a timeline; places count from 0 in display order."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    def place_of(self, row: Row, start: int = 0) -> int:
        """Return where a row is shown.

        Args:
            start: rows only ever move down, so the search may start where it was.
        """
        rows = self._timeline.rows
        found = next((place for place in range(start, len(rows)) if rows[place] is row), None)
        return min(start, max(0, len(rows) - 1)) if found is None else found

    def find(self, landmark: Landmark, start: int, direction: int) -> int | None:
        """Return the place of the next row of a kind from `start` on, or backwards; None when there is none.

        Args:
            direction: 1 or -1.
        """
        kind = _OF_KIND.get(landmark)
        wanted = _OF_ROW[landmark] if kind is None else lambda row: row.kind is kind
        rows = self._timeline.rows
        return next((place for place in self._places(start, direction) if wanted(rows[place])), None)

    def matching(self, wanted: Wanted, start: int, direction: int = 1) -> Iterator[int | None]:
        """Yield the places of rows that fit, from `start` on or backwards; None now and then, so that it may wait.

        Args:
            direction: 1 or -1.
        """
        for count, place in enumerate(self._places(start, direction), 1):
            if self._fits(wanted, place):
                yield place
            if count % _ROWS_AT_ONCE == 0:
                yield None

    def next_matching(self, wanted: Wanted, start: int, direction: int = 1) -> int | None:
        """Return the place of the next row that fits, from `start` on or backwards; None when there is none."""
        return next((place for place in self.matching(wanted, start, direction) if place is not None), None)

    def at_time(self, seconds: float) -> int:
        """Return the place of the last iteration, or beginning of a loop, that had begun at a time.

        Args:
            seconds: since the run started.
        """
        begun = [
            (_begun_at(row), row.seq, place)
            for place, row in enumerate(self._timeline.rows)
            if row.kind in (RowKind.TASK, RowKind.ITERATION) and _begun_at(row) <= seconds
        ]
        return max(begun)[2] if begun else 0

    def _fits(self, wanted: Wanted, place: int) -> bool:
        return wanted.fits(self._timeline.rows[place])

    def over(self, level: int, start: int, direction: int) -> int | None:
        """Return the place of the next iteration, or end, of a loop at most `level` levels below the root."""
        for place in self._places(start, direction):
            kind, of = self._at(place)
            if of <= level and kind in (RowKind.ITERATION, RowKind.OUTCOME):
                return place
        return None

    def iteration(self, loop: LoopNode, number: int) -> int | None:
        """Return the place of a loop's iteration."""
        for place, row in enumerate(self._timeline.rows):
            iteration = row.iteration
            if (
                row.kind is RowKind.ITERATION
                and row.loop.path == loop.path
                and iteration
                and iteration.number == number
            ):
                return place
        return None

    def event(self, seq: int, events: Sequence[Event]) -> int | None:
        """Return the place of the row that shows an event.

        Args:
            seq: the event's number.
            events: the run's, in order.
        """
        event = next((event for event in events if event.seq == seq), None)
        if event is None:
            return None
        call = getattr(event.fact, "call", None)
        best: int | None = None
        for place, row in enumerate(self._timeline.rows):
            if row.kind is RowKind.CALL and row.call is not None and row.call.id == call:
                return place
            if row.seq == seq:
                return place
            iteration = row.iteration if row.kind is RowKind.ITERATION else None
            if row.loop.path == event.loop and (best is None or (iteration and iteration.number == event.iteration)):
                best = place
        return best

    def agents(self, paths: Collection[str]) -> list[tuple[int, int]]:
        """Return for some sub-agents the place of their line, and the place behind all their rows."""
        lines = [
            place
            for place, row in enumerate(self._timeline.rows)
            if row.kind is RowKind.AGENT and row.loop.path in paths
        ]
        return [(line, self._end_of_agent(line)) for line in lines]

    def _end_of_agent(self, line: int) -> int:
        _, level = self._at(line)
        rest = range(line + 1, len(self._timeline.rows))
        return next((place for place in rest if self._is_outside(place, level)), len(self._timeline.rows))

    def _is_outside(self, place: int, level: int) -> bool:
        kind, of = self._at(place)
        return of < level or (of == level and kind is RowKind.AGENT)

    def _at(self, place: int) -> tuple[RowKind, int]:
        """What a row shows, and the level of its loop."""
        row = self._timeline.rows[place]
        return row.kind, row.loop.level

    def _places(self, start: int, direction: int) -> range:
        return range(max(0, start), len(self._timeline.rows)) if direction > 0 else range(start, -1, -1)


class LargeWays(Ways):
    """The same by the outline, which reads nothing."""

    def __init__(self, timeline: LargeTimeline) -> None:
        super().__init__(timeline)
        self._large = timeline

    def place_of(self, row: Row, start: int = 0) -> int:
        number = self._large.number_of(row)
        if number is None:
            return min(start, max(0, len(self._large.rows) - 1))
        return self._large.outline.place_of_row(number)

    def find(self, landmark: Landmark, start: int, direction: int) -> int | None:
        outline = self._large.outline
        order, marks = outline.order, outline.row_marks
        kind, mark = _OF_KIND.get(landmark), _OF_MARKS.get(landmark, 0)
        for place in self._places(start, direction):
            row = order[place]
            if marks[row] & mark or outline.kind_of(row) is kind:
                return place
        return None

    def at_time(self, seconds: float) -> int:
        outline = self._large.outline
        if not len(outline.group_time):
            return 0
        group = outline.group_at_time(seconds)
        rows = outline.rows_of_event(outline.group_first[group])
        return outline.place_of_row(rows[-1]) if rows else outline.place_of_event(outline.group_first[group])

    def _fits(self, wanted: Wanted, place: int) -> bool:
        outline = self._large.outline
        return wanted.fits_outlined(outline, outline.order[place])

    def iteration(self, loop: LoopNode, number: int) -> int | None:
        outline = self._large.outline
        own = self._large.loop_number(loop.path)
        group = None if own is None else outline.group_at(own, number)
        return None if group is None else outline.place_of_event(outline.group_first[group])

    def agents(self, paths: Collection[str]) -> list[tuple[int, int]]:
        outline = self._large.outline
        lines = []
        for path in paths:
            loop = self._large.loop_number(path)
            rows = [] if loop is None else outline.rows_of_event(outline.loop_start[loop])
            if rows and outline.kind_of(rows[0]) is RowKind.AGENT:
                lines.append(outline.place_of_row(rows[0]))
        return [(line, self._end_of_agent(line)) for line in sorted(lines)]

    def _at(self, place: int) -> tuple[RowKind, int]:
        outline = self._large.outline
        row = outline.order[place]
        loop = outline.group_loop[outline.event_group[outline.row_event[row]]]
        return outline.kind_of(row), outline.loop_level[loop]


def _begun_at(row: Row) -> float:
    return row.loop.started_at if row.iteration is None else row.iteration.started_at


def ways_of(timeline: Timeline) -> Ways:
    """Return the ways through a timeline's rows."""
    return LargeWays(timeline) if isinstance(timeline, LargeTimeline) else Ways(timeline)
