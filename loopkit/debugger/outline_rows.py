"""The places of an outline's rows: the order of `loopkit.debugger.row_order`, in numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from loopkit.debugger.nodes import RowKind
from loopkit.debugger.outline import KINDS, NONE, Outline

# a loop by its number, a call by its group and its position there
Owner: TypeAlias = "int | tuple[int, int]"
_MOST_ORDINALS = 0xFFFF
KIND_CODES = {kind: code for code, kind in enumerate(KINDS)}


class OutlineRows:
    """Puts rows where they are shown: a sub-agent's stand together under the call that started it."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._ends: dict[Owner, int] = {}
        self._note_event = outline.row_event.append
        self._note_ordinal = outline.row_ordinal.append
        self._note_kind = outline.row_kind.append
        self._note_marks = outline.row_marks.append
        self._note_name = outline.row_name.append

    def put(self, kind: RowKind, event: int, ordinal: int, loop: int, name: int = 0) -> int:
        """Add a row behind all that belongs to its loop, an agent's line behind all of its call; return its number.

        Args:
            ordinal: which of the event's rows it is, from 0.
            loop: whose row it is; for an agent's line the sub-agent itself.
            name: number of the tool's name.
        """
        outline = self._outline
        row = len(outline.row_event)
        self._note_event(event)
        self._note_ordinal(ordinal if ordinal < _MOST_ORDINALS else _MOST_ORDINALS)
        self._note_kind(KIND_CODES[kind])
        self._note_marks(0)
        self._note_name(name)
        if kind is not RowKind.AGENT:
            self._insert(row, loop)
            return row
        call = (outline.loop_parent_group[loop], outline.loop_parent_place[loop])
        self._insert(row, call)
        self._ends[loop] = self._ends[call]
        return row

    def put_call(self, event: int, ordinal: int, loop: int, call: tuple[int, int], name: int) -> int:
        """Add a call's row, under which sub-agents may come."""
        row = self.put(RowKind.CALL, event, ordinal, loop, name)
        self._ends[call] = self._ends[loop]
        return row

    def close(self, owner: Owner) -> None:
        """Note that hardly anything will come to a loop or call any more."""
        self._ends.pop(owner, None)

    def _insert(self, row: int, owner: Owner) -> None:
        order, ends = self._outline.order, self._ends
        place = self._end_of(owner)
        if place == len(order):
            order.append(row)
        else:
            order.insert(place, row)
            for other, end in ends.items():
                if end > place:
                    ends[other] = end + 1
        ends[owner] = place + 1
        if isinstance(owner, tuple) or self._outline.loop_level[owner]:
            for holder in self._and_above(owner):
                if ends.get(holder) == place:
                    ends[holder] = place + 1

    def _end_of(self, owner: Owner) -> int:
        end = self._ends.get(owner)
        if end is None:
            end = self._ends[owner] = self._found_end(owner)
        return end

    def _found_end(self, owner: Owner) -> int:
        outline = self._outline
        for place in range(len(outline.order) - 1, -1, -1):
            row = outline.order[place]
            # the row that is put just now stands nowhere yet
            group = outline.event_group[outline.row_event[row]]
            if isinstance(owner, tuple) and owner[0] == group and outline.call_row(*owner) == row:
                return place + 1
            if any(owner == above for above in self._and_above(outline.group_loop[group])):
                return place + 1
        return len(outline.order)

    def _and_above(self, owner: Owner) -> Iterator[Owner]:
        """What it is, what it belongs to, and so on up to the root."""
        outline = self._outline
        while True:
            yield owner
            if isinstance(owner, tuple):
                owner = outline.group_loop[owner[0]]
            elif outline.loop_parent_group[owner] == NONE:
                return
            else:
                owner = (outline.loop_parent_group[owner], outline.loop_parent_place[owner])
