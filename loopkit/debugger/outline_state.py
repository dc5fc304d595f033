"""Where an outline stands while it is built: loops that go on, calls that wait, and what every step is made of."""

from __future__ import annotations

from array import array
from operator import add
from typing import Any, TypeAlias

from loopkit.debugger.nodes import RowKind
from loopkit.debugger.outline import (
    MOST_NAMES,
    NO_NAME,
    NONE,
    Outline,
)
from loopkit.debugger.outline_facts import Start
from loopkit.debugger.outline_rows import OutlineRows
from loopkit.events import call_key

# loop and iteration of an event
Place: TypeAlias = tuple[str, int]
# group, position there and row of a call
Call: TypeAlias = tuple[int, int, int]

LARGEST_COUNT = 0xFFFFFFFE
_LARGEST = 1 << 60


class Loop:
    """A loop that may still go on.

    Attributes:
        groups: its groups by the order in which they came, the one before the first iteration included.
        calls: the calls of its last iteration, by id.
        in_order: whether its iterations are numbered from 1 without a gap.
    """

    __slots__ = ("calls", "groups", "in_order", "number", "path")

    def __init__(self, path: str, number: int) -> None:
        self.path = path
        self.number = number
        self.groups = array("I")
        self.calls: dict[str, Call] = {}
        self.in_order = True


class OutlineState:
    """Knows what the next event belongs to."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self._rows = OutlineRows(outline)
        self._note_start = outline.event_start.append
        self._note_type = outline.event_type.append
        self._note_group = outline.event_group.append
        self._loops: dict[str, Loop] = {}
        self._root: Loop | None = None
        self._names: dict[str, int] = {}
        self._types: dict[str, int] = {}
        # waiting calls, and whether something ended them without a decision
        self._waiting: dict[str, bool] = {}
        self._paused: set[str] = set()
        self._spent: dict[int, tuple[int, ...]] = {}
        self._last_seq = 0
        self._event = -1
        self._ordinal = 0
        self._place: Place = ("", 0)
        self._loop_path = ""
        self._iteration = 0
        self._group = NONE

    def begin(self, start: int, seq: int, t: float, place: Place, type_name: str) -> None:
        """Take in an event's envelope.

        Args:
            start: byte offset of its line.
            t: seconds since the run started.
        """
        outline = self.outline
        event = self._event = self._event + 1
        self._ordinal = 0
        if (place is not self._place and place != self._place) or self._group == NONE:
            self._place = place
            self._loop_path, self._iteration = place
            known = self._loops.get(self._loop_path) or self._root
            self._group = NONE if known is None else self._group_of(known)
        group = self._group
        self._note_start(start)
        code = self._types.get(type_name)
        self._note_type(self._type_code(type_name) if code is None else code)
        self._note_group(group)
        if group != NONE:
            outline.group_last[group] = event
        if seq != self._last_seq + 1:
            outline.gaps += 1
            outline.jump_event.append(event)
            outline.jump_seq.append(min(seq, _LARGEST))
        self._last_seq = seq
        if t > outline.t:  # noqa: PLR1730  # `max` is a call for each event
            outline.t = t

    def loop_started(self, fact: Start) -> None:
        outline = self.outline
        parent = self._call(fact.parent_call) if fact.parent_call else None
        number = len(outline.loop_start)
        loop = self._loops[self._loop_path] = Loop(self._loop_path, number)
        outline.loop_start.append(self._event)
        outline.loop_end.append(NONE)
        group, position, _ = parent or (NONE, 0, 0)
        outline.loop_parent_group.append(group)
        outline.loop_parent_place.append(position)
        level = 0 if parent is None else outline.loop_level[outline.group_loop[group]] + 1
        outline.loop_level.append(min(level, 0xFFFF))
        outline.loop_model.append(self._name(fact.model))
        outline.loop_iterations.append(0)
        outline.loop_calls.append(0)
        outline.loop_usage.extend((0,) * 6)
        outline.loop_subtree_usage.extend((0,) * 6)
        self._open_group(loop, 0)
        if self._root is None:
            self._root = loop
        if parent is not None:
            self._put(RowKind.AGENT, loop)
        self._put(RowKind.TASK, loop)

    def iteration_started(self, fact: object) -> None:
        loop = self._loop()
        self._leave_last_calls(loop)
        self._open_group(loop, self._iteration)
        self.outline.loop_iterations[loop.number] += 1
        self._put(RowKind.ITERATION, loop)

    def note(self, fact: object, marks: int = 0) -> None:
        """A row of its own, in the event's loop or else the root."""
        loop = self._loops.get(self._loop_path, self._root)
        if loop is not None:
            self.outline.row_marks[self._put(RowKind.NOTE, loop)] |= marks

    def _put(self, kind: RowKind, loop: Loop) -> int:
        row = self._rows.put(kind, self._event, self._ordinal, loop.number)
        self._ordinal += 1
        return row

    def _loop(self) -> Loop:
        loop = self._loops.get(self._loop_path)
        if loop is None:
            # its start stood in a missing part (spec/faults.md j4)
            self.loop_started(Start(self._loop_path.rpartition("#")[0] or None, None))
            loop = self._loops[self._loop_path]
        return loop

    def _own_iteration(self) -> tuple[Loop, int]:
        loop = self._loop()
        group = self._iteration_of(loop, self._iteration)
        if group is None:
            self.iteration_started(None)
            group = loop.groups[-1]
        else:
            self._group = self.outline.event_group[self._event] = group
            self.outline.group_last[group] = self._event
        return loop, group

    def _iteration_of(self, loop: Loop, number: int) -> int | None:
        """Its newest group of that number, the one before the first iteration left out."""
        groups = loop.groups
        if loop.in_order:
            return groups[number] if 0 < number < len(groups) else None
        numbers = self.outline.group_number
        return next((group for group in reversed(groups[1:]) if numbers[group] == number), None)

    def _group_of(self, loop: Loop) -> int:
        group = self._iteration_of(loop, self._iteration)
        return loop.groups[0] if group is None else group

    def _open_group(self, loop: Loop, number: int) -> None:
        outline = self.outline
        group = len(outline.group_loop)
        loop.in_order &= number == len(loop.groups)
        loop.groups.append(group)
        outline.group_loop.append(loop.number)
        outline.group_number.append(min(number, LARGEST_COUNT))
        outline.group_first.append(self._event)
        outline.group_last.append(self._event)
        outline.group_left.append(NONE)
        outline.group_calls.append(0)
        outline.group_call_row.append(NONE)
        outline.group_time.append(outline.t)
        outline.group_usage.extend((0,) * 4)
        outline.group_answer.append(0)
        outline.group_model.append(NO_NAME)
        self._group = outline.event_group[self._event] = group

    def count_tokens(self) -> None:
        """Add what was spent since the last time to the loops and those above them."""
        outline = self.outline
        for spender, figures in self._spent.items():
            number = spender
            _add(outline.loop_usage, number, figures)
            while True:
                _add(outline.loop_subtree_usage, number, figures)
                group = outline.loop_parent_group[number]
                if group == NONE:
                    break
                number = outline.group_loop[group]
        self._spent.clear()

    def _spend(self, loop: Loop, figures: tuple[int, ...]) -> None:
        spent = self._spent.get(loop.number)
        self._spent[loop.number] = figures if spent is None else tuple(map(add, spent, figures))

    def _known(self, call: str) -> Call | None:
        """A call that an event names; where its own event is missing, a note says so (spec/faults.md j4)."""
        known = self._call(call)
        if known is None:
            self.note(call)
        elif known[0] != self._group:
            self._note_late(known)
        return known

    def _time_waiting(self) -> None:
        outline = self.outline
        if self._waiting or self._paused:
            if outline.waiting_since is None:
                outline.waiting_since = outline.t
        elif outline.waiting_since is not None:
            outline.waited_seconds += outline.t - outline.waiting_since
            outline.waiting_since = None

    def _note_late(self, call: Call) -> None:
        self.outline.late_group.append(call[0])
        self.outline.late_event.append(self._event)

    def _call(self, key: str) -> Call | None:
        loop = self._loops.get(self._loop_path)
        if loop is not None and key in loop.calls:
            return loop.calls[key]
        path, _, place = key.rpartition("/")
        loop = self._loops.get(path)
        iteration, _, position = place.partition(".")
        if loop is None or not (iteration.isdecimal() and position.isdecimal()):
            return None
        group = self._iteration_of(loop, int(iteration))
        if group is None or call_key(path, int(iteration), int(position)) != key:
            return None
        if not 1 <= int(position) <= self.outline.group_calls[group]:
            return None
        return group, int(position), self.outline.call_row(group, int(position))

    def _mark(self, row: int, mark: int, *, on: bool) -> None:
        marks = self.outline.row_marks
        if row < len(marks) and bool(marks[row] & mark) is not on:
            marks[row] ^= mark

    def _end_loop(self) -> int:
        loop = self._loop()
        self.outline.loop_end[loop.number] = self._event
        self._paused.discard(self._loop_path)
        self._leave_last_calls(loop)
        row = self._put(RowKind.OUTCOME, loop)
        self._rows.close(loop.number)
        return row

    def _leave_last_calls(self, loop: Loop) -> None:
        for key, (group, position, _) in loop.calls.items():
            self._rows.close((group, position))
            if self._waiting and self._waiting.get(key) is False:
                del self._waiting[key]
        self._time_waiting()
        loop.calls.clear()
        group = loop.groups[-1]
        if len(loop.groups) > 1 and self.outline.group_left[group] == NONE:
            self.outline.group_left[group] = self._event

    def _name(self, text: str | None) -> int:
        if text is None:
            return NO_NAME
        number = self._names.get(text)
        if number is None:
            number = min(len(self._names), MOST_NAMES)
            if number < MOST_NAMES:
                self._names[text] = number
                self.outline.names.append(text)
        return number

    def _type_code(self, name: str) -> int:
        code = self._types.get(name)
        if code is None:
            code = len(self._types)
            if code >= 255:
                return 255
            self._types[name] = code
            self.outline.types.append(name)
        return code


def _add(column: Any, place: int, figures: tuple[int, ...]) -> None:
    for index, figure in enumerate(figures, place * len(figures)):
        if figure:
            column[index] = max(-_LARGEST, min(column[index] + figure, _LARGEST))
