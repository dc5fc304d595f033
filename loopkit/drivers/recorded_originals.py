"""What comes today of a live replay, in the placeholders of the recording that it is compared with."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable
from typing import TypeVar, cast

from loopkit import events as e
from loopkit.drivers.originals import Originals
from loopkit.recording.redaction.redactor import Redactor

F = TypeVar("F", bound=e.Fact)


class RecordedOriginals(Originals):
    """Lays each fact of today beside the recorded one of the same place before anything of it is hidden anew.

    So secrets that tools gave then and give today meet in one placeholder, and later calls with it run.

    Args:
        events: the recording's.
    """

    def __init__(self, redactor: Redactor, events: Iterable[e.Event]) -> None:
        super().__init__(redactor)
        self._recorded: dict[Hashable, deque[e.Fact]] = defaultdict(deque)
        for event in events:
            place = _place(event.fact)
            if place is not None:
                self._recorded[place].append(event.fact)

    def hidden(self, fact: F) -> F:
        """Return an input as it is compared."""
        place = _place(fact)
        recorded = self._recorded.get(place) if place is not None else None
        if not recorded:
            return super().hidden(fact)
        return cast("F", self.aligned(recorded.popleft(), fact))


def _place(fact: e.Fact) -> Hashable:
    match fact:
        case e.LoopStarted():
            return "start", fact.parent_call, fact.agent
        case e.ToolReturned(call) | e.ToolFailed(call):
            return "result", call
        case e.Decided(call, version):
            return "decision", call, version
        case e.ResultProcessed(call, _, processor):
            return "processed", call, processor
    return None


__all__ = ["RecordedOriginals"]
