"""The names that users import, and the values behind them (spec/loop.md 1)."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import loopkit
from loopkit import (
    Approve,
    Cancelled,
    Complete,
    Continue,
    Deny,
    InjectMessages,
    LoopDetected,
    MaxDepthExceeded,
    MaxIterations,
    Message,
    Modify,
    Respond,
    ScriptedProvider,
    Stop,
    StopCondition,
    StopWithReason,
    Timeout,
    ToolCall,
    ToolLoopConfig,
    ToolRegistry,
    ToolResult,
    UnknownTool,
    Usage,
    tool_loop,
)

NAMES = [
    "tool_loop",
    "tool_loop_stream",
    "LoopHandle",
    "Yielded",
    "Completed",
    "Failed",
    "Agent",
    "ToolLoopConfig",
    "ToolLoopSettings",
    "ModelBinding",
    "LoopDetectionConfig",
    "LoopAction",
    "StopContext",
    "ToolApproval",
    "Approve",
    "Deny",
    "Modify",
    "Respond",
    "LoopDepth",
    "LoopContext",
    "TerminationReason",
    "Complete",
    "StopCondition",
    "MaxIterations",
    "LoopDetected",
    "Timeout",
    "UnknownTool",
    "Cancelled",
    "ToolLoopResult",
    "MaxDepthExceeded",
    "ToolRegistry",
    "tool",
    "ToolDefinition",
    "ToolOutput",
    "ToolError",
    "Message",
    "ToolCall",
    "ToolResult",
    "ChatResponse",
    "Usage",
    "StopReason",
    "ProviderError",
    "AgentBuildError",
    "ScriptedProvider",
    "Recorder",
    "Continue",
    "Stop",
    "StopWithReason",
    "InjectMessages",
]

VALUES = [
    (Approve(), Approve(), Deny()),
    (Deny("no"), Deny("no"), Deny("never")),
    (Modify({"a": 1}), Modify({"a": 1}), Modify({"a": 2})),
    (Respond("x"), Respond("x", is_error=False), Respond("x", is_error=True)),
    (Complete(), Complete(), Cancelled()),
    (StopCondition("x"), StopCondition("x"), StopCondition()),
    (MaxIterations(3), MaxIterations(3), MaxIterations(4)),
    (LoopDetected("f", 3), LoopDetected("f", 3), LoopDetected("f", 6)),
    (Timeout(1.0), Timeout(1.0), Timeout(2.0)),
    (UnknownTool("f"), UnknownTool("f"), UnknownTool("g")),
    (Stop("x"), StopWithReason("x"), Stop()),
    (Continue(), Continue(), Stop()),
    (InjectMessages([Message.user("x")]), InjectMessages((Message.user("x"),)), InjectMessages([])),
    (ToolCall("c", "f", {"a": 1}), ToolCall("c", "f", {"a": 1}), ToolCall("c", "f", {"a": 2})),
    (ToolResult("c", "x"), ToolResult("c", "x", is_error=False), ToolResult("c", "x", is_error=True)),
    (Usage(1, 2), Usage(1, 2), Usage(2, 1)),
    (ToolLoopConfig(max_iterations=3), ToolLoopConfig(max_iterations=3), ToolLoopConfig(max_iterations=4)),
]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(name: str) -> None:
    """1"""
    assert name in loopkit.__all__
    assert getattr(loopkit, name) is not None


@pytest.mark.parametrize(("one", "same", "other"), VALUES, ids=lambda value: type(value).__name__)
def test_values_are_frozen_and_compared_by_content(one: Any, same: Any, other: Any) -> None:
    """1: with a readable repr that makes the same value again."""
    assert one == same
    assert one != other
    for field in dataclasses.fields(one):
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
            setattr(one, field.name, None)
    assert eval(repr(one), {**vars(loopkit), **_public()}) == one


def _public() -> dict[str, Any]:
    from loopkit import messages

    return {name: getattr(loopkit, name) for name in NAMES} | vars(messages)


def test_the_depth_error_says_where_and_how_deep() -> None:
    """1"""
    error = MaxDepthExceeded(3, 3)
    assert (error.current, error.limit) == (3, 3)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "messages", ["go", [Message.user("go")], (Message.user("go"),)], ids=lambda value: type(value).__name__
)
async def test_a_text_is_one_user_message_and_a_result_has_it_all(messages: Any) -> None:
    """1: the last response, model calls, usage, why it ended, the whole transcript and the run's id."""
    provider = ScriptedProvider(["hello"], usage=Usage(3, 2))
    result = await tool_loop(provider, ToolRegistry(), messages)
    assert result.response is not None
    assert (result.response.text, result.iterations, result.total_usage) == ("hello", 1, Usage(3, 2))
    assert result.termination_reason == Complete()
    assert list(result.messages) == [Message.user("go"), Message.assistant("hello")]
    assert result.run_id
    nothing = await tool_loop(ScriptedProvider([]), ToolRegistry(), messages, ToolLoopConfig(max_iterations=0))
    assert (nothing.response, nothing.iterations) == (None, 0)
