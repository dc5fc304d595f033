"""Answers of Chat Completions servers, however they are cut and whatever dialect they speak."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx
import pytest

from loopkit.errors import AgentBuildError, ProviderError
from loopkit.messages import Reasoning, Refusal, StopReason, Text, ToolCall, Usage
from loopkit.providers.openai_chat import OpenAIChat
from loopkit.providers.protocol import ArgumentsDelta, Delta, Provider, ReasoningDelta, TextDelta
from tests.providers.streams import CUTS, Asked, Cut, answering, ask, call_piece, chunk, sse

pytestmark = pytest.mark.anyio

USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 9,
    "prompt_tokens_details": {"cached_tokens": 16},
    "completion_tokens_details": {"reasoning_tokens": 4},
}
RICH = [
    chunk(prompt_filter_results=[]),
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "Let me ", "reasoning": "Let me "}),
    chunk({"reasoning_content": "see.\u2028"}),
    chunk({"content": "你好\ud83d"}),
    chunk({"content": "\ude00 world\u0085"}),
    chunk(call_piece(0, call_id="c1", name="look", arguments="")),
    chunk(call_piece(0, call_id="", name="", arguments='{"thing":')),
    chunk(call_piece(1, call_id="c2", name="look", arguments='{"thing": "é"}')),
    chunk(call_piece(0, arguments=" 2512292042121000001}")),
    chunk({}, "tool_calls"),
    chunk(usage=USAGE),
]


def rich_body(ending: str) -> bytes:
    lines = [f"data: {json.dumps(each)}{ending}{ending}" for each in RICH]
    return (f": PROCESSING{ending}{ending}" + "".join(lines) + f"data: [DONE]{ending}").encode()


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("ending", ["\n", "\r", "\r\n"])
async def test_a_rich_stream_gives_the_same_response_in_every_cut(cut: Cut, ending: str) -> None:
    """n2, a16, a24, a25, a26, a32."""
    told: list[Delta] = []
    response = await ask(answering(rich_body(ending), cut=cut, headers={"x-request-id": "r-1"}), told=told)
    assert response.parts == (
        Reasoning("Let me see.\u2028"),
        Text("你好😀 world\u0085"),
        ToolCall("c1", "look", {"thing": 2512292042121000001}),
        ToolCall("c2", "look", {"thing": "é"}),
    )
    assert response.usage == Usage(20, 9, cache_read_tokens=16, reasoning_tokens=4)
    assert (response.stop_reason, response.raw_stop_reason) == (StopReason.TOOL_CALLS, "tool_calls")
    assert (response.model, response.request_id) == ("m-1", "r-1")
    assert told == [
        ReasoningDelta("Let me "),
        ReasoningDelta("see.\u2028"),
        TextDelta("你好"),
        TextDelta("😀 world\u0085"),
        ArgumentsDelta(1, "look", '{"thing":'),
        ArgumentsDelta(2, "look", '{"thing": "é"}'),
        ArgumentsDelta(1, "look", " 2512292042121000001}"),
    ]


@pytest.mark.parametrize("cut", CUTS)
async def test_an_answer_that_is_not_streamed_is_read_too(cut: Cut) -> None:
    """n2, b9."""
    calls = [
        {"id": "dup", "type": "function", "function": {"name": "f", "arguments": text}} for text in ("", '{"a":1}')
    ]
    message = {"role": "assistant", "content": "hi é", "reasoning": "hm", "tool_calls": calls}
    body = {"model": "m-1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": USAGE}
    told: list[Delta] = []
    provider = answering(json.dumps(body, ensure_ascii=False).encode(), cut=cut, content_type="application/json")
    response = await ask(provider, told=told)
    assert response.parts == (Reasoning("hm"), Text("hi é"), ToolCall("dup", "f"), ToolCall("dup", "f", {"a": 1}))
    assert response.usage == Usage(20, 9, cache_read_tokens=16, reasoning_tokens=4)
    assert told[:2] == [ReasoningDelta("hm"), TextDelta("hi é")]


async def test_a_stream_under_a_wrong_content_type_is_read_too() -> None:
    response = await ask(answering(sse(chunk({"content": "hi"}, "stop")), content_type="text/plain"))
    assert response.text == "hi"


async def test_a_whole_answer_that_has_its_call_in_both_kinds_has_one_call() -> None:
    """As llama-cpp-python writes it."""
    function = {"name": "look", "arguments": '{"at": 1}'}
    message = {"content": None, "function_call": function, "tool_calls": [{"id": "c1", "function": function}]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    response = await ask(answering(json.dumps(body).encode(), content_type="application/json"))
    assert response.tool_calls == (ToolCall("c1", "look", {"at": 1}),)


async def test_one_chunk_with_the_whole_message_is_read_too() -> None:
    body = {"choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}]}
    assert (await ask(answering(sse(body)))).text == "hi"


async def test_content_blocks_are_text_and_reasoning() -> None:
    blocks = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "hi"}]
    assert (await ask(answering(sse(chunk({"content": blocks}, "stop"))))).parts == (Reasoning("hm"), Text("hi"))


@pytest.mark.parametrize("finish", ["stop", "who_knows"])
async def test_complete_calls_decide_whatever_the_finish_reason_says(finish: str) -> None:
    """a18, 3.9: the mismatch stays visible."""
    pieces = [chunk(call_piece(n, call_id=f"c{n}", name="f", arguments="{}")) for n in range(3)]
    response = await ask(answering(sse(*pieces, chunk({}, finish))))
    assert [call.cut_off for call in response.tool_calls] == [False] * 3
    assert response.raw_stop_reason == finish
    assert response.stop_reason is not StopReason.TOOL_CALLS


async def test_a_finish_reason_of_calls_without_calls_is_an_answer_without_calls() -> None:
    """a19."""
    response = await ask(answering(sse(chunk({"content": "done"}, "tool_calls"))))
    assert (response.tool_calls, response.text) == ((), "done")


@pytest.mark.parametrize("finish", ["length", "content_filter", "tool_calls"])
async def test_a_call_that_was_cut_is_marked_and_keeps_its_text(finish: str) -> None:
    """a20."""
    piece = call_piece(0, call_id="c", name="f", arguments='{"path":"x"')
    (call,) = (await ask(answering(sse(chunk(piece), chunk({}, finish))))).tool_calls
    assert call == ToolCall("c", "f", raw_arguments='{"path":"x"', cut_off=True)


async def test_the_output_limit_cuts_a_call_that_reads_as_json() -> None:
    """a20."""
    piece = call_piece(0, call_id="c", name="f", arguments='{"path":"x"}')
    response = await ask(answering(sse(chunk(piece), chunk({}, "length"))))
    assert response.tool_calls[0].cut_off
    assert response.stop_reason is StopReason.MAX_TOKENS


async def test_a_refusal_is_one() -> None:
    """a37."""
    response = await ask(answering(sse(chunk({"content": None, "refusal": "I "}), chunk({"refusal": "won't"}, "stop"))))
    assert response.parts == (Refusal("I won't"),)
    assert response.stop_reason is StopReason.REFUSAL


async def test_no_figures_are_no_usage() -> None:
    assert (await ask(answering(sse(chunk({"content": "x"}, "stop"), chunk(usage={}))))).usage is None


async def test_an_end_without_a_finish_reason_is_an_end() -> None:
    response = await ask(answering(sse(chunk({"content": "hi"}))))
    assert (response.text, response.stop_reason, response.raw_stop_reason) == ("hi", StopReason.END_TURN, None)


async def test_a_stream_without_its_end_marker_is_whole_after_the_finish_reason() -> None:
    """a24."""
    body = sse(chunk({"content": "hi"}, "stop"), done=False)
    assert (await ask(answering(body))).text == "hi"
    assert (await ask(answering(body.rstrip()))).text == "hi"
    assert (await ask(answering([body, httpx.ReadError("reset")]))).text == "hi"
    assert (await ask(answering(body + b'data: {"usage"'))).text == "hi"


MID_CALL = sse(chunk({"content": "so"}), chunk(call_piece(0, call_id="c", name="f", arguments="{}")), done=False)


@pytest.mark.parametrize(
    "body",
    [[MID_CALL], [MID_CALL + b'data: {"choices": [{"ind'], [MID_CALL, httpx.ReadError("connection reset")]],
    ids=["ends", "ends in a line", "breaks"],
)
async def test_a_stream_that_breaks_is_an_error_and_no_response(body: list[bytes | Exception]) -> None:
    """3.9: no call of it can run; what had arrived was told."""
    told: list[Delta] = []
    with pytest.raises(ProviderError, match=r"http://model.test/v1.* bro") as caught:
        await ask(answering(body), told=told)
    assert caught.value.retryable
    assert told == [TextDelta("so"), ArgumentsDelta(1, "f", "{}")]


@pytest.mark.parametrize("body", [b"", b": nothing\n\n", b"data: [DONE]\n\n"], ids=repr)
async def test_an_answer_that_says_nothing_is_an_error(body: bytes) -> None:
    with pytest.raises(ProviderError, match=r"model\.test"):
        await ask(answering(body))


async def test_a_chunk_that_is_no_json_is_one_clear_line() -> None:
    with pytest.raises(ProviderError, match="no chat completion: oops") as caught:
        await ask(answering(b"data: oops\n\ndata: [DONE]\n\n"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"<!doctype html>\n<html>hello</html>", "text/html"), (b"{", "application/json"), (b"[]", "application/json")],
)
async def test_an_answer_that_is_no_completion_asks_for_the_base_url(body: bytes, content_type: str) -> None:
    with pytest.raises(ProviderError, match="does the base URL end where /") as caught:
        await ask(answering(body, content_type=content_type))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("event", ["", "event: error\n"])
async def test_an_error_in_a_stream_is_raised(cut: Cut, event: str) -> None:
    body = sse(chunk({"content": "so"}), done=False) + event.encode()
    body += sse({"error": {"message": "upstream overloaded", "code": 502}})
    with pytest.raises(ProviderError, match="upstream overloaded") as caught:
        await ask(answering(body, cut=cut, headers={"x-request-id": "r-9"}))
    assert (caught.value.status, caught.value.retryable, caught.value.request_id) == (502, True, "r-9")


async def test_an_error_in_a_whole_answer_is_raised() -> None:
    body = {"error": {"message": "bad prompt", "type": "invalid_request_error"}}
    with pytest.raises(ProviderError, match="bad prompt") as caught:
        await ask(answering(json.dumps(body).encode(), content_type="application/json"))
    assert not caught.value.retryable


ANSWER = sse(chunk({"content": "hi"}, "stop"))


async def test_key_headers_and_address_go_with_the_request() -> None:
    server = Asked(ANSWER)
    provider = OpenAIChat(
        "m",
        base_url="http://h:1/v1/?api-version=2",
        api_key="sk-secret",
        headers={"X-Title": "loopkit", "Authorization": "Basic x"},
        transport=httpx.MockTransport(server),
    )
    await ask(provider)
    request = server.requests[0]
    assert str(request.url) == "http://h:1/v1/chat/completions?api-version=2"
    assert request.headers["authorization"] == "Basic x"
    assert request.headers["x-title"] == "loopkit"


async def test_the_environment_gives_address_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://local:2/v1")
    monkeypatch.setenv("OPENAI_API_KEY", " sk-from-env\n")
    server = Asked(ANSWER)
    await ask(OpenAIChat("m", transport=httpx.MockTransport(server)))
    assert str(server.requests[0].url) == "http://local:2/v1/chat/completions"
    assert server.requests[0].headers["authorization"] == "Bearer sk-from-env"


async def test_openai_itself_needs_a_key_and_its_own_word_for_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = Asked(ANSWER)
    with pytest.raises(ProviderError, match="set OPENAI_API_KEY"):
        await ask(OpenAIChat("m", transport=httpx.MockTransport(server)))
    assert server.requests == []
    provider = OpenAIChat("m", api_key="sk-x", transport=httpx.MockTransport(server))
    await ask(provider, max_tokens=5)
    assert server.body["max_completion_tokens"] == 5
    assert "max_tokens" not in server.body


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"base_url": "localhost:1234/v1"}, "OPENAI_BASE_URL"),
        ({"base_url": "file:///etc"}, "OPENAI_BASE_URL"),
        ({"base_url": "http://user:sk-x@host:port/v1"}, "'host:port/v1'"),
        ({"base_url": "http://[::1/v1"}, "OPENAI_BASE_URL"),
        ({"api_key": "sk-a\nb"}, "the API key"),
        ({"headers": {"x": "ä"}}, "header 'x'"),
        ({"model": " "}, "no name"),
        ({"timeout": 0}, "timeout"),
    ],
)
async def test_what_can_not_be_sent_is_refused_while_built(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(AgentBuildError, match=complaint) as caught:
        OpenAIChat(**{"model": "m", "api_key": "", **arguments})
    assert "sk-" not in str(caught.value)


async def test_a_provider_is_one_and_shows_no_key() -> None:
    provider = OpenAIChat("m", base_url="http://user:pass@h/v1?key=q", api_key="sk-secret")
    assert isinstance(provider, Provider)
    assert repr(provider) == "OpenAIChat('m', base_url='http://h/v1')"


async def test_one_provider_serves_several_requests_at_once() -> None:
    provider = answering(rich_body("\n"))
    responses = []

    async def one() -> None:
        responses.append(await ask(provider))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(one)
    assert responses == [responses[0]] * 5
