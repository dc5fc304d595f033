"""The nodes and rows of a few groups of a large recording, made by the timeline itself from their own events.

What a row says depends on its group's events, on the loops above it, and on what an outline has counted: so the rows
are those of the whole run's timeline, whichever of them are asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from loopkit import events as e
from loopkit.debugger.nodes import Counted, LoopNode, Row, RowKind
from loopkit.debugger.outline import NONE, Outline
from loopkit.debugger.row_order import RowOrder
from loopkit.debugger.timeline import Timeline
from loopkit.messages import Usage


class _InOrderOfEvents(RowOrder):
    """Rows as they come: an outline knows where they are shown."""

    def put(self, row: Row) -> None:
        self.rows.append(row)


class OutlineWindow(Timeline):
    """Holds the groups that were asked for.

    Args:
        outline: the whole run.
        read: returns an event by its place.
        over: nothing more comes: what is open in the outline has been cut off.
        known: filled with the number of every loop that is read, by path.

    Attributes:
        weight: bytes of the lines that were read.
    """

    def __init__(self, outline: Outline, read: Callable[[int], e.Event], *, over: bool, known: dict[str, int]) -> None:
        super().__init__()
        self._order = _InOrderOfEvents()
        self.rows = self._order.rows
        self.weight = 0
        self._outline = outline
        self._read = read
        self._over = over
        self._known = known
        self._groups: set[int] = set()
        self._nodes: dict[int, LoopNode] = {}
        self._taken: set[int] = set()
        self._row_of: dict[int, Row] = {}

    def row(self, number: int) -> Row:
        """Return a row by its number in the outline."""
        event = self._outline.row_event[number]
        self._load(self._outline.event_group[event])
        row = self._row_of.get(number)
        if row is None:
            # its line can't be read as what it seemed to be
            missing = self._read(event)
            row = Row(RowKind.NOTE, missing.seq, self._nodes[self._loop_of(event)], event=missing)
            self._row_of[number] = row
        return row

    def loop(self, number: int) -> LoopNode:
        """Return a loop by its number in the outline."""
        self._load(self._outline.event_group[self._outline.loop_start[number]])
        return self._nodes[number]

    def _loop_of(self, event: int) -> int:
        return int(self._outline.group_loop[self._outline.event_group[event]])

    def _spend(self, loop: LoopNode, usage: Usage) -> None:
        """Tokens are those that the outline has counted."""

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _load(self, group: int) -> None:
        """Read a group, and before it those of the calls that its loop, and the loops above that, were started by."""
        outline = self._outline
        chain = [group]
        loop = outline.group_loop[group]
        while loop not in self._nodes:
            chain.append(outline.event_group[outline.loop_start[loop]])
            above = outline.loop_parent_group[loop]
            if above == NONE:
                break
            chain.append(above)
            loop = outline.group_loop[above]
        for part in reversed(chain):
            if part not in self._groups:
                self._groups.add(part)
                self._load_group(part)
                for child in outline.children_of(part):
                    self._load(outline.event_group[outline.loop_start[child]])

    def _load_group(self, group: int) -> None:
        outline = self._outline
        loop = outline.group_loop[group]
        node = self._nodes.get(loop)
        others = []
        if node is not None:
            # a path that was started twice means the loop of this group now
            self.loops[node.path] = node
            others, node.iterations = node.iterations, []
        left = outline.group_left[group]
        open_calls = True
        for event in sorted({*outline.events_of(group), *outline.latecomers(group)}):
            if open_calls and left <= event:
                open_calls = self._leave(loop)
            self._take(event, group)
        if open_calls and (left != NONE or self._over):
            self._leave(loop)
        if node is not None:
            node.iterations = sorted([*others, *node.iterations], key=lambda iteration: iteration.number)

    def _leave(self, loop: int) -> bool:
        if loop in self._nodes:
            self._leave_last_calls(self._nodes[loop])
        return False

    def _take(self, event: int, group: int) -> None:
        outline = self._outline
        late = outline.event_group[event] != group
        if event in self._taken and not late:
            return
        read = self._read(event)
        if late:
            self._take_late(event, read)
            return
        call = getattr(read.fact, "call", None)
        if isinstance(call, str) and call not in self.calls:
            for other in outline.changed_by(event):
                self._load(other)
            if event in self._taken:
                return
        self._apply(event, read)

    def _take_late(self, event: int, read: e.Event) -> None:
        if isinstance(read.fact, e.ResultsMasked):
            for key in read.fact.calls:
                if key in self.calls:
                    self.calls[key].masked_in = read.iteration
            return
        own = self._outline.event_group[event]
        if own != NONE:
            self._load(self._outline.event_group[self._outline.loop_start[self._outline.group_loop[own]]])
        if event not in self._taken:
            self._apply(event, read)

    def _apply(self, event: int, read: e.Event) -> None:
        self._taken.add(event)
        self.weight += self._outline.length_of(event)
        before = len(self.rows)
        self.apply(read)
        for number, row in zip(self._outline.rows_of_event(event), self._order.rows[before:], strict=False):
            self._row_of[number] = row
        loop = self._loop_of(event)
        if self._outline.loop_start[loop] == event and loop not in self._nodes:
            self._complete(loop, self.loops[read.loop])

    def _complete(self, loop: int, node: LoopNode) -> None:
        """Give a loop that was just begun what its later events make of it."""
        outline = self._outline
        self._nodes[loop] = node
        self._known[node.path] = loop
        model = None if node.started.model else outline.first_model(loop)
        node.counted = Counted(outline.loop_iterations[loop], outline.loop_calls[loop], model)
        node.usage, node.subtree_usage = outline.loop_tokens(loop)
        end = outline.loop_end[loop]
        if end == NONE:
            node.cut_off = self._over
        elif end != outline.loop_start[loop]:
            self._apply(end, self._read(end))
