"""Requests in the words of Ollama's own chat: arguments as objects, settings of the sampling under `options`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopkit.errors import ProviderError
from loopkit.messages import Image, Message, ToolCall, ToolDefinition, ToolResult
from loopkit.providers.request_body import ItemHistory, RequestEncoder
from loopkit.providers.wire_parts import (
    arguments_object,
    filled,
    function_tool,
    listed,
    picture_data,
    words_of,
)

_FIELDS = ("format", "think", "keep_alive", "options", "stream", "logprobs", "top_logprobs", "truncate", "shift")
_OPTION_NAMES = {"max_tokens": "num_predict", "max_completion_tokens": "num_predict"}


class OllamaHistory(ItemHistory):
    """A history as `messages`, each with its role; a result names its call's tool."""

    fetches_pictures = False

    def answer_items(self, message: Message) -> Iterable[dict[str, Any]]:
        words, calls = words_of(message), message.tool_calls
        item: dict[str, Any] = {"role": "assistant", "content": words if calls else filled(words)}
        if message.reasoning:
            item["thinking"] = message.reasoning
        if calls:
            item["tool_calls"] = list(map(self._call, calls, self._name_calls(calls)))
        return (item,)

    def result_item(self, result: ToolResult) -> dict[str, Any]:
        call_id, name = self._answered(result)
        item = {"role": "tool", "tool_call_id": call_id, "content": filled(self.words_beside_pictures(result))}
        return {**item, "tool_name": self._fit_name(name)} if name else item

    def content(self, message: Message) -> dict[str, Any]:
        pictures = [_data(part) for part in message.parts if isinstance(part, Image)]
        return {"content": message.text, "images": pictures} if pictures else {"content": filled(message.text)}

    def _call(self, call: ToolCall, wire_id: str) -> dict[str, Any]:
        return {"id": wire_id, "function": {"name": self._fit_name(call.name), "arguments": arguments_object(call)}}


class OllamaEncoder(RequestEncoder):
    """Encodes for `/api/chat`."""

    history_type = OllamaHistory

    def fields(self, settings: dict[str, Any]) -> dict[str, Any]:
        if settings.get("tool_choice") not in (None, "auto"):
            raise ProviderError("the setting 'tool_choice' can't be given: Ollama always lets the model choose")
        fields = {name: value for name, value in settings.items() if name in _FIELDS}
        options = {
            _OPTION_NAMES.get(name, name): listed(value) if name == "stop" else value
            for name, value in settings.items()
            if name not in _FIELDS and name not in ("tool_choice", "parallel_tool_calls") and value is not None
        }
        if options:
            fields["options"] = {**options, **(fields.get("options") or {})}
        return fields

    def tool(self, definition: ToolDefinition) -> dict[str, Any]:
        return function_tool(definition)


def _data(image: Image) -> str:
    inline = picture_data(image)
    if inline is None:
        raise ProviderError("Ollama fetches no pictures: give the picture itself as base64 `data`, not its address")
    return inline[1]


__all__ = ["OllamaEncoder"]
