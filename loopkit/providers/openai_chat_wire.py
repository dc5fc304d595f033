"""Requests in the words of Chat Completions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from loopkit.messages import Image, Message, ToolCall, ToolDefinition, ToolResult
from loopkit.providers.request_body import ItemHistory, RequestEncoder
from loopkit.providers.wire_parts import arguments_text, blocks_of, filled, function_tool, picture_address, words_of


class ChatHistory(ItemHistory):
    """A history as `messages`, each with its role, results in messages of their own."""

    unfit_in_a_name: ClassVar[re.Pattern[str]] = re.compile(r"[^A-Za-z0-9_.:/-]")
    no_words: ClassVar[str | None] = None

    def answer_items(self, message: Message) -> Iterable[dict[str, Any]]:
        words, calls = words_of(message), message.tool_calls
        if not calls:
            return ({"role": "assistant", "content": filled(words)},)
        wire_calls = list(map(self._call, calls, self._name_calls(calls)))
        return ({"role": "assistant", "content": words if words.strip() else self.no_words, "tool_calls": wire_calls},)

    def result_item(self, result: ToolResult) -> dict[str, Any]:
        call_id, _ = self._answered(result)
        return {"role": "tool", "tool_call_id": call_id, "content": filled(self.words_beside_pictures(result))}

    def content(self, message: Message) -> dict[str, Any]:
        return {"content": blocks_of(message, words=_words, picture=_picture)}

    def _call(self, call: ToolCall, wire_id: str) -> dict[str, Any]:
        function = {"name": self._fit_name(call.name), "arguments": arguments_text(call)}
        return {"id": wire_id, "type": "function", "function": function}


class StringHistory(ChatHistory):
    """A history in which every content is a string."""

    no_words = ""


class ChatEncoder(RequestEncoder):
    """Encodes for `/chat/completions`.

    Args:
        rename: the server's own words for settings.
    """

    history_type = ChatHistory

    def __init__(self, model: str, *, rename: Mapping[str, str] | None = None) -> None:
        super().__init__(model)
        self._rename = rename or {}

    def fields(self, settings: dict[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {"stream_options": {"include_usage": True}}
        fields |= {self._rename.get(name, name): value for name, value in settings.items()}
        if "tool_choice" in fields:
            fields["tool_choice"] = _tool_choice(fields["tool_choice"])
        if not fields.get("stream", True):
            del fields["stream_options"]
        return fields

    def tool(self, definition: ToolDefinition) -> dict[str, Any]:
        return function_tool(definition)


class StringChatEncoder(ChatEncoder):
    """Encodes for servers that refuse a `content` of null, which OpenAI allows beside calls."""

    history_type = StringHistory


def _words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _picture(image: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": picture_address(image)}}


def _tool_choice(choice: Any) -> Any:
    if isinstance(choice, str) and choice not in ("auto", "none", "required"):
        return {"type": "function", "function": {"name": choice}}
    return choice


__all__ = ["ChatEncoder", "StringChatEncoder"]
