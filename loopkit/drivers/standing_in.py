"""What a rerun puts in the place of an input that the recording lacks: the least that fits what is recorded behind it."""

from __future__ import annotations

from collections.abc import Sequence

from loopkit import events as e
from loopkit.core.state import (
    AskDecision,
    AskStopCondition,
    CallModel,
    Effect,
    ProcessResult,
    ReadClock,
    RunTool,
)
from loopkit.drivers.alignment import subject_of
from loopkit.events import Event
from loopkit.messages import Message, ToolCall
from loopkit.outcomes import Approve, Deny, Respond, StopCondition, Timeout, ToolApproval

NOT_RECORDED = "(the recording holds no result of this call)"


class StandIns:
    """Makes stand-ins; calling it gives the one for a loop's effect.

    Args:
        recorded: the recording's events.
    """

    def __init__(self, recorded: Sequence[Event]) -> None:
        self._facts: dict[tuple[object, ...], Event] = {}
        self._called: dict[tuple[str, int], dict[int, str]] = {}
        for event in recorded:
            self._facts.setdefault((event.loop, *subject_of(event)), event)
            if isinstance(event.fact, e.DecisionRequested):
                names = self._called.setdefault((event.loop, event.iteration), {})
                position = event.fact.call.rpartition(".")[2]
                if position.isdecimal():
                    # a file may hold anything as a call's id
                    names[int(position)] = event.fact.name

    def was_asked(self, loop: str, effect: Effect) -> bool:
        """Say whether the recorded loop asked for this too."""
        match effect:
            case CallModel(turn, attempt):
                return (loop, "request", turn, attempt) in self._facts
            case AskDecision(call, version):
                return (loop, "decision asked for", call, version) in self._facts
            case RunTool(call):
                event = self._facts.get((loop, "run", call))
                return event is not None and isinstance(event.fact, e.ToolStarted)
        return True

    def __call__(self, loop: str, effect: Effect) -> e.Input:
        """Return what stands for an effect's answer."""
        match effect:
            case CallModel(turn):
                return e.ModelReplied(Message.assistant("", self._calls(loop, turn)))
            case ReadClock(turn):
                reason = self._reason(loop, turn - 1)
                return e.ClockRead(reason.limit if isinstance(reason, Timeout) else 0.0)
            case AskStopCondition(turn):
                reason = self._reason(loop, turn)
                stop = isinstance(reason, StopCondition)
                return e.StopAnswered(stop, reason.reason if isinstance(reason, StopCondition) else None)
            case AskDecision(call, version):
                return self._decision(loop, call, version)
            case RunTool(call):
                return e.ToolReturned(call, NOT_RECORDED)
            case ProcessResult(call, processor):
                return e.ResultProcessed(call, None, processor)

    def _calls(self, loop: str, turn: int) -> list[ToolCall]:
        names = self._called.get((loop, turn), {})
        return [
            ToolCall("", names.get(place, ""), cut_off=place not in names)
            for place in range(1, max(names, default=0) + 1)
        ]

    def _reason(self, loop: str, turn: int) -> object:
        end = self._facts.get((loop, "end"))
        if end is None or end.iteration != turn or not isinstance(end.fact, e.LoopFinished):
            return None
        return end.fact.reason

    def _decision(self, loop: str, call: str, version: int) -> e.Input:
        decision: ToolApproval = Approve()
        event = self._facts.get((loop, "run", call))
        if event is not None and isinstance(event.fact, e.ToolSkipped):
            skipped = event.fact
            if skipped.cause == "expired":
                return e.DecisionExpired(call, version)
            if skipped.cause == "denied":
                decision = Deny(skipped.content)
            elif skipped.cause == "responded":
                decision = Respond(skipped.content, skipped.is_error)
        return e.Decided(call, version, decision, "replay")
