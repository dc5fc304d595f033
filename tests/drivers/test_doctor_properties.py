"""For random runs and one change of agent or recording: the doctor names what was changed first, and the rest is aligned."""

from __future__ import annotations

import copy
import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from loopkit import Agent, ToolRegistry
from loopkit import events as e
from loopkit.drivers.alignment import subject_of
from loopkit.drivers.findings import Drift, Finding
from loopkit.drivers.live_replay import UNREPEATABLE
from loopkit.drivers.prepared import SPONTANEOUS
from loopkit.drivers.replay import replay
from loopkit.drivers.replay_report import ReplayReport
from loopkit.messages import Message
from loopkit.outcomes import Deny, Modify
from loopkit.recording.reader import Recording, read_recording
from loopkit.tools.definition import Tool
from tests.drivers.random_agents import CallPlan, Plan, agent_of, hangs_on_pace, plans
from tests.drivers.random_runs import Meddling, meddlings
from tests.drivers.test_properties import recorded, thorough
from tests.drivers.test_replay import of_events

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
searching = settings(thorough, suppress_health_check=list(HealthCheck))
places = st.floats(0, 1, exclude_max=True)


def steady(depth: int = 2) -> st.SearchStrategy[Plan]:
    """Agents whose runs are the same each time: no limit is as short as a turn of the event loop."""
    return plans(depth).map(_without_short_limits)


def _without_short_limits(plan: Plan) -> Plan:
    turns = tuple(
        tuple(
            dataclasses.replace(call, child=None if call.child is None else _without_short_limits(call.child))
            for call in turn
        )
        for turn in plan.turns
    )
    return dataclasses.replace(plan, turns=turns, timeout=1000.0 if plan.timeout else plan.timeout)


def run_of(plan: Plan, meddling: Meddling, backend: str) -> Recording:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        recorded(plan, meddling, backend, path)
        return read_recording(path)


def causes(report: ReplayReport) -> Sequence[Finding]:
    assert not report.same
    assert report.diagnosis is not None
    assert report.diagnosis.findings, report.text()
    return report.diagnosis.findings


# ── the agent ────────────────────────────────────────────────────────────────────────────────────────────────────────


def with_other_tool(agent: Agent, **changes: object) -> None:
    """Change the first tool's definition."""
    first, *rest = tools_of(agent)
    first = copy.copy(first)
    first.definition = dataclasses.replace(first.definition, **changes)  # type: ignore[arg-type]  # by name
    agent.registry = ToolRegistry([first, *rest])


def tools_of(agent: Agent) -> list[Tool]:
    return [tool for name in agent.registry.names if (tool := agent.registry.get(name)) is not None]


def without_last_tool(agent: Agent) -> None:
    agent.registry = ToolRegistry(tools_of(agent)[:-1])


def with_prompt(agent: Agent) -> None:
    agent.system = "Be quick."


def with_settings(agent: Agent) -> None:
    agent.settings = {"temperature": 0.5}


def with_config(agent: Agent, **changes: object) -> None:
    agent.config = dataclasses.replace(agent.config, **changes)  # type: ignore[arg-type]  # by name


AGENT_CHANGES: dict[str, tuple[Callable[[Agent], None], Drift, str]] = {
    "prompt": (with_prompt, Drift.SYSTEM_PROMPT, ""),
    "description": (lambda agent: with_other_tool(agent, description="Otherwise."), Drift.TOOL_DESCRIPTION, "echo"),
    "schema": (
        lambda agent: with_other_tool(agent, parameters={"type": "object", "properties": {}}),
        Drift.TOOL_SCHEMA,
        "echo",
    ),
    "missing tool": (without_last_tool, Drift.TOOL_MISSING, "pair"),
    "settings": (with_settings, Drift.SETTINGS, "temperature"),
    "configuration": (lambda agent: with_config(agent, max_iterations=5), Drift.CONFIGURATION, "max_iterations"),
    "depth": (lambda agent: with_config(agent, max_depth=9), Drift.CONFIGURATION, "max_depth"),
}


@BACKENDS
@pytest.mark.parametrize("change", AGENT_CHANGES)
@given(plan=steady(1))
@searching
def test_a_changed_agent_is_named(backend: str, change: str, plan: Plan) -> None:
    """features 17, 20: what changed, once; requests that only carry it on are the same."""
    run = run_of(plan, Meddling(), backend)
    agent = agent_of(plan)
    assert replay(run, agent, backend=backend).same
    alter, drift, name = AGENT_CHANGES[change]
    alter(agent)
    found = causes(replay(run, agent, backend=backend))
    assert [(finding.drift, finding.seq) for finding in found] == [(drift, 1)]
    assert name in found[0].what
    assert found[0].diff


def test_a_check_by_a_schema_that_is_gone_follows_from_that() -> None:
    """A callback says the same again, and today nothing checks its arguments: that is no change of the decision."""
    plan = Plan(turns=((CallPlan("pair"),),), approvals=(Modify({"n": "no number"}),), parallel=False)
    run, agent = run_of(plan, Meddling(), "asyncio"), agent_of(plan)
    without_last_tool(agent)
    (found,) = causes(replay(run, agent))
    assert (found.drift, found.seq) == (Drift.TOOL_MISSING, 1)
    assert "root/1.1 pair is decided otherwise" in [following.what for following in found.follows]


# ── the recording ────────────────────────────────────────────────────────────────────────────────────────────────────


def dropped(events: list[e.Event], place: int) -> list[e.Event]:
    return [*events[:place], *events[place + 1 :]]


def doubled(events: list[e.Event], place: int) -> list[e.Event]:
    return [*events[:place], events[place], *events[place:]]


def swapped(events: list[e.Event], place: int) -> list[e.Event]:
    assume(place + 1 < len(events))
    return [*events[:place], events[place + 1], events[place], *events[place + 2 :]]


RECORDING_CHANGES = {"dropped": dropped, "doubled": doubled, "swapped": swapped}


@BACKENDS
@pytest.mark.parametrize("change", RECORDING_CHANGES)
@given(plan=steady(), meddling=meddlings(), place=places)
@searching
def test_a_changed_recording_is_named(backend: str, change: str, plan: Plan, meddling: Meddling, place: float) -> None:
    """What is missing, left over or out of order is the first cause, and the only one."""
    events = list(run_of(plan, meddling, backend).events)
    at = int(place * len(events))
    report = replay(of_events(RECORDING_CHANGES[change](events, at)), backend=backend)
    assume(not report.same)
    changed = events[at : at + 1 + (change == "swapped")]
    found = causes(report)
    if change == "dropped" and isinstance(changed[0].fact, SPONTANEOUS):
        # nobody asked for it, so nothing says that it is missing, only that the loop went another way
        return
    assert names_one_of(found[0], changed, at + 1), (changed, report.text())
    if any(isinstance(event.fact, SPONTANEOUS) for event in changed):
        # a pause in another place withholds other things
        return
    assert len(found) == 1, (changed, report.text())


def test_a_pause_that_slips_into_another_iteration_follows_from_the_event_that_is_gone() -> None:
    """Nobody paused otherwise: the pause stands where the course of the loop puts it."""
    plan = Plan(turns=((CallPlan("echo"),),), timeout=1000.0)
    events = list(run_of(plan, Meddling(decisions=(Deny("not that"),), stands=frozenset({3})), "asyncio").events)
    at = next(place for place, event in enumerate(events) if isinstance(event.fact, e.Paused)) - 1
    assert isinstance(events[at].fact, e.IterationStarted)
    (found,) = causes(replay(of_events(dropped(events, at))))
    assert "Paused stands in iteration 2, today in 1" in [following.what for following in found.follows]


def names_one_of(finding: Finding, changed: Sequence[e.Event], number: int) -> bool:
    """Say whether a finding is about one of the changed events: its number, its fact, or what it is about."""
    if abs(finding.seq - number) <= 1:
        return True
    subjects = {(event.loop, subject_of(event)) for event in changed}
    return any(
        (finding.loop, subject_of(e.Event(1, 0.0, finding.loop, finding.iteration, fact))) in subjects
        for fact in (finding.recorded, finding.came)
        if fact is not None
    )


@BACKENDS
@given(plan=steady(1), place=places)
@searching
def test_a_changed_result_is_among_the_suspects(backend: str, plan: Plan, place: float) -> None:
    """A request's fingerprint covers it, so it shows where it was sent, and nowhere behind."""
    events = list(run_of(plan, Meddling(), backend).events)
    results = [at for at, event in enumerate(events) if isinstance(event.fact, e.ToolReturned)]
    assume(results)
    at = results[int(place * len(results))]
    fact = events[at].fact
    assert isinstance(fact, e.ToolReturned)
    events[at] = dataclasses.replace(events[at], fact=dataclasses.replace(fact, content="changed afterwards"))
    report = replay(of_events(events), backend=backend)
    assume(not report.same)
    found = causes(report)
    assert found[0].loop == events[at].loop
    if found[0].drift is Drift.HISTORY:
        assert at + 1 in [suspect.seq for suspect in found[0].suspects], report.text()
        assert len(found) == 1, report.text()


@BACKENDS
@given(plan=steady(1), text=st.text(min_size=1, max_size=20))
@searching
def test_a_changed_first_message_is_named(backend: str, plan: Plan, text: str) -> None:
    events = list(run_of(plan, Meddling(), backend).events)
    start = events[0].fact
    assert isinstance(start, e.LoopStarted)
    assume(start.messages != (Message.user(text),))
    events[0] = dataclasses.replace(events[0], fact=dataclasses.replace(start, messages=(Message.user(text),)))
    report = replay(of_events(events), backend=backend)
    assume(not report.same)
    found = causes(report)
    assert found[0].drift is Drift.HISTORY
    assert [suspect.seq for suspect in found[0].suspects] == [1]


# ── live tools ───────────────────────────────────────────────────────────────────────────────────────────────────────


@BACKENDS
@given(plan=steady(0))
@searching
def test_a_tool_that_returns_something_else_is_named(backend: str, plan: Plan) -> None:
    """DESIGN §4: each changed result is a cause of its own, at its call; the requests behind it follow."""
    assume(not hangs_on_pace(plan))
    run = run_of(plan, Meddling(), backend)
    assume(not any(isinstance(event.fact, UNREPEATABLE) for event in run.events))
    agent = agent_of(plan)
    assert replay(run, agent, tools="live", backend=backend).same

    async def otherwise(n: int) -> str:
        await anyio.lowlevel.checkpoint()
        return f"{n} otherwise"

    echo, *others = tools_of(agent)
    echo = copy.copy(echo)
    echo.function = otherwise
    agent.registry = ToolRegistry([echo, *others])
    changed = [event for event in run.events if isinstance(event.fact, e.ToolReturned) and event.fact.content.isdigit()]
    report = replay(run, agent, tools="live", backend=backend)
    assert report.same == (not changed)
    if changed:
        first = causes(report)[0]
        assert (first.drift, first.seq) == (Drift.RESULT, changed[0].seq), report.text()
        assert first.diff[0] == f"- {changed[0].fact.content}"  # type: ignore[attr-defined]  # a ToolReturned
