"""How runs end before their time: cancelled, stopped, interrupted (spec/loop.md 7.4, 9.4, 9.5)."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import ScriptedProvider, ToolLoopConfig, tool, tool_loop
from loopkit import events as e
from loopkit.agent import Agent
from loopkit.drivers.replay import replay
from loopkit.outcomes import Cancelled, Complete, StopCondition
from loopkit.providers.protocol import ChatRequest
from loopkit.recording.reader import read_recording
from tests.drivers.stage import ClosingRecorder, Stage, agent, ask, in_a_thread

pytestmark = pytest.mark.anyio


async def never(_: ChatRequest) -> str:
    """A model that never answers."""
    await anyio.sleep_forever()
    return ""


@tool
async def hang() -> str:
    """Never return."""
    await anyio.sleep_forever()
    return ""


@tool
async def delegate() -> str:
    """Ask a sub-agent whose model never answers."""
    return (await agent(never, name="child").run("task")).text


def ends(stage: Stage) -> list[tuple[str, str]]:
    return stage.story(e.RunStopped, e.ModelInterrupted, e.ToolAbandoned, e.LoopFinished, e.LoopFailed)


async def when(stage: Stage, kind: type[e.Fact], loop: str = "root") -> None:
    """Wait until an event of a class happens."""
    happened = anyio.Event()
    stage.on_event = lambda event: happened.set() if isinstance(event.fact, kind) and event.loop == loop else None
    await happened.wait()


@pytest.mark.parametrize("what", ["model", "tool", "decision"])
async def test_a_cancelled_caller_leaves_a_closed_log(what: str, tmp_path: Path) -> None:
    """9.4: whole, and it replays; what ran is interrupted first."""
    stage = Stage(pending=["hang"] if what == "decision" else [])
    script = never if what == "model" else ask("hang")
    recorder = ClosingRecorder(tmp_path / "run.jsonl")
    kinds: dict[str, type[e.Fact]] = {
        "model": e.ModelRequested,
        "tool": e.ToolStarted,
        "decision": e.DecisionRequested,
    }
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                await when(stage, kinds[what])
                scope.cancel()

            group.start_soon(cancel)
            await anyio.lowlevel.checkpoint()
            await stage.run(agent(script, "done", tools=[hang]), recorder)
    interrupted = {"model": "ModelInterrupted", "tool": "ToolAbandoned"}
    expected = [("root", "RunStopped")]
    if what in interrupted:
        expected.append(("root", interrupted[what]))
    assert ends(stage) == [*expected, ("root", "LoopFinished")]
    assert stage.all_of(e.RunStopped) == [e.RunStopped("caller")]
    assert recorder.closed.is_set()
    assert list(read_recording(recorder.path).events) == stage.events
    assert replay(recorder.path).same


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancelled_asyncio_task_leaves_a_closed_log() -> None:
    """9.4: also without anyio's scopes."""
    stage = Stage()
    task = asyncio.ensure_future(stage.run(agent(ask("hang"), tools=[hang])))
    await when(stage, e.ToolStarted)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ends(stage) == [("root", "RunStopped"), ("root", "ToolAbandoned"), ("root", "LoopFinished")]


async def test_stopping_ends_descendants_first() -> None:
    """7.4, spec/faults.md h3: also while a child waits for its model; each has a terminal event."""
    stage = Stage()
    async with anyio.create_task_group() as group:

        async def stop() -> None:
            await when(stage, e.ModelRequested, "root/1.1#1")
            await anyio.lowlevel.checkpoint()
            stage.root.stop("person", "enough")

        group.start_soon(stop)
        await anyio.lowlevel.checkpoint()
        result = await stage.run(agent(ask("delegate"), tools=[delegate]))
    assert result.termination_reason == Cancelled("enough")
    assert ends(stage) == [
        ("root/1.1#1", "RunStopped"),
        ("root/1.1#1", "ModelInterrupted"),
        ("root/1.1#1", "LoopFinished"),
        ("root", "RunStopped"),
        ("root", "ToolAbandoned"),
        ("root", "LoopFinished"),
    ]
    assert stage.all_of(e.ModelInterrupted)[0].cause == "parent ended"


async def test_stopping_a_child_leaves_its_parent_running() -> None:
    """7.4: the parent gets what the child gave."""
    stage = Stage(pending=["hang"])

    @tool
    async def delegate_to_hang() -> str:
        """Ask a sub-agent that hangs."""
        return str((await agent(ask("hang"), tools=[hang], name="child").run("task")).termination_reason)

    async with anyio.create_task_group() as group:

        async def stop() -> None:
            await when(stage, e.DecisionRequested, "root/1.1#1")
            await anyio.lowlevel.checkpoint()
            stage.drivers["root/1.1#1"].stop("person")

        group.start_soon(stop)
        await anyio.lowlevel.checkpoint()
        result = await stage.run(agent(ask("delegate_to_hang"), "done", tools=[delegate_to_hang]))
    assert result.termination_reason == Complete()
    assert stage.all_of(e.ToolReturned) == [e.ToolReturned("root/1.1", "Cancelled(reason=None)")]


async def test_stopping_from_another_thread() -> None:
    """DESIGN §5: a stop comes from anywhere, at any moment."""
    stage = Stage()

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.ToolStarted):
            in_a_thread(lambda: stage.root.stop("person"))

    stage.on_event = on_event
    result = await stage.run(agent(ask("hang"), tools=[hang]))
    assert result.termination_reason == Cancelled(None)


async def test_stopping_twice_ends_once() -> None:
    """spec/faults.md h3"""
    stage = Stage()

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.ToolStarted):
            for _ in range(5):
                in_a_thread(lambda: stage.root.stop("person"))

    stage.on_event = on_event
    await stage.run(agent(ask("hang"), tools=[hang]))
    assert len(stage.all_of(e.RunStopped)) == len(stage.all_of(e.LoopFinished)) == 1


async def test_the_words_received_before_a_stop_are_kept() -> None:
    """9.3, DESIGN §5"""

    async def slow(_: ChatRequest) -> str:
        stage.root.streamed(deltas[0])
        await anyio.sleep_forever()
        return ""

    from loopkit.providers.protocol import TextDelta

    deltas = [TextDelta("I was about to")]
    stage = Stage()

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.ModelRequested):
            group.start_soon(stop)

    async def stop() -> None:
        while not stage.deltas:
            await anyio.lowlevel.checkpoint()
        stage.root.stop("person")

    stage.on_event = on_event
    async with anyio.create_task_group() as group:
        result = await stage.run(agent(slow))
    assert result.messages[-1].text == "I was about to"
    assert result.response is None
    assert result.total_usage.unreported == 1


async def test_a_tool_that_swallows_its_cancellation_delays_the_return_only() -> None:
    """9.3, spec/faults.md i10: the log says when it was given up, and that it ended late."""

    @tool
    async def stubborn() -> str:
        """Ignore the cancellation."""
        in_a_thread(lambda: stage.root.stop("person"))
        with contextlib.suppress(BaseException):
            await anyio.sleep_forever()
        return "still here"

    stage = Stage()
    result = await stage.run(agent([ask("stubborn", "1"), ask("stubborn", "2")], tools=[stubborn]))
    assert result.termination_reason == Cancelled(None)
    assert stage.story(e.LoopFinished, e.ToolEndedLate)[:2] == [("root", "LoopFinished"), ("root", "ToolEndedLate")]


def test_an_interrupted_run_closes_its_log(anyio_backend: str, tmp_path: Path) -> None:
    """9.4: `KeyboardInterrupt` of the user ends the run with a closed log."""
    recorder = ClosingRecorder(tmp_path / "run.jsonl")
    stage = Stage()

    @tool
    async def interrupt() -> str:
        """Press Ctrl+C."""
        raise KeyboardInterrupt

    async def main() -> Any:
        return await stage.run(agent([ask("hang"), ask("interrupt")], tools=[interrupt, hang]), recorder)

    with pytest.raises(KeyboardInterrupt):
        anyio.run(main, backend=anyio_backend)
    assert stage.all_of(e.LoopFinished) == [e.LoopFinished(Cancelled(None), 1, stage.root.core.state.usage)]
    assert recorder.closed.is_set()
    assert replay(recorder.path).same


def test_ctrl_c_closes_the_log(anyio_backend: str, tmp_path: Path) -> None:
    """9.4, spec/faults.md i14: the real signal, while a thread holds on to its work."""
    recorder = ClosingRecorder(tmp_path / "run.jsonl")
    stage = Stage()
    blocked, let_go = threading.Event(), threading.Event()

    @tool
    def block() -> str:
        """Hold a thread."""
        blocked.set()
        let_go.wait(10)
        return "late"

    @tool
    async def press() -> str:
        """Press Ctrl+C once the other holds its thread."""
        while not blocked.is_set():
            await anyio.lowlevel.checkpoint()
        signal.raise_signal(signal.SIGINT)
        await anyio.sleep_forever()
        return ""

    async def main() -> Any:
        return await stage.run(agent([ask("block"), ask("press")], tools=[block, press]), recorder)

    with pytest.raises(KeyboardInterrupt):
        anyio.run(main, backend=anyio_backend)
    assert len(stage.all_of(e.ToolAbandoned)) == 2
    assert len(stage.all_of(e.LoopFinished)) == 1
    let_go.set()
    assert recorder.closed.wait(10)
    assert stage.all_of(e.ToolEndedLate)[0] == e.ToolEndedLate("root/1.1", "returned")
    assert replay(recorder.path).same


def test_an_interrupt_in_a_thread_closes_the_log(anyio_backend: str, tmp_path: Path) -> None:
    """9.4: and the recording is not kept open for a handler that has ended."""
    recorder = ClosingRecorder(tmp_path / "run.jsonl")
    stage = Stage()

    @tool
    def interrupt() -> str:
        """Press Ctrl+C."""
        raise KeyboardInterrupt

    async def main() -> Any:
        return await stage.run(agent(ask("interrupt"), tools=[interrupt]), recorder)

    with pytest.raises(KeyboardInterrupt):
        anyio.run(main, backend=anyio_backend)
    assert recorder.closed.is_set()
    assert stage.all_of(e.ToolEndedLate) == []


async def test_a_stop_command_ends_before_the_next_turn() -> None:
    """3.3"""
    stage = Stage()

    @tool
    async def look() -> str:
        """Ask for the end while it runs."""
        stage.root.post(e.StopCommanded("seen enough"))
        return "seen"

    result = await stage.run(agent(ask("look"), "never", tools=[look]))
    assert result.termination_reason == StopCondition("seen enough")
    assert result.messages[-1].tool_results[0].content == "seen"


async def test_a_finished_loop_takes_nothing_more() -> None:
    """3.2"""
    stage = Stage()
    await stage.run(agent("done"))
    events = len(stage.events)
    stage.root.stop("person")
    assert not stage.root.post(e.StopCommanded())
    assert len(stage.events) == events


async def test_nothing_runs_after_the_loop_ended() -> None:
    """DESIGN §8: tasks in a cancelled scope still run to their first await; nothing is posted twice."""
    stage = Stage()
    started: list[str] = []

    @tool
    async def note(word: str) -> str:
        """Note that it ran."""
        started.append(word)
        if word == "a":
            stage.root.stop("person")
        return word

    await stage.run(agent([ask("note", word, word=word) for word in "abc"], tools=[note]))
    assert started == ["a"]
    assert len(stage.all_of(e.ToolAbandoned)) == 3


async def test_a_stopped_agent_runs_again() -> None:
    """Nothing of a run stays behind in the agent."""
    hanging = Agent(ScriptedProvider([ask("hang"), "second"]), tools=[hang])
    stage = Stage()
    stage.on_event = lambda event: stage.root.stop("person") if isinstance(event.fact, e.DecisionRequested) else None
    with anyio.CancelScope() as scope:
        scope.cancel()
        await hanging.run("go")
    assert (await hanging.run("go")).text in ("", "second")
    assert threading.active_count() < 50


async def test_a_run_without_recorder_or_watcher() -> None:
    """1: the plain call."""
    result = await tool_loop(ScriptedProvider(["hello"]), (), "hi", ToolLoopConfig())  # type: ignore[arg-type]  # a plain sequence of functions is fine too
    assert (result.text, result.iterations, result.termination_reason) == ("hello", 1, Complete())
