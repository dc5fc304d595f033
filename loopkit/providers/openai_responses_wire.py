"""Requests in the words of OpenAI's Responses.

The server keeps nothing unless the setting `store` says so, and a model's thinking goes back with its encrypted
content, byte for byte and in its place. The id of a reasoning item is kept as its `signature`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from loopkit.messages import Image, Message, Part, Reasoning, Refusal, Text, ToolCall, ToolDefinition, ToolResult
from loopkit.providers.request_body import ItemHistory, RequestEncoder
from loopkit.providers.wire_parts import EMPTY, arguments_text, blocks_of, picture_address, result_content

_LONGEST_ID = 48
_NEVER_THINKS = re.compile(r"(ft:)?(gpt-3|gpt-4|chatgpt|gpt-5-chat)")
_LIMIT_NAMES = ("max_tokens", "max_completion_tokens")


class ResponsesHistory(ItemHistory):
    """A history as `input` items: messages, reasoning, calls and their outputs beside each other."""

    def fit_id(self, call_id: str) -> str:
        # 64 characters are taken, and a rewritten id is longer than its original
        return call_id[:_LONGEST_ID]

    def answer_items(self, message: Message) -> Iterable[dict[str, Any]]:
        wire_ids = iter(self._name_calls(message.tool_calls))
        # an answer needs an item, and a reasoning item needs one after it (b14)
        incomplete = True
        for part in message.parts:
            item = self._item(part, wire_ids)
            if item is not None:
                yield item
                incomplete = item.get("type") == "reasoning"
        if incomplete:
            yield {"role": "assistant", "content": EMPTY}

    def result_item(self, result: ToolResult) -> dict[str, Any]:
        call_id, _ = self._answered(result)
        return {
            "type": "function_call_output",
            "call_id": call_id,
            "output": result_content(result, words=_words, picture=_picture),
        }

    def content(self, message: Message) -> dict[str, Any]:
        return {"content": blocks_of(message, words=_words, picture=_picture)}

    def _item(self, part: Part, wire_ids: Iterator[str]) -> dict[str, Any] | None:
        if isinstance(part, ToolCall):
            name, arguments = self._fit_name(part.name), arguments_text(part)
            return {"type": "function_call", "call_id": next(wire_ids), "name": name, "arguments": arguments}
        if isinstance(part, Reasoning):
            return _reasoning(part)
        if isinstance(part, (Text, Refusal)) and part.text.strip():
            return {"role": "assistant", "content": part.text}
        return None


class ResponsesEncoder(RequestEncoder):
    """Encodes for `/responses`."""

    history_type = ResponsesHistory
    history_field = "input"
    own_fields = ("model", "input", "tools")

    def fields(self, settings: dict[str, Any]) -> dict[str, Any]:
        thinks = _NEVER_THINKS.match(self.model.rpartition("/")[2]) is None
        fields: dict[str, Any] = {"store": False}
        # models that never think refuse the wish
        fields |= {"include": ["reasoning.encrypted_content"]} if thinks else {}
        fields |= {"max_output_tokens" if name in _LIMIT_NAMES else name: value for name, value in settings.items()}
        choice = fields.get("tool_choice")
        if isinstance(choice, str) and choice not in ("auto", "none", "required"):
            fields["tool_choice"] = {"type": "function", "name": choice}
        return fields

    def tool(self, definition: ToolDefinition) -> dict[str, Any]:
        return {
            "type": "function",
            "name": definition.name,
            "description": definition.description,
            "parameters": definition.parameters,
            # strict is the default here, and forbids optional arguments
            "strict": False,
        }


def _reasoning(part: Reasoning) -> dict[str, Any] | None:
    # without both it is another provider's, or nothing that this one could read
    if part.encrypted is None or part.signature is None:
        return None
    item: dict[str, Any] = {"type": "reasoning"}
    if part.signature:
        item["id"] = part.signature
    summary = [{"type": "summary_text", "text": part.text}] if part.text else []
    return {**item, "summary": summary, "encrypted_content": part.encrypted}


def _words(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _picture(image: Image) -> dict[str, Any]:
    return {"type": "input_image", "detail": "auto", "image_url": picture_address(image)}


__all__ = ["ResponsesEncoder"]
