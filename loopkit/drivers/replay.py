"""Replays a recording: feeds its inputs to today's loop and compares what follows, event by event (DESIGN §4)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio

from loopkit import events as e
from loopkit.core.config import ApprovalContext, StopContext
from loopkit.core.context_tools import PROCESSOR
from loopkit.core.loop import LoopCore
from loopkit.core.state import AskDecision, AskStopCondition, CallModel, CallPhase, LoopState, Phase, RunTool
from loopkit.drivers.divergence import Divergence, what_drifted
from loopkit.drivers.facts import failure_of, verdict_on
from loopkit.drivers.live_tools import replay_with_live_tools
from loopkit.drivers.originals import Originals
from loopkit.drivers.parts import LoopParts
from loopkit.drivers.performing import ask_on_tool_call, ask_stop_when
from loopkit.drivers.prepared import SPONTANEOUS, effect_answered
from loopkit.drivers.processing import processed
from loopkit.drivers.result import response_of
from loopkit.encoding import encode
from loopkit.errors import RecordingError, ReplayDivergence, UserError
from loopkit.events import Event
from loopkit.outcomes import Modify
from loopkit.recording.reader import Recording, read_recording, require_sound


@dataclass(frozen=True)
class ReplayReport:
    """What a replay found.

    Args:
        events: events compared.
        loops: loops of the tree.
        finished: the recorded run came to its end.
        divergence: the first difference, or None.
    """

    path: str
    events: int
    loops: int
    finished: bool
    divergence: Divergence | None = None

    @property
    def same(self) -> bool:
        return self.divergence is None

    def text(self) -> str:
        """Return the outcome in words; a divergence's values are as recorded."""
        size = f"{_count(self.events, 'event')}, {_count(self.loops, 'loop')}"
        if self.divergence is not None:
            return f"{self.path}: diverged ({size})\n{self.divergence.text()}"
        return f"{self.path}: same ({size}{'' if self.finished else ', the recorded run is unfinished'})"

    def data(self) -> dict[str, Any]:
        """Return the same for machines."""
        return {
            "same": self.same,
            "events": self.events,
            "loops": self.loops,
            "finished": self.finished,
            "divergence": None if self.divergence is None else self.divergence.data(),
        }

    def raise_if_diverged(self) -> None:
        """Raise the divergence, if there is one.

        Raises:
            ReplayDivergence: with the readable account.
        """
        if self.divergence is not None:
            raise ReplayDivergence(self.text())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def replay(
    recording: str | Path | Recording, agent: Any = None, *, tools: Literal["recorded", "live"] = "recorded"
) -> ReplayReport:
    """Replay a recording and say whether it goes the same way; nothing is written and no model is asked.

    Args:
        recording: a file, or what `read_recording` gave.
        agent: today's agent: its prompt, tools, configuration and callbacks are compared with what was recorded.
        tools: `live` really runs the agent's tools and compares what they return.

    Raises:
        RecordingError: the recording can't be used: it is missing, damaged, of a newer format.
        UserError: `tools="live"` without an agent, or for a run that it can't be done for.
    """
    recording = recording if isinstance(recording, Recording) else read_recording(recording)
    require_sound(recording)
    for event in recording.events:
        if isinstance(event.fact, e.Unrecognised):
            raise RecordingError(
                f"{recording.path}: event {event.seq} has the unknown type {event.type!r}, so it can't be replayed"
            )
    if tools == "live" and agent is None:
        raise UserError("tools='live' runs an agent's tools: name the agent")
    parts = None if agent is None else _todays_parts(recording, agent)
    divergence = _run_apart(_compare, recording.events, parts, recording.header.fork_seq)
    if divergence is None and tools == "live":
        assert parts is not None
        divergence = _run_apart(replay_with_live_tools, recording.events, parts)
    return _report(recording, divergence)


def _report(recording: Recording, divergence: Divergence | None) -> ReplayReport:
    loops = {event.loop for event in recording.events}
    finished = any(
        event.loop == e.ROOT and isinstance(event.fact, (e.LoopFinished, e.LoopFailed)) for event in recording.events
    )
    return ReplayReport(str(recording.path), len(recording.events), len(loops), finished, divergence)


def _todays_parts(recording: Recording, agent: Any) -> LoopParts:
    first = recording.events[0].fact
    if not isinstance(first, e.LoopStarted):
        raise RecordingError(f"{recording.path}: does not begin with the start of a loop")
    parts: LoopParts = agent.parts(first.task)
    return parts


def _run_apart(function: Callable[..., Coroutine[Any, Any, Divergence | None]], *arguments: Any) -> Divergence | None:
    """Run an async function in an event loop of its own, also where one is running already."""
    found: list[Divergence | None] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(anyio.run(function, *arguments))
        except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
            raised.append(error)

    thread = threading.Thread(target=run, name="loopkit replay", daemon=True)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return found[0]


async def _compare(events: Sequence[Event], parts: LoopParts | None, copied: int | None) -> Divergence | None:
    """Return the first difference.

    Args:
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
            came = parts.started(event.fact.parent_call) if parts is not None and event.loop == e.ROOT else event.fact
            if not _equal_as_recorded(came, event.fact):
                return _diverged(event, came)
            if event.loop in cores or not _may_start(event, event.fact.parent_call, cores):
                return Divergence(event.seq, event.loop, event.iteration, "it can't start here", event.fact, None)
            cores[event.loop] = LoopCore.started(event.loop, event.fact)
            continue
        if core is None:
            return Divergence(event.seq, event.loop, event.iteration, "its loop never started", event.fact, None)
        root_parts = parts if event.loop == e.ROOT else None
        divergence = (
            _derived(core, event) if isinstance(event.fact, e.Derived) else await _input(core, event, root_parts)
        )
        if divergence is not None:
            return divergence
        core.apply(event)
    return _open_end(events, cores)


def _may_start(event: Event, call: str | None, cores: dict[str, LoopCore]) -> bool:
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


def _equal_as_recorded(came: e.LoopStarted, recorded: e.LoopStarted) -> bool:
    """Compare what a file would hold: a tuple in the settings comes back as a list."""
    return came == recorded or bool(json.loads(json.dumps(encode(came), default=str)) == encode(recorded))


def _diverged(event: Event, came: e.Fact | None) -> Divergence:
    return Divergence(event.seq, event.loop, event.iteration, what_drifted(event.fact, came), event.fact, came)


def _derived(core: LoopCore, event: Event) -> Divergence | None:
    due = core.due()
    same = due is not None and due == event.fact and core.iteration_of(due) == event.iteration
    return None if same else _diverged(event, due)


async def _input(core: LoopCore, event: Event, parts: LoopParts | None) -> Divergence | None:
    if isinstance(event.fact, e.ToolEndedLate):
        return None
    if core.state.finished is not None:
        return Divergence(event.seq, event.loop, event.iteration, "its loop has ended", event.fact, None)
    if not isinstance(event.fact, SPONTANEOUS) and (due := core.due()) is not None:
        return _diverged(event, due)
    if not _expected(core.state, event):
        return Divergence(
            event.seq, event.loop, event.iteration, "today's loop does not ask for this", event.fact, None
        )
    return None if parts is None else await _asked_again(core, event, parts)


def _expected(state: LoopState, event: Event) -> bool:
    """Say whether a loop can take an input where it stands."""
    if event.iteration != state.iteration:
        return False
    match event.fact:
        case e.ModelInterrupted():
            return state.phase is Phase.MODEL
        case e.ModelAttemptFailed(attempt):
            return CallModel(event.iteration, attempt) in state.wants
        case e.ToolAbandoned(call):
            running = state.call_state(call)
            return running is not None and running.phase is CallPhase.RUNNING
        case e.CallbackFailed():
            return any(isinstance(wanted, (AskDecision, AskStopCondition)) for wanted in state.wants)
        case e.ClockRead(loop_seconds) if state.rules.timeout is not None and loop_seconds >= state.rules.timeout:
            return True
    effect = effect_answered(event)
    return effect is None or any(_answers(effect, wanted) for wanted in state.wants)


def _answers(effect: Any, wanted: Any) -> bool:
    # an answer's attempt is not in its event, so that iteration and kind decide
    return type(effect) is type(wanted) and (effect == wanted or getattr(effect, "attempt", None) is not None)


async def _asked_again(core: LoopCore, event: Event, parts: LoopParts) -> Divergence | None:
    """Ask today's callbacks what the recorded ones were asked (DESIGN §4)."""
    try:
        if isinstance(event.fact, e.StopAnswered):
            came: e.Fact | None = await _stop_when_today(core, parts)
        elif isinstance(event.fact, e.Decided) and _after_callback(event.fact, parts):
            came = await _on_tool_call_today(core, event.fact, parts)
        elif isinstance(event.fact, e.ResultProcessed) and event.fact.processor == PROCESSOR:
            came = await _processor_today(core, event.fact, parts)
        else:
            return None
    except Exception as error:  # noqa: BLE001  # a callback that raises today is a difference, not our failure
        callback = "stop_when" if isinstance(event.fact, e.StopAnswered) else "on_tool_call"
        came = e.CallbackFailed(callback, failure_of(error))
    return None if came == event.fact else _diverged(event, came)


def _after_callback(fact: e.Decided, parts: LoopParts) -> bool:
    """Say whether the callback was asked: a policy and the default decide when it had nothing to say.

    A person may have been faster, so that their decisions say nothing about it.
    """
    return fact.by == "on_tool_call" or (fact.by != "person" and parts.config.on_tool_call is not None)


async def _stop_when_today(core: LoopCore, parts: LoopParts) -> e.Fact:
    state = core.state
    assert state.response is not None
    context = StopContext(
        state.iteration, response_of(state.response), state.usage, state.tool_calls_executed, state.last_tool_results
    )
    return await ask_stop_when(parts.config.stop_when, context)


async def _processor_today(core: LoopCore, fact: e.ResultProcessed, parts: LoopParts) -> e.Fact | None:
    call = core.state.call_state(fact.call)
    return None if call is None else await processed(parts.config, core.state, call, fact.processor, Originals())


async def _on_tool_call_today(core: LoopCore, fact: e.Decided, parts: LoopParts) -> e.Fact | None:
    call = core.state.call_state(fact.call)
    if call is None or AskDecision(fact.call, fact.version) not in core.wants:
        return None
    tool = parts.registry.get(call.call.name)
    context = ApprovalContext(
        core.state.iteration,
        core.state.path,
        fact.call,
        None if tool is None else tool.definition.parameters,
        call.problems,
        core.state.messages_so_far,
    )
    approval = await ask_on_tool_call(parts.config.on_tool_call, call.call, context)
    if approval is None:
        return None if fact.by == "on_tool_call" else fact
    verdict = e.CallVerdict()
    if isinstance(approval, Modify):
        verdict = verdict_on(parts.registry, call.call.name, approval.arguments)
    return e.Decided(fact.call, fact.version, approval, "on_tool_call", verdict)
