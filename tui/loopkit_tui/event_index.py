"""Which events a row of the timeline is made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from loopkit.debugger.nodes import Row, RowKind
from loopkit.debugger.session import Session
from loopkit.events import Event

_OF_LOOP = frozenset({"LoopStarted", "LoopFinished", "LoopFailed"})


class EventsOfRows:
    """The events behind the rows of a session, looked up when they are asked for."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._index = EventIndex()

    def of(self, row: Row | None) -> Sequence[Event]:
        """The events behind a row, oldest first."""
        if row is None:
            return ()
        if self._session.large:
            # of the few that were read for this row
            self._index = EventIndex()
        self._index.take_in(self._session.events_near(row))
        return self._index.of(row)


class EventIndex:
    """Events by call and by iteration, taken in as they come."""

    def __init__(self) -> None:
        self._by_call: dict[str, list[Event]] = defaultdict(list)
        self._by_iteration: dict[tuple[str, int], list[Event]] = defaultdict(list)
        self._by_loop: dict[str, list[Event]] = defaultdict(list)
        self._seen = 0

    def take_in(self, events: Iterable[Event]) -> None:
        """Add events; ones that were added before are left out."""
        for event in events:
            if event.seq <= self._seen:
                continue
            self._seen = event.seq
            call = getattr(event.fact, "call", None)
            if isinstance(call, str):
                self._by_call[call].append(event)
            elif event.type in _OF_LOOP:
                self._by_loop[event.loop].append(event)
            else:
                self._by_iteration[event.loop, event.iteration].append(event)

    def of(self, row: Row | None) -> Sequence[Event]:
        """The events behind a row, oldest first."""
        if row is None:
            return ()
        if row.event is not None:
            return (row.event,)
        if row.kind is RowKind.CALL and row.call is not None:
            replied = self._by_iteration.get((row.loop.path, row.call.iteration.number), ())
            answers = [event for event in replied if event.type == "ModelReplied"]
            return [*answers, *self._by_call.get(row.call.id, ())]
        if row.iteration is not None:
            return self._by_iteration.get((row.loop.path, row.iteration.number), ())
        return self._by_loop.get(row.loop.path, ())
