"""Ollama's own chat: what is particular to its requests, answers and addresses."""

from __future__ import annotations

from functools import partial
from typing import Any

import httpx
import pytest

from loopkit.errors import ProviderError
from loopkit.messages import (
    ChatResponse,
    Image,
    Message,
    Reasoning,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
)
from loopkit.providers.json_lines import JSONLinesReader
from loopkit.providers.ollama import Ollama
from loopkit.providers.ollama_wire import OllamaEncoder
from tests.providers.dialects import LINES, OLLAMA, line
from tests.providers.streams import TOOL, Asked, answering, ask, json_lines, sent_by

pytestmark = pytest.mark.anyio

sent = partial(sent_by, OllamaEncoder("qwen3"))


async def heard(*pieces: dict[str, Any]) -> ChatResponse:
    return await ask(answering(json_lines(*pieces), kind=Ollama, content_type=LINES))


def called(*arguments: Any, **fields: Any) -> dict[str, Any]:
    return line(content="", tool_calls=[{**fields, "function": {"name": "f", "arguments": each}} for each in arguments])


async def test_a_request_in_ollamas_words() -> None:
    settings: dict[str, Any] = {"temperature": 0.5, "max_tokens": 9, "stop": "END", "seed": None}
    body = sent(Message.system("s"), Message.user("u"), tools=(TOOL,), **settings, think=True, options={"num_ctx": 1})
    assert body == {
        "model": "qwen3",
        "stream": True,
        "think": True,
        "options": {"temperature": 0.5, "num_predict": 9, "stop": ["END"], "num_ctx": 1},
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "tools": [
            {
                "type": "function",
                "function": {"name": "look", "description": TOOL.description, "parameters": TOOL.parameters},
            }
        ],
    }


async def test_arguments_are_objects_and_results_name_their_tool() -> None:
    """a14: thinking goes back too."""
    calls = [ToolCall("call_1", "look", {"n": 1}), ToolCall("call_2", "list", {})]
    answer = Message("assistant", (Reasoning("hm"), *calls))
    results = [Message.tool(ToolResult(call.id, f"for {call.name}")) for call in calls]
    assert sent(Message.user("u"), answer, *results)["messages"][1:] == [
        {
            "role": "assistant",
            "content": "",
            "thinking": "hm",
            "tool_calls": [
                {"id": "call_1", "function": {"name": "look", "arguments": {"n": 1}}},
                {"id": "call_2", "function": {"name": "list", "arguments": {}}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "for look", "tool_name": "look"},
        {"role": "tool", "tool_call_id": "call_2", "content": "for list", "tool_name": "list"},
    ]


async def test_pictures_are_data() -> None:
    inline = (Text("what?"), Image("image/png", data="AA=="), Image("image/png", url="data:image/png;base64,AB=="))
    message = {"role": "user", "content": "what?", "images": ["AA==", "AB=="]}
    assert sent(Message("user", inline))["messages"] == [message]


async def test_a_picture_elsewhere_is_refused_in_one_line() -> None:
    with pytest.raises(ProviderError, match="Ollama fetches no pictures") as caught:
        sent(Message("user", (Image("image/png", url="http://x/y"),)))
    assert not caught.value.retryable


async def test_wishes_that_ollama_can_not_meet() -> None:
    assert set(sent(Message.user("u"), tools=(TOOL,), tool_choice="auto", parallel_tool_calls=True)) == {
        "model",
        "stream",
        "messages",
        "tools",
    }
    with pytest.raises(ProviderError, match="'tool_choice' can't be given"):
        sent(Message.user("u"), tools=(TOOL,), tool_choice="required")


async def test_calls_without_ids_get_their_own() -> None:
    response = await heard(called({"n": 1}, {"n": 2}), line(done=True, content="") | {"done_reason": "stop"})
    assert response.tool_calls == (ToolCall("call_1", "f", {"n": 1}), ToolCall("call_2", "f", {"n": 2}))
    assert response.stop_reason is StopReason.TOOL_CALLS


async def test_ids_of_the_server_are_kept() -> None:
    response = await heard(called({}, id="call_x"), line(done=True, content=""))
    assert response.tool_calls == (ToolCall("call_x", "f"),)
    assert response.raw_stop_reason is None


@pytest.mark.parametrize("arguments", [None, "", "{}", {}])
async def test_no_arguments_are_an_empty_object(arguments: Any) -> None:
    """a7, a11."""
    assert (await heard(called(arguments), line(done=True))).tool_calls == (ToolCall("call_1", "f"),)


async def test_arguments_as_text_are_read_too() -> None:
    (call,) = (await heard(called('{"id": 2512292042121000001}'), line(done=True))).tool_calls
    assert call.arguments == {"id": 2512292042121000001}


async def test_a_number_that_is_none_never_runs() -> None:
    """9.1."""
    (call,) = (await heard(called({"n": float("inf")}), line(done=True))).tool_calls
    assert (call.arguments, call.problem) == ({}, "Infinity is not JSON")


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("stop", StopReason.END_TURN), ("length", StopReason.MAX_TOKENS), ("load", StopReason.UNKNOWN)],
)
async def test_stop_reasons(reason: str, stop: StopReason) -> None:
    response = await heard(line(content="so"), line(done=True, content="") | {"done_reason": reason})
    assert (response.stop_reason, response.raw_stop_reason, response.usage) == (stop, reason, None)


async def test_a_call_at_the_output_limit_is_marked() -> None:
    """a20: one with words after it was whole."""
    end = line(done=True, content="") | {"done_reason": "length"}
    assert (await heard(called({"a": 1}), end)).tool_calls[0].cut_off
    assert not (await heard(called({"a": 1}), line(content="and"), end)).tool_calls[0].cut_off


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("", "http://127.0.0.1:11434/api/chat"),
        ("box", "http://box:11434/api/chat"),
        ("box:80", "http://box:80/api/chat"),
        (":1234", "http://127.0.0.1:1234/api/chat"),
        ("0.0.0.0", "http://127.0.0.1:11434/api/chat"),
        ("[::]:1234", "http://127.0.0.1:1234/api/chat"),
        ("[::1]", "http://[::1]:11434/api/chat"),
        ("box/behind/", "http://box:11434/behind/api/chat"),
        ("https://ollama.test", "https://ollama.test/api/chat"),
        ("http://user:pass@box:1/api", "http://user:pass@box:1/api/chat"),
    ],
)
async def test_ollama_host_may_be_short(given: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", given)
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)
    server = Asked(OLLAMA.hello, LINES)
    await ask(Ollama("m", transport=httpx.MockTransport(server)))
    expected = httpx.URL(url)
    asked = server.requests[0].url
    assert (asked.scheme, asked.host, asked.port, asked.path) == (
        expected.scheme,
        expected.host,
        expected.port,
        expected.path,
    )
    assert ("authorization" in server.requests[0].headers) == ("@" in given)


async def test_an_endless_line_is_not_kept() -> None:
    reader = JSONLinesReader(longest_line=10)
    reader.feed(b"123456\n789012")
    with pytest.raises(ProviderError, match="more than 10 bytes"):
        reader.feed(b"34567")
