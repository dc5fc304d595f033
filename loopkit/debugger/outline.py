"""What a large recording's timeline looks like, in columns of numbers: every row's place, and what its words need.

`Timeline` holds a whole run; an outline holds a few bytes of each event, from which any window of the same rows can be
made by reading their events again (`loopkit.debugger.large`). Numbers of events, groups, loops and rows count from 0
in the order in which they came; a *group* is one iteration of a loop, or what stands before its first.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from loopkit.debugger.nodes import RowKind
from loopkit.messages import Usage

Column: TypeAlias = "array[Any]"

VERSION = 2
NONE = 0xFFFFFFFF
KINDS = tuple(RowKind)
# tokens of a loop: every field of `Usage`; of an answer: the first, those that have a price
USAGE_FIELDS, PRICED_FIELDS = 6, 4

# what a row's marks say
FAILED, DECIDED = 1, 2

TYPECODES = {
    # one of each event
    "event_start": "Q",
    "event_type": "B",
    "event_group": "I",
    # places where the sequence numbers are not those of the places
    "jump_event": "I",
    "jump_seq": "q",
    # one of each group
    "group_loop": "I",
    "group_number": "I",
    "group_first": "I",
    "group_last": "I",
    "group_left": "I",
    "group_calls": "H",
    "group_call_row": "I",
    "group_time": "d",
    "group_usage": "I",
    "group_answer": "B",
    "group_model": "H",
    # one of each loop
    "loop_start": "I",
    "loop_end": "I",
    "loop_parent_group": "I",
    "loop_parent_place": "H",
    "loop_level": "H",
    "loop_model": "H",
    "loop_iterations": "I",
    "loop_calls": "I",
    "loop_usage": "q",
    "loop_subtree_usage": "q",
    # one of each row, in the order in which they came; `order` is that in which they are shown
    "row_event": "I",
    "row_ordinal": "H",
    "row_kind": "B",
    "row_marks": "B",
    "row_name": "H",
    "order": "I",
    # events that change calls of another group
    "late_group": "I",
    "late_event": "I",
}
NO_NAME = 0xFFFF
MOST_NAMES = 0xFFF0
UNREPORTED, REPORTED = 1, 2


class Outline:
    """The columns of `TYPECODES`, and the run's figures.

    Attributes:
        size: bytes of the recording that it covers.
        t: time of the last event, seconds since the run started.
        names: texts that columns refer to by number: tools' and models' names.
        types: names of event types by their number.
        damage: one line each on what could not be read.
    """

    event_start: Column
    event_type: Column
    event_group: Column
    jump_event: Column
    jump_seq: Column
    group_loop: Column
    group_number: Column
    group_first: Column
    group_last: Column
    group_left: Column
    group_calls: Column
    group_call_row: Column
    group_time: Column
    group_usage: Column
    group_answer: Column
    group_model: Column
    loop_start: Column
    loop_end: Column
    loop_parent_group: Column
    loop_parent_place: Column
    loop_level: Column
    loop_model: Column
    loop_iterations: Column
    loop_calls: Column
    loop_usage: Column
    loop_subtree_usage: Column
    row_event: Column
    row_ordinal: Column
    row_kind: Column
    row_marks: Column
    row_name: Column
    order: Column
    late_group: Column
    late_event: Column

    def __init__(self) -> None:
        for name, typecode in TYPECODES.items():
            setattr(self, name, array(typecode))
        self.size = 0
        self.t = 0.0
        self.gaps = 0
        self.warnings = 0
        self.errors = 0
        self.denied = 0
        self.edited = 0
        self.waited_seconds = 0.0
        self.waiting_since: float | None = None
        self.names: list[str] = []
        self.types: list[str] = []
        self.damage: list[str] = []
        self._groups_of: dict[int, tuple[int, list[int]]] = {}

    # ── keeping ──────────────────────────────────────────────────────────────────────────────────────────────────────

    _FIGURES = (
        "size",
        "t",
        "gaps",
        "warnings",
        "errors",
        "denied",
        "edited",
        "waited_seconds",
        "waiting_since",
        "names",
        "types",
        "damage",
    )

    def figures(self) -> dict[str, Any]:
        """Return what stands beside the columns, as plain JSON."""
        return {name: getattr(self, name) for name in self._FIGURES}

    def columns(self) -> dict[str, Column]:
        """Return the columns by name."""
        return {name: getattr(self, name) for name in TYPECODES}

    @classmethod
    def of(cls, columns: Mapping[str, memoryview], figures: Mapping[str, Any]) -> Outline:
        """Make an outline of kept columns, which can't grow."""
        outline = cls()
        for name in TYPECODES:
            setattr(outline, name, cast("Column", columns[name]))
        for name in cls._FIGURES:
            setattr(outline, name, figures[name])
        return outline

    # ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def events(self) -> int:
        """How many there are."""
        return len(self.event_start)

    def length_of(self, event: int) -> int:
        """Return how many bytes the line of an event has; damaged lines that follow it count with it."""
        end = self.event_start[event + 1] if event + 1 < self.events else self.size
        return cast("int", end - self.event_start[event])

    def seq_of(self, event: int) -> int:
        """Return the sequence number of an event; where none is missing, it is one more than its place."""
        place = _last_up_to(self.jump_event, event)
        if place < 0:
            return event + 1
        return cast("int", self.jump_seq[place]) + event - cast("int", self.jump_event[place])

    def event_of(self, seq: int) -> int | None:
        """Return the place of the event with a sequence number, or of the next one that is not missing."""
        low, high = 0, self.events
        while low < high:
            middle = (low + high) // 2
            if self.seq_of(middle) < seq:
                low = middle + 1
            else:
                high = middle
        return low if low < self.events else None

    def events_of(self, group: int) -> list[int]:
        """Return the events of a group, oldest first."""
        first, last = self.group_first[group], self.group_last[group]
        return _places_of(self.event_group, group, first, last + 1)

    def event_with_type(self, names: Iterable[str], start: int, direction: int = 1) -> int | None:
        """Return the next event of some types from `start` on, or backwards.

        Args:
            direction: 1 or -1.
        """
        codes = [self.types.index(name) for name in names if name in self.types]
        if not codes:
            return None
        pattern = re.compile(b"[" + b"".join(re.escape(bytes([code])) for code in codes) + b"]")
        types = memoryview(self.event_type)
        if direction > 0:
            found = pattern.search(types, max(0, start))
            return None if found is None else found.start()
        end = min(start + 1, len(types))
        while end > 0:
            begin = max(0, end - 4096)
            places = [match.start() for match in pattern.finditer(types, begin, end)]
            if places:
                return places[-1]
            end = begin
        return None

    # ── groups and loops ─────────────────────────────────────────────────────────────────────────────────────────────

    def groups_of(self, loop: int) -> list[int]:
        """Return the groups of a loop, in their order."""
        looked_at, found = self._groups_of.get(loop, (0, []))
        if looked_at < len(self.group_loop):
            found += _places_of(self.group_loop, loop, looked_at, len(self.group_loop))
            self._groups_of[loop] = (len(self.group_loop), found)
        return found

    def children_of(self, group: int) -> list[int]:
        """Return the loops that calls of a group started, in their order."""
        return _places_of(self.loop_parent_group, group, 0, len(self.loop_parent_group))

    def group_at(self, loop: int, number: int) -> int | None:
        """Return the newest group of an iteration, or None."""
        return next((g for g in reversed(self.groups_of(loop)) if self.group_number[g] == number), None)

    def loop_tokens(self, loop: int) -> tuple[Usage, Usage]:
        """Return a loop's own tokens, and those of it and all below it."""
        part = slice(loop * USAGE_FIELDS, (loop + 1) * USAGE_FIELDS)
        return Usage(*self.loop_usage[part]), Usage(*self.loop_subtree_usage[part])

    def total_usage(self) -> Usage:
        """Return the tokens of all loops."""
        return Usage(*(sum(self.loop_usage[field::USAGE_FIELDS]) for field in range(USAGE_FIELDS)))

    def answer_tokens(self, group: int) -> Usage | None:
        """Return the tokens of a group's answer that have a price; None when they are unknown."""
        if self.group_answer[group] != REPORTED:
            return None
        return Usage(*self.group_usage[group * PRICED_FIELDS : (group + 1) * PRICED_FIELDS])

    def first_model(self, loop: int) -> str | None:
        """Return the first model that answered a loop by name."""
        answered = (self.name(self.group_model[group]) for group in self.groups_of(loop))
        return next((model for model in answered if model is not None), None)

    def name(self, number: int) -> str | None:
        """Return a text that a column refers to; None for none."""
        return self.names[number] if number < len(self.names) else None

    def latecomers(self, group: int) -> list[int]:
        """Return the events of other groups that change calls of a group."""
        return [self.late_event[place] for place in _places_of(self.late_group, group, 0, len(self.late_group))]

    def changed_by(self, event: int) -> list[int]:
        """Return the other groups whose calls an event changes."""
        return [self.late_group[place] for place in _places_of(self.late_event, event, 0, len(self.late_event))]

    # ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def kind_of(self, row: int) -> RowKind:
        """Return what a row shows."""
        return KINDS[self.row_kind[row]]

    def call_row(self, group: int, position: int) -> int:
        """Return the row of a call; those that an edited answer adds stand apart from the others."""
        first = self.group_call_row[group]
        row = cast("int", first + position - 1)
        if row < len(self.row_event) and self.row_event[row] == self.row_event[first] and self._is_call(row):
            return row
        rows = self.call_rows(group)
        return rows[position - 1] if position <= len(rows) else cast("int", first)

    def call_rows(self, group: int) -> list[int]:
        """Return the rows of a group's calls, by their position."""
        return [row for event in self.events_of(group) for row in self.rows_of_event(event) if self._is_call(row)]

    def _is_call(self, row: int) -> bool:
        return self.kind_of(row) is RowKind.CALL

    def rows_of_event(self, event: int) -> list[int]:
        """Return the rows that an event made, in their order."""
        place = _last_up_to(self.row_event, event)
        found = []
        while place >= 0 and self.row_event[place] == event:
            found.append(place)
            place -= 1
        return found[::-1]

    def place_of_row(self, row: int) -> int:
        """Return where a row is shown, counted from 0."""
        # most rows are shown about where they came: only sub-agents' rows are moved
        places = _places_of(self.order, row, max(0, row - 512), min(len(self.order), row + 512))
        return (places or _places_of(self.order, row, 0, len(self.order)))[0]

    def place_of_event(self, event: int) -> int:
        """Return the place of the row that an event made, or else of the one before it in the same group."""
        group = self.event_group[event]
        for other in reversed(_places_of(self.event_group, group, self.group_first[group], event + 1)):
            rows = self.rows_of_event(other)
            if rows:
                return self.place_of_row(rows[0])
        return 0

    def group_at_time(self, seconds: float) -> int:
        """Return the last group that had begun at a time, seconds since the run started."""
        return max(0, _last_up_to(self.group_time, seconds))


def _last_up_to(column: Column, value: float) -> int:
    """The last place of a rising column whose number is at most `value`, or -1."""
    low, high = 0, len(column)
    while low < high:
        middle = (low + high) // 2
        if column[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - 1


def _places_of(column: Column, value: int, start: int, stop: int) -> list[int]:
    """Where a number stands in a column, found by its bytes."""
    width = column.itemsize
    pattern = re.compile(re.escape(array("I", [value]).tobytes()))
    content = memoryview(column).cast("B")
    found = []
    place = start * width
    while (match := pattern.search(content, place, stop * width)) is not None:
        place = match.start()
        if place % width == 0:
            found.append(place // width)
            place += width
        else:
            place += 1
    content.release()
    return found
