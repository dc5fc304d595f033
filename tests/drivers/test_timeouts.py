"""Time that is over: of the loop, of one call; and time that doesn't count (spec/loop.md 3.4, 4.5, 9.3, 9.5)."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import anyio
import pytest

from loopkit import Completed, LoopHandle, ScriptedProvider, ToolLoopConfig, ToolRegistry, Yielded, tool
from loopkit import events as e
from loopkit.drivers.replay import replay
from loopkit.drivers.stopwatch import LoopClock, Stopwatch
from loopkit.outcomes import Approve, Complete, Timeout
from loopkit.providers.protocol import ChatRequest
from tests.drivers.stage import ClosingRecorder, Stage, agent, ask

pytestmark = pytest.mark.anyio

SHORT = 0.02


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def never(_: ChatRequest) -> str:
    """A model that never answers."""
    await anyio.sleep_forever()
    return ""


async def test_no_time_at_all_makes_no_call() -> None:
    """3.4"""
    stage = Stage()
    result = await stage.run(agent("never", timeout=0))
    assert (result.termination_reason, result.iterations, result.response) == (Timeout(0.0), 0, None)


async def test_the_limit_interrupts_the_model() -> None:
    """9.3"""
    stage = Stage()
    result = await stage.run(agent(never, timeout=SHORT))
    assert result.termination_reason == Timeout(SHORT)
    assert stage.all_of(e.ModelInterrupted)[0].cause == "timeout"
    assert stage.all_of(e.ClockRead)[-1].loop_seconds >= SHORT


async def test_the_limit_abandons_a_thread(tmp_path: Path) -> None:
    """9.3, spec/faults.md i8: reported at the limit, its late end is recorded behind the loop's and replay ignores it."""
    let_go = threading.Event()

    @tool
    def block() -> str:
        """Hold a thread."""
        let_go.wait(10)
        return "late"

    recorder = ClosingRecorder(tmp_path / "run.jsonl")
    stage = Stage()
    result = await stage.run(agent(ask("block"), tools=[block], timeout=SHORT), recorder)
    assert result.termination_reason == Timeout(SHORT)
    assert stage.all_of(e.ToolAbandoned) == [e.ToolAbandoned("root/1.1", "timeout")]
    assert not recorder.closed.is_set()
    let_go.set()
    assert await anyio.to_thread.run_sync(recorder.closed.wait, 10)
    assert stage.story(e.LoopFinished, e.ToolEndedLate) == [("root", "LoopFinished"), ("root", "ToolEndedLate")]
    assert stage.all_of(e.ToolEndedLate) == [e.ToolEndedLate("root/1.1", "returned")]
    assert replay(recorder.path).same


async def test_a_thread_that_outlives_its_recording_harms_nobody(tmp_path: Path) -> None:
    """9.3: whoever made the recorder may close it."""
    let_go, ended = threading.Event(), threading.Event()

    @tool
    def block() -> str:
        """Hold a thread."""
        let_go.wait(10)
        ended.set()
        return "late"

    recorder = ClosingRecorder(tmp_path / "run.jsonl")
    stage = Stage()
    await stage.run(agent(ask("block"), tools=[block], timeout=SHORT), recorder)
    recorder.close()
    let_go.set()
    assert await anyio.to_thread.run_sync(ended.wait, 10)

    @tool
    def work() -> str:
        """Needs a worker thread that still works."""
        return "worked"

    assert (await agent(ask("work"), "done", tools=[work]).run("go")).messages[2].tool_results[0].content == "worked"


async def test_the_limit_of_one_call_is_a_result() -> None:
    """9.3: the loop goes on; a sync tool is left behind and its late end recorded."""
    let_go = threading.Event()

    @tool(timeout=SHORT)
    def block() -> str:
        """Hold a thread."""
        let_go.wait(10)
        return "late"

    @tool(timeout=SHORT)
    async def hang() -> str:
        """Never return."""
        await anyio.sleep_forever()
        return ""

    @tool
    async def free() -> str:
        """Let the thread go and wait for its end."""
        let_go.set()
        while not stage.all_of(e.ToolEndedLate):
            await anyio.lowlevel.checkpoint()
        return "free"

    stage = Stage()
    result = await stage.run(agent([ask("block"), ask("hang")], ask("free"), "done", tools=[block, hang, free]))
    assert result.termination_reason == Complete()
    assert sorted(fact.cause for fact in stage.all_of(e.ToolAbandoned)) == ["tool timeout", "tool timeout"]
    contents = [message.tool_results[0].content for message in result.messages[2:4]]
    assert all("did not end within 0.02 s" in content for content in contents)
    assert e.ToolEndedLate("root/1.1", "returned") in stage.all_of(e.ToolEndedLate)


async def test_a_call_that_ends_in_time_is_not_interrupted() -> None:
    """9.3"""

    @tool(timeout=60)
    async def quick() -> str:
        """Return at once."""
        return "quick"

    stage = Stage()
    await stage.run(agent(ask("quick"), ask("quick"), "done", tools=[quick]))
    assert [fact.content for fact in stage.all_of(e.ToolReturned)] == ["quick", "quick"]
    assert stage.all_of(e.ToolAbandoned) == []


async def test_a_call_that_swallows_its_cancellation_ends_late() -> None:
    """9.3, spec/faults.md i10: its result was given already."""

    @tool(timeout=SHORT)
    async def stubborn() -> str:
        """Catch everything."""
        with contextlib.suppress(BaseException):
            await anyio.sleep_forever()
        return "too late"

    stage = Stage()
    result = await stage.run(agent(ask("stubborn"), "done", tools=[stubborn]))
    assert "did not end within" in result.messages[2].tool_results[0].content
    assert [fact.cause for fact in stage.all_of(e.ToolAbandoned)] == ["tool timeout"]


async def test_three_kinds_of_too_late_are_three_outcomes() -> None:
    """9.5: a tool's own `TimeoutError`, our limit for the call, our limit for the loop."""

    @tool
    async def give_up() -> str:
        """Raise its own."""
        raise TimeoutError("the server did not answer")

    @tool(timeout=SHORT)
    async def hang() -> str:
        """Never return."""
        await anyio.sleep_forever()
        return ""

    stage = Stage()
    result = await stage.run(agent([ask("give_up"), ask("hang")], never, tools=[give_up, hang], timeout=0.2))
    assert stage.all_of(e.ToolFailed)[0].failure == e.Failure("TimeoutError", "the server did not answer")
    assert stage.all_of(e.ToolAbandoned)[0].cause == "tool timeout"
    assert result.termination_reason == Timeout(0.2)


async def test_the_limit_of_a_parent_ends_its_child_first() -> None:
    """7.4, 9.3"""

    @tool
    async def delegate() -> str:
        """Ask a sub-agent that hangs."""
        return (await agent(never, name="child").run("task")).text

    stage = Stage()
    result = await stage.run(agent(ask("delegate"), tools=[delegate], timeout=0.05))
    assert result.termination_reason == Timeout(0.05)
    assert stage.story(e.LoopFinished) == [("root/1.1#1", "LoopFinished"), ("root", "LoopFinished")]


async def test_the_limit_of_a_child_is_a_result_for_its_parent() -> None:
    """9.3"""

    @tool
    async def delegate() -> str:
        """Ask a sub-agent that hangs."""
        return str((await agent(never, name="child", timeout=SHORT).run("task")).termination_reason)

    stage = Stage()
    result = await stage.run(agent(ask("delegate"), "done", tools=[delegate], timeout=60))
    assert result.messages[2].tool_results[0].content == f"Timeout(limit={SHORT})"
    assert result.termination_reason == Complete()


async def test_time_stands_still_while_a_person_thinks() -> None:
    """4.5: an hour of thought costs nothing; what the tool takes does."""
    clock = Clock()
    stage = Stage(pending=["work"])

    @tool
    async def work() -> str:
        """Take ten seconds."""
        clock.now += 10
        return "worked"

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.DecisionRequested):
            group.start_soon(decide)

    async def decide() -> None:
        clock.now += 3600
        stage.decide_as_person("root", "root/1.1", Approve())

    stage.on_event = on_event
    async with anyio.create_task_group() as group:
        result = await stage.run(agent(ask("work"), "done", tools=[work], timeout=60), clock=clock)
    assert result.termination_reason == Complete()
    assert [fact.loop_seconds for fact in stage.all_of(e.ClockRead)] == [0.0, 10.0]


async def test_a_parents_time_stands_still_while_its_child_waits_for_a_person() -> None:
    """4.5: and goes on with the child."""
    clock = Clock()
    stage = Stage(pending=["work"])

    @tool
    async def work() -> str:
        """Take ten seconds."""
        clock.now += 10
        return "worked"

    @tool
    async def delegate() -> str:
        """Ask a sub-agent, which takes a second to begin with."""
        clock.now += 1
        return (await agent(ask("work"), "done", tools=[work], name="child").run("task")).text

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.DecisionRequested) and event.loop != "root":
            group.start_soon(decide)

    async def decide() -> None:
        clock.now += 3600
        stage.decide_as_person("root/1.1#1", "root/1.1#1/1.1", Approve())

    stage.on_event = on_event
    async with anyio.create_task_group() as group:
        result = await stage.run(agent(ask("delegate"), "done", tools=[delegate], timeout=60), clock=clock)
    assert result.termination_reason == Complete()
    assert [fact.loop_seconds for fact in stage.all_of(e.ClockRead)] == [0.0, 11.0]


async def test_time_stands_still_in_a_pause() -> None:
    """4.5"""
    clock = Clock()
    stage = Stage(gates=["root/1.response"])

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.Paused):
            group.start_soon(resume)

    async def resume() -> None:
        clock.now += 3600
        stage.root.post(e.Resumed("root/1.response", "person"))

    stage.on_event = on_event
    async with anyio.create_task_group() as group:
        result = await stage.run(agent("done", timeout=60), clock=clock)
    assert result.termination_reason == Complete()


async def test_time_stands_still_while_a_handle_is_held() -> None:
    """4.5, 10.2: a turn may be asked for whenever it suits."""

    @tool
    async def work() -> str:
        """Work."""
        return "worked"

    provider = ScriptedProvider([ask("work"), "done"])
    async with LoopHandle(provider, ToolRegistry([work]), "go", ToolLoopConfig(timeout=1000)) as handle:
        assert isinstance(await handle.next_turn(), Yielded)
        assert handle._run is not None
        assert handle._run.driver is not None
        worked = handle._run.driver.clock.elapsed()
        began = time.monotonic()
        while time.monotonic() - began < 0.002:
            await anyio.lowlevel.checkpoint()
        assert handle._run.driver.clock.elapsed() == worked > 0
        assert isinstance(await handle.next_turn(), Completed)


async def test_work_beyond_the_limit_ends_before_the_next_turn() -> None:
    """3.4: by the clock that the run was given."""
    clock = Clock()

    @tool
    async def work() -> str:
        """Take an hour."""
        clock.now += 3600
        return "worked"

    stage = Stage()
    result = await stage.run(agent(ask("work"), "never", tools=[work], timeout=60), clock=clock)
    assert result.termination_reason == Timeout(60.0)
    assert result.iterations == 1


def test_a_stopwatch_counts_what_it_runs() -> None:
    """4.5"""
    clock = Clock()
    watch = Stopwatch(clock)
    for running, step in ((True, 3.0), (True, 2.0), (False, 100.0), (False, 100.0), (True, 1.0)):
        watch.run(running)
        clock.now += step
    assert watch.elapsed() == 6.0
    watch.run(False)
    assert watch.elapsed() == 6.0


def test_a_reading_is_never_rounded_to_below_the_limit() -> None:
    """3.4: the log must say that the limit was reached, or the loop would go on after its work was cancelled."""
    clock = Clock()
    clock.now = 0.0
    time = LoopClock(clock, 1 / 3, lambda callback: callback())
    time.run(True)
    clock.now = 0.33333333334
    assert time.limit_passed()
    assert time.elapsed() >= 1 / 3
    clock.now = 0.1234567
    assert time.elapsed() == 0.123457
