"""The timeline's rows as numbered changes: each batch of events costs what it touched, whatever the run's length."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from loopkit import events as e
from loopkit.debugger.display import one_line
from loopkit.debugger.nodes import Row, RowKind
from loopkit.debugger.rows import row_text
from loopkit.debugger.timeline import Timeline

RowData = dict[str, Any]


@dataclass(slots=True)
class RowChanges:
    """What a batch of events did to the rows.

    Args:
        inserted: index in the new order and row, in ascending order.
        changed: rows that were there before and read differently now.
    """

    inserted: list[tuple[int, Row]] = field(default_factory=list)
    changed: list[Row] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.inserted or self.changed)


def row_key(row: Row) -> str:
    """Return a name of the row that is unique in its run and never changes."""
    subject = row.call.id if row.kind is RowKind.CALL and row.call is not None else row.loop.path
    return f"{row.kind.value}:{row.seq}:{subject}"


def row_data(row: Row, partial: str = "") -> RowData:
    """Return a row as safe, plain data for the front-end.

    Args:
        partial: the answer that is being streamed; shown on the row of an iteration without an answer.
    """
    words = row_text(row)
    detail = words.detail
    if partial and row.kind is RowKind.ITERATION and row.iteration is not None and row.iteration.message is None:
        detail = one_line(partial)
    return {
        "key": row_key(row),
        "kind": row.kind.value,
        "level": words.level,
        "number": words.number,
        "mark": words.mark,
        "label": words.label,
        "detail": detail,
        "state": words.state,
        "right": words.right,
        "tone": words.tone,
    }


class RowFeed:
    """Finds the rows that a batch of events added or changed.

    Args:
        timeline: changed only by the session's `poll`, in the thread that uses this feed.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._rows: dict[str, Row] = {}
        self._subjects: dict[object, Row] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, events: Iterable[e.Event]) -> RowChanges:
        """Return what `events`, which the timeline has taken in already, did to the rows."""
        inserted = self._find_inserted()
        fresh = {id(row) for _, row in inserted}
        changed: dict[int, Row] = {}
        for event in events:
            for subject in self._touched(event):
                row = self._subjects.get(subject)
                if row is not None and id(row) not in fresh:
                    changed[id(row)] = row
        return RowChanges(inserted, list(changed.values()))

    def find(self, key: str) -> Row | None:
        """Return the row of that key."""
        return self._rows.get(key)

    def index(self, key: str) -> int | None:
        """Return a row's place, looked for from the end, where the news are."""
        row = self._rows.get(key)
        rows = self._timeline.rows
        return next((index for index in range(len(rows) - 1, -1, -1) if rows[index] is row), None)

    def page(self, start: int, count: int) -> list[Row]:
        """Return at most `count` rows from `start`, 0-based."""
        return list(self._timeline.rows[max(0, start) : max(0, start) + max(0, count)])

    def call_row(self, call: str) -> Row | None:
        """Return the row of a call by the call's id."""
        return self._subjects.get(("call", call))

    def answering_row(self, loop: str) -> Row | None:
        """Return the row of a loop's iteration whose answer is still being received."""
        node = self._timeline.loops.get(loop)
        if node is None or not node.iterations or node.iterations[-1].message is not None:
            return None
        return self._subjects.get(("iteration", loop, node.iterations[-1].number))

    def _find_inserted(self) -> list[tuple[int, Row]]:
        rows = self._timeline.rows
        missing = len(rows) - len(self._rows)
        found: list[tuple[int, Row]] = []
        index = len(rows)
        # Rows are only ever added, and nearly always near the end.
        while missing > 0:
            index -= 1
            row = rows[index]
            key = row_key(row)
            if key not in self._rows:
                self._rows[key] = row
                self._subjects[_subject(row, key)] = row
                found.append((index, row))
                missing -= 1
        found.reverse()
        return found

    def _touched(self, event: e.Event) -> Iterable[object]:
        loop = self._timeline.loops.get(event.loop)
        yield ("iteration", event.loop, event.iteration)
        call = getattr(event.fact, "call", None)
        if isinstance(call, str):
            yield ("call", call)
        if loop is not None and isinstance(event.fact, (e.LoopFinished, e.LoopFailed)) and loop.iterations:
            yield ("iteration", event.loop, loop.iterations[-1].number)
            for node in loop.iterations[-1].calls:
                yield ("call", node.id)
        while loop is not None:
            yield ("agent", loop.path)
            loop = loop.parent.loop if loop.parent is not None else None


def _subject(row: Row, key: str) -> object:
    if row.kind is RowKind.CALL and row.call is not None:
        return ("call", row.call.id)
    if row.kind is RowKind.ITERATION and row.iteration is not None:
        return ("iteration", row.loop.path, row.iteration.number)
    return ("agent", row.loop.path) if row.kind is RowKind.AGENT else key
