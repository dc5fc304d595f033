"""Replays: the same run says same, each kind of change says where it shows (DESIGN §4, spec/faults.md d)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import Agent, ScriptedProvider, ToolLoopConfig, Usage, tool
from loopkit import events as e
from loopkit.core.config import ApprovalContext
from loopkit.drivers.diagnosing import diagnose
from loopkit.drivers.findings import Drift
from loopkit.drivers.replay import replay
from loopkit.drivers.replay_report import ReplayReport
from loopkit.errors import RecordingDamaged, RecordingError, ReplayDivergence
from loopkit.messages import Message, ToolCall
from loopkit.outcomes import Approve, Complete, Continue, Deny, Stop
from loopkit.recording.header import Header
from loopkit.recording.reader import Recording, read_recording
from loopkit.recording.writer import Recorder
from tests.drivers.stage import Stage, ask


@tool
async def look(path: str) -> str:
    """Look at a file."""
    return f"{path}: 3 lines"


@tool
def count(path: str) -> int:
    """Count lines."""
    return len(path)


@tool
async def delegate() -> str:
    """Ask a sub-agent."""
    return (await child().run("task")).text


def child(last: str = "child's answer") -> Agent:
    return Agent(ScriptedProvider([ask("look", path="z"), last]), tools=[look], name="child")


SCRIPT: list[Any] = [[ask("look", path="a"), ask("count", path="b")], ask("delegate"), "done"]


def story(tools: Sequence[Any] = (look, count, delegate), system: str | None = "Be careful.", **options: Any) -> Agent:
    """The agent whose run is replayed."""
    config = {name: options.pop(name) for name in list(options) if name in ToolLoopConfig.__dataclass_fields__}
    provider = ScriptedProvider(SCRIPT, usage=Usage(3, 2), model=options.pop("model", "scripted"))
    return Agent(provider, tools=tools, system=system, name="story", config=ToolLoopConfig(**config), **options)


def record(agent: Agent, path: Path) -> Path:
    """Run an agent into a file; its watcher approves everything."""
    anyio.run(Stage().run, agent, Recorder(path))
    return path


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return record(story(), tmp_path / "run.jsonl")


def of_events(events: Sequence[e.Event]) -> Recording:
    """A recording as if it had been read from a file, numbered anew."""
    numbered = [dataclasses.replace(event, seq=seq) for seq, event in enumerate(events, 1)]
    return Recording(Path("edited.jsonl"), Header(run="r", created="2026-01-01T00:00:00+00:00"), tuple(numbered))


def differs(report: ReplayReport) -> tuple[int, str, str]:
    """Number, recorded class and class that came."""
    found = report.divergence
    assert found is not None, report.text()
    return found.seq, type(found.recorded).__name__, type(found.came).__name__


# ── the same ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_replays_the_same(recorded: Path) -> None:
    """Against today's loop, and against its own agent."""
    for agent in (None, story()):
        report = replay(recorded, agent)
        assert report.same
        assert report.finished
        report.raise_if_diverged()
        assert report.data() == {
            "same": True,
            "match": "strict",
            "events": report.events,
            "loops": 2,
            "finished": True,
            "divergence": None,
            "diagnosis": None,
        }
        assert "same" in report.text()


def test_a_replay_asks_no_model_and_writes_nothing(recorded: Path) -> None:
    """spec/faults.md d14"""
    before = recorded.read_bytes()
    agent = story()
    assert replay(recorded, agent).same
    assert replay(recorded, agent, tools="live").same
    assert isinstance(agent.provider, ScriptedProvider)
    assert agent.provider.requests == []
    assert recorded.read_bytes() == before


async def _replay_inside(path: Path) -> bool:
    return replay(path).same


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_replay_works_inside_an_event_loop(backend: str, recorded: Path) -> None:
    """spec/faults.md f1: as in a notebook's cell."""
    assert anyio.run(_replay_inside, recorded, backend=backend)


def test_a_replay_looks_at_no_clock(tmp_path: Path) -> None:
    """4.5: recorded readings decide."""
    path = record(story(timeout=60), tmp_path / "run.jsonl")
    assert replay(path, story(timeout=60)).same
    path = record(story(timeout=0), tmp_path / "none.jsonl")
    assert replay(path, story(timeout=0)).same


def test_callbacks_that_say_the_same_are_the_same(tmp_path: Path) -> None:
    def rules(call: ToolCall, _: ApprovalContext) -> Any:
        return Deny("no counting") if call.name == "count" else None

    def agent() -> Agent:
        return story(on_tool_call=rules, stop_when=lambda context: Stop("3") if context.iteration == 3 else Continue())

    path = record(agent(), tmp_path / "run.jsonl")
    for tools in ("recorded", "live"):
        assert replay(path, agent(), tools=tools).same


def test_settings_that_json_knows_otherwise_are_the_same(tmp_path: Path) -> None:
    """A tuple comes back as a list."""
    path = record(story(stop=("a", "b")), tmp_path / "run.jsonl")
    assert replay(path, story(stop=("a", "b"))).same


def test_an_unfinished_run_replays_as_far_as_it_goes(recorded: Path) -> None:
    """DESIGN §3: at any event."""
    events = read_recording(recorded).events
    for length in range(1, len(events)):
        report = replay(of_events(events[:length]), story())
        assert report.same, report.text()
        assert not report.finished
        assert "unfinished" in report.text()


# ── today's agent is another ─────────────────────────────────────────────────────────────────────────────────────────


@tool(name="look")
async def look_otherwise(path: str, deep: bool = False) -> str:
    """Look at a file."""
    return f"{path}: 3 lines"


@tool
async def child_free() -> str:
    """A tool that nobody asked for."""
    return ""


@pytest.mark.parametrize(
    ("agent", "what"),
    [
        (lambda: story(system="Be quick."), "system prompt"),
        (lambda: story(system=None), "system prompt"),
        (lambda: story(tools=[look_otherwise, count, delegate]), "definition of tool look"),
        (lambda: story(tools=[look, delegate]), "tool count is missing"),
        (lambda: story(tools=[look, count, delegate, child_free]), "tool child_free is new"),
        (lambda: story(tools=[count, look, delegate]), "order of the tools"),
        (lambda: story(max_iterations=5), "configuration max_iterations"),
        (lambda: story(on_tool_call=lambda _: Approve()), "configuration on_tool_call"),
        (lambda: story(model="another"), "model"),
        (lambda: story(temperature=0.5), "settings"),
    ],
)
def test_another_agent_differs_at_its_start(agent: Callable[[], Agent], what: str, recorded: Path) -> None:
    report = replay(recorded, agent())
    assert differs(report) == (1, "LoopStarted", "LoopStarted")
    assert report.divergence is not None
    assert what in report.divergence.what
    with pytest.raises(ReplayDivergence, match="first difference at event 1"):
        report.raise_if_diverged()
    assert report.data()["divergence"]["recorded"]["type"] == "LoopStarted"


def test_a_callback_that_decides_otherwise_differs_at_its_decision(tmp_path: Path) -> None:
    path = record(story(on_tool_call=lambda _: Approve()), tmp_path / "run.jsonl")
    report = replay(path, story(on_tool_call=lambda call: Deny("no") if call.name == "count" else Approve()))
    assert report.divergence is not None
    assert report.divergence.recorded == e.Decided("root/1.2", 1, Approve(), "on_tool_call")
    assert report.divergence.came == e.Decided("root/1.2", 1, Deny("no"), "on_tool_call")
    assert "decision: root/1.2 count is decided otherwise" in report.text()
    assert "- approve (by on_tool_call)\n    + deny: no (by on_tool_call)" in report.text()


def test_a_callback_that_had_nothing_to_say_and_now_has_differs(tmp_path: Path) -> None:
    path = record(story(on_tool_call=lambda _: None), tmp_path / "run.jsonl")
    report = replay(path, story(on_tool_call=lambda _: Deny("no")))
    assert report.divergence is not None
    assert report.divergence.came == e.Decided("root/1.1", 1, Deny("no"), "on_tool_call")


@pytest.mark.parametrize("kind", ["on_tool_call", "stop_when"])
def test_a_callback_that_raises_today_differs(kind: str, tmp_path: Path) -> None:
    def wrong(_: object) -> Any:
        raise LookupError("no rule")

    fine: dict[str, Any] = {kind: lambda _: Approve() if kind == "on_tool_call" else Continue()}
    today: dict[str, Any] = {kind: wrong}
    path = record(story(**fine), tmp_path / "run.jsonl")
    report = replay(path, story(**today))
    assert report.divergence is not None
    assert report.divergence.came == e.CallbackFailed(kind, e.Failure("LookupError", "no rule"))


def test_a_stop_condition_that_answers_otherwise_differs(tmp_path: Path) -> None:
    path = record(story(stop_when=lambda _: Continue()), tmp_path / "run.jsonl")
    report = replay(path, story(stop_when=lambda context: Stop("2") if context.iteration == 2 else Continue()))
    assert report.divergence is not None
    assert (report.divergence.iteration, report.divergence.came) == (2, e.StopAnswered(True, "2"))


# ── what can't be used ───────────────────────────────────────────────────────────────────────────────────────────────


def test_an_unknown_type_is_a_named_error(recorded: Path) -> None:
    """spec/faults.md j17"""
    events = list(read_recording(recorded).events)
    events.insert(3, e.Event(4, 0.0, "root", 1, e.Unrecognised("x/custom", {"a": 1})))
    with pytest.raises(RecordingError, match="event 4 has the unknown type 'x/custom'"):
        replay(of_events(events))


def test_an_unknown_type_that_says_it_may_be_ignored_is_ignored(recorded: Path) -> None:
    """spec/faults.md j17"""
    events = list(read_recording(recorded).events)
    note = e.Event(4, 0.0, "root", 1, e.Unrecognised("x/custom", {"a": 1, "ignorable": True}))
    report = replay(of_events([*events[:3], note, *events[3:]]))
    assert (report.same, report.finished) == (True, True)


def test_a_changed_recording_that_can_not_be_followed_names_its_line(recorded: Path) -> None:
    """spec/faults.md j4: a line whose sum doesn't fit, in one line and never as a traceback."""
    text = recorded.read_text(encoding="utf-8")
    for old, new in (("root/1.1", "root/1/1"), ('"version":1', '"version":9'), ("1.1", "q.q")):
        recorded.write_text(text.replace(old, new), encoding="utf-8")
        assert read_recording(recorded).changed
        try:
            assert not replay(recorded).same
        except RecordingError as error:
            assert "line " in str(error)  # noqa: PT017  # one of two right outcomes


def test_a_damaged_recording_is_refused(recorded: Path) -> None:
    """spec/faults.md j4: no silent skip."""
    lines = recorded.read_bytes().splitlines(keepends=True)
    lines[5] = b'{"seq": 5, nonsense\n'
    recorded.write_bytes(b"".join(lines))
    with pytest.raises(RecordingDamaged, match="line 6"):
        replay(recorded)


def test_a_recording_that_begins_elsewhere_is_refused() -> None:
    events = [e.Event(1, 0.0, "root", 1, e.IterationStarted())]
    report = replay(of_events(events))
    assert report.divergence is not None
    assert report.divergence.what == "its loop never started"
    with pytest.raises(RecordingError, match="does not begin"):
        replay(of_events(events), story())


def test_a_divergence_is_readable() -> None:
    """DESIGN §4: where, what was recorded, what came, the difference."""
    start = e.LoopStarted("a", (Message.user("go"),))
    events = [e.Event(1, 0.0, "root", 0, start), e.Event(2, 0.0, "root", 0, e.LoopFinished(Complete(), 0, Usage()))]
    text = replay(of_events(events)).text()
    assert "first difference at event 1; 1 of 2 recorded events came the same; 1 cause" in text
    assert "1. course: happens today only: iteration 1 starts" in text
    assert "event 2, root: does not happen today: the loop ends" in text


def test_an_agent_that_a_fork_went_on_with_is_compared_part_by_part() -> None:
    """features 20: which part of it changed, as of one that begins a run."""
    start = e.Event(1, 0.0, "root", 0, e.LoopStarted("a", (Message.user("go"),)))
    then, now = (
        e.Event(2, 0.0, "root", 0, e.AgentChanged("a", (look.definition, count.definition), model=model, by="fork"))
        for model in ("model-1", "model-2")
    )
    (finding,) = diagnose([start, then], [start, now]).findings
    assert (finding.drift, finding.diff) == (Drift.MODEL, ("- 'model-1'", "+ 'model-2'"))
