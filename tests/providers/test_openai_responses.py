"""OpenAI's Responses: what is particular to its requests and answers."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from loopkit.errors import ProviderError
from loopkit.messages import (
    ChatResponse,
    Image,
    Message,
    Reasoning,
    Refusal,
    StopReason,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from loopkit.providers.openai_responses import OpenAIResponses
from loopkit.providers.openai_responses_wire import ResponsesEncoder
from loopkit.providers.protocol import ArgumentsDelta, Delta, TextDelta
from loopkit.providers.wire_parts import EMPTY
from tests.providers.dialects import ENCRYPTED, RESPONSES, delta, function_call, item, response, said
from tests.providers.streams import TOOL, Asked, answering, ask, events, sent_by, sse

pytestmark = pytest.mark.anyio


def sent(*messages: Message, model: str = "gpt-5", tools: tuple[ToolDefinition, ...] = (), **settings: Any) -> Any:
    return sent_by(ResponsesEncoder(model), *messages, tools=tools, **settings)


async def heard(*pieces: dict[str, Any], told: list[Delta] | None = None) -> ChatResponse:
    return await ask(answering(events(*pieces), kind=OpenAIResponses), told=told)


async def test_a_request_in_the_words_of_responses() -> None:
    assert sent(Message.system("s"), Message.user("u"), tools=(TOOL,), temperature=0.5, max_tokens=9) == {
        "model": "gpt-5",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "temperature": 0.5,
        "max_output_tokens": 9,
        "input": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "tools": [
            {
                "type": "function",
                "name": "look",
                "description": TOOL.description,
                "parameters": TOOL.parameters,
                "strict": False,
            }
        ],
    }


@pytest.mark.parametrize(
    "model", ["gpt-4o", "gpt-4.1-mini", "ft:gpt-4o-mini:org::1", "openai/gpt-4o", "gpt-5-chat-latest"]
)
async def test_a_model_that_never_thinks_is_not_asked_for_its_thinking(model: str) -> None:
    assert "include" not in sent(Message.user("u"), model=model)


async def test_settings_win_over_defaults() -> None:
    body = sent(Message.user("u"), store=True, include=None)
    assert (body["store"], "include" in body) == (True, False)


async def test_tool_settings_are_sent_with_tools_only() -> None:
    assert "tool_choice" not in sent(Message.user("u"), tool_choice="required")
    assert sent(Message.user("u"), tools=(TOOL,), tool_choice="required")["tool_choice"] == "required"
    named = sent(Message.user("u"), tools=(TOOL,), tool_choice="look", parallel_tool_calls=False)
    assert (named["tool_choice"], named["parallel_tool_calls"]) == ({"type": "function", "name": "look"}, False)


async def test_an_answer_goes_back_item_by_item_with_its_thinking() -> None:
    """a29, a14: encrypted thinking byte for byte and in its place, then each call's output."""
    server = Asked(RESPONSES.rich[0])
    provider = OpenAIResponses("m", base_url="http://x", api_key="", transport=httpx.MockTransport(server))
    answer = (await ask(provider)).message
    results = [Message.tool(ToolResult(call.id, f"for {call.name}")) for call in answer.tool_calls]
    await ask(provider, Message.user("hello"), answer, *results)
    summary = [{"type": "summary_text", "text": "Let me see.\n\nYes."}]
    arguments = '{"thing": "é\u2028", "id": 2512292042121000001}'
    assert server.body["input"] == [
        {"role": "user", "content": "hello"},
        {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": ENCRYPTED},
        {"role": "assistant", "content": "你好😀\u0085"},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": arguments},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": ENCRYPTED[::-1]},
        {"type": "function_call", "call_id": "c2", "name": "list", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "for look"},
        {"type": "function_call_output", "call_id": "c2", "output": "for list"},
    ]


async def test_thinking_that_could_not_be_read_again_is_left_out() -> None:
    foreign = (Reasoning("plain"), Reasoning("a", signature="Eq=="), Reasoning(encrypted="Emw"), Text("so"))
    assert sent(Message("assistant", foreign))["input"] == [{"role": "assistant", "content": "so"}]


async def test_thinking_is_followed_by_an_item() -> None:
    """b14: the server refuses it at the end of an answer."""
    alone = Message("assistant", (Reasoning("", signature="rs", encrypted="x"),))
    assert sent(alone)["input"][1] == {"role": "assistant", "content": EMPTY}


async def test_pictures_are_blocks() -> None:
    parts = (Text("what?"), Image("image/png", data="AA=="), Image("image/png", url="http://x/y"))
    assert sent(Message("user", parts))["input"][0]["content"] == [
        {"type": "input_text", "text": "what?"},
        {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AA=="},
        {"type": "input_image", "detail": "auto", "image_url": "http://x/y"},
    ]


async def test_long_ids_of_other_providers_are_cut_and_still_name_their_calls() -> None:
    calls = [ToolCall("x" * 80 + str(n), "look") for n in (1, 2)]
    results = [Message.tool(ToolResult(call.id, str(place))) for place, call in enumerate(calls)]
    items = sent(Message.assistant("", calls), *results)["input"]
    ids = [each["call_id"] for each in items]
    assert ids[:2] == ids[2:]
    assert ids[0] != ids[1]
    assert max(map(len, ids)) <= 64


async def test_the_last_event_counts_whatever_the_pieces_said() -> None:
    """spec/formats.md 4."""
    told: list[Delta] = []
    result = await heard(delta("output_text", 0, "h"), response("completed", [said("hi", " you")]), told=told)
    assert result.parts == (Text("hi"), Text(" you"))
    assert told == [TextDelta("h")]


async def test_finished_items_stand_in_for_an_empty_last_event() -> None:
    items = [
        item("done", 1, **function_call("c", "f", '{"a": 1}', status="completed")),
        item("done", 0, type="reasoning", id="rs", summary=[], encrypted_content="x"),
    ]
    result = await heard(*items, response("completed"))
    assert result.parts == (Reasoning(signature="rs", encrypted="x"), ToolCall("c", "f", {"a": 1}))
    assert result.stop_reason is StopReason.TOOL_CALLS


async def test_pieces_stand_in_where_nothing_else_came() -> None:
    pieces = [
        delta("output_text", 0, "so"),
        item("added", 1, **function_call("c", "f", "")),
        delta("function_call_arguments", 1, '{"a": 1}'),
    ]
    assert (await heard(*pieces, response("completed"))).parts == (Text("so"), ToolCall("c", "f", {"a": 1}))


async def test_what_was_not_streamed_is_told_at_the_end() -> None:
    told: list[Delta] = []
    await heard(response("completed", [said("hi"), function_call("c", "f", '{"a": 1}')]), told=told)
    assert told == [TextDelta("hi"), ArgumentsDelta(1, "f", '{"a": 1}')]


async def test_a_refusal_is_one() -> None:
    """a37."""
    content = [{"type": "refusal", "refusal": "I won't"}]
    told: list[Delta] = []
    pieces = [delta("refusal", 0, "I won't"), response("completed", [{"type": "message", "content": content}])]
    result = await heard(*pieces, told=told)
    assert (result.parts, result.stop_reason) == ((Refusal("I won't"),), StopReason.REFUSAL)
    assert told == [TextDelta("I won't")]


@pytest.mark.parametrize(
    ("details", "stop", "raw"),
    [
        ({"reason": "max_output_tokens"}, StopReason.MAX_TOKENS, "max_output_tokens"),
        ({"reason": "content_filter"}, StopReason.CONTENT_FILTER, "content_filter"),
        (None, StopReason.UNKNOWN, "incomplete"),
    ],
)
async def test_an_incomplete_answer_cuts_its_last_call(details: Any, stop: StopReason, raw: str) -> None:
    """a20."""
    output = [
        function_call("a", "f", "{}", status="completed"),
        function_call("b", "f", '{"a": 1}', status="incomplete"),
        function_call("c", "f", '{"a": 1}'),
    ]
    result = await heard(response("incomplete", output, incomplete_details=details))
    assert [call.cut_off for call in result.tool_calls] == [False, True, True]
    assert (result.stop_reason, result.raw_stop_reason) == (stop, raw)


async def test_reasoning_that_is_not_encrypted_is_read() -> None:
    output = [{"type": "reasoning", "id": "rs", "content": [{"type": "reasoning_text", "text": "hm"}]}, said("hi")]
    assert (await heard(response("completed", output))).parts == (Reasoning("hm"), Text("hi"))


@pytest.mark.parametrize(
    ("code", "retryable"),
    [("server_error", True), ("rate_limit_exceeded", True), ("invalid_prompt", False), ("insufficient_quota", False)],
)
async def test_errors_say_whether_to_retry(code: str, retryable: bool) -> None:
    """9.2: a failed response, an error event, and one that wraps its error."""
    error = {"code": code, "message": "so it is"}
    failed = response("failed", error=error)
    for piece in (failed, {"type": "error", **error, "param": None}, {"type": "error", "error": error}):
        with pytest.raises(ProviderError, match="so it is") as caught:
            await heard(piece)
        assert caught.value.retryable is retryable


@pytest.mark.parametrize("status", ["in_progress", "queued"])
async def test_an_answer_that_is_still_to_come_is_none(status: str) -> None:
    body = json.dumps({"object": "response", "status": status, "output": []}).encode()
    with pytest.raises(ProviderError, match="without saying anything"):
        await ask(answering(body, kind=OpenAIResponses, content_type="application/json"))


async def test_an_end_marker_is_no_end_of_an_answer() -> None:
    with pytest.raises(ProviderError, match="without saying anything"):
        await ask(answering(sse(delta("output_text", 0, "so")), kind=OpenAIResponses))
