"""What the loop promises of requests, in the words of every dialect: streamed, warned, valid after an interruption."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from loopkit import Agent, LoopAction, LoopDetectionConfig, Message, ToolCall, ToolLoopConfig, ToolResult, tool
from loopkit.core.history import INTERRUPTED_CALL
from tests.providers.dialects import CHAT, DIALECTS, RESPONSES, Dialect
from tests.providers.streams import Asked
from tests.providers.test_request_body import ids_of, strings

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("dialect", DIALECTS, ids=str)]


@tool
async def look(thing: str, id: int) -> str:  # noqa: A002  # the name that the streams give
    """Look at a thing."""
    return f"result of {thing}"


@tool(name="list")
async def list_() -> str:
    """List things."""
    return "result of list"


class Repeating(Asked):
    """A server that asks for the same two calls until it has been warned, then says hi."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect.rich[0], dialect.content_type)
        self._hello = dialect.hello

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if b"same tool call" in request.content:
            self._body = self._hello
        return super().__call__(request)


def agent(dialect: Dialect, server: Asked, **config: Any) -> Agent:
    provider = dialect.kind("m", base_url="http://x", api_key="", transport=httpx.MockTransport(server))
    return Agent(provider, tools=[look, list_], config=ToolLoopConfig(**config))


async def test_an_injected_warning_reaches_the_model_behind_the_results(dialect: Dialect) -> None:
    """6.4, 3.6: names the tools and the count; the history stays valid, and every request asks for a stream."""
    server = Repeating(dialect)
    detection = LoopDetectionConfig(2, LoopAction.INJECT_WARNING)
    result = await agent(dialect, server, loop_detection=detection).run("go")
    assert (result.text, result.iterations) == ("hi", 3)
    bodies = [json.loads(request.content) for request in server.requests]
    assert all(body["stream"] is True for body in bodies)
    entries = bodies[-1]["input" if dialect is RESPONSES else "messages"]
    assert entries[-1]["role"] == "user"
    (warning,) = [text for text in strings(entries[-1]) if "same tool call" in text]
    assert "look+list" in warning
    assert "2 times" in warning
    texts = strings(entries)
    assert texts.index("result of list") < texts.index(warning)
    assert not [text for body in bodies[:-1] for text in strings(body) if "same tool call" in text]


async def test_calls_that_a_crash_left_open_are_answered_in_the_next_request(dialect: Dialect) -> None:
    """b1, b2, 3 (last part): one synthetic error each, in call order, beside the results there are."""
    server = Asked(dialect.hello, dialect.content_type)
    history = [
        Message.user("u"),
        Message.assistant("", [ToolCall("a", "look"), ToolCall("b", "list"), ToolCall("c", "look")]),
        Message.tool(ToolResult("b", "kept")),
        Message.user("go on"),
    ]
    result = await agent(dialect, server).run(history)
    assert result.text == "hi"
    calls, answered = ids_of(server.body)
    assert calls == answered
    assert len(calls) == 3
    texts = strings(server.body)
    told = [text for text in texts if text in (INTERRUPTED_CALL, "kept")]
    assert told == [INTERRUPTED_CALL, "kept", INTERRUPTED_CALL]
    assert texts.index("go on") > max(place for place, text in enumerate(texts) if text == INTERRUPTED_CALL)
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "user", "assistant"]


async def test_parallel_results_follow_their_calls_in_call_order(dialect: Dialect) -> None:
    """b6, 3.14: each provider's own way to send several."""
    server = Repeating(dialect)
    await agent(dialect, server, max_iterations=2).run("go")
    calls, answered = ids_of(server.body)
    assert calls == answered
    assert len(calls) == 2
    if dialect is CHAT:
        assert [entry["role"] for entry in server.body["messages"]] == ["user", "assistant", "tool", "tool"]
