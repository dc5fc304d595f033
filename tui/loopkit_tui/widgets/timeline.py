"""The rows of a run, folded by sub-agent; the cursor keeps its row while rows come in around it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from rich.cells import cell_len

from loopkit.debugger.nodes import LoopNode, Row, RowKind
from loopkit.debugger.rows import RowText, row_text
from loopkit.debugger.timeline import Timeline
from loopkit.debugger.ways import ways_of
from loopkit_tui.painting import Span, cut, fit
from loopkit_tui.widgets.virtual_list import VirtualList

_DEEPEST_INDENT = 4


class TimelineView(VirtualList):
    """Draws `Timeline.rows`; selection is a row, not a number (spec/faults.md e23).

    Attributes:
        following: the cursor goes with what happens; ends when the person moves away.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.timeline = Timeline()
        self.ways = ways_of(self.timeline)
        self.following = False
        self._folded: set[str] = set()
        self._open_rows: list[int] | None = None
        self._kept: Callable[[Sequence[Row]], list[int]] | None = None
        self._selected: Row | None = None
        self._selected_index = 0

    def show(self, timeline: Timeline) -> None:
        """Draw another run from its first row."""
        self.timeline = timeline
        self.ways = ways_of(timeline)
        self._folded.clear()
        self._kept = None
        self._open_rows = None
        self.update_size()
        self.set_cursor(0)

    def filter(self, kept: Callable[[Sequence[Row]], list[int]] | None) -> None:
        """Draw only some rows.

        Args:
            kept: returns the places of those that are drawn, in order; asked again whenever rows come in. None draws all.
        """
        self._kept = kept
        self._lay_out()
        self.update_size()
        self.set_cursor(self._position(self._selected_index))

    # ── rows that are not folded away ────────────────────────────────────────────────────────────────────────────────

    def count(self) -> int:
        return len(self.timeline.rows if self._open_rows is None else self._open_rows)

    def row_at(self, position: int) -> Row:
        """The row of a drawn line."""
        return self.timeline.rows[position if self._open_rows is None else self._open_rows[position]]

    @property
    def selected(self) -> Row | None:
        """The row under the cursor."""
        return self._selected

    @property
    def selected_index(self) -> int:
        """Its place in `timeline.rows`."""
        return self._selected_index

    def set_cursor(self, index: int) -> None:
        super().set_cursor(index)
        self._remember()

    def select(self, row: Row) -> None:
        """Put the cursor on a row, unfolding what hides it."""
        self._select_index(self._index_of(row))

    def select_index(self, index: int) -> None:
        """The same by its place in `timeline.rows`."""
        self._select_index(index)

    def take_in(self) -> None:
        """Draw what events changed: the selected row stays selected wherever it stands now."""
        row = self._selected
        self._lay_out()
        self.update_size()
        if row is None:
            self._remember()
            return
        self._selected_index = self._index_of(row)
        # one that is read from the file was made anew if anything has changed
        self._selected = self.timeline.rows[self._selected_index]
        position = self._position(self._selected_index)
        if position != self.cursor:
            shift = position - self.cursor
            self.cursor = position
            self.scroll_to(y=self.scroll_offset.y + shift, animate=False, force=True)

    # ── folding ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def fold(self) -> None:
        """Fold the sub-agent under the cursor, or the one that the row belongs to; the cursor goes to its line."""
        row = self._selected
        if row is None:
            return
        loop = _own_agent(row)
        if loop is None or loop.path in self._folded:
            loop = _enclosing_agent(row)
        if loop is not None:
            self._fold(loop, folded=True)

    def unfold(self) -> bool:
        """Unfold the sub-agent under the cursor; say whether there was one to unfold."""
        loop = _own_agent(self._selected) if self._selected is not None else None
        if loop is None or loop.path not in self._folded:
            return False
        self._fold(loop, folded=False)
        return True

    def toggle_fold(self) -> None:
        if not self.unfold():
            self.fold()

    def _fold(self, loop: LoopNode, *, folded: bool) -> None:
        (self._folded.add if folded else self._folded.discard)(loop.path)
        self._lay_out()
        self.update_size()
        line = next((line for line, _ in self.ways.agents({loop.path})), self._selected_index)
        if folded:
            self._select_index(line)
            self.move_to(self.cursor)
        else:
            self.set_cursor(self._position(self._selected_index))

    def _lay_out(self) -> None:
        if self._kept is not None:
            # what was asked for is drawn, folded away or not
            self._open_rows = self._kept(self.timeline.rows)
            return
        if not self._folded:
            self._open_rows = None
            return
        rows: list[int] = []
        start = 0
        for line, end in self.ways.agents(self._folded):
            if line >= start:
                rows.extend(range(start, line + 1))
                start = end
        rows.extend(range(start, len(self.timeline.rows)))
        self._open_rows = rows

    # ── places ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _remember(self) -> None:
        if self.count() == 0:
            self._selected, self._selected_index = None, 0
            return
        self._selected_index = self.cursor if self._open_rows is None else self._open_rows[self.cursor]
        self._selected = self.timeline.rows[self._selected_index]

    def _index_of(self, row: Row) -> int:
        return self.ways.place_of(row, self._selected_index if row is self._selected else 0)

    def _position(self, index: int) -> int:
        if self._open_rows is None:
            return index
        return min(bisect_left(self._open_rows, index), max(0, len(self._open_rows) - 1))

    def _select_index(self, index: int) -> None:
        rows = self.timeline.rows
        if not rows:
            return
        row = rows[index]
        loop = row.loop if row.kind is not RowKind.AGENT else row.loop.parent.loop if row.loop.parent else None
        hiding = [path for path in _path_upwards(loop) if path in self._folded]
        if hiding:
            self._folded.difference_update(hiding)
            self._lay_out()
            self.update_size()
        self.set_cursor(self._position(index))

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def draw(self, index: int, width: int, *, current: bool) -> list[Span]:
        row = self.row_at(index)
        words = row_text(row)
        fold = ""
        if row.kind is RowKind.AGENT:
            fold = "▸ " if row.loop.path in self._folded else "▾ "
        return row_spans(words, width, current=current, fold=fold, strong=row.kind is RowKind.ITERATION)


def row_spans(words: RowText, width: int, *, current: bool, fold: str = "", strong: bool = False) -> list[Span]:
    """Return one row in columns: place, number, indent, mark, label, detail, state, and the figures at the right."""
    indent = "  " * min(words.level, _DEEPEST_INDENT)
    if words.level > _DEEPEST_INDENT:
        indent += f"›{words.level} "
    lead = f"{indent}{words.number:>4} "
    left = 1 + cell_len(lead) + cell_len(fold) + 2
    room = max(0, width - left - 2)
    right = cut(words.right, room)
    room -= cell_len(right) + (1 if right else 0)
    state = cut(words.state, room // 2)
    room = max(0, room - cell_len(state) - (1 if state else 0))
    label = cut(words.label, room)
    label_width = min(room, max(cell_len(label), 12 if width < 60 else 14))
    detail_width = max(0, room - label_width - 1)
    calm = words.tone in ("good", "plain")
    return [
        ("▶" if current else " ", "key"),
        (lead, "heading" if words.number else "muted"),
        (fold, "agent"),
        (f"{words.mark} ", words.tone),
        (fit(label, label_width), "heading" if strong else "plain" if calm else words.tone),
        (" " if room > label_width else "", "plain"),
        (fit(words.detail, detail_width), "plain" if strong else "muted"),
        (f" {state}" if state else "", words.tone),
        (f" {right}" if right else "", "muted"),
    ]


def _own_agent(row: Row) -> LoopNode | None:
    """The sub-agent that a row stands for, or that its call started."""
    if row.kind is RowKind.AGENT:
        return row.loop
    if row.kind is RowKind.CALL and row.call is not None and row.call.children:
        return row.call.children[0]
    return None


def _enclosing_agent(row: Row) -> LoopNode | None:
    loop = row.loop
    if row.kind is RowKind.AGENT:
        loop = loop.parent.loop if loop.parent is not None else loop
    return loop if loop.parent is not None else None


def _path_upwards(loop: LoopNode | None) -> list[str]:
    paths = []
    while loop is not None:
        paths.append(loop.path)
        loop = loop.parent.loop if loop.parent is not None else None
    return paths
