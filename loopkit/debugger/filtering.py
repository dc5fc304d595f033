"""Keeps of a run what a condition holds for: events one by one, or the rows of a timeline that show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from loopkit import events as e
from loopkit.debugger.conditions import Condition, fields_of
from loopkit.debugger.moments import Moments
from loopkit.debugger.nodes import Row, RowKind
from loopkit.debugger.recorded import is_foreign, open_recording
from loopkit.debugger.skimming import passing_over
from loopkit.debugger.watching import stream_events

_Item = TypeVar("_Item", str, str | None)


class EventFilter:
    """Says of a run's events, one after another, whether a condition holds for them."""

    def __init__(self, condition: Condition) -> None:
        self.condition = condition
        self._moments = Moments(costs=any(field.name.startswith("cost") for field in fields_of(condition)))

    def take(self, event: e.Event) -> bool:
        """Take in the next event and say whether the condition holds for it."""
        return self.condition.holds(self._moments.take(event))

    def kept(self, items: Iterable[e.Event | _Item]) -> Iterator[e.Event | _Item]:
        """Yield the events that the condition holds for, and everything that is no event."""
        for item in items:
            if not isinstance(item, e.Event) or self.take(item):
                yield item


class RowFilter:
    """Says which rows of a timeline show an event that a condition holds for.

    Attributes:
        condition: the condition.
        events: how many events it held for so far.
    """

    def __init__(self, condition: Condition, events: Iterable[e.Event] = ()) -> None:
        self.condition = condition
        self.events = 0
        self._filter = EventFilter(condition)
        self._calls: set[str] = set()
        self._iterations: set[tuple[str, int]] = set()
        self._numbers: set[int] = set()
        self._taken = 0
        for event in events:
            self.take(event)

    def take_all(self, events: Sequence[e.Event]) -> None:
        """Take in what is new among all events of the run."""
        for place in range(self._taken, len(events)):
            self.take(events[place])

    def take(self, event: e.Event) -> bool:
        """Take in the next event; say whether the condition holds for it."""
        self._taken += 1
        if not self._filter.take(event):
            return False
        self.events += 1
        call = getattr(event.fact, "call", None)
        if isinstance(call, str):
            self._calls.add(call)
        elif isinstance(event.fact, (e.IterationStarted, e.ModelRequested, e.ModelReplied, e.ModelInterrupted)):
            self._iterations.add((event.loop, event.iteration))
        # what has a line of its own is found by its number
        self._numbers.add(event.seq)
        return True

    def shows(self, row: Row) -> bool:
        """Return whether a row shows such an event."""
        if row.kind is RowKind.CALL and row.call is not None:
            return row.call.id in self._calls
        if row.kind is RowKind.ITERATION and row.iteration is not None:
            return (row.loop.path, row.iteration.number) in self._iterations
        return row.seq in self._numbers


def events_in(path: str | Path, condition: Condition | None = None) -> Iterator[e.Event | str]:
    """Yield the events of a recording, ours without loading it, or of another tool's session; words on what is damaged.

    Args:
        condition: events may be left out that it doesn't hold for and that it needs to know nothing of.

    Raises:
        UserError: it can't be read, in one line.
    """
    if not is_foreign(Path(path)):
        yield from stream_events(path, None if condition is None else passing_over(condition))
        return
    recorded = open_recording(path)
    yield from recorded.notices
    yield from recorded.events
