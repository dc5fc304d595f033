"""Every dialect against a real server that nobody here wrote, and against the official clients."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio
import httpx
import pytest

from loopkit.errors import ProviderError
from loopkit.messages import ChatResponse, Message, Reasoning, StopReason, Text, ToolCall, ToolResult, Usage
from loopkit.providers.anthropic import AnthropicMessages
from loopkit.providers.http_model import HTTPModel
from loopkit.providers.ollama import Ollama
from loopkit.providers.openai_chat import OpenAIChat
from loopkit.providers.openai_responses import OpenAIResponses
from loopkit.providers.protocol import ArgumentsDelta, Delta, TextDelta
from tests.providers.aimock import unavailable
from tests.providers.servers import ENDING, HEAD, http_chunk, server
from tests.providers.streams import ask
from tests.providers.test_aimock import WEATHER

pytestmark = [pytest.mark.anyio, pytest.mark.wire]
KINDS: list[type[HTTPModel]] = [OpenAIChat, OpenAIResponses, AnthropicMessages, Ollama]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def provider(kind: type[HTTPModel], aimock: str, model: str = "wire-model") -> HTTPModel:
    return kind(model, base_url=aimock.removesuffix("/v1") if kind is Ollama else aimock, api_key="test-key")


async def hear(kind: type[HTTPModel], aimock: str, words: str, told: list[Delta] | None = None) -> ChatResponse:
    return await ask(provider(kind, aimock), Message.user(words), told=told, tools=(WEATHER,))


@every_kind
async def test_an_answer_comes_in_pieces(kind: type[HTTPModel], aimock: str) -> None:
    told: list[Delta] = []
    response = await hear(kind, aimock, "say hello", told)
    assert response.text == "Hello, 世界 😀! It is a fine day to be read in small pieces, isn't it?"
    assert len(told) > 1
    assert "".join(piece.text for piece in told if isinstance(piece, TextDelta)) == response.text
    assert response.stop_reason is StopReason.END_TURN
    assert response.model == "wire-model"
    assert response.request_id


@every_kind
async def test_an_answer_that_is_not_streamed_is_the_same(kind: type[HTTPModel], aimock: str) -> None:
    model = provider(kind, aimock)
    for words in ("say hello", "weather"):
        streamed = await ask(model, Message.user(words))
        whole = await ask(model, Message.user(words), stream=False)
        assert whole.stop_reason is streamed.stop_reason
        # ids of reasoning, and what is derived from them, differ from answer to answer
        assert [comparable(part) for part in whole.parts] == [comparable(part) for part in streamed.parts]


@every_kind
async def test_parallel_calls_and_the_follow_up_after_their_results(kind: type[HTTPModel], aimock: str) -> None:
    """b6, a14: in the dialect's words, as the server took them."""
    told: list[Delta] = []
    question = Message.user("weather")
    answer = await hear(kind, aimock, "weather", told)
    assert [(call.name, call.arguments["city"]) for call in answer.tool_calls] == [
        ("get_weather", "Rome"),
        ("get_weather", "Oslo"),
    ]
    assert answer.stop_reason is StopReason.TOOL_CALLS
    assert {piece.position for piece in told if isinstance(piece, ArgumentsDelta)} == {1, 2}
    results = [Message.tool(ToolResult(call.id, f"in {call.arguments['city']}")) for call in answer.tool_calls]
    follow_up = await ask(provider(kind, aimock), question, answer.message, *results, tools=(WEATHER,))
    assert follow_up.text == "Sunny in Rome, snow in Oslo."


@pytest.mark.parametrize("kind", [OpenAIResponses, AnthropicMessages])
async def test_usage_is_reported(kind: type[HTTPModel], aimock: str) -> None:
    assert (await hear(kind, aimock, "weather")).usage == Usage(input_tokens=31, output_tokens=17)


async def test_large_integers_arrive_exactly(aimock: str) -> None:
    """a32: from the one of these servers' dialects that carries arguments as text."""
    first, _ = (await hear(OpenAIResponses, aimock, "weather")).tool_calls
    assert first == ToolCall("call_rome", "get_weather", {"city": "Rome", "station": 2512292042121000001})


@pytest.mark.parametrize(
    ("words", "status", "retryable", "said"),
    [
        ("hurry", 429, True, "Rate limited"),
        ("bad request", 400, False, "Unknown parameter"),
        ("broken server", 500, True, "Internal error"),
        ("nobody answers this", 503, True, ""),
    ],
)
@every_kind
async def test_a_refusal_is_an_error_with_its_status(
    kind: type[HTTPModel], aimock: str, words: str, status: int, retryable: bool, said: str
) -> None:
    """9.2."""
    with pytest.raises(ProviderError) as caught:
        await hear(kind, aimock, words)
    assert (caught.value.status, caught.value.retryable) == (status, retryable)
    assert said in str(caught.value)
    assert "test-key" not in str(caught.value)


@every_kind
async def test_a_stream_that_breaks_off_is_no_answer(kind: type[HTTPModel], aimock: str) -> None:
    """3.9."""
    told: list[Delta] = []
    with pytest.raises(ProviderError, match="bro") as caught:
        await hear(kind, aimock, "break off", told)
    assert caught.value.retryable
    assert all(isinstance(piece, TextDelta) for piece in told)


async def test_thinking_is_accepted_when_it_goes_back_to_anthropic(aimock: str) -> None:
    """a29: this server refuses a turn whose thinking lost its signature or its place."""
    model = provider(AnthropicMessages, aimock)
    thinks: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    question = Message.user("ponder")
    answer = await ask(model, question, tools=(WEATHER,), **thinks)
    assert answer.parts == (
        Reasoning(encrypted="aGlkZGVu+/=="),
        Reasoning("First I look.", signature="c2lnbmVk+/=="),
        ToolCall("call_lima", "get_weather", {"city": "Lima"}),
    )
    result = Message.tool(ToolResult("call_lima", "fog"))
    follow_up = await ask(model, question, answer.message, result, tools=(WEATHER,), **thinks)
    assert follow_up.parts[-1] == Text("Fog in Lima.")
    bare = Message("assistant", answer.tool_calls)
    with pytest.raises(ProviderError, match="thinking"):
        await ask(model, question, bare, result, tools=(WEATHER,), **thinks)


async def test_encrypted_reasoning_is_accepted_when_it_goes_back_to_responses(aimock: str) -> None:
    """a29."""
    model = provider(OpenAIResponses, aimock, "gpt-5")
    answer = await ask(model, Message.user("ponder"), tools=(WEATHER,))
    thought, call = answer.parts
    assert isinstance(thought, Reasoning)
    assert (thought.text, bool(thought.encrypted)) == ("First I look.", True)
    assert call == ToolCall("call_lima", "get_weather", {"city": "Lima"})
    result = Message.tool(ToolResult("call_lima", "fog"))
    assert (await ask(model, Message.user("ponder"), answer.message, result, tools=(WEATHER,))).text == "Fog in Lima."


def official(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        unavailable(f"the comparison with the official client needs the package {package}")


WORDS = ["say hello", "weather", "too long", "think", "ponder"]


@contextmanager
def same_answers(kind: type[HTTPModel], aimock: str, words: str) -> Iterator[str]:
    """Serve the very bytes of one streamed answer of aimock to whoever asks, twice."""
    model = provider(kind, aimock, "gpt-5")
    seen: list[bytes] = []

    def forward(request: httpx.Request) -> httpx.Response:
        with httpx.Client(trust_env=False) as client:
            answer = client.post(str(request.url), content=request.content, headers={"x-api-key": "k"})
        seen.append(answer.content)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=answer.content)

    relay = kind("gpt-5", base_url=model.base_url, api_key="test-key", transport=httpx.MockTransport(forward))
    anyio.run(ask, relay, Message.user(words))
    answer = HEAD + http_chunk(seen[0]) + ENDING
    with server(answer, answer) as address:
        yield address


@pytest.mark.parametrize("words", WORDS)
def test_the_official_openai_client_reads_the_same(aimock: str, words: str) -> None:
    """The same stream gives its final response, item by item."""
    official("openai")
    import openai

    with same_answers(OpenAIResponses, aimock, words) as address:
        ours = anyio.run(ask, OpenAIResponses("gpt-5", base_url=address, api_key="k"), Message.user(words))
        with (
            openai.OpenAI(base_url=address, api_key="k", max_retries=0) as client,
            client.responses.stream(model="gpt-5", input=words) as stream,
        ):
            theirs = stream.get_final_response().model_dump()
    assert [openai_part(item) for item in theirs["output"]] == [our_part(part) for part in ours.parts]
    assert (theirs["incomplete_details"] or {}).get("reason", theirs["status"]) == ours.raw_stop_reason
    assert (ours.model, ours.usage) == (theirs["model"], usage_of(theirs))


def openai_part(item: Mapping[str, Any]) -> tuple[Any, ...]:
    if item["type"] == "message":
        return ("text", "".join(block["text"] for block in item["content"]))
    if item["type"] == "function_call":
        return ("call", item["call_id"], item["name"], json.loads(item["arguments"]))
    return ("thinking", "".join(each["text"] for each in item["summary"]), item["id"], item["encrypted_content"])


@pytest.mark.parametrize("words", WORDS)
def test_the_official_anthropic_client_reads_the_same(aimock: str, words: str) -> None:
    """The same stream gives its final message, block by block, signatures included."""
    official("anthropic")
    import anthropic

    with same_answers(AnthropicMessages, aimock, words) as address:
        ours = anyio.run(ask, AnthropicMessages("gpt-5", base_url=address, api_key="k"), Message.user(words))
        with (
            anthropic.Anthropic(base_url=address, api_key="k", max_retries=0) as client,
            client.messages.stream(
                model="gpt-5", max_tokens=100, messages=[{"role": "user", "content": words}]
            ) as stream,
        ):
            theirs = stream.get_final_message().model_dump()
    assert [anthropic_part(block) for block in theirs["content"]] == [our_part(part) for part in ours.parts]
    assert ours.raw_stop_reason == theirs["stop_reason"]
    assert (ours.model, ours.usage) == (theirs["model"], usage_of(theirs))


def anthropic_part(block: Mapping[str, Any]) -> tuple[Any, ...]:
    if block["type"] == "text":
        return ("text", block["text"])
    if block["type"] == "tool_use":
        return ("call", block["id"], block["name"], block["input"])
    return ("thinking", block.get("thinking", ""), block.get("signature"), block.get("data"))


def our_part(part: object) -> tuple[Any, ...]:
    if isinstance(part, Text):
        return ("text", part.text)
    if isinstance(part, ToolCall):
        return ("call", part.id, part.name, part.arguments)
    assert isinstance(part, Reasoning)
    return ("thinking", part.text, part.signature, part.encrypted)


def comparable(part: object) -> tuple[Any, ...]:
    return ("thinking", part.text) if isinstance(part, Reasoning) else our_part(part)


def usage_of(answer: Mapping[str, Any]) -> Usage:
    return Usage(answer["usage"]["input_tokens"], answer["usage"]["output_tokens"])
