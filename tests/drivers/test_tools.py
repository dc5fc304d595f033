"""Handlers that run: threads, context variables, errors of every kind (spec/loop.md 9.1, 9.4, 9.5)."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import LoopContext, Recorder, ScriptedProvider, ToolOutput, ToolRegistry, replay, tool, tool_loop
from loopkit import events as e
from loopkit.messages import ToolCall
from loopkit.outcomes import Approve, Complete, Modify
from loopkit.recording.check import check_recording
from tests.drivers.stage import Stage, agent, ask, in_a_thread

pytestmark = pytest.mark.anyio

user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


@tool
def who() -> str:
    """Say who asks, in a thread."""
    return f"{user.get()} in {threading.current_thread().name}"


@tool
async def who_async() -> str:
    """Say who asks, in the event loop."""
    return user.get()


def results(stage: Stage) -> list[str]:
    return [fact.content for fact in stage.all_of(e.ToolReturned)]


async def test_a_sync_tool_runs_in_a_thread_with_the_callers_context() -> None:
    """9.4, spec/faults.md i6, i7"""
    user.set("ann")
    stage = Stage()
    await stage.run(agent(ask("who"), "done", tools=[who]))
    assert results(stage) == ["ann in loopkit tool"]
    assert threading.current_thread().name != "loopkit tool"


async def test_a_sync_tool_does_not_hold_the_event_loop() -> None:
    """spec/faults.md i6: an async sibling goes on while it blocks."""
    blocked, free = threading.Event(), threading.Event()

    @tool
    def block() -> str:
        """Wait until the other tool frees us."""
        blocked.set()
        return "freed" if free.wait(10) else "stuck"

    @tool
    async def release() -> str:
        """Free the other one."""
        while not blocked.is_set():
            await anyio.lowlevel.checkpoint()
        free.set()
        return "released"

    stage = Stage()
    await stage.run(agent([ask("block"), ask("release")], "done", tools=[block, release]))
    assert sorted(results(stage)) == ["freed", "released"]


async def test_a_decision_from_another_thread_changes_no_context() -> None:
    """9.4, spec/faults.md i7: handlers see the variables of whoever runs the loop, not of whoever decides."""
    user.set("ann")
    stage = Stage(pending=["who", "who_async"])

    def decide() -> None:
        user.set("the deciding thread")
        for position in (1, 2, 3):
            stage.decide_as_person("root", f"root/1.{position}", Approve())

    def on_event(event: e.Event) -> None:
        if len(stage.all_of(e.DecisionRequested)) == 3 and not deciding:
            deciding.append(in_a_thread(decide))

    deciding: list[threading.Thread] = []
    stage.on_event = on_event
    calls = [ask("who", "1"), ask("who_async", "2"), ask("who_async", "3")]
    await stage.run(agent(calls, "done", tools=[who, who_async]))
    assert sorted(results(stage)) == ["ann", "ann", "ann in loopkit tool"]


async def test_handlers_get_the_context_one_level_deeper() -> None:
    """7.2"""
    seen: list[Any] = []

    @tool
    async def look(ctx: LoopContext[str]) -> str:
        """Look at the context."""
        seen.append((ctx.state, ctx.loop_depth()))
        return "seen"

    context = LoopContext("state")
    await agent([ask("look", "1"), ask("look", "2")], "done", tools=[look]).run("go", ctx=context)
    assert seen == [("state", 1), ("state", 1)]
    assert context.loop_depth() == 0


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


@pytest.mark.parametrize("in_thread", [True, False], ids=["thread", "async"])
@pytest.mark.parametrize(
    ("error", "named"),
    [
        (ValueError("no"), "ValueError"),
        (TimeoutError("slow"), "TimeoutError"),
        (SystemExit(3), "SystemExit"),
        (StopIteration("over"), "StopIteration"),
        (Unprintable(), "Unprintable"),
        (ExceptionGroup("two", [ValueError("a"), KeyError("b")]), "ExceptionGroup"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
async def test_whatever_a_handler_raises_is_its_own_error(error: BaseException, named: str, in_thread: bool) -> None:
    """9.1, 9.4, 9.5: a result for the model; the loop goes on. (A coroutine turns StopIteration into RuntimeError.)"""

    @tool
    def fail() -> str:
        """Raise in a thread."""
        raise error

    @tool(name="fail")
    async def fail_async() -> str:
        """Raise in the event loop."""
        raise error

    stage = Stage()
    result = await stage.run(agent(ask("fail"), "done", tools=[fail if in_thread else fail_async]))
    (failed,) = stage.all_of(e.ToolFailed)
    assert failed.failure.type_name == (named if named != "StopIteration" else "RuntimeError")
    assert failed.content
    assert result.termination_reason == Complete()
    assert result.messages[2].tool_results[0].is_error


async def test_two_failures_at_once_are_two_results() -> None:
    """spec/faults.md i4: no sibling is cancelled by a tool's error."""
    both = anyio.Event()

    @tool
    async def fail(word: str) -> str:
        """Raise together with the other one."""
        if word == "b":
            both.set()
        await both.wait()
        raise (ValueError if word == "a" else KeyError)(word)

    stage = Stage()
    calls = [ask("fail", "1", word="a"), ask("fail", "2", word="b"), ask("fail", "3", word="c")]
    result = await stage.run(agent(calls, "done", tools=[fail]))
    assert [message.tool_results[0].content for message in result.messages[2:5]] == [
        "ValueError: a",
        "KeyError: 'b'",
        "KeyError: 'c'",
    ]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # on trio only a cancel scope can raise a cancellation
async def test_a_cancellation_inside_a_handler_is_its_own_failure() -> None:
    """9.5: a tool that awaits something that was cancelled has failed; nobody cancelled the loop."""

    @tool
    async def wait() -> str:
        """Await a task that somebody cancels."""
        task = asyncio.ensure_future(asyncio.sleep(60))
        asyncio.get_running_loop().call_soon(task.cancel)
        await task
        return "never"

    stage = Stage()
    result = await stage.run(agent([ask("wait", "1"), ask("wait", "2")], ask("wait"), "done", tools=[wait]))
    assert [fact.failure.type_name for fact in stage.all_of(e.ToolFailed)] == ["CancelledError"] * 3
    assert result.termination_reason == Complete()


async def test_a_handler_may_say_that_it_failed() -> None:
    """8.5"""

    @tool
    async def fail() -> ToolOutput:
        """Say so."""
        return ToolOutput("no luck", is_error=True)

    stage = Stage()
    await stage.run(agent(ask("fail"), "done", tools=[fail]))
    assert stage.all_of(e.ToolReturned) == [e.ToolReturned("root/1.1", "no luck", is_error=True)]


async def test_an_answer_that_cannot_be_printed_is_a_failure() -> None:
    """9.1"""

    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("unprintable")

    @tool
    async def odd() -> object:
        """Return it."""
        return Odd()

    stage = Stage()
    result = await stage.run(agent(ask("odd"), "done", tools=[odd]))
    assert stage.all_of(e.ToolFailed)[0].failure.type_name == "RuntimeError"
    assert result.termination_reason == Complete()


async def test_an_edit_by_a_policy_is_checked_too() -> None:
    """4.3: whoever edits."""

    @tool
    async def add(a: int) -> int:
        """Add one."""
        return a + 1

    stage = Stage(answers={"add": Modify({"a": "x"})})
    await stage.run(agent(ask("add", a=1), "done", tools=[add]))
    (skipped,) = stage.all_of(e.ToolSkipped)
    assert skipped.cause == "invalid arguments"
    assert stage.all_of(e.ToolStarted) == []


async def test_arguments_are_the_handlers_own() -> None:
    """spec/faults.md d15, d16: what a handler does to them changes nothing that is recorded."""

    @tool
    async def grow(items: list[int]) -> int:
        """Change what was given."""
        items.append(99)
        return len(items)

    stage = Stage()
    await stage.run(agent(ToolCall("c", "grow", {"items": [1, 2]}), "done", tools=[grow]))
    (first, _) = stage.all_of(e.ModelReplied)
    assert first.message.tool_calls[0].arguments == {"items": [1, 2]}
    assert results(stage) == ["3"]


async def test_what_handlers_do_runs_at_once_only_when_allowed() -> None:
    """2: `parallel_tool_execution`"""
    open_now: list[str] = []
    most: list[int] = []

    @tool
    async def work(word: str) -> str:
        """Note how many run."""
        open_now.append(word)
        most.append(len(open_now))
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        open_now.remove(word)
        return word

    calls = [ask("work", word, word=word) for word in "abc"]
    await agent(calls, "done", tools=[work]).run("go")
    assert max(most) == 3
    most.clear()
    await agent(calls, "done", tools=[work], parallel_tool_execution=False).run("go")
    assert max(most) == 1


async def test_arguments_that_are_no_json_are_kept_as_text_and_never_run(tmp_path: Path) -> None:
    """Rule 9.1: a scripted model's NaN must not break the recording."""
    path = tmp_path / "run.jsonl"
    odd = [ToolCall("c1", "nope", {"x": float("nan")}), ToolCall("c2", "nope", {"x": [float("inf")]})]
    result = await tool_loop(ScriptedProvider([odd, "done"]), ToolRegistry([]), "go", recorder=Recorder(path))
    assert result.text == "done"
    assert [message.tool_results[0].is_error for message in result.messages if message.tool_results] == [True, True]
    assert check_recording(path) == []
    assert replay(path).same
