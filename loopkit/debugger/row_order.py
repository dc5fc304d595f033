"""The display order of a timeline's rows: a sub-agent's rows stand together under the call that started it.

The end of every open loop's and call's rows is kept, so that parallel sub-agents whose events interleave each find
their place at once: a row costs what is open beside it, not how long the run is.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopkit.debugger.nodes import CallNode, LoopNode, Row, RowKind


class RowOrder:
    """Rows in display order.

    Attributes:
        rows: the rows; only ever added to, so that a row moves down or stays.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._ends: dict[LoopNode | CallNode, int] = {}

    def put(self, row: Row) -> None:
        """Put a row behind all that belongs to its loop; a sub-agent's first behind all that belongs to its call."""
        owner = row.call if row.kind is RowKind.AGENT else row.loop
        assert owner is not None
        place = self._end_of(owner)
        self.rows.insert(place, row)
        if place < len(self.rows) - 1:
            for node, end in self._ends.items():
                if end > place:
                    self._ends[node] = end + 1
        for holder in _and_above(owner):
            if self._ends.get(holder) == place:
                self._ends[holder] = place + 1
        if row.kind is RowKind.CALL and row.call is not None:
            self._ends[row.call] = place + 1
        elif row.kind is RowKind.AGENT:
            self._ends[row.loop] = place + 1

    def close(self, node: LoopNode | CallNode) -> None:
        """Note that hardly anything will come to a loop or call any more."""
        self._ends.pop(node, None)

    def _end_of(self, node: LoopNode | CallNode) -> int:
        end = self._ends.get(node)
        if end is None:
            end = self._ends[node] = self._found_end(node)
        return end

    def _found_end(self, node: LoopNode | CallNode) -> int:
        for index in range(len(self.rows) - 1, -1, -1):
            row = self.rows[index]
            if row.call is node or node in _and_above(row.loop):
                return index + 1
        return len(self.rows)


def _and_above(node: LoopNode | CallNode) -> Iterator[LoopNode | CallNode]:
    """The node itself, what it belongs to, and so on up to the root."""
    current: LoopNode | CallNode | None = node
    while current is not None:
        yield current
        current = current.loop if isinstance(current, CallNode) else current.parent
