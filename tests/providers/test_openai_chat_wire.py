"""Chat Completions: what is particular to its requests."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from loopkit.errors import ProviderError
from loopkit.messages import (
    Image,
    Message,
    Refusal,
    Text,
    ToolCall,
    ToolResult,
)
from loopkit.providers.openai_chat import OpenAIChat
from loopkit.providers.openai_chat_wire import ChatEncoder
from tests.providers.streams import TOOL, sent_by

sent = partial(sent_by, ChatEncoder("m"))


def turn(call_id: str, number: int, *, result: str = "r") -> list[Message]:
    return [
        Message.assistant("", [ToolCall(call_id, "look", {"thing": number})]),
        Message.tool(ToolResult(call_id, f"{result}{number}")),
    ]


def ids(body: dict[str, Any]) -> tuple[list[str], list[str]]:
    calls = [call["id"] for message in body["messages"] for call in message.get("tool_calls", ())]
    return calls, [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]


def test_a_request_is_streamed_and_asks_for_usage() -> None:
    body = sent(Message.system("s"), Message.user("u"), tools=(TOOL,), temperature=0.5)
    assert body == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "tools": [
            {
                "type": "function",
                "function": {"name": "look", "description": TOOL.description, "parameters": TOOL.parameters},
            }
        ],
    }


def test_arguments_go_back_as_a_string() -> None:
    """a14."""
    message = sent(Message.user("u"), *turn("c1", 1))["messages"][1]
    assert message == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"thing": 1}'}}],
    }


def test_a_server_that_refuses_null_gets_an_empty_string() -> None:
    """Seen with the server of llama-cpp-python: it answers 500 to the second turn otherwise."""
    strings = OpenAIChat("m", base_url="http://127.0.0.1/v1", null_content=False).encoder("m")
    message = sent_by(strings, Message.user("u"), *turn("c1", 1))["messages"][1]
    assert (message["content"], len(message["tool_calls"])) == ("", 1)
    assert isinstance(OpenAIChat("m", base_url="http://127.0.0.1/v1").encoder("m"), ChatEncoder)
    said = sent_by(strings, Message.assistant("hm", [ToolCall("c1", "look", {})]))["messages"][0]
    assert said["content"] == "hm"


def test_a_refusal_is_sent_as_words() -> None:
    """a37."""
    assert sent(Message("assistant", (Refusal("no"),)))["messages"] == [{"role": "assistant", "content": "no"}]


def test_what_is_no_json_never_reaches_the_wire_as_such() -> None:
    call = ToolCall("c", "", {"a": float("nan")})
    function = sent(Message.assistant("", [call]))["messages"][0]["tool_calls"][0]["function"]
    assert function["name"] == "unnamed"
    assert json.loads(function["arguments"]) == {"invalid_json": '{"a": NaN}'}


def test_pictures_are_sent_as_content_blocks() -> None:
    message = Message("user", (Text("what?"), Image("image/png", data="AA=="), Image("image/png", url="http://x/y")))
    assert sent(message)["messages"][0]["content"] == [
        {"type": "text", "text": "what?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "image_url", "image_url": {"url": "http://x/y"}},
    ]


def test_ids_that_start_again_each_turn_are_rewritten_where_they_collide() -> None:
    """b8."""
    calls, results = ids(sent(Message.user("u"), *turn("call_0", 1), *turn("call_0", 2), *turn("other", 3)))
    assert calls == results
    assert (calls[0], calls[2]) == ("call_0", "other")
    assert len(set(calls)) == 3


def test_calls_of_one_response_that_share_an_id_are_two_calls() -> None:
    """b9."""
    both = Message.assistant("", [ToolCall("dup", "look", {"thing": n}) for n in (1, 2)])
    body = sent(both, Message.tool(ToolResult("dup", "one")), Message.tool(ToolResult("dup", "two")))
    calls, results = ids(body)
    assert calls == results
    assert len(set(calls)) == 2
    assert [message["content"] for message in body["messages"][1:]] == ["one", "two"]


def test_results_that_came_in_another_order_still_name_their_calls() -> None:
    body = sent(
        Message.assistant("", [ToolCall("a", "look"), ToolCall("b", "look")]),
        Message.tool(ToolResult("b", "for b")),
        Message.tool(ToolResult("a", "for a")),
    )
    assert ids(body)[1] == ["b", "a"]


def test_a_setting_of_none_leaves_its_field_out() -> None:
    assert "stream_options" not in sent(Message.user("u"), stream_options=None)
    assert "stream_options" not in sent(Message.user("u"), stream=False)


def test_tool_settings_are_sent_with_tools_only() -> None:
    assert "tool_choice" not in sent(Message.user("u"), tool_choice="required")
    assert sent(Message.user("u"), tools=(TOOL,), tool_choice="required")["tool_choice"] == "required"
    named = sent(Message.user("u"), tools=(TOOL,), tool_choice="look")["tool_choice"]
    assert named == {"type": "function", "function": {"name": "look"}}


@pytest.mark.parametrize("settings", [{"temperature": float("nan")}, {"stop": object()}, {"messages": []}])
def test_settings_that_cannot_be_sent_are_one_clear_line(settings: dict[str, Any]) -> None:
    with pytest.raises(ProviderError, match="setting") as caught:
        sent(Message.user("u"), **settings)
    assert "\n" not in str(caught.value)
    assert not caught.value.retryable
