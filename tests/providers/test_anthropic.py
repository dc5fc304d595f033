"""Anthropic's Messages: what is particular to its requests and answers."""

from __future__ import annotations

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
from loopkit.providers.anthropic import AnthropicMessages
from loopkit.providers.anthropic_wire import AnthropicEncoder
from loopkit.providers.wire_parts import EMPTY
from tests.providers.dialects import (
    ANTHROPIC,
    REDACTED,
    SIGNATURE,
    block,
    json_delta,
    message_end,
    message_start,
    text_delta,
    tool_use,
)
from tests.providers.streams import TOOL, Asked, answering, ask, events, sent_by

pytestmark = pytest.mark.anyio


def sent(*messages: Message, model: str = "claude-x", tools: tuple[ToolDefinition, ...] = (), **settings: Any) -> Any:
    return sent_by(AnthropicEncoder(model), *messages, tools=tools, **settings)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


async def heard(*pieces: dict[str, Any]) -> ChatResponse:
    return await ask(answering(events(*pieces), kind=AnthropicMessages))


async def test_a_request_in_anthropics_words() -> None:
    assert sent(Message.system("s"), Message.user("u"), tools=(TOOL,), temperature=0.5) == {
        "model": "claude-x",
        "stream": True,
        "max_tokens": 32_000,
        "temperature": 0.5,
        "system": [text("s")],
        "messages": [{"role": "user", "content": [text("u")]}],
        "tools": [{"name": "look", "description": TOOL.description, "input_schema": TOOL.parameters}],
    }


async def test_results_of_a_parallel_batch_stand_in_one_message_in_call_order() -> None:
    """b6, a14: with what was said after them; arguments are objects."""
    calls = [ToolCall("a", "look", {"n": 1}), ToolCall("b", "look", {"n": 2})]
    body = sent(
        Message.user("u"),
        Message.assistant("so", calls),
        Message.tool(ToolResult("a", "one")),
        Message.tool(ToolResult("b", "two", is_error=True)),
        Message.system("you repeat yourself"),
        Message.user("and now?"),
        Message.assistant("done"),
    )
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user", "assistant"]
    assert body["messages"][1]["content"] == [
        text("so"),
        {"type": "tool_use", "id": "a", "name": "look", "input": {"n": 1}},
        {"type": "tool_use", "id": "b", "name": "look", "input": {"n": 2}},
    ]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "one"},
        {"type": "tool_result", "tool_use_id": "b", "content": "two", "is_error": True},
        text("you repeat yourself"),
        text("and now?"),
    ]


async def test_a_warning_in_mid_history_reaches_the_model() -> None:
    """6.4: as the user's words, since a system message there would not."""
    body = sent(Message.system("s"), Message.system("t"), Message.user("u"), Message.system("mind"))
    assert body["system"] == [text("s"), text("t")]
    assert body["messages"] == [{"role": "user", "content": [text("u"), text("mind")]}]


async def test_thinking_goes_back_byte_for_byte_and_in_its_place() -> None:
    """a29: the answer of a stream, redacted thinking included, as the next request sends it."""
    server = Asked(ANTHROPIC.rich[0])
    provider = AnthropicMessages("m", base_url="http://x", api_key="", transport=httpx.MockTransport(server))
    answer = (await ask(provider)).message
    results = [Message.tool(ToolResult(call.id, "r")) for call in answer.tool_calls]
    await ask(provider, Message.user("hello"), answer, *results)
    assert server.body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Let me see.\u2028", "signature": SIGNATURE},
        {"type": "redacted_thinking", "data": REDACTED},
        text("你好😀\u0085"),
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"thing": "é\u2028", "id": 2512292042121000001}},
        {"type": "thinking", "thinking": "", "signature": SIGNATURE[::-1]},
        {"type": "tool_use", "id": "c2", "name": "list", "input": {}},
    ]


async def test_thinking_of_other_providers_is_left_out() -> None:
    foreign = (Reasoning("unsigned"), Reasoning("", signature="rs_1", encrypted="gAAA"), Text("so"))
    assert sent(Message.user("u"), Message("assistant", foreign))["messages"][1]["content"] == [text("so")]


@pytest.mark.parametrize("parts", [(Reasoning("hm", signature="s"),), (Text("so"), Reasoning(encrypted="x"))])
async def test_no_answer_ends_in_thinking(parts: tuple[Any, ...]) -> None:
    """b14."""
    assert sent(Message.user("u"), Message("assistant", parts))["messages"][1]["content"][-1] == text(EMPTY)


async def test_the_first_message_is_the_users() -> None:
    placeholder = {"role": "user", "content": [text(EMPTY)]}
    assert sent(Message.system("s"), Message.assistant("so"))["messages"][0] == placeholder
    assert sent(Message.system("s"))["messages"] == [placeholder]
    assert "system" not in sent(Message.system(" "), Message.user("u"))


async def test_neighbours_of_one_role_become_one_message() -> None:
    body = sent(Message.user("a"), Message.user("b"), Message.assistant("c"), Message.assistant("d"))
    assert [message["content"] for message in body["messages"]] == [[text("a"), text("b")], [text("c"), text("d")]]


async def test_ids_of_other_providers_are_made_to_fit() -> None:
    """b8: and still name their calls when two become the same."""
    calls = [ToolCall("dir:0", "look"), ToolCall("dir.0", "look")]
    results = [Message.tool(ToolResult(call.id, call.id)) for call in reversed(calls)]
    asked, answered = sent(Message.user("u"), Message.assistant("", calls), *results)["messages"][1:]
    first, second = (each["id"] for each in asked["content"])
    assert first == "dir_0"
    assert second != first
    assert [(each["tool_use_id"], each["content"]) for each in answered["content"]] == [
        (second, "dir.0"),
        (first, "dir:0"),
    ]


async def test_pictures_are_blocks() -> None:
    parts = (Text("what?"), Image("image/png", data="AA=="), Image("image/png", url="http://x/y"))
    assert sent(Message("user", parts))["messages"][0]["content"] == [
        text("what?"),
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
        {"type": "image", "source": {"type": "url", "url": "http://x/y"}},
    ]


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({"tool_choice": "auto"}, {"tool_choice": {"type": "auto"}}),
        ({"tool_choice": "required"}, {"tool_choice": {"type": "any"}}),
        ({"tool_choice": "none"}, {"tool_choice": {"type": "none"}}),
        ({"tool_choice": "look"}, {"tool_choice": {"type": "tool", "name": "look"}}),
        ({"parallel_tool_calls": False}, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
        ({"parallel_tool_calls": True}, {"tool_choice": None}),
        ({"parallel_tool_calls": False, "tool_choice": "none"}, {"tool_choice": {"type": "none"}}),
        ({"stop": "END"}, {"stop_sequences": ["END"], "stop": None}),
        ({"max_tokens": 5}, {"max_tokens": 5}),
        ({"max_tokens": None}, {"max_tokens": 32_000}),
    ],
)
async def test_settings_are_written_in_anthropics_words(settings: dict[str, Any], fields: dict[str, Any]) -> None:
    body = sent(Message.user("u"), tools=(TOOL,), **settings)
    assert {name: body.get(name) for name in fields} == fields


async def test_settings_for_tools_are_sent_with_tools_only() -> None:
    assert "tool_choice" not in sent(Message.user("u"), tool_choice="required", parallel_tool_calls=False)


async def test_the_system_field_is_loopkits() -> None:
    with pytest.raises(ProviderError, match="'system' can't be given"):
        sent(Message.user("u"), system="s")


@pytest.mark.parametrize(
    ("model", "limit"), [("claude-3-haiku-20240307", 4096), ("claude-3-5-haiku-latest", 8192), ("kimi-k2", 8192)]
)
async def test_the_default_limit_is_one_that_the_model_takes(model: str, limit: int) -> None:
    assert sent(Message.user("u"), model=model)["max_tokens"] == limit


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", StopReason.END_TURN),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", StopReason.MAX_TOKENS),
        ("stop_sequence", StopReason.STOP_SEQUENCE),
        ("refusal", StopReason.REFUSAL),
        ("pause_turn", StopReason.UNKNOWN),
    ],
)
async def test_stop_reasons(reason: str, stop: StopReason) -> None:
    response = await heard(message_start(), *block(0, text("so")), *message_end(reason))
    assert (response.stop_reason, response.raw_stop_reason, response.text) == (stop, reason, "so")


async def test_a_refusal_keeps_its_explanation() -> None:
    """a37."""
    end = message_end("refusal")
    end[0]["delta"]["stop_details"] = {"type": "refusal", "category": "bio", "explanation": "Not that."}
    response = await heard(message_start(), *block(0, text("Well")), *end)
    assert response.parts == (Text("Well"), Refusal("Not that."))


async def test_a_stop_reason_of_calls_without_calls_is_an_answer_without_calls() -> None:
    """a19: the loop ends after one model call."""
    response = await heard(message_start(), *message_end("tool_use"))
    assert (response.parts, response.stop_reason) == ((), StopReason.TOOL_CALLS)


async def test_complete_calls_decide_whatever_the_stop_reason_says() -> None:
    """a18."""
    response = await heard(message_start(), *block(0, tool_use("c", "f")), *message_end("end_turn"))
    assert response.tool_calls == (ToolCall("c", "f"),)


@pytest.mark.parametrize("arguments", ['{"path": "x"', '{"path": "x"}'])
async def test_a_call_that_the_output_limit_cut_is_marked(arguments: str) -> None:
    """a20."""
    calls = [*block(0, tool_use("a", "f"), json_delta("{}")), *block(1, tool_use("c", "f"), json_delta(arguments))]
    first, second = (await heard(message_start(), *calls, *message_end("max_tokens"))).tool_calls
    assert first == ToolCall("a", "f")
    assert second == ToolCall("c", "f", raw_arguments=arguments, cut_off=True)


async def test_words_after_a_call_show_that_it_was_not_cut() -> None:
    pieces = [*block(0, tool_use("a", "f")), *block(1, text("and th")), *message_end("max_tokens")]
    assert not (await heard(message_start(), *pieces)).tool_calls[0].cut_off


@pytest.mark.parametrize("pieces", [[""], ["  "], []])
async def test_no_arguments_are_an_empty_object(pieces: list[str]) -> None:
    """a11."""
    call = block(0, tool_use("c", "f"), *map(json_delta, pieces))
    assert (await heard(message_start(), *call, *message_end("tool_use"))).tool_calls == (ToolCall("c", "f"),)


async def test_arguments_that_came_with_the_beginning_of_a_call_are_taken() -> None:
    call = block(0, tool_use("c", "f", a=1))
    assert (await heard(message_start(), *call, *message_end("tool_use"))).tool_calls == (ToolCall("c", "f", {"a": 1}),)


async def test_calls_that_share_an_index_or_an_id_are_two_calls() -> None:
    """a3, b9."""
    same_index = [
        *block(0, tool_use("a", "f"), json_delta('{"n": 1}')),
        *block(0, tool_use("b", "f"), json_delta("{}")),
    ]
    response = await heard(message_start(), *same_index, *message_end("tool_use"))
    assert response.tool_calls == (ToolCall("a", "f", {"n": 1}), ToolCall("b", "f"))
    same_id = [*block(0, tool_use("a", "f"), json_delta('{"n": 1}')), *block(1, tool_use("a", "f"), json_delta("{}"))]
    response = await heard(message_start(), *same_id, *message_end("tool_use"))
    assert response.tool_calls == (ToolCall("a", "f", {"n": 1}), ToolCall("a", "f"))


async def test_a_call_without_a_name_has_a_problem() -> None:
    """a7."""
    (call,) = (await heard(message_start(), *block(0, {"type": "tool_use", "id": "c"}), *message_end("tool_use"))).parts
    assert isinstance(call, ToolCall)
    assert call.problem


async def test_what_is_not_known_is_passed_over() -> None:
    pieces = [
        message_start(),
        {"type": "who_knows", "index": 0},
        *block(0, {"type": "server_tool_use", "id": "s", "name": "web_search"}, json_delta("{}")),
        *block(1, text(""), text_delta("hi"), {"type": "citations_delta", "citation": {}}),
        *message_end("end_turn"),
    ]
    assert (await heard(*pieces)).parts == (Text("hi"),)


async def test_figures_that_a_later_event_leaves_out_still_hold() -> None:
    end = message_end("end_turn", output_tokens=7)
    response = await heard(message_start(input_tokens=5, output_tokens=1), *block(0, text("hi")), *end)
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 7)


async def test_anthropic_itself_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    server = Asked(ANTHROPIC.hello)
    transport = httpx.MockTransport(server)
    with pytest.raises(ProviderError, match="needs a key: set ANTHROPIC_API_KEY"):
        await ask(AnthropicMessages("m", transport=transport))
    assert server.requests == []
    await ask(AnthropicMessages("m", headers={"Authorization": "Bearer token"}, transport=transport))
    assert str(server.requests[0].url) == "https://api.anthropic.com/v1/messages"


@pytest.mark.parametrize(
    ("kind", "retryable"),
    [("overloaded_error", True), ("rate_limit_error", True), ("api_error", True), ("invalid_request_error", False)],
)
async def test_errors_in_a_stream_say_whether_to_retry(kind: str, retryable: bool) -> None:
    """9.2."""
    with pytest.raises(ProviderError, match="so it is") as caught:
        await heard(message_start(), {"type": "error", "error": {"type": kind, "message": "so it is"}})
    assert caught.value.retryable is retryable
