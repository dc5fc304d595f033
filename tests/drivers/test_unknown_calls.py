"""Calls of tools that are not there end a loop that is told so, however it is run (spec/loop.md 3.10, 8.7)."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit import (
    Agent,
    Approve,
    Completed,
    LoopAction,
    LoopDetectionConfig,
    LoopHandle,
    ModelBinding,
    ScriptedProvider,
    StopReason,
    ToolCall,
    ToolLoopConfig,
    ToolLoopSettings,
    ToolRegistry,
    UnknownTool,
    tool,
    tool_loop,
    tool_loop_stream,
)
from loopkit import events as e
from loopkit.drivers.stream import Done
from tests.drivers.stage import Stage

pytestmark = pytest.mark.anyio

KNOWN, UNKNOWN = ToolCall("c1", "look", {}), ToolCall("c2", "nope", {"a": 1})
ran: list[str] = []


@tool
async def look() -> str:
    """Look."""
    ran.append("look")
    return "seen"


def _asked(call: ToolCall) -> Approve:
    ran.append(f"asked about {call.name}")
    return Approve()


CONFIG = ToolLoopConfig(
    terminate_on_unknown_calls=True,
    on_tool_call=_asked,
    loop_detection=LoopDetectionConfig(2, LoopAction.STOP),
)


@pytest.mark.parametrize("calls", [[UNKNOWN], [KNOWN, UNKNOWN], [UNKNOWN, KNOWN], [UNKNOWN, ToolCall("c3", "other")]])
@pytest.mark.parametrize("way", ["tool_loop", "stream", "handle"])
async def test_an_unknown_call_ends_the_loop_and_is_handed_back(calls: list[ToolCall], way: str) -> None:
    """3.10, 8.7, 10.3: no call of the response runs, nobody is asked, the response is intact and in the transcript."""
    ran.clear()
    given = (ScriptedProvider([["Let me.", *calls], "never"]), ToolRegistry([look]), "go", CONFIG)
    result: Any = None
    if way == "tool_loop":
        result = await tool_loop(*given)
    elif way == "stream":
        async for happened in tool_loop_stream(*given):
            result = happened.result if isinstance(happened, Done) else None
    else:
        async with LoopHandle(*given) as handle:
            turn = await handle.next_turn()
            assert isinstance(turn, Completed)
            result = turn.result
    assert result.termination_reason == UnknownTool("nope")
    assert ran == []
    assert list(result.response.tool_calls) == calls
    assert (result.response.text, result.response.stop_reason) == ("Let me.", StopReason.TOOL_CALLS)
    assert list(result.messages[-1].tool_calls) == calls
    assert result.iterations == 1


async def test_it_ends_before_detection_and_approval() -> None:
    """3.10: the second equal batch would end it as a loop, and its calls would be offered."""
    ran.clear()
    stage = Stage()
    config = ToolLoopConfig(
        terminate_on_unknown_calls=True, loop_detection=LoopDetectionConfig(2, LoopAction.STOP), on_tool_call=_asked
    )
    script = [[KNOWN], [KNOWN, UNKNOWN]]
    result = await stage.run(Agent(ScriptedProvider(script), tools=[look], config=config))
    assert result.termination_reason == UnknownTool("nope")
    assert ran == ["asked about look", "look"]
    assert not stage.all_of(e.RepetitionDetected)
    assert len(stage.all_of(e.DecisionRequested)) == 1


@pytest.mark.parametrize(("setting", "ends"), [(True, True), (False, False), (None, False)])
async def test_the_settings_of_a_binding_decide(setting: bool | None, ends: bool) -> None:
    """8.7, 8.2: unset means no."""
    ran.clear()
    binding = ModelBinding(
        ScriptedProvider([[KNOWN, UNKNOWN], "done"]), tool_loop=ToolLoopSettings(terminate_on_unknown_calls=setting)
    )
    result = await tool_loop(binding, ToolRegistry([look]), "go")
    assert (result.termination_reason == UnknownTool("nope")) is ends
    assert ran == ([] if ends else ["look"])


async def test_what_was_handed_back_can_be_answered_and_gone_on_with() -> None:
    """8.7, 3 (last part): no synthetic result stands in its way."""
    first = await tool_loop(ScriptedProvider([[UNKNOWN]]), ToolRegistry([look]), "go", CONFIG)
    from loopkit import Message, ToolResult

    provider = ScriptedProvider(["done"])
    history = [*first.messages, Message.tool(ToolResult("c2", "done by hand"))]
    result = await tool_loop(provider, ToolRegistry([look]), history)
    assert result.text == "done"
    assert [m.tool_results[0].content for m in provider.requests[0].messages if m.role == "tool"] == ["done by hand"]
