"""Loops below loops: links, limits, usage, ends (spec/loop.md 2, 7)."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import Agent, LoopContext, ScriptedProvider, ToolCall, Usage, replay, tool, tool_loop
from loopkit import events as e
from loopkit.core.config import ToolLoopConfig
from loopkit.drivers.run import current_call
from loopkit.errors import LoopkitError, MaxDepthExceeded
from loopkit.outcomes import Approve, Complete, Continue
from loopkit.recording.writer import Recorder
from tests.drivers.stage import Stage, agent, ask

pytestmark = pytest.mark.anyio


def child(*script: Any, **options: Any) -> Agent:
    return agent(*(script or ("child's answer",)), name="child", **options)


@tool
async def delegate(task: str = "task") -> str:
    """Ask a sub-agent."""
    return (await child().run(task)).text


@tool
def delegate_in_thread(task: str = "task") -> str:
    """Ask a sub-agent from a worker thread."""
    return child().run_sync(task).text


def started(stage: Stage) -> dict[str, str | None]:
    """Path and parent call of each loop."""
    return {event.loop: event.fact.parent_call for event in stage.events if isinstance(event.fact, e.LoopStarted)}


async def never(_: object) -> str:
    """A model that never answers."""
    await anyio.sleep_forever()
    return ""


@pytest.mark.parametrize("helper", [delegate, delegate_in_thread], ids=["async", "thread"])
async def test_a_loop_is_linked_to_the_call_that_started_it(helper: Any) -> None:
    """7.4, spec/faults.md i7: without the handler passing anything, also from a worker thread."""
    stage = Stage()
    result = await stage.run(agent(ask(helper.name), "done", tools=[helper]))
    assert started(stage) == {"root": None, "root/1.1#1": "root/1.1"}
    assert result.messages[2].tool_results[0].content == "child's answer"
    assert stage.all_of(e.LoopStarted)[1].agent == "child"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("name", ["delegate", "delegate_in_thread"])
def test_agents_run_below_agents_however_they_were_started(backend: str, name: str) -> None:
    """7.4: `run_sync` inside `run_sync`."""
    result = agent(ask(name), "done", tools=[delegate, delegate_in_thread]).run_sync("go", backend=backend)
    assert result.messages[2].tool_results[0].content == "child's answer"


@pytest.mark.parametrize("helper", [delegate, delegate_in_thread], ids=["async", "thread"])
async def test_parallel_children_are_keyed_by_their_calls(helper: Any) -> None:
    """7.4, spec/faults.md h9"""
    stage = Stage()
    calls = [ask(helper.name, word, task=word) for word in "abc"]
    await stage.run(agent(calls, "done", tools=[helper]))
    assert {loop: call for loop, call in started(stage).items() if call} == {
        f"root/1.{position}#1": f"root/1.{position}" for position in (1, 2, 3)
    }
    tasks = {
        event.loop: event.fact.messages[-1].text for event in stage.events if isinstance(event.fact, e.LoopStarted)
    }
    assert [tasks[f"root/1.{position}#1"] for position in (1, 2, 3)] == ["a", "b", "c"]


async def test_children_of_one_call_are_numbered() -> None:
    """DESIGN §3: a child's path is its parent's path, the call, and its ordinal within the call."""

    @tool
    async def ask_two() -> str:
        """Ask one sub-agent, then another."""
        first = await child("one").run("1")
        second = await child("two").run("2")
        return first.text + second.text

    stage = Stage()
    await stage.run(agent(ask("ask_two"), ask("ask_two"), "done", tools=[ask_two]))
    assert list(started(stage)) == ["root", "root/1.1#1", "root/1.1#2", "root/2.1#1", "root/2.1#2"]


async def test_children_that_one_handler_starts_at_once_keep_their_own_story(tmp_path: Path) -> None:
    """7.4, h9: they are numbered as they begin, in whatever order the event loop lets them; the recording replays."""

    @tool
    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @tool
    async def ask_three() -> str:
        """Ask three at once."""
        answers: dict[int, str] = {}

        async def ask_one(number: int) -> None:
            helper = agent(ask("add", a=number, b=number), f"answer {number}", tools=[add], name=f"helper {number}")
            answers[number] = (await helper.run(f"question {number}")).text

        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(ask_one, number)
        return str([answers[number] for number in range(3)])

    path = tmp_path / "run.jsonl"
    stage = Stage()
    result = await stage.run(agent(ask("ask_three"), "done", tools=[ask_three]), Recorder(path))
    assert result.messages[2].tool_results[0].content == "['answer 0', 'answer 1', 'answer 2']"
    children = {event.loop: event.fact for event in stage.events if isinstance(event.fact, e.LoopStarted)}
    assert children.keys() == {"root", "root/1.1#1", "root/1.1#2", "root/1.1#3"}
    for loop, started in children.items():
        if loop != "root":
            said = [
                event.fact.message.text
                for event in stage.events
                if isinstance(event.fact, e.ModelReplied) and event.loop == loop
            ]
            assert said[-1].removeprefix("answer ") == started.agent.removeprefix("helper ")
    assert replay(path).same


async def test_loops_are_linked_three_levels_down() -> None:
    """7.4"""

    @tool
    def middle() -> str:
        """Ask an agent that asks another, from a thread."""
        return child(ask("delegate"), "middle's answer", tools=[delegate]).run_sync("task").text

    stage = Stage()
    await stage.run(agent(ask("middle"), "done", tools=[middle]))
    assert list(started(stage)) == ["root", "root/1.1#1", "root/1.1#1/1.1#1"]
    assert stage.story(e.LoopFinished) == [
        ("root/1.1#1/1.1#1", "LoopFinished"),
        ("root/1.1#1", "LoopFinished"),
        ("root", "LoopFinished"),
    ]


async def test_usage_adds_up_along_the_tree() -> None:
    """7.4, spec/faults.md h6: own and subtree at each node; the sum equals the root's."""
    below: list[Usage] = []

    @tool
    async def middle() -> str:
        """Ask an agent that asks two others."""
        result = await child([ask("delegate", "1"), ask("delegate", "2")], "ok", tools=[delegate]).run("task")
        below.extend([result.total_usage, result.subtree_usage])
        return result.text

    stage = Stage()
    result = await stage.run(agent(ask("middle"), "done", tools=[middle]))
    assert result.total_usage == Usage(6, 4)
    assert below == [Usage(6, 4), Usage(12, 8)]
    assert result.subtree_usage == Usage(18, 12)
    ends = [fact.usage for fact in stage.all_of(e.LoopFinished)]
    assert sum((usage.input_tokens for usage in ends), 0) == result.subtree_usage.input_tokens


async def test_a_child_that_is_too_deep_is_an_error_result() -> None:
    """7.1, 7.3, spec/faults.md h1: nothing is recorded of it, the parent goes on."""

    @tool
    async def recurse(ctx: LoopContext[str]) -> str:
        """Ask an agent like ourselves."""
        return (await digger().run("deeper", ctx=ctx)).text

    def digger() -> Agent:
        return child(ask("recurse"), "enough", tools=[recurse])

    stage = Stage()
    await digger().run("dig", ctx=LoopContext("state"), watcher=stage)
    assert [fact.depth for fact in stage.all_of(e.LoopStarted)] == [0, 1, 2]
    (failed,) = stage.all_of(e.ToolFailed)
    assert failed.call == "root/1.1#1/1.1#1/1.1"
    assert failed.failure.type_name == "MaxDepthExceeded"
    assert stage.events[-1].fact == e.LoopFinished(Complete(), 2, Usage(6, 4))


async def test_a_root_that_is_too_deep_is_refused_at_entry(tmp_path: Any) -> None:
    """7.1: before any model call; nothing is recorded."""
    provider = ScriptedProvider(["never"])
    with pytest.raises(MaxDepthExceeded) as caught:
        await tool_loop(
            provider,
            (),  # type: ignore[arg-type]  # a plain sequence of functions is fine too
            "go",
            ToolLoopConfig(max_depth=2),
            LoopContext(None, 2),
            Recorder(tmp_path / "run.jsonl"),
        )
    assert (caught.value.current, caught.value.limit) == (2, 2)
    assert provider.requests == []
    assert not (tmp_path / "run.jsonl").exists()


async def test_the_number_of_children_is_limited() -> None:
    """2, spec/faults.md h2: also where the context tracks no depth; over it, an error result."""
    stage = Stage()
    result = await stage.run(agent(*[ask("delegate")] * 3, "done", tools=[delegate], max_runs=2))
    assert [fact.failure.type_name for fact in stage.all_of(e.ToolFailed)] == ["TooManyRuns"]
    assert "max_runs" in stage.all_of(e.ToolFailed)[0].content
    assert len(started(stage)) == 3
    assert result.termination_reason == Complete()


async def test_children_at_once_are_limited() -> None:
    """2, spec/faults.md h2: those that have ended don't count."""
    stage = Stage()
    calls = [ask("delegate", str(number)) for number in range(5)]
    await stage.run(agent(calls, calls[:2], "done", tools=[delegate], max_concurrent_runs=2))
    refused = stage.all_of(e.ToolFailed)
    assert len(refused) == 3
    assert {fact.failure.type_name for fact in refused} == {"TooManyRuns"}
    assert "max_concurrent_runs" in refused[0].content
    assert len(started(stage)) == 1 + 2 + 2


async def test_a_child_that_its_handler_leaves_behind_ends_with_the_call() -> None:
    """7.4: no loop outlives the call that it belongs to."""
    async with anyio.create_task_group() as group:

        @tool
        async def forget() -> str:
            """Start a sub-agent and return without it."""
            group.start_soon(child(never).run, "task")
            while "root/1.1#1" not in started(stage):
                await anyio.lowlevel.checkpoint()
            return "started"

        stage = Stage()
        result = await stage.run(agent(ask("forget"), "done", tools=[forget]))
    assert result.termination_reason == Complete()
    assert stage.story(e.LoopFinished, e.ToolReturned) == [
        ("root/1.1#1", "LoopFinished"),
        ("root", "ToolReturned"),
        ("root", "LoopFinished"),
    ]


async def test_a_child_ends_with_a_call_that_took_too_long() -> None:
    """7.4, 9.3: also when it runs in a thread that nobody waits for any more."""
    ended = threading.Event()

    @tool(timeout=0.05)
    def slow() -> str:
        """Ask a sub-agent that hangs."""
        try:
            return str(child(never).run_sync("task").termination_reason)
        finally:
            ended.set()

    stage = Stage()
    await stage.run(agent(ask("slow"), "done", tools=[slow]))
    assert stage.story(e.LoopFinished, e.ToolAbandoned)[:2] == [
        ("root/1.1#1", "LoopFinished"),
        ("root", "ToolAbandoned"),
    ]
    assert await anyio.to_thread.run_sync(ended.wait, 10)


async def test_a_loop_is_refused_once_its_call_has_ended() -> None:
    """7.4: one that attaches late."""
    raised: list[BaseException] = []
    async with anyio.create_task_group() as group:

        async def late() -> None:
            while not stage.all_of(e.ToolReturned):
                await anyio.lowlevel.checkpoint()
            try:
                await child().run("task")
            except LoopkitError as error:
                raised.append(error)

        @tool
        async def start_late() -> str:
            """Leave a task behind that starts a sub-agent."""
            scope = current_call.get()
            group.start_soon(late)
            assert scope is not None
            return "left"

        stage = Stage()
        await stage.run(agent(ask("start_late"), "done", tools=[start_late]))
    (error,) = raised
    assert type(error).__name__ == "LoopClosed"
    assert list(started(stage)) == ["root"]


async def test_a_childs_call_is_decided_at_the_root() -> None:
    """7.4, spec/faults.md h13: the answer routes back to the loop that asked."""

    @tool
    async def work() -> str:
        """Something that needs a decision."""
        return "worked"

    @tool
    async def middle() -> str:
        """Ask an agent that works."""
        return (await child(ask("work"), "ok", tools=[work]).run("task")).text

    stage = Stage(pending=["work"])

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.DecisionRequested) and event.fact.name == "work":
            group.start_soon(decide, event.loop, event.fact.call)

    async def decide(loop: str, call: str) -> None:
        stage.decide_as_person(loop, call, Approve())

    stage.on_event = on_event
    async with anyio.create_task_group() as group:
        await stage.run(agent([ask("middle", "1"), ask("middle", "2")], "done", tools=[middle]))
    assert sorted(fact.call for fact in stage.all_of(e.Decided) if fact.by == "person") == [
        "root/1.1#1/1.1",
        "root/1.2#1/1.1",
    ]


async def test_a_failing_child_is_an_error_result() -> None:
    """7.3, 9.1: its own log ends with the failure."""

    @tool
    async def middle() -> str:
        """Ask an agent whose model fails."""
        return (await child(ValueError("no model")).run("task")).text

    stage = Stage()
    await stage.run(agent(ask("middle"), "done", tools=[middle]))
    assert stage.story(e.LoopFailed, e.ToolFailed) == [("root/1.1#1", "LoopFailed"), ("root", "ToolFailed")]


async def test_a_child_brings_no_recorder_of_its_own(tmp_path: Any) -> None:
    """7.4: it is kept with its parent's run."""

    @tool
    async def middle() -> str:
        """Ask an agent, with a recorder."""
        return (await child().run("task", recorder=Recorder(tmp_path / "child.jsonl"))).text

    stage = Stage()
    await stage.run(agent(ask("middle"), "done", tools=[middle]))
    assert "recorded with its parent's run" in stage.all_of(e.ToolFailed)[0].content


@pytest.mark.parametrize("kind", ["on_tool_call", "stop_when"])
async def test_a_callback_may_run_an_agent_of_its_own(kind: str) -> None:
    """DESIGN §8: a spawn from a callback belongs to no call."""

    async def guard(*_: Any) -> Any:
        await child("fine").run("is this fine?")
        return Approve() if kind == "on_tool_call" else Continue()

    @tool(timeout=0.02)
    async def hang() -> str:
        """Be given up, so that what follows is started by its watch."""
        await anyio.sleep_forever()
        return ""

    stage = Stage()
    callbacks: dict[str, Any] = {kind: guard}
    result = await stage.run(agent(ask("hang"), ask("hang"), "done", tools=[hang], **callbacks))
    assert result.termination_reason == Complete()
    assert list(started(stage)) == ["root"]


def test_calls_carry_their_loops_paths() -> None:
    """DESIGN §3"""
    assert e.call_key("root/3.2#1", 4, 1) == "root/3.2#1/4.1"
    assert e.child_path("root/3.2", 1) == "root/3.2#1"
    assert ToolCall("c", "f") == ask("f", "c")
