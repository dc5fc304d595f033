"""Requests in the words of Chat Completions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from loopkit.messages import Image, Message, Text, ToolCall, ToolDefinition
from loopkit.providers.request_body import (
    History,
    RequestEncoder,
    arguments_text,
    filled,
    function_tool,
    has_pictures,
    has_words,
    picture_address,
    words_of,
)


class ChatHistory(History):
    """A history as `messages`, each with its role, results in messages of their own."""

    unfit_in_a_name: ClassVar[re.Pattern[str]] = re.compile(r"[^A-Za-z0-9_.:/-]")

    def write(self, message: Message) -> None:
        if message.role == "assistant":
            self._add_item(self._assistant(message))
            return
        results = message.tool_results
        for result in results:
            call_id, _ = self._answered(result)
            self._add_item({"role": "tool", "tool_call_id": call_id, "content": filled(result.content)})
        if has_words(message):
            self._add_item({"role": "user" if results else message.role, "content": _content(message)})

    def _assistant(self, message: Message) -> dict[str, Any]:
        words, calls = words_of(message), message.tool_calls
        if not calls:
            return {"role": "assistant", "content": filled(words)}
        wire_calls = [self._call(call, wire_id) for call, wire_id in zip(calls, self._name_calls(calls), strict=True)]
        return {"role": "assistant", "content": words if words.strip() else None, "tool_calls": wire_calls}

    def _call(self, call: ToolCall, wire_id: str) -> dict[str, Any]:
        function = {"name": self._fit_name(call.name), "arguments": arguments_text(call)}
        return {"id": wire_id, "type": "function", "function": function}


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


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not has_pictures(message):
        return filled(message.text)
    blocks: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, Image):
            blocks.append({"type": "image_url", "image_url": {"url": picture_address(part)}})
        elif isinstance(part, Text) and part.text.strip():
            blocks.append({"type": "text", "text": part.text})
    return blocks


def _tool_choice(choice: Any) -> Any:
    if isinstance(choice, str) and choice not in ("auto", "none", "required"):
        return {"type": "function", "function": {"name": choice}}
    return choice


__all__ = ["ChatEncoder"]
