"""What a loop over its error limit raises, and what stands in its log by then (spec/loop.md 8.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from loopkit import ToolError, ToolOutput, tool
from loopkit import events as e
from tests.drivers.stage import Stage, agent, ask

pytestmark = pytest.mark.anyio


def raising(name: str, error: BaseException) -> Callable[[], Any]:
    """A tool that raises one exception."""

    @tool(name=name)
    async def failing() -> str:
        raise error

    return failing


async def run(*tools: Any, limit: int = 0, concurrent: bool = True) -> tuple[Stage, BaseException]:
    """Let a model ask for every tool at once, over the limit."""
    stage = Stage()
    calls = [ask(each.name) for each in tools]
    with pytest.raises(BaseException) as caught:  # noqa: PT011  # each test says what it is
        await stage.run(
            agent(
                calls,
                "unreachable",
                tools=tools,
                maximum_consecutive_errors=limit,
                parallel_tool_execution=concurrent,
            )
        )
    return stage, caught.value


async def test_one_failure_is_raised_as_it_was_raised() -> None:
    """8.6"""
    error = KeyError("gone")
    stage, raised = await run(raising("one", error))
    assert raised is error
    assert stage.events[-1].fact == e.LoopFailed(e.Failure("KeyError", "'gone'"), 1, stage.root.core.state.usage)


async def test_several_failures_are_raised_as_one_group_in_call_order() -> None:
    """8.6: whichever ended first."""
    second_failed = anyio.Event()
    first = ValueError("first")

    @tool
    async def slow() -> str:
        """Fail behind the other."""
        await second_failed.wait()
        raise first

    @tool
    async def fast() -> str:
        """Fail at once."""
        second_failed.set()
        raise OSError("second")

    _, raised = await run(slow, fast)
    assert isinstance(raised, ExceptionGroup)
    assert raised.exceptions[0] is first
    assert isinstance(raised.exceptions[1], OSError)


async def test_results_that_say_they_are_errors_stand_in_the_group_too() -> None:
    """8.5, 8.6: as the `ToolError` that nobody raised."""

    @tool
    async def says_so() -> ToolOutput:
        """Say that it failed."""
        return ToolOutput("no such file", is_error=True)

    _, raised = await run(says_so, raising("raises", ValueError("x")))
    assert isinstance(raised, ExceptionGroup)
    assert [type(error) for error in raised.exceptions] == [ToolError, ValueError]
    assert str(raised.exceptions[0]) == "no such file"
    _, alone = await run(says_so)
    assert isinstance(alone, ToolError)


async def test_what_would_end_a_program_is_raised_as_a_tool_error() -> None:
    """8.6, 9.4: alone and in a group."""
    _, raised = await run(raising("leaves", SystemExit(3)))
    assert isinstance(raised, ToolError)
    assert str(raised) == "SystemExit(3)"
    _, several = await run(raising("leaves", SystemExit(3)), raising("fails", ValueError("x")))
    assert isinstance(several, ExceptionGroup)
    assert [type(error) for error in several.exceptions] == [ToolError, ValueError]


async def test_a_concurrent_batch_is_whole_in_the_log_before_anything_is_raised() -> None:
    """8.6"""
    others_run = anyio.Event()
    ended: list[str] = []

    @tool
    async def late() -> str:
        """End behind the failure."""
        await others_run.wait()
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        ended.append("late")
        return "fine"

    @tool
    async def fails() -> str:
        """Fail first."""
        others_run.set()
        raise ValueError("x")

    stage, raised = await run(fails, late)
    assert isinstance(raised, ValueError)
    assert ended == ["late"]
    assert [event.type for event in stage.events[-3:]] == ["ToolFailed", "ToolReturned", "LoopFailed"]


async def test_sequential_calls_without_error_budget_end_at_the_first_failure() -> None:
    """8.6"""
    error = ValueError("first")
    stage, raised = await run(raising("one", error), raising("two", OSError("never")), concurrent=False)
    assert raised is error
    assert [fact.call for fact in stage.all_of(e.ToolStarted)] == ["root/1.1"]
    assert stage.events[-1].type == "LoopFailed"


async def test_a_sequential_batch_with_budget_left_gives_its_results_to_the_model() -> None:
    """8.5, 8.6"""
    stage = Stage()
    tools = [raising("one", ValueError("x")), raising("two", ValueError("y"))]
    result = await stage.run(
        agent(
            [ask("one"), ask("two")], "done", tools=tools, maximum_consecutive_errors=1, parallel_tool_execution=False
        )
    )
    assert result.text == "done"
    assert len(stage.all_of(e.ToolFailed)) == 2
