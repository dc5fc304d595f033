"""Forks inside sub-agents: reached by running their handlers again, which re-enter what was recorded (DESIGN §4)."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from loopkit import events as e
from loopkit import tool
from loopkit.core.loop import fold
from loopkit.outcomes import (
    Approve,
    Cancelled,
    Complete,
    Deny,
    Modify,
)
from loopkit.recording.reader import read_recording
from tests.drivers.fork_stage import agent, facts, forked, kept, look, middle, parent_of, ran, upper
from tests.drivers.stage import ask


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


def test_a_call_of_a_sub_agent_is_reached_through_its_handler(tmp_path: Path) -> None:
    """DESIGN §4: the handler runs again and re-enters the recorded prefix; what came before is not run again."""
    parent = parent_of(agent(ask("middle"), tools=[middle]), tmp_path / "run.jsonl")
    result, events = forked(parent, "root/1.1#1/2.1", Modify({"path": "z"}), agent(ask("middle"), tools=[middle]))
    assert ran == ["middle", "look z"]
    assert result.text == "results: results: looked at m1, looked at z"
    assert [event.loop for event in events if isinstance(event.fact, e.LoopStarted)] == ["root", "root/1.1#1"]


def test_a_call_two_levels_down(tmp_path: Path) -> None:
    parent = parent_of(agent(ask("upper"), tools=[upper]), tmp_path / "run.jsonl")
    result, events = forked(parent, "root/1.1#1/1.1#1/1.1", Deny("no"), agent(ask("upper"), tools=[upper]))
    assert ran == ["upper", "middle", "look m2"]
    assert result.text == "results: results: results: no, looked at m2"
    assert len(facts(events, e.LoopStarted)) == 3
    assert result.subtree_usage.input_tokens == 3 * (2 + 2 + 3)


def test_other_sub_agents_of_the_batch_keep_their_results(tmp_path: Path) -> None:
    calls = [ask("middle", "1"), ask("middle", "2")]
    parent = parent_of(agent(calls, tools=[middle]), tmp_path / "run.jsonl")
    result, events = forked(parent, "root/1.2#1/1.1", Deny("no"), agent(calls, tools=[middle]))
    assert ran.count("middle") == 1
    assert result.text == "results: results: looked at m1, looked at m2, results: no, looked at m2"
    assert [
        fact.call for fact in facts(events, e.ToolReturned) if fact.call.startswith("root/1.") and "#" not in fact.call
    ] == [
        "root/1.1",
        "root/1.2",
    ]


def test_an_open_sub_agent_beside_the_way_is_closed_as_an_orphan(tmp_path: Path) -> None:
    """DESIGN §4"""
    calls = [ask("middle", "1"), ask("middle", "2")]
    parent = parent_of(agent(calls, tools=[middle]), tmp_path / "run.jsonl")
    _, events = forked(parent, "root/1.2#1/1.1", Approve(), agent(calls, tools=[middle]))
    copied = fold(events[: kept(parent)])
    orphans = [event.loop for event in events if isinstance(event.fact, e.RunStopped) and event.fact.by == "fork"]
    assert orphans == [path for path, state in copied.items() if path == "root/1.1#1" and state.finished is None]


def test_a_call_after_a_sub_agent_leaves_it_as_it_was(tmp_path: Path) -> None:
    story = (ask("middle"), ask("look", path="a"))
    parent = parent_of(agent(*story, tools=[middle, look]), tmp_path / "run.jsonl")
    result, _ = forked(parent, "root/2.1", Deny("no"), agent(*story, tools=[middle, look]))
    assert ran == []
    assert result.text == "results: results: looked at m1, looked at m2, no"


def test_two_sub_agents_of_one_handler_are_both_taken_up_again(tmp_path: Path) -> None:
    """DESIGN §4: the handler of the way reaches them all."""

    @tool
    async def both() -> str:
        """Ask two sub-agents at once."""
        texts: dict[str, str] = {}

        async def one(word: str) -> None:
            texts[word] = (await agent(ask("look", path=word)).run(word)).text

        async with anyio.create_task_group() as group:
            group.start_soon(one, "x")
            await anyio.lowlevel.checkpoint()
            group.start_soon(one, "y")
        return " and ".join(texts[word] for word in "xy")

    parent = parent_of(agent(ask("both"), tools=[both]), tmp_path / "run.jsonl")
    result, events = forked(parent, "root/1.1#2/1.1", Deny("no"), agent(ask("both"), tools=[both]))
    assert result.text == "results: results: looked at x and results: no"
    assert [event.loop for event in events if isinstance(event.fact, e.LoopStarted)] == [
        "root",
        "root/1.1#1",
        "root/1.1#2",
    ]
    assert facts(events, e.RunStopped) == []


def test_a_handler_that_starts_no_sub_agent_any_more_leaves_no_loop_open(tmp_path: Path) -> None:
    """The log is whole all the same."""

    @tool(name="middle")
    async def alone() -> str:
        """Answer without asking."""
        return "alone"

    parent = parent_of(agent(ask("middle"), tools=[middle]), tmp_path / "run.jsonl")
    result, events = forked(parent, "root/1.1#1/2.1", Deny("no"), agent(ask("middle"), tools=[alone]))
    assert result.text == "results: alone"
    ends = [(event.loop, event.fact) for event in events if isinstance(event.fact, e.LoopFinished)]
    assert [loop for loop, _ in ends] == ["root/1.1#1", "root"]
    assert isinstance(ends[0][1].reason, Cancelled)


def test_a_sub_agent_that_only_reads_starts_afresh(tmp_path: Path) -> None:
    """DESIGN §4: its orphan is closed, its handler runs again, with a path of its own."""

    @tool(side_effect="read")
    async def scout() -> str:
        """Ask a sub-agent that only reads."""
        ran.append("scout")
        return (await agent(ask("read", path="s")).run("task")).text

    calls = [ask("scout"), ask("look", path="a")]
    parent = parent_of(agent(calls, tools=[scout, look]), tmp_path / "run.jsonl")
    events = read_recording(parent).events
    cut = next(ev.seq for ev in events if isinstance(ev.fact, e.ToolReturned) and ev.fact.call == "root/1.2")
    assert fold(events[:cut])["root/1.1#1"].finished is None
    parent.write_bytes(b"".join(parent.read_bytes().splitlines(keepends=True)[: cut + 1]))
    result, after = forked(parent, cut, None, agent(calls, tools=[scout, look]))
    assert ran == ["scout", "read s"]
    assert result.text == "results: results: read s, looked at a"
    ends = {event.loop: event.fact.reason for event in after if isinstance(event.fact, e.LoopFinished)}
    assert ends == {
        "root/1.1#1": Cancelled("not on the way to the fork"),
        "root/1.1#2": Complete(),
        "root": Complete(),
    }
