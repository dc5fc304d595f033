"""Follows a recording event by event: feeds its inputs to today's loop and stops at the first difference."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from loopkit import events as e
from loopkit.core.editing import answer_can_be_edited, result_can_be_edited
from loopkit.core.loop import LoopCore
from loopkit.core.state import AskDecision, AskStopCondition, CallModel, CallPhase, LoopState, Phase, RunTool
from loopkit.drivers.asking_again import TodaysAgent
from loopkit.drivers.divergence import Divergence, what_drifted
from loopkit.drivers.prepared import SPONTANEOUS, effect_answered
from loopkit.encoding import encode
from loopkit.events import Event


async def first_difference(events: Sequence[Event], today: TodaysAgent | None, copied: int | None) -> Divergence | None:
    """Return the first difference, or None.

    Args:
        today: today's agent, or None to compare with today's loop alone.
        copied: for a fork, the number of events that it copied from its parent.
    """
    cores: dict[str, LoopCore] = {}
    last: LoopCore | None = None
    for event in events:
        core = cores.get(event.loop)
        if last is not None and core is not last and (copied is None or event.seq <= copied):
            left_out = _left_out(last)
            if left_out is not None:
                return _diverged(event, left_out)
        last = core
        if isinstance(event.fact, e.LoopStarted):
            came = today.started(event.fact) if today is not None and event.loop == e.ROOT else event.fact
            if not equal_as_recorded(came, event.fact):
                return _diverged(event, came)
            if event.loop in cores or not may_start(event, event.fact.parent_call, cores):
                return Divergence(event.seq, event.loop, event.iteration, "it can't start here", event.fact, None)
            cores[event.loop] = LoopCore.started(event.loop, event.fact)
            continue
        if core is None:
            return Divergence(event.seq, event.loop, event.iteration, "its loop never started", event.fact, None)
        asked = today if event.loop == e.ROOT else None
        divergence = _derived(core, event) if isinstance(event.fact, e.Derived) else await _input(core, event, asked)
        if divergence is not None:
            return divergence
        core.apply(event)
    return _open_end(events, cores)


def may_start(event: Event, call: str | None, cores: dict[str, LoopCore]) -> bool:
    """Say whether a loop is a root, or one that a running call may have started (spec/loop.md 7.4)."""
    if event.iteration != 0:
        return False
    if call is None:
        return not cores
    above = cores.get(call.rpartition("/")[0])
    return above is not None and RunTool(call) in above.wants and event.loop.startswith(f"{call}#")


def _left_out(core: LoopCore) -> e.Fact | None:
    """Return what a loop should have derived before another loop's next event: both are written in one step.

    A turn may wait: a loop that has just begun, and a handle's between two turns.
    """
    return None if core.state.phase is Phase.TURN else core.due()


def _open_end(events: Sequence[Event], cores: dict[str, LoopCore]) -> Divergence | None:
    root = cores.get(e.ROOT)
    if root is None or root.state.finished is None:
        return None
    for path, core in cores.items():
        if core.state.finished is None:
            what = "its end is missing, though its root has ended"
            return Divergence(len(events), path, core.state.iteration, what, None, core.due())
    return None


def equal_as_recorded(came: e.LoopStarted, recorded: e.LoopStarted) -> bool:
    """Compare what a file would hold: a tuple in the settings comes back as a list."""
    return came == recorded or bool(json.loads(json.dumps(encode(came), default=str)) == encode(recorded))


def _diverged(event: Event, came: e.Fact | None) -> Divergence:
    return Divergence(event.seq, event.loop, event.iteration, what_drifted(event.fact, came), event.fact, came)


def _derived(core: LoopCore, event: Event) -> Divergence | None:
    due = core.due()
    same = due is not None and due == event.fact and core.iteration_of(due) == event.iteration
    return None if same else _diverged(event, due)


async def _input(core: LoopCore, event: Event, today: TodaysAgent | None) -> Divergence | None:
    if isinstance(event.fact, e.ToolEndedLate):
        return None
    if core.state.finished is not None:
        return Divergence(event.seq, event.loop, event.iteration, "its loop has ended", event.fact, None)
    if not isinstance(event.fact, SPONTANEOUS) and (due := core.due()) is not None:
        return _diverged(event, due)
    if not is_expected(core.state, event):
        return Divergence(
            event.seq, event.loop, event.iteration, "today's loop does not ask for this", event.fact, None
        )
    if today is None:
        return None
    came = await today.said_of(core, event)
    return None if came == event.fact else _diverged(event, came)


def is_expected(state: LoopState, event: Event) -> bool:
    """Say whether a loop can take an input where it stands."""
    if event.iteration != state.iteration:
        return False
    match event.fact:
        case e.ModelInterrupted():
            return state.phase is Phase.MODEL
        case e.ModelAttemptFailed(attempt):
            return CallModel(event.iteration, attempt) in state.wants
        case e.ToolAbandoned(call) | e.ToolProgressed(call) | e.ToolAttemptFailed(call):
            running = state.call_state(call)
            return running is not None and running.phase is CallPhase.RUNNING
        case e.AnswerEdited():
            return answer_can_be_edited(state)
        case e.ResultEdited(call):
            return result_can_be_edited(state, call)
        case e.CallbackFailed():
            return any(isinstance(wanted, (AskDecision, AskStopCondition)) for wanted in state.wants)
        case e.ClockRead(loop_seconds) if state.rules.timeout is not None and loop_seconds >= state.rules.timeout:
            return True
    effect = effect_answered(event)
    return effect is None or any(_answers(effect, wanted) for wanted in state.wants)


def _answers(effect: Any, wanted: Any) -> bool:
    # an answer's attempt is not in its event, so that iteration and kind decide
    return type(effect) is type(wanted) and (effect == wanted or getattr(effect, "attempt", None) is not None)
