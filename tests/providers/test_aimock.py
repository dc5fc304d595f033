"""Chat Completions against a real server that nobody here wrote, and against the official client."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import httpx
import pytest

from loopkit.messages import ChatResponse, Message, StopReason, ToolCall, ToolDefinition, ToolResult, Usage
from loopkit.providers.openai_chat import OpenAIChat
from loopkit.providers.protocol import ArgumentsDelta, ChatRequest, Delta
from tests.providers.aimock import unavailable

pytestmark = [pytest.mark.anyio, pytest.mark.wire]

WEATHER = ToolDefinition(
    "get_weather",
    "Look up the weather.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def provider(aimock: str) -> OpenAIChat:
    return OpenAIChat("gpt-wire", base_url=aimock, api_key="test-key")


async def ask(
    aimock: str, *messages: Message, told: list[Delta] | None = None, settings: dict[str, Any] | None = None
) -> ChatResponse:
    request = ChatRequest(messages, (WEATHER,), settings or {})
    heard: list[Delta] = [] if told is None else told
    return await provider(aimock).respond(request, heard.append)


async def test_parallel_calls_and_usage_arrive_whole(aimock: str) -> None:
    """a32: with an integer that a double can't hold."""
    told: list[Delta] = []
    response = await ask(aimock, Message.user("weather"), told=told)
    assert response.tool_calls == (
        ToolCall("call_rome", "get_weather", {"city": "Rome", "station": 2512292042121000001}),
        ToolCall("call_oslo", "get_weather", {"city": "Oslo", "units": ["celsius", "knots"]}),
    )
    assert response.usage == Usage(input_tokens=31, output_tokens=17)
    assert response.stop_reason is StopReason.TOOL_CALLS
    assert {piece.position for piece in told if isinstance(piece, ArgumentsDelta)} == {1, 2}


async def test_the_follow_up_after_results_is_accepted(aimock: str) -> None:
    """a14: what the server saw of the history is looked up in its own journal."""
    question = Message.user("weather")
    calls = (await ask(aimock, question)).message
    results = [Message.tool(ToolResult(call.id, f"weather of {call.arguments['city']}")) for call in calls.tool_calls]
    assert (await ask(aimock, question, calls, *results)).text == "Sunny in Rome, snow in Oslo."
    async with httpx.AsyncClient(trust_env=False) as client:
        journal = await client.get(aimock.removesuffix("/v1") + "/__aimock/journal")
    seen = journal.json()[-1]["body"]["messages"]
    assert [message["role"] for message in seen] == ["user", "assistant", "tool", "tool"]
    assert [call["id"] for call in seen[1]["tool_calls"]] == [message["tool_call_id"] for message in seen[2:]]
    assert json.loads(seen[1]["tool_calls"][1]["function"]["arguments"])["city"] == "Oslo"


async def test_reasoning_is_told_apart_from_the_answer(aimock: str) -> None:
    response = await ask(aimock, Message.user("think"))
    assert (response.message.reasoning, response.text) == ("Two and two.", "Four.")


async def test_the_output_limit_is_a_stop_reason(aimock: str) -> None:
    assert (await ask(aimock, Message.user("too long"))).stop_reason is StopReason.MAX_TOKENS


@pytest.mark.parametrize("words", ["say hello", "weather", "too long"])
async def test_the_official_client_reads_the_same(aimock: str, words: str) -> None:
    if importlib.util.find_spec("openai") is None:
        unavailable("the comparison with the official client needs the package openai")
    import openai

    ours = await ask(aimock, Message.user(words))
    async with openai.AsyncOpenAI(base_url=aimock, api_key="test-key", max_retries=0) as client:
        theirs = await client.chat.completions.create(model="gpt-wire", messages=[{"role": "user", "content": words}])
    (choice,) = theirs.model_dump()["choices"]
    calls = [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in choice["message"]["tool_calls"] or ()
    ]
    assert ours.text == (choice["message"]["content"] or "")
    assert [(call.id, call.name, call.arguments) for call in ours.tool_calls] == calls
    assert ours.raw_stop_reason == choice["finish_reason"]
    assert theirs.usage is not None
    assert ours.usage == Usage(theirs.usage.prompt_tokens, theirs.usage.completion_tokens)
