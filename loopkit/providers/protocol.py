"""What a driver asks of a model provider, and what a provider tells while it answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from loopkit.messages import ChatResponse, JSONObject, Message, Part, Reasoning, Refusal, Text, ToolCall, ToolDefinition
from loopkit.quick_init import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to a model.

    Args:
        messages: a valid history, every call answered; a read-only view that stays as it is.
        tools: definitions the model may use.
        settings: what the provider's own request takes (temperature, max_tokens, tool_choice …).
    """

    messages: Sequence[Message]
    tools: tuple[ToolDefinition, ...] = ()
    settings: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the model's thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    """More of a call's argument text.

    Args:
        position: the call's place in the response, from 1.
        name: the tool's name as far as it is known.
    """

    position: int
    name: str
    text: str


Delta: TypeAlias = TextDelta | ReasoningDelta | ArgumentsDelta
Emit: TypeAlias = Callable[[Delta], None]


def deltas_of(parts: Iterable[Part], size: int | None = None) -> Iterator[Delta]:
    """Yield the pieces in which content would have been streamed.

    Args:
        size: characters of a piece, or None for one piece per part.
    """
    position = 0
    for part in parts:
        if isinstance(part, ToolCall):
            position += 1
            text = json.dumps(part.arguments, ensure_ascii=False) if part.raw_arguments is None else part.raw_arguments
            yield from (ArgumentsDelta(position, part.name, piece) for piece in _cut(text, size))
        elif isinstance(part, Reasoning):
            yield from (ReasoningDelta(piece) for piece in _cut(part.text, size))
        elif isinstance(part, (Text, Refusal)):
            yield from (TextDelta(piece) for piece in _cut(part.text, size))


def _cut(text: str, size: int | None) -> Iterator[str]:
    step = size or max(len(text), 1)
    return (text[start : start + step] for start in range(0, len(text), step))


@runtime_checkable
class Provider(Protocol):
    """A model behind some wire.

    Attributes:
        model: the model's name, or None when there is none to name.
    """

    model: str | None

    async def respond(self, request: ChatRequest, emit: Emit) -> ChatResponse:
        """Answer one request.

        Args:
            emit: called synchronously with each piece as it arrives.

        Raises:
            ProviderError: the provider refused, failed, or answered what can't be understood.
        """
        ...
