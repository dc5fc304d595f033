"""Requests as JSON, whatever the dialect: each message is encoded once, a history is only ever extended.

What is sent is made valid at send time; the recorded history stays as it is (spec/faults.md b14, d16).
"""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from operator import indexOf, is_
from typing import Any, ClassVar, NamedTuple, Self

from loopkit.errors import ProviderError
from loopkit.messages import Message, Part, Text, ToolCall, ToolDefinition, ToolResult
from loopkit.providers.protocol import ChatRequest
from loopkit.providers.wire_parts import has_words, to_json, told

_HISTORIES = 16
_LONGEST_CUT = 32
_HISTORY_BYTES = 64 * 1024 * 1024
_TOOL_SETTINGS = ("tool_choice", "parallel_tool_calls")


class _Written(NamedTuple):
    """What stands after a message was written: the text's length, the message's call ids, items so far, open role."""

    end: int
    ids: tuple[str, ...]
    items: int
    role: str


_NOTHING_WRITTEN = _Written(0, (), 0, "")


class History(ABC):
    """The messages of one history and their JSON text; a dialect says how a message is written."""

    unfit_in_a_name: ClassVar[re.Pattern[str]] = re.compile(r"[^A-Za-z0-9_-]")
    longest_name: ClassVar[int] = 64

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.text = bytearray()
        self._written: list[_Written] = []
        self._items = 0
        self._role = ""
        self._new_ids: tuple[str, ...] = ()
        self._ids: set[str] = set()
        self._open: dict[str, deque[tuple[str, str]]] = {}
        self._pictures_follow = False

    @abstractmethod
    def write(self, message: Message) -> None:
        """Add one message to the text."""

    @property
    def closing(self) -> bytes:
        """What is sent after the text, and written again when the text has grown."""
        return b""

    def fit_id(self, call_id: str) -> str:
        """Return a provider's id of a call as this dialect takes it."""
        return call_id

    def shared_with(self, messages: Sequence[Message]) -> int:
        """Return how many messages at the beginning are the very same objects."""
        try:
            return indexOf(map(is_, self.messages, messages), False)
        except ValueError:
            return min(len(self.messages), len(messages))

    def copy(self, length: int) -> Self:
        """Return a history of its own that begins with the first `length` messages, whole turns only."""
        length = self._whole_turns(length)
        twin = type(self)()
        twin.messages = self.messages[:length]
        twin._written = self._written[:length]
        twin._ids = {call_id for written in twin._written for call_id in written.ids}
        twin.text = self.text[: twin._stand().end]
        twin._pictures_follow = self._pictures_follow
        return twin

    def cut(self, length: int) -> None:
        """Drop what stands after the first `length` messages, and the turn that the cut falls into."""
        length = self._whole_turns(length)
        for written in self._written[length:]:
            self._ids.difference_update(written.ids)
        del self.messages[length:], self._written[length:]
        del self.text[self._stand().end :]
        self._open = {}

    def _stand(self) -> _Written:
        stand = self._written[-1] if self._written else _NOTHING_WRITTEN
        self._items, self._role = stand.items, stand.role
        return stand

    def _whole_turns(self, length: int) -> int:
        while length and self.messages[length - 1].role == "tool":
            length -= 1
        return length - 1 if length and self.messages[length - 1].role == "assistant" else length

    def extend(self, messages: Sequence[Message]) -> None:
        for place in range(len(self.messages), len(messages)):
            self._new_ids = ()
            self.write(messages[place])
            self.messages.append(messages[place])
            self._written.append(_Written(len(self.text), self._new_ids, self._items, self._role))

    def entries_at(self, item: int) -> list[int]:
        """Return the places of the messages that stand in one item of the text, both counted from 0."""
        found, before = [], 0
        for place, written in enumerate(self._written):
            # a message that was joined to the item before it opened none of its own
            if min(before, written.items - 1) <= item < written.items:
                found.append(place)
            before = written.items
        return found

    def _name_calls(self, calls: Sequence[ToolCall]) -> list[str]:
        """Return the ids that the calls of one response go by on the wire, unique in this history (b8, b9)."""
        self._open = {}
        wire_ids = [self._wire_id(call, ordinal) for ordinal, call in enumerate(calls, 1)]
        self._new_ids += tuple(wire_ids)
        return wire_ids

    def _wire_id(self, call: ToolCall, ordinal: int) -> str:
        wire_id = self.fit_id(call.id) or "call"
        if wire_id in self._ids:
            # named after its place, so that it is the same in every request of this history
            wire_id = f"{wire_id}_{len(self.messages)}_{ordinal}"
        while wire_id in self._ids:
            wire_id += "_"
        self._ids.add(wire_id)
        self._open.setdefault(call.id, deque()).append((wire_id, call.name))
        return wire_id

    def _answered(self, result: ToolResult) -> tuple[str, str]:
        """Return the wire id and the name of the call that a result is for."""
        waiting = self._open.get(result.tool_call_id)
        # results come in call order, so the first call of that id is the one meant (b9)
        return waiting.popleft() if waiting else (self.fit_id(result.tool_call_id), "")

    def _fit_name(self, name: str) -> str:
        return self.unfit_in_a_name.sub("_", name)[: self.longest_name] or "unnamed"


class ItemHistory(History):
    """A history whose messages each stand in items of their own.

    Where a result can hold nothing but text, its pictures follow in a user's message behind the last result of the
    turn: nothing may stand between the results. A request that ends with them has that message behind the text, so that
    more results can still be written.
    """

    fetches_pictures: ClassVar[bool] = True

    @abstractmethod
    def answer_items(self, message: Message) -> Iterable[Mapping[str, Any]]:
        """Yield the items of an assistant's message."""

    @abstractmethod
    def result_item(self, result: ToolResult) -> Mapping[str, Any]:
        """Return the item of one result."""

    @abstractmethod
    def content(self, message: Message) -> Mapping[str, Any]:
        """Return what stands beside the role of a system's or user's message."""

    @property
    def closing(self) -> bytes:
        item = self._pictures_of_the_turn()
        return b"" if item is None else (b"," if self.text else b"") + to_json(item)

    def words_beside_pictures(self, result: ToolResult) -> str:
        """Return the text of a result whose pictures follow, and take note of these."""
        text, pictures = told(result, addresses=self.fetches_pictures)
        if not pictures:
            return text
        self._pictures_follow = True
        note = f"({len(pictures)} picture{'s' if len(pictures) > 1 else ''}, shown after the results)"
        return f"{text}\n{note}" if text.strip() else note

    def _pictures_of_the_turn(self) -> Mapping[str, Any] | None:
        """Return the user's message with the pictures of the results that the history ends with so far."""
        turn: list[ToolResult] = []
        if not self._pictures_follow:
            return None
        for message in reversed(self.messages):
            if not message.tool_results:
                break
            turn[:0] = message.tool_results
        parts: list[Part] = []
        for number, result in enumerate(turn, 1):
            _, pictures = told(result, addresses=self.fetches_pictures)
            if pictures:
                parts += [Text(f"From result {number} of the {len(turn)} above:\n"), *pictures]
        return {"role": "user", **self.content(Message("user", tuple(parts)))} if parts else None

    def write(self, message: Message) -> None:
        if not message.tool_results and (pictures := self._pictures_of_the_turn()) is not None:
            self._add_item(pictures)
        if message.role == "assistant":
            for item in self.answer_items(message):
                self._add_item(item)
            return
        for result in message.tool_results:
            self._add_item(self.result_item(result))
        if has_words(message):
            self._add_item({"role": "user" if message.tool_results else message.role, **self.content(message)})

    def _add_item(self, item: Mapping[str, Any]) -> None:
        self.text += (b"," if self.text else b"") + to_json(item)
        self._items += 1


class RequestEncoder(ABC):
    """Turns requests of one model into bodies; safe to share between threads.

    The texts of recent histories are kept. A history that grew since the last request is found by the identity of its
    messages and costs only its new ones; one that was edited or masked costs what stands after the change.
    """

    history_type: ClassVar[type[History]]
    history_field: ClassVar[str] = "messages"
    own_fields: ClassVar[tuple[str, ...]] = ("model", "messages", "tools")

    def __init__(self, model: str) -> None:
        self.model = model
        self._histories: list[History] = []
        self._tools: tuple[tuple[ToolDefinition, ...], bytes] = ((), b"")
        self._lock = threading.Lock()

    @abstractmethod
    def fields(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the request's other fields; those of None are left out.

        Args:
            settings: the request's, those for tools only when it has any.
        """

    @abstractmethod
    def tool(self, definition: ToolDefinition) -> dict[str, Any]:
        """Return a tool's definition in this dialect."""

    def preamble(self, messages: Sequence[Message]) -> bytes:
        """Return JSON fields, a comma first, that the dialect keeps apart from the history."""
        return b""

    def body(self, request: ChatRequest) -> bytes:
        """Return the JSON body of a streamed request.

        Raises:
            ProviderError: a setting, or something in a message, can't be sent.
        """
        head = self._head(request)
        with self._lock:
            head += self.preamble(request.messages)
            if request.tools:
                head += b',"tools":' + self._encoded_tools(request.tools)
            history = self._history_of(request.messages)
            return b"".join((head, b',"', self.history_field.encode(), b'":[', history.text, history.closing, b"]}"))

    def entries_at(self, messages: Sequence[Message], item: int) -> list[int]:
        """Return the places of the messages that the body's item holds, both counted from 0; for error messages."""
        history = self.history_type()
        history.extend(messages)
        return history.entries_at(item)

    def _head(self, request: ChatRequest) -> bytes:
        for name in request.settings:
            if name in self.own_fields:
                raise ProviderError(f"the setting {name!r} can't be given: loopkit writes that field itself")
        settings = {
            name: value for name, value in request.settings.items() if request.tools or name not in _TOOL_SETTINGS
        }
        fields = {"model": self.model, "stream": True, **self.fields(settings)}
        try:
            return to_json({name: value for name, value in fields.items() if value is not None})[:-1]
        except (TypeError, ValueError) as error:
            raise ProviderError(f"the settings of the request can't be written as JSON: {error}") from None

    def _encoded_tools(self, tools: tuple[ToolDefinition, ...]) -> bytes:
        if self._tools[0] != tools:
            self._tools = (tools, to_json([self.tool(definition) for definition in tools]))
        return self._tools[1]

    def _history_of(self, messages: Sequence[Message]) -> History:
        best, shared = None, 0
        for history in self._histories:
            length = history.shared_with(messages)
            if length > shared:
                best, shared = history, length
        if best is None:
            best = self.history_type()
        elif (dropped := len(best.messages) - shared) > min(_LONGEST_CUT, shared - 1):
            # rather another agent's history with the same beginning than this one edited
            best = best.copy(shared)
        else:
            self._histories.remove(best)
            if dropped:
                best.cut(shared)
        best.extend(messages)
        self._histories.insert(0, best)
        self._forget()
        return best

    def _forget(self) -> None:
        del self._histories[_HISTORIES:]
        while len(self._histories) > 1 and sum(len(each.text) for each in self._histories) > _HISTORY_BYTES:
            self._histories.pop()


__all__ = ["History", "ItemHistory", "RequestEncoder"]
