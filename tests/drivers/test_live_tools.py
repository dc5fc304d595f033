"""Replays in which the tools' code really runs (DESIGN §4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import Agent, ProviderError, ScriptedProvider, ToolLoopConfig, tool
from loopkit import events as e
from loopkit.drivers.replay import replay
from loopkit.errors import UserError
from loopkit.messages import ToolCall
from loopkit.outcomes import Approve
from loopkit.recording.reader import read_recording
from loopkit.recording.writer import Recorder
from tests.drivers.stage import Stage, ask
from tests.drivers.test_replay import child, count, delegate, differs, look, of_events, record, story


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return record(story(), tmp_path / "run.jsonl")


def test_a_tool_that_returns_something_else_differs_at_its_result(recorded: Path) -> None:
    @tool(name="count")
    def count_otherwise(path: str) -> int:
        """Count lines."""
        return 99

    agent = story(tools=[look, count_otherwise, delegate])
    assert replay(recorded, agent).same
    report = replay(recorded, agent, tools="live")
    assert report.divergence is not None
    assert report.divergence.recorded == e.ToolReturned("root/1.2", "1")
    assert report.divergence.came == e.ToolReturned("root/1.2", "99")


def test_a_tool_that_fails_today_differs_at_its_result(recorded: Path) -> None:
    @tool(name="look")
    async def look_and_fail(path: str) -> str:
        """Look at a file."""
        raise OSError("gone")

    assert differs(replay(recorded, story(tools=[look_and_fail, count, delegate]), tools="live"))[1:] == (
        "ToolReturned",
        "ToolFailed",
    )


def test_a_changed_sub_agent_differs_with_live_tools_only(recorded: Path) -> None:
    """DESIGN §4: with recorded tools a child is replayed by itself."""

    @tool(name="delegate")
    async def delegate_otherwise() -> str:
        """Ask a sub-agent."""
        other = Agent(ScriptedProvider(["never asked"]), tools=[look], name="child", system="New prompt.")
        return (await other.run("task")).text

    agent = story(tools=[look, count, delegate_otherwise])
    assert replay(recorded, agent).same
    report = replay(recorded, agent, tools="live")
    assert report.divergence is not None
    assert (report.divergence.loop, type(report.divergence.recorded)) == ("root/2.1#1", e.LoopStarted)
    assert "system prompt" in report.divergence.what


def test_a_tool_that_starts_no_sub_agent_any_more_differs(recorded: Path) -> None:
    @tool(name="delegate")
    async def answer_alone() -> str:
        """Ask a sub-agent."""
        return "child's answer"

    report = replay(recorded, story(tools=[look, count, answer_alone]), tools="live")
    assert report.divergence is not None
    assert (report.divergence.loop, report.divergence.came) == ("root/2.1#1", None)


def test_a_tool_that_starts_a_sub_agent_today_differs(recorded: Path) -> None:
    """spec/faults.md d14: the recording holds no answer for it; no model is asked live."""

    @tool(name="look")
    async def look_with_help(path: str) -> str:
        """Look at a file."""
        return (await child().run("help")).text

    report = replay(recorded, story(tools=[look_with_help, count, delegate]), tools="live")
    assert not report.same


def test_live_tools_may_answer_in_any_order(tmp_path: Path) -> None:
    """spec/faults.md d8, d9: results are compared by call; so are the decisions of callbacks that take their time."""
    turns = {"first": 0, "second": 5}

    def agent() -> Agent:
        @tool
        async def slow(word: str) -> str:
            """Take a while."""
            for _ in range(turns[word]):
                await anyio.lowlevel.checkpoint()
            return word

        async def ponder(call: ToolCall) -> Approve:
            for _ in range(turns[call.id]):
                await anyio.lowlevel.checkpoint()
            return Approve()

        calls = [ask("slow", word, word=word) for word in turns]
        return Agent(ScriptedProvider([calls, "done"]), tools=[slow], config=ToolLoopConfig(on_tool_call=ponder))

    path = record(agent(), tmp_path / "run.jsonl")
    order = [event.fact.call for event in read_recording(path).events if isinstance(event.fact, e.ToolReturned)]
    turns.update(first=5, second=0)
    report = replay(path, agent(), tools="live")
    assert report.same, report.text()
    assert order == ["root/1.1", "root/1.2"]


def test_an_unfinished_run_replays_as_far_as_it_goes(recorded: Path) -> None:
    """DESIGN §3: what would come behind its last event is no difference."""
    events = read_recording(recorded).events
    for length in range(1, len(events)):
        report = replay(of_events(events[:length]), story(), tools="live")
        assert report.same, report.text()
        assert not report.finished


def test_live_tools_need_an_agent(recorded: Path) -> None:
    with pytest.raises(UserError, match="name the agent"):
        replay(recorded, tools="live")


def test_a_run_that_was_stopped_cannot_be_met_by_live_tools(tmp_path: Path) -> None:
    """One line that says what to do."""
    stage = Stage()

    async def main() -> None:
        async with anyio.create_task_group() as group:

            def on_event(event: e.Event) -> None:
                if isinstance(event.fact, e.ModelRequested):
                    group.start_soon(_stop, stage)

            stage.on_event = on_event
            await stage.run(story(), Recorder(tmp_path / "run.jsonl"))

    anyio.run(main)
    assert replay(tmp_path / "run.jsonl", story()).same
    with pytest.raises(UserError, match="replay with recorded tools"):
        replay(tmp_path / "run.jsonl", story(), tools="live")


async def _stop(stage: Stage) -> None:
    stage.root.stop("person")


@pytest.mark.parametrize("error", [ProviderError("busy", status=429), KeyError("x")], ids=["provider", "other"])
def test_a_sub_agents_recorded_failure_fails_again(error: Exception, tmp_path: Path) -> None:
    """DESIGN §4: its model is not asked, and its parent is told the same."""

    @tool
    async def delegate_to_failing() -> str:
        """Ask a sub-agent whose model fails."""
        return (await Agent(ScriptedProvider([error])).run("task")).text

    def agent() -> Agent:
        return Agent(ScriptedProvider([ask("delegate_to_failing"), "done"]), tools=[delegate_to_failing])

    path = record(agent(), tmp_path / "run.jsonl")
    report = replay(path, agent(), tools="live")
    assert report.same, report.text()


@pytest.mark.parametrize("kind", ["on_tool_call", "stop_when"])
def test_a_callback_that_raised_raises_again(kind: str, tmp_path: Path) -> None:
    def wrong(_: object) -> Any:
        raise LookupError("no rule")

    callbacks: dict[str, Any] = {kind: wrong}
    path = tmp_path / "run.jsonl"
    with pytest.raises(LookupError):
        record(story(**callbacks), path)
    report = replay(path, story(**callbacks), tools="live")
    assert report.same, report.text()
    fine: dict[str, Any] = {kind: lambda _: None}
    assert not replay(path, story(**fine), tools="live").same
