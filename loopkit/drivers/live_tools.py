"""Replays with the tools' code really running, and compares loops one by one and results by call (DESIGN §4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loopkit import events as e
from loopkit.core.state import CallState
from loopkit.drivers.divergence import Divergence, what_drifted
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.drivers.parts import LoopParts
from loopkit.drivers.prepared import MissingAnswer, RecordedAnswers
from loopkit.drivers.run import Run, new_header
from loopkit.drivers.tool_loop import run_root
from loopkit.errors import UserError
from loopkit.events import Event
from loopkit.outcomes import Deny, ToolApproval
from loopkit.providers.protocol import Delta

TERMINAL = (e.LoopFinished, e.LoopFailed)
UNREPEATABLE = (e.MessagesInjected, e.HistoryEdited, e.StopCommanded, e.RunStopped, e.ToolAbandoned, e.ModelInterrupted)


class _Listener:
    """Hears what a replay does; stands at no gate and lets nothing run that the recording does not approve."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def stops_at(self, loop: str, gate: str) -> str | None:
        return None

    def decide(self, driver: LoopDriver, call: CallState) -> tuple[ToolApproval, str] | None:
        # the callback raised when it was recorded and has nothing to say today; nobody is there to decide
        return Deny("the recording holds no decision on this call"), "replay"

    def happened(self, event: Event) -> None:
        self.events.append(event)

    def streamed(self, loop: str, iteration: int, delta: Delta) -> None:
        """Pieces of recorded answers don't come."""


async def replay_with_live_tools(events: Sequence[Event], parts: LoopParts) -> Divergence | None:
    """Run an agent's tools with everything else from the recording; return the first difference.

    Raises:
        UserError: the recorded run was stopped or changed from outside at a moment that can't be met again.
    """
    for event in events:
        if isinstance(event.fact, UNREPEATABLE):
            raise UserError(
                f"event {event.seq} ({event.type}) came from outside at a moment that live tools can't meet again: "
                "replay with recorded tools"
            )
    listener = _Listener()
    run = Run(
        new_header(),
        watcher=listener,
        prepared=RecordedAnswers(events, live_tools=True, ask_again=True),
        max_runs=parts.config.max_runs,
        max_concurrent_runs=parts.config.max_concurrent_runs,
    )
    missing: MissingAnswer | None = None
    try:
        await run_root(run, parts)
    except MissingAnswer as error:
        missing = error
    except Exception as error:  # how the run failed stands in its events, which are compared
        if not any(isinstance(event.fact, e.LoopFailed) for event in listener.events):
            raise error from None
    return _first_difference(events, listener.events, missing)


def _first_difference(
    recorded: Sequence[Event], came: Sequence[Event], missing: MissingAnswer | None
) -> Divergence | None:
    differences = list(_differences(recorded, came))
    finished = any(event.loop == e.ROOT and isinstance(event.fact, TERMINAL) for event in recorded)
    if finished:
        differences += _beyond(recorded, came)
    if differences:
        return min(differences, key=lambda divergence: divergence.seq)
    if missing is not None and finished:
        last = max((event.seq for event in recorded if event.loop == missing.loop), default=len(recorded))
        return Divergence(last, missing.loop, 0, str(missing), None, None)
    return None


def _differences(recorded: Sequence[Event], came: Sequence[Event]) -> Iterator[Divergence]:
    results = {key: event for event in came if (key := _call_of(event))}
    for event in recorded:
        key = _call_of(event)
        if key and (other := results.get(key)) is not None and other.fact != event.fact:
            yield _difference(event, other)
    for loop in dict.fromkeys(event.loop for event in recorded):
        before = [event for event in recorded if event.loop == loop and _compared(event)]
        after = [event for event in came if event.loop == loop and _compared(event)]
        for place, event in enumerate(before):
            other = after[place] if place < len(after) else None
            if other is None or other.fact != event.fact or other.iteration != event.iteration:
                yield _difference(event, other)
                break


def _beyond(recorded: Sequence[Event], came: Sequence[Event]) -> Iterator[Divergence]:
    """Yield what came today behind the recorded ends."""
    for loop in dict.fromkeys(event.loop for event in recorded):
        before = [event for event in recorded if event.loop == loop and _compared(event)]
        after = [event for event in came if event.loop == loop and _compared(event)]
        if len(after) > len(before):
            extra = after[len(before)]
            yield Divergence(before[-1].seq, loop, extra.iteration, what_drifted(None, extra.fact), None, extra.fact)
    known = {event.loop for event in recorded}
    for event in came:
        if event.loop not in known:
            yield Divergence(len(recorded), event.loop, event.iteration, "a new sub-agent", None, event.fact)
            return


def _difference(event: Event, other: Event | None) -> Divergence:
    came = None if other is None else other.fact
    return Divergence(event.seq, event.loop, event.iteration, what_drifted(event.fact, came), event.fact, came)


def _compared(event: Event) -> bool:
    return isinstance(event.fact, (e.Derived, e.LoopStarted, e.StopAnswered))


def _call_of(event: Event) -> tuple[str, str] | None:
    """Return what a decision or a result belongs to: callbacks and tools answer in any order (spec/faults.md d9)."""
    if isinstance(event.fact, (e.ToolReturned, e.ToolFailed)):
        return event.fact.call, "result"
    if isinstance(event.fact, e.Decided):
        return event.fact.call, "decision"
    if isinstance(event.fact, e.ResultProcessed):
        return event.fact.call, event.fact.processor
    return None
