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


def needs_pairing(messages: Iterable[Message]) -> bool:
    """Say whether messages hold halves of pairs, so that a history can't just grow by them."""
    return any(message.role == "tool" or message.tool_calls for message in messages)


def sendable_of(history: History) -> History:
    """Return what requests carry of a history: the same object if it is valid as it is."""
    sendable = with_every_call_answered(history)
    same = len(sendable) == len(history) and all(one is other for one, other in zip(sendable, history, strict=True))
    return history if same else History(sendable)


def with_every_call_answered(messages: Sequence[Message]) -> list[Message]:
    """Return a history in which each call has one result, and each result its call (spec/loop.md 3, last part).

    A call without a result gets a synthetic error result in its place; a result whose call is not there, as after a cut
    (spec/faults.md b12), is left out. A result belongs to the message before it: ids repeat from turn to turn (b8).
    """
    valid: list[Message] = []
    calls: Sequence[ToolCall] = ()
    results: list[Message] = []
    for message in messages:
        if message.role == "tool":
            results.append(message)
            continue
        valid.extend(_answers(calls, results))
        valid.append(message)
        calls, results = message.tool_calls, []
    valid.extend(_answers(calls, results))
    return valid


def _answers(calls: Sequence[ToolCall], results: Sequence[Message]) -> list[Message]:
    waiting = dict(enumerate(calls))
    answers: dict[int, Message] = {}
    for message in results:
        found = [_answered_by(waiting, result.tool_call_id) for result in message.tool_results]
        places = [place for place in found if place is not None]
        answers |= dict.fromkeys(places[:1], message)
    if not waiting:
        return list(answers.values())
    answers |= {
        place: Message.tool(ToolResult(call.id, INTERRUPTED_CALL, is_error=True)) for place, call in waiting.items()
    }
    return [answers[place] for place in sorted(answers)]


def _answered_by(waiting: dict[int, ToolCall], call_id: str) -> int | None:
    place = next((place for place, call in waiting.items() if call.id == call_id), None)
    if place is not None:
        del waiting[place]
    return place


def extend_fingerprint(fingerprint: str, value: object) -> str:
    """Return the hash chain's next link; equal chains mean equal values in the same order."""
    return _next_link(fingerprint, _CANONICAL.plain(value))


def extend_by_message(fingerprint: str, message: Message) -> str:
    """Return the hash chain's next link for one appended message."""
    return _next_link(fingerprint, _CANONICAL.objects[Message](message))


_CANONICAL = JSONWriter(ensure_ascii=True, sort_keys=True, allow_nan=True, default=str)


def _next_link(fingerprint: str, text: str) -> str:
    return blake2b(f"{fingerprint}{text}".encode(), digest_size=8).hexdigest()
