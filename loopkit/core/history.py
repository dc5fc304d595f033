"""Histories that grow at the end only, share what they have in common, and are valid when sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import overload

from loopkit.json_text import JSONWriter
from loopkit.messages import Message, ToolCall, ToolResult

INTERRUPTED_CALL = "This call was interrupted; it is unknown whether it took effect."


class History(Sequence[Message]):
    """An immutable sequence of messages; appending costs the same however long it is.

    Successors share one list as long as only the newest of them is appended to.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._items = list(messages)
        self._length = len(self._items)

    def append(self, *messages: Message) -> History:
        """Return a history with more messages; this one stays as it is."""
        items = self._items if len(self._items) == self._length else self._items[: self._length]
        items.extend(messages)
        grown = History.__new__(History)
        grown._items = items
        grown._length = self._length + len(messages)
        return grown

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self._items[place] for place in range(*index.indices(self._length))]
        place = index + self._length if index < 0 else index
        if not 0 <= place < self._length:
            raise IndexError(f"message {index} of {self._length}")
        return self._items[place]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Message]:
        items = self._items
        return (items[place] for place in range(self._length))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History):
            return NotImplemented
        return self._length == other._length and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # equal by content, which is not hashable

    def __repr__(self) -> str:
        return f"History({self._length} messages)"


class HistoryWithTail(Sequence[Message]):
    """A history and what does not stand in it yet, as one read-only sequence."""

    __slots__ = ("_head", "_tail")

    def __init__(self, head: History, tail: tuple[Message, ...]) -> None:
        self._head = head
        self._tail = tail

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"message {index} of {len(self)}")
        return self._head[place] if place < len(self._head) else self._tail[place - len(self._head)]

    def __len__(self) -> int:
        return len(self._head) + len(self._tail)


class HistoryInTwo(Sequence[Message]):
    """A history whose older part is shown otherwise, place by place; costs the same however long it is.

    Args:
        older: shown in place of the first messages.
        whole: the history itself.
    """

    __slots__ = ("_older", "_whole")

    def __init__(self, older: History, whole: History) -> None:
        self._older = older
        self._whole = whole

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        return self._older[place] if 0 <= place < len(self._older) else self._whole[place]

    def __len__(self) -> int:
        return len(self._whole)


def with_every_call_answered(messages: Sequence[Message]) -> list[Message]:
    """Return a history in which each call without a result has a synthetic error result (spec/loop.md 3, last part).

    A result is looked for only before the next message that is none: ids repeat from turn to turn (spec/faults.md b8).
    """
    valid: list[Message] = []
    open_calls: list[ToolCall] = []
    for message in messages:
        if message.role == "tool":
            for result in message.tool_results:
                _answer(open_calls, result.tool_call_id)
        else:
            valid.extend(_synthetic(open_calls))
            open_calls = list(message.tool_calls)
        valid.append(message)
    valid.extend(_synthetic(open_calls))
    return valid


def _answer(open_calls: list[ToolCall], call_id: str) -> None:
    for place, call in enumerate(open_calls):
        if call.id == call_id:
            del open_calls[place]
            return


def _synthetic(open_calls: Iterable[ToolCall]) -> list[Message]:
    return [Message.tool(ToolResult(call.id, INTERRUPTED_CALL, is_error=True)) for call in open_calls]


def extend_fingerprint(fingerprint: str, value: object) -> str:
    """Return the hash chain's next link; equal chains mean equal values in the same order."""
    return _next_link(fingerprint, _CANONICAL.plain(value))


def extend_by_message(fingerprint: str, message: Message) -> str:
    """Return the hash chain's next link for one appended message."""
    return _next_link(fingerprint, _CANONICAL.objects[Message](message))


_CANONICAL = JSONWriter(ensure_ascii=True, sort_keys=True, allow_nan=True, default=str)


def _next_link(fingerprint: str, text: str) -> str:
    return blake2b(f"{fingerprint}{text}".encode(), digest_size=8).hexdigest()
