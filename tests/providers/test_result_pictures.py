"""Results with pictures in each dialect, checked against the official clients' own types."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import TypeAdapter

from loopkit.messages import Image, Message, ToolCall, ToolResult
from loopkit.providers.anthropic_wire import AnthropicEncoder
from loopkit.providers.ollama_wire import OllamaEncoder
from loopkit.providers.openai_chat_wire import ChatEncoder
from loopkit.providers.openai_responses_wire import ResponsesEncoder
from loopkit.providers.protocol import ChatRequest
from loopkit.providers.request_body import RequestEncoder

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE = Image("image/png", DOT)
LINKED = Image("image/png", url="https://pictures.example/a.png")
DRAWING = Image("image/svg+xml", "PHN2Zy8+")


def turn(*results: ToolResult) -> list[Message]:
    calls = [ToolCall(result.tool_call_id, "look", {}) for result in results]
    return [Message.user("go"), Message.assistant("", calls), *map(Message.tool, results)]


def sent(encoder: RequestEncoder, messages: Sequence[Message]) -> list[Any]:
    body = json.loads(encoder.body(ChatRequest(tuple(messages))))
    found: list[Any] = body["input" if isinstance(encoder, ResponsesEncoder) else "messages"]
    return found


TWO = turn(
    ToolResult("a", "a dot", images=(PICTURE, LINKED)), ToolResult("b", "plain"), ToolResult("c", "", images=(PICTURE,))
)


def test_anthropic_takes_blocks_in_the_result() -> None:
    from anthropic.types import MessageParam

    messages = sent(AnthropicEncoder("m"), TWO)
    TypeAdapter(list[MessageParam]).validate_python(messages)
    first, second, third = messages[-1]["content"]
    assert [block["type"] for block in first["content"]] == ["text", "image", "image"]
    assert first["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": DOT}
    assert first["content"][2]["source"] == {"type": "url", "url": LINKED.url}
    assert second["content"] == "plain"
    assert [block["type"] for block in third["content"]] == ["image"]


def test_responses_takes_input_images_in_the_output() -> None:
    from openai.types.responses import ResponseInputItemParam

    items = sent(ResponsesEncoder("m"), TWO)
    TypeAdapter(list[ResponseInputItemParam]).validate_python(items)
    first, second, third = items[-3:]
    assert [block["type"] for block in first["output"]] == ["input_text", "input_image", "input_image"]
    assert first["output"][1]["image_url"] == f"data:image/png;base64,{DOT}"
    assert second["output"] == "plain"
    assert [block["type"] for block in third["output"]] == ["input_image"]


def test_chat_shows_pictures_in_a_users_message_behind_all_results() -> None:
    """A tool's message holds text only, and nothing may stand between the results of a turn."""
    from openai.types.chat import ChatCompletionMessageParam

    messages = sent(ChatEncoder("m"), TWO)
    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(messages)
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "tool", "user"]
    assert messages[2]["content"] == "a dot\n(2 pictures, shown after the results)"
    assert messages[3]["content"] == "plain"
    assert messages[4]["content"] == "(1 picture, shown after the results)"
    blocks = messages[5]["content"]
    assert [block["type"] for block in blocks] == ["text", "image_url", "image_url", "text", "image_url"]
    assert [block["text"] for block in blocks if "text" in block] == [
        "From result 1 of the 3 above:\n",
        "From result 3 of the 3 above:\n",
    ]


def test_ollama_does_the_same_and_names_what_it_would_have_to_fetch() -> None:
    messages = sent(OllamaEncoder("m"), TWO)
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "tool", "user"]
    assert "https://pictures.example/a.png" in messages[2]["content"]
    assert messages[5]["images"] == [DOT, DOT]


@pytest.mark.parametrize("encoder_type", [ChatEncoder, ResponsesEncoder, AnthropicEncoder, OllamaEncoder])
def test_a_picture_that_no_model_takes_is_told_in_words(encoder_type: type[RequestEncoder]) -> None:
    """Rather than a refused history."""
    text = json.dumps(sent(encoder_type("m"), turn(ToolResult("a", "", images=(DRAWING,)))))
    assert "a picture that can't be shown here: image/svg+xml" in text
    assert "PHN2Zy8+" not in text


@pytest.mark.parametrize("encoder_type", [ChatEncoder, ResponsesEncoder, AnthropicEncoder, OllamaEncoder])
def test_a_growing_history_is_written_as_a_new_one_would_be(encoder_type: type[RequestEncoder]) -> None:
    """Pictures at the end of a request stand behind the results that the next one adds, and edits cut them right."""
    history = [
        *TWO,
        Message.assistant("", [ToolCall("a", "look", {})]),
        Message.tool(ToolResult("a", "again", images=(PICTURE,))),
        Message.user("and?"),
        Message.assistant("", [ToolCall("a", "look", {}), ToolCall("b", "look", {})]),
        Message.tool(ToolResult("a", "third", images=(PICTURE,))),
        Message.tool(ToolResult("b", "fourth", images=(PICTURE,))),
    ]
    growing = encoder_type("m")
    for length in range(1, len(history) + 1):
        part = history[:length]
        assert sent(growing, part) == sent(encoder_type("m"), part)
    for length in range(len(history), 0, -1):
        part = [*history[:length], Message.user("otherwise")]
        assert sent(growing, part) == sent(encoder_type("m"), part)
