"""Replays a recording with faults: today's agent runs on what was recorded, and copes with what goes wrong, or does not."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loopkit import events as e
from loopkit.agent import Agent
from loopkit.core.state import CallModel, RunTool
from loopkit.debugger.display import one_line, visible
from loopkit.debugger.rows import count_text
from loopkit.drivers.live_replay import LiveRun, refuse_unrepeatable, run_with
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.drivers.parts import LoopParts
from loopkit.drivers.prepared import MissingAnswer
from loopkit.drivers.replay import (
    current_backend,
    followed,
    originals_of,
    replay,
    require_replayable,
    run_apart,
    todays_parts,
)
from loopkit.drivers.replay_report import Match
from loopkit.drivers.run import current_call
from loopkit.events import Event
from loopkit.messages import ChatResponse
from loopkit.providers.protocol import ChatRequest, Emit, Provider
from loopkit.recording.reader import read_recording
from loopkit.recording.redaction.settings import Redaction
from loopkit.testing.failures import ReplayFailed
from loopkit.testing.faults import Fault, ModelFault, ToolFault
from loopkit.testing.faulty_answers import FaultyAnswers
from loopkit.testing.network import no_network
from loopkit.testing.replays import explain
from loopkit.testing.trajectory import Trajectory
from loopkit.testing.virtual_time import virtual_time
from loopkit.tools.definition import Tool
from loopkit.tools.registry import ToolRegistry


def replay_with_faults(
    path: str | Path,
    agent: Agent,
    faults: Sequence[Fault],
    *,
    match: Match = "strict",
    allow_loopback: bool = False,
    redaction: Redaction | None = None,
    secrets: Mapping[str, str] | None = None,
    backend: str | None = None,
) -> Trajectory:
    """Replay a recording with today's agent and let things go wrong; return what it did then, which the test asserts.

    First it has to replay without faults. Then the agent's own retries, fallbacks, limits and callbacks run: the model
    answers turn by turn as recorded, and a call gets the recorded result of the same name, arguments and occurrence. No
    real second passes for the faults, the network is blocked, and tools don't run.

    Args:
        match: as for `loopkit.replay`, for the replay without faults.
        allow_loopback: callbacks may reach servers on this machine.
        redaction, secrets: as for `loopkit.replay`.
        backend: `asyncio` or `trio`; by default what runs in this thread, else asyncio.

    Raises:
        AssertionError: it does not replay without faults, it asks for what is not recorded, or a fault never came about.
        UserError: the recording can't be used for this.
    """
    __tracebackhide__ = True
    recording = read_recording(path)
    require_replayable(recording)
    recording = dataclasses.replace(recording, events=followed(recording.events))
    # what a tool's own limit ended comes again as it was recorded
    refuse_unrepeatable([event for event in recording.events if not _ended_by_tools_limit(event)])
    backend = backend or current_backend()
    with no_network(allow_loopback=allow_loopback):
        report = replay(recording, agent, match=match, redaction=redaction, secrets=secrets, backend=backend)
        if not report.same:
            raise ReplayFailed(explain(report))
        parts = todays_parts(recording, agent)
        originals = originals_of(recording, redaction, secrets)
        passing = virtual_time(backend)
        answers = FaultyAnswers(recording.events, faults, passing)

        async def run() -> LiveRun:
            live = await run_with(
                answers,
                _with_stand_ins(parts, answers),
                originals,
                answers.hear,
                clock=passing.now,
                driver_made=_without_chance,
            )
            await answers.late_ends()
            return live

        live = run_apart(run, backend, passing.options)
    ran = Trajectory.of(_with_sub_agents(recording.events, live.events, answers))
    ran.path = Path(path)
    if live.missing is not None:
        raise ReplayFailed(_told(ran, _missing_words(path, live.missing, ran)))
    _require_struck(ran, faults, answers)
    return ran


def _ended_by_tools_limit(event: Event) -> bool:
    return isinstance(event.fact, e.ToolAbandoned) and event.fact.cause == "tool timeout"


def _without_chance(driver: LoopDriver) -> None:
    """Let waits between attempts have the same length each time."""
    driver.run.jitter = lambda: 0.5


def _with_stand_ins(parts: LoopParts, answers: FaultyAnswers) -> LoopParts:
    models = tuple(dataclasses.replace(model, provider=_FaultyModel(model.provider, answers)) for model in parts.models)
    tools = [_stand_in(tool, answers) if answers.has_faults_of(tool.name) else tool for tool in parts.registry.values()]
    return dataclasses.replace(parts, models=models, registry=ToolRegistry(tools))


def _stand_in(tool: Tool, answers: FaultyAnswers) -> Tool:
    async def handler(**_: Any) -> object:
        scope = current_call.get()
        assert scope is not None
        return await answers.run_tool(scope)

    other = copy.copy(tool)
    other.function = handler
    other.is_async = True
    return other


def _with_sub_agents(recorded: Sequence[Event], came: Sequence[Event], answers: FaultyAnswers) -> list[Event]:
    """Put in the loops that recorded results came from, since nothing ran them again."""
    below: dict[str, list[Event]] = {}
    for event in recorded:
        if event.loop != e.ROOT:
            below.setdefault(event.loop.partition("#")[0], []).append(event)
    events: list[Event] = []
    for event in came:
        events.append(event)
        if isinstance(event.fact, e.ToolStarted):
            call = event.fact.call
            other = answers.recorded_call(call)
            events += [_moved(each, other, call) for each in below.get(other or "", ()) if other is not None]
    return [dataclasses.replace(event, seq=seq) for seq, event in enumerate(events, 1)]


def _moved(event: Event, call: str, to: str) -> Event:
    """Return a sub-agent's event as one below another call."""
    if call == to:
        return event

    def moved(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(moved(each) for each in value)
        return to + value[len(call) :] if isinstance(value, str) and value.startswith(f"{call}#") else value

    names = {"call", "calls"} & {each.name for each in dataclasses.fields(event.fact)}  # type: ignore[arg-type]  # each fact is one
    changes = {name: moved(getattr(event.fact, name)) for name in names}
    if isinstance(event.fact, e.LoopStarted):
        changes["parent_call"] = to if event.fact.parent_call == call else moved(event.fact.parent_call)
    fact = dataclasses.replace(event.fact, **changes)  # type: ignore[type-var]  # the same
    return dataclasses.replace(event, loop=moved(event.loop), fact=fact)


class _FaultyModel(Provider):
    """Stands in for a model where a fault has to come about."""

    def __init__(self, original: Provider, answers: FaultyAnswers) -> None:
        self.model = original.model
        self._answers = answers

    async def respond(self, request: ChatRequest, emit: Emit) -> ChatResponse:
        return await self._answers.respond(emit)


def _missing_words(path: str | Path, missing: MissingAnswer, run: Trajectory) -> str:
    asked = "something"
    match missing.effect:
        case CallModel(iteration, attempt):
            asked = f"the model's answer in turn {iteration}" + (f", attempt {attempt}" if attempt > 1 else "")
        case RunTool(call):
            node = run.timeline.calls.get(call)
            asked = f"the result of {call}" + ("" if node is None else f" ({node.name} with these arguments)")
    return (
        f"{path}: with these faults the run asks for what is not recorded: {one_line(asked, 300)}\n"
        "  nothing is ever asked live instead; choose faults after which the recording still holds what is asked for, "
        "or record a run that goes this way"
    )


def _require_struck(run: Trajectory, faults: Sequence[Fault], answers: FaultyAnswers) -> None:
    __tracebackhide__ = True
    for number, fault in enumerate(faults):
        if number in answers.struck:
            continue
        words = f"the fault {fault} never came about: "
        if isinstance(fault, ToolFault):
            count = sum(call.name == fault.tool and call.executed for call in run.calls)
            words += f"{one_line(fault.tool)} ran {count}×"
        elif isinstance(fault, ModelFault):
            words += f"the run took {count_text(len(run.iterations), 'turn')}"
        raise ReplayFailed(_told(run, words))


def _told(run: Trajectory, words: str) -> str:
    return f"{visible(words)}\nwhat happened:\n{run.story()}"


__all__ = ["replay_with_faults"]
