"""Replays in which the tools' code really runs, or the model is really asked, with everything else recorded (DESIGN §4).

What runs live takes its own time, so loops are compared one by one and results by call, not by their global order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from loopkit import events as e
from loopkit.core.state import CallState
from loopkit.drivers.by_content import AnswersByContent
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.drivers.originals import Originals
from loopkit.drivers.parts import LoopParts
from loopkit.drivers.prepared import MissingAnswer, RecordedAnswers
from loopkit.drivers.run import Prepared, Run, new_header
from loopkit.drivers.tool_loop import DriverMade, run_root
from loopkit.errors import RecordingUnwritable, UserError
from loopkit.events import Event
from loopkit.outcomes import Deny, ToolApproval
from loopkit.providers.protocol import Delta

UNREPEATABLE = (
    e.MessagesInjected,
    e.HistoryEdited,
    e.AgentChanged,
    e.AnswerEdited,
    e.ResultEdited,
    e.Reopened,
    e.StopCommanded,
    e.RunStopped,
    e.ToolAbandoned,
    e.ModelInterrupted,
)


@dataclass
class LiveRun:
    """What a live replay did.

    Args:
        events: all of them, numbered from 1.
        missing: what it asked for and the recording does not hold, or None.
    """

    events: list[Event] = field(default_factory=list)
    missing: MissingAnswer | None = None


class DecidedBefore(Prepared, Protocol):
    """A recording's answers, which also tell what was decided."""

    def decided(self, loop: str, call: str, version: int) -> e.Decided | None:
        """Return the recorded decision on a version of a call, or None."""
        ...


class _Listener:
    """Hears what a replay does; stands at no gate and lets nothing run that the recording does not approve."""

    def __init__(self, heard: Callable[[Event], None], answers: DecidedBefore) -> None:
        self._heard = heard
        self._answers = answers

    def stops_at(self, loop: str, gate: str) -> str | None:
        return None

    def decide(self, driver: LoopDriver, call: CallState) -> tuple[ToolApproval, str] | None:
        decided = self._answers.decided(driver.path, call.key, call.version)
        if decided is not None and decided.by != "on_tool_call":
            # a policy's, after today's callback had nothing to say
            return decided.decision, decided.by
        # the callback had something to say, or raised, when it was recorded; nobody is there to decide
        return Deny("the recording holds no decision on this call"), "replay"

    def stands_unrecorded(self, error: RecordingUnwritable) -> bool:
        return False

    def happened(self, event: Event) -> None:
        self._heard(event)

    def streamed(self, loop: str, iteration: int, delta: Delta) -> None:
        """Pieces of answers don't count."""


def refuse_unrepeatable(events: Sequence[Event]) -> None:
    """Refuse a recording whose course came from outside.

    Raises:
        UserError: it was stopped or changed at a moment that can't be met again.
    """
    for event in events:
        if isinstance(event.fact, UNREPEATABLE):
            raise UserError(
                f"event {event.seq} ({event.type}) came from outside at a moment that a live replay can't meet again: "
                "replay with recorded tools and model"
            )


@dataclass(frozen=True)
class LiveReplay:
    """An agent that runs with its tools or its model live.

    Args:
        parts: what a run of it is made of, with the recorded task.
        originals: hides what the recorder hid.
        live_tools, live_model: which of them; everything else comes from the recording.
    """

    parts: LoopParts
    originals: Originals
    live_tools: bool
    live_model: bool

    async def run(self, events: Sequence[Event]) -> LiveRun:
        """Run it on a recording's answers."""
        if self.live_model:
            by_content = AnswersByContent(events, live_tools=self.live_tools)
            return await run_with(by_content, self.parts, self.originals, by_content.hear)
        answers = RecordedAnswers(events, live_tools=True, ask_again=True)
        return await run_with(answers, self.parts, self.originals, clock=_standing_still)


def _standing_still() -> float:
    """Let recorded readings alone decide about the loop's timeout: a replay looks at no clock."""
    return 0.0


async def run_with(
    prepared: DecidedBefore,
    parts: LoopParts,
    originals: Originals,
    heard: Callable[[Event], None] | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
    driver_made: DriverMade | None = None,
) -> LiveRun:
    """Run an agent on prepared answers until its end, or until one is missing.

    Args:
        heard: told of every event before anything else is asked.
        clock: monotonic seconds.
        driver_made: called with the root's driver before its first event.
    """
    live = LiveRun()

    def hear(event: Event) -> None:
        live.events.append(event)
        if heard is not None:
            heard(event)

    run = Run(
        new_header(),
        watcher=_Listener(hear, prepared),
        prepared=prepared,
        max_runs=parts.config.max_runs,
        max_concurrent_runs=parts.config.max_concurrent_runs,
        originals=originals,
        clock=clock,
    )
    try:
        await run_root(run, parts, driver_made=driver_made)
    except MissingAnswer as error:
        live.missing = error
        # what follows only brings the run to an end
        ends = [place for place, event in enumerate(live.events) if isinstance(event.fact, e.RunStopped)]
        del live.events[ends[0] if ends else len(live.events) :]
    except Exception as error:  # how the run failed stands in its events, which are compared
        if not any(isinstance(event.fact, e.LoopFailed) for event in live.events):
            raise error from None
    return live
