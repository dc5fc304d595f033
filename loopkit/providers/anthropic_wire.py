"""Requests in the words of Anthropic's Messages.

Neighbours of one role become one message, so that the results of a parallel batch stand together (spec/faults.md b6);
thinking goes back byte for byte and in its place (a29); system messages after the beginning become words of the user.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from operator import is_
from typing import Any, ClassVar

from loopkit.messages import Image, Message, Part, Reasoning, Refusal, Text, ToolCall, ToolDefinition, ToolResult
from loopkit.providers.request_body import History, RequestEncoder
from loopkit.providers.wire_parts import (
    EMPTY,
    arguments_object,
    has_words,
    listed,
    picture_data,
    result_content,
    to_json,
)

_UNFIT_IN_AN_ID = re.compile(r"[^A-Za-z0-9_-]")
# what each family may write at most, where it is less than a long answer takes
_OUTPUT_LIMITS = (("claude-3-5", 8192), ("claude-3-7", 32_000), ("claude-3-", 4096), ("claude-", 32_000))
_OUTPUT_LIMIT = 8192
_CLOSE = b"]}"
_NOBODY = to_json({"role": "user", "content": [{"type": "text", "text": EMPTY}]})


class AnthropicHistory(History):
    """A history as `messages` of content blocks; the last message of the text stays open for more blocks."""

    longest_name: ClassVar[int] = 128

    @property
    def closing(self) -> bytes:
        # a history of nothing but the system prompt still has to begin with a message
        return _CLOSE if self._role else _NOBODY

    def fit_id(self, call_id: str) -> str:
        return _UNFIT_IN_AN_ID.sub("_", call_id)

    def write(self, message: Message) -> None:
        if message.role == "system" and not self._role:
            # it stands in a field of its own
            return
        if message.role == "assistant":
            # the first message has to be the user's
            if not self._role:
                self._add_blocks("user", [_words(EMPTY)])
            self._add_blocks("assistant", self._answer(message))
            return
        blocks = [self._result(result) for result in message.tool_results]
        if has_words(message):
            blocks += [block for part in message.parts if (block := _said(part)) is not None]
        self._add_blocks("user", blocks or [_words(EMPTY)])

    def _add_blocks(self, role: str, blocks: Sequence[dict[str, Any]]) -> None:
        joined = b",".join(map(to_json, blocks))
        if role == self._role:
            self.text += b"," + joined
            return
        if self._role:
            self.text += _CLOSE + b","
        self.text += b'{"role":"' + role.encode() + b'","content":[' + joined
        self._role = role
        self._items += 1

    def _answer(self, message: Message) -> list[dict[str, Any]]:
        wire_ids = iter(self._name_calls(message.tool_calls))
        blocks: list[dict[str, Any]] = []
        for part in message.parts:
            if isinstance(part, ToolCall):
                name, arguments = self._fit_name(part.name), arguments_object(part)
                blocks.append({"type": "tool_use", "id": next(wire_ids), "name": name, "input": arguments})
            elif (block := _thinking(part) if isinstance(part, Reasoning) else _said(part)) is not None:
                blocks.append(block)
        # no message is empty, and none ends in thinking (b14)
        return blocks if blocks and "thinking" not in blocks[-1]["type"] else [*blocks, _words(EMPTY)]

    def _result(self, result: ToolResult) -> dict[str, Any]:
        call_id, _ = self._answered(result)
        content = result_content(result, words=_words, picture=_picture)
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        return {**block, "is_error": True} if result.is_error else block


class AnthropicEncoder(RequestEncoder):
    """Encodes for `/v1/messages`."""

    history_type = AnthropicHistory
    own_fields = ("model", "messages", "tools", "system")

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self._system: tuple[tuple[Message, ...], bytes] = ((), b"")

    def fields(self, settings: dict[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {"max_tokens": _output_limit(self.model), **settings}
        if fields["max_tokens"] is None:
            fields["max_tokens"] = _output_limit(self.model)
        if "stop" in fields:
            fields["stop_sequences"] = listed(fields.pop("stop"))
        several = fields.pop("parallel_tool_calls", None)
        choice = _tool_choice(fields.pop("tool_choice", None))
        if several is False and (choice or {}).get("type") != "none":
            choice = {"type": "auto", **(choice or {}), "disable_parallel_tool_use": True}
        return {**fields, "tool_choice": choice}

    def tool(self, definition: ToolDefinition) -> dict[str, Any]:
        return {
            "name": definition.name,
            "description": definition.description,
            "input_schema": definition.parameters,
        }

    def preamble(self, messages: Sequence[Message]) -> bytes:
        leading = tuple(takewhile(lambda message: message.role == "system", messages))
        known, text = self._system
        if len(known) != len(leading) or not all(map(is_, known, leading)):
            blocks = [_words(message.text) for message in leading if message.text.strip()]
            text = b',"system":' + to_json(blocks) if blocks else b""
            self._system = (leading, text)
        return text


def _words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _said(part: Part) -> dict[str, Any] | None:
    if isinstance(part, (Text, Refusal)) and part.text.strip():
        return _words(part.text)
    return _picture(part) if isinstance(part, Image) else None


def _picture(image: Image) -> dict[str, Any]:
    inline = picture_data(image)
    if inline is None:
        return {"type": "image", "source": {"type": "url", "url": image.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": inline[0], "data": inline[1]}}


def _thinking(part: Reasoning) -> dict[str, Any] | None:
    if part.encrypted is None and part.signature:
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}
    if part.encrypted is not None and part.signature is None:
        return {"type": "redacted_thinking", "data": part.encrypted}
    # it is another provider's, and would be refused
    return None


def _tool_choice(choice: Any) -> Any:
    if not isinstance(choice, str):
        return choice
    known = {"auto": "auto", "none": "none", "required": "any", "any": "any"}
    return {"type": known[choice]} if choice in known else {"type": "tool", "name": choice}


def _output_limit(model: str) -> int:
    return next((limit for family, limit in _OUTPUT_LIMITS if model.startswith(family)), _OUTPUT_LIMIT)


__all__ = ["AnthropicEncoder"]
