"""Requests in the words of Chat Completions: each message is encoded once, a history is only ever extended.

What is sent is made valid at send time; the recorded history stays as it is (spec/faults.md b14, d16).
"""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from operator import indexOf, is_
from typing import Any

from loopkit.errors import ProviderError
from loopkit.messages import Image, Message, Refusal, Text, ToolCall, ToolDefinition, ToolResult
from loopkit.providers.protocol import ChatRequest

EMPTY = "(empty)"
_HISTORIES = 16
_LONGEST_CUT = 32
_HISTORY_BYTES = 64 * 1024 * 1024
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_UNFIT_FOR_A_NAME = re.compile(r"[^A-Za-z0-9_.:/-]")
_TOOL_SETTINGS = ("tool_choice", "parallel_tool_calls")
_OWN_FIELDS = ("model", "messages", "tools")


class RequestEncoder:
    """Turns requests of one model into bodies; safe to share between threads.

    The texts of recent histories are kept. A history that grew since the last request is found by the identity of its
    messages and costs only its new ones; one that was edited or masked costs what stands after the change.
    """

    def __init__(self, model: str, *, rename: Mapping[str, str] | None = None) -> None:
        self._model = model
        self._rename = rename or {}
        self._histories: list[_History] = []
        self._tools: tuple[tuple[ToolDefinition, ...], bytes] = ((), b"")
        self._lock = threading.Lock()

    def body(self, request: ChatRequest) -> bytes:
        """Return the JSON body of a streamed request.

        Raises:
            ProviderError: a setting can't be sent.
        """
        head = self._head(request)
        with self._lock:
            parts: list[bytes | bytearray] = [head, b',"messages":[', self._history_of(request.messages).text, b"]"]
            if request.tools:
                parts += [b',"tools":', self._encoded_tools(request.tools)]
            return b"".join([*parts, b"}"])

    def _head(self, request: ChatRequest) -> bytes:
        fields: dict[str, Any] = {"model": self._model, "stream": True, "stream_options": {"include_usage": True}}
        for name, value in request.settings.items():
            if name in _OWN_FIELDS:
                raise ProviderError(f"the setting {name!r} can't be given: loopkit writes that field itself")
            if request.tools or name not in _TOOL_SETTINGS:
                fields[self._rename.get(name, name)] = _tool_choice(value) if name == "tool_choice" else value
        if not fields.get("stream"):
            fields.pop("stream_options", None)
        try:
            return _json({name: value for name, value in fields.items() if value is not None})[:-1]
        except (TypeError, ValueError) as error:
            raise ProviderError(f"the settings of the request can't be written as JSON: {error}") from None

    def _encoded_tools(self, tools: tuple[ToolDefinition, ...]) -> bytes:
        if self._tools[0] != tools:
            self._tools = (tools, _json([_tool(definition) for definition in tools]))
        return self._tools[1]

    def _history_of(self, messages: Sequence[Message]) -> _History:
        best, shared = None, 0
        for history in self._histories:
            length = history.shared_with(messages)
            if length > shared:
                best, shared = history, length
        if best is None:
            best = _History()
        elif (dropped := len(best.messages) - shared) > min(_LONGEST_CUT, shared - 1):
            # rather another agent's history with the same beginning than this one edited
            best = best.copy(shared)
        else:
            if dropped:
                best.cut(shared)
            self._histories.remove(best)
        best.extend(messages)
        self._histories.insert(0, best)
        self._forget()
        return best

    def _forget(self) -> None:
        del self._histories[_HISTORIES:]
        while len(self._histories) > 1 and sum(len(each.text) for each in self._histories) > _HISTORY_BYTES:
            self._histories.pop()


class _History:
    """The messages of one history and their JSON text, joined with commas."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.text = bytearray()
        self._ends: list[int] = []
        self._new_ids: list[tuple[str, ...]] = []
        self._ids: set[str] = set()
        self._open: dict[str, deque[str]] = {}

    def shared_with(self, messages: Sequence[Message]) -> int:
        """Return how many messages at the beginning are the very same objects."""
        try:
            return indexOf(map(is_, self.messages, messages), False)
        except ValueError:
            return min(len(self.messages), len(messages))

    def copy(self, length: int) -> _History:
        """Return a history of its own that begins with the first `length` messages, whole turns only."""
        length = self._whole_turns(length)
        twin = _History()
        twin.messages = self.messages[:length]
        twin.text = self.text[: self._ends[length - 1] if length else 0]
        twin._ends = self._ends[:length]
        twin._new_ids = self._new_ids[:length]
        twin._ids = {call_id for ids in twin._new_ids for call_id in ids}
        return twin

    def cut(self, length: int) -> None:
        """Drop what stands after the first `length` messages, and the turn that the cut falls into."""
        length = self._whole_turns(length)
        for ids in self._new_ids[length:]:
            self._ids.difference_update(ids)
        del self.messages[length:], self._ends[length:], self._new_ids[length:]
        del self.text[self._ends[-1] if length else 0 :]
        self._open = {}

    def _whole_turns(self, length: int) -> int:
        while length and self.messages[length - 1].role == "tool":
            length -= 1
        return length - 1 if length and self.messages[length - 1].role == "assistant" else length

    def extend(self, messages: Sequence[Message]) -> None:
        for place in range(len(self.messages), len(messages)):
            message = messages[place]
            self._new_ids.append(())
            for item in self._wire_form(message):
                self.text += (b"," if self.text else b"") + _json(item)
            self.messages.append(message)
            self._ends.append(len(self.text))

    def _wire_form(self, message: Message) -> Iterable[dict[str, Any]]:
        if message.role == "assistant":
            return (self._assistant(message),)
        items = [
            {"role": "tool", "tool_call_id": self._answered(result), "content": _filled(result.content)}
            for result in message.tool_results
        ]
        if items and not message.text:
            return items
        return [*items, {"role": "user" if items else message.role, "content": _content(message)}]

    def _assistant(self, message: Message) -> dict[str, Any]:
        # a refusal goes back as words: not every server knows the field, and none takes a message without content (a37)
        words = "".join(part.text for part in message.parts if isinstance(part, (Text, Refusal)))
        calls = message.tool_calls
        if not calls:
            return {"role": "assistant", "content": _filled(words)}
        self._open = {}
        wire_ids = [self._wire_id(call.id, ordinal) for ordinal, call in enumerate(calls, 1)]
        self._new_ids[-1] = tuple(wire_ids)
        wire_calls = [_call(call, wire_id) for call, wire_id in zip(calls, wire_ids, strict=True)]
        return {"role": "assistant", "content": words if words.strip() else None, "tool_calls": wire_calls}

    def _wire_id(self, call_id: str, ordinal: int) -> str:
        wire_id = call_id or "call"
        if wire_id in self._ids:
            # named after its place, so that it is the same in every request of this history
            wire_id = f"{wire_id}_{len(self.messages)}_{ordinal}"
        while wire_id in self._ids:
            wire_id += "_"
        self._ids.add(wire_id)
        self._open.setdefault(call_id, deque()).append(wire_id)
        return wire_id

    def _answered(self, result: ToolResult) -> str:
        waiting = self._open.get(result.tool_call_id)
        # results come in call order, so the first call of that id is the one meant (b9)
        return waiting.popleft() if waiting else result.tool_call_id


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text).encode()


def _filled(text: str) -> str:
    return text if text.strip() else EMPTY


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not any(isinstance(part, Image) for part in message.parts):
        return _filled(message.text)
    blocks: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, Image):
            address = part.url or f"data:{part.media_type};base64,{part.data or ''}"
            blocks.append({"type": "image_url", "image_url": {"url": address}})
        elif isinstance(part, Text) and part.text.strip():
            blocks.append({"type": "text", "text": part.text})
    return blocks


def _call(call: ToolCall, wire_id: str) -> dict[str, Any]:
    name = _UNFIT_FOR_A_NAME.sub("_", call.name)[:64] or "unnamed"
    return {"id": wire_id, "type": "function", "function": {"name": name, "arguments": _arguments(call)}}


def _arguments(call: ToolCall) -> str:
    if call.raw_arguments is None:
        try:
            return json.dumps(dict(call.arguments), ensure_ascii=False, allow_nan=False)
        except ValueError:
            return json.dumps({"invalid_json": json.dumps(dict(call.arguments))})
    # servers parse the text again and refuse the whole history over one bad call
    return json.dumps({"invalid_json": call.raw_arguments}, ensure_ascii=False)


def _tool(definition: ToolDefinition) -> dict[str, Any]:
    function = {
        "name": definition.name,
        "description": definition.description,
        "parameters": definition.parameters,
    }
    return {"type": "function", "function": function}


def _tool_choice(choice: Any) -> Any:
    if isinstance(choice, str) and choice not in ("auto", "none", "required"):
        return {"type": "function", "function": {"name": choice}}
    return choice


__all__ = ["EMPTY", "RequestEncoder"]
