"""A model that says what it is told to: the fake that tests, demos and stories run on (DESIGN §7).

A script is a list of answers, or one function of the request. An answer is a text, a `ToolCall`, a list of texts and
calls (or other parts), a `ChatResponse`, a `BreaksOff`, an exception (instance or class, raised), or a function of the request, sync or
async, that returns any of these.
"""

from __future__ import annotations

import inspect
import itertools
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias, TypeGuard, cast

from loopkit.errors import AgentBuildError, ProviderError
from loopkit.messages import ChatResponse, Message, Part, Reasoning, Refusal, Text, ToolCall, ToolResult, Usage
from loopkit.providers.protocol import ChatRequest, Emit, deltas_of


@dataclass(frozen=True)
class BreaksOff:
    """An answer whose stream breaks.

    Args:
        answer: what would have come.
        error: what is raised in its place.
        after: pieces that still arrive.
    """

    answer: str | Part | Sequence[str | Part] | ChatResponse
    error: BaseException | type[BaseException]
    after: int = 1


Answer: TypeAlias = str | Part | Sequence[str | Part] | ChatResponse | BreaksOff | BaseException | type[BaseException]
Answering: TypeAlias = Callable[[ChatRequest], "Answer | Awaitable[Answer]"]
Script: TypeAlias = Iterable[Answer | Answering] | Answering


class ScriptedProvider:
    """Answers from a script; one object may serve several agents, threads and event loops at once.

    Args:
        script: the answers in order, or one function that answers every request. An endless iterator is fine.
        model: the name that it goes by.
        chunk: characters of a streamed piece; None streams each part of an answer in one piece.
        delay: seconds before each piece.
        usage: tokens of every answer that brings none: a `Usage`, `"count"` for a made-up but repeatable count of one
            token per four characters, or None for no figures.

    Raises:
        AgentBuildError: the script holds something that is no answer.
    """

    def __init__(
        self,
        script: Script,
        *,
        model: str = "scripted",
        chunk: int | None = None,
        delay: float = 0.0,
        usage: Usage | Literal["count"] | None = None,
    ) -> None:
        if chunk is not None and chunk < 1:
            raise AgentBuildError(f"chunk counts characters of a piece, so it is at least 1, not {chunk}")
        self.model: str | None = model
        self.requests: list[ChatRequest] = []
        self._answers = _answers_of(script)
        self._given = 0
        self._chunk = chunk
        self._delay = delay
        self._usage = usage
        self._counter = _TokenCounter()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"ScriptedProvider(model={self.model!r}, asked {len(self.requests)} times)"

    def asking(self, model: str) -> Self:
        """Return what gives the same script's answers under another model's name."""
        other = copy(self)
        other.model = model
        return other

    async def respond(self, request: ChatRequest, emit: Emit) -> ChatResponse:
        """Give the script's next answer.

        Raises:
            ProviderError: the script has come to its end.
        """
        from anyio.lowlevel import checkpoint  # noqa: PLC0415 - `import loopkit` loads no event loop

        with self._lock:
            self.requests.append(request)
            answer = next(self._answers, _END)
            asked = len(self.requests)
            self._given += answer is not _END
        # a model is never instant: without this, nothing could interrupt a run or run beside it
        await checkpoint()
        if answer is _END:
            raise ProviderError(
                f"the script is at its end: it has {self._given} answers and this is request {asked}; add an answer"
            )
        spoken = await _spoken(answer, request)
        if isinstance(spoken, BreaksOff):
            whole = _as_response(spoken.answer)
            await self._stream(whole, emit, spoken.after)
            raise spoken.error
        await self._stream(spoken, emit)
        return self._with_usage(request, spoken)

    async def _stream(self, response: ChatResponse, emit: Emit, at_most: int | None = None) -> None:
        from anyio import sleep  # noqa: PLC0415 - `import loopkit` loads no event loop

        for number, piece in enumerate(deltas_of(response.parts, self._chunk)):
            if number == at_most:
                return
            if self._delay:
                await sleep(self._delay)
            emit(piece)

    def _with_usage(self, request: ChatRequest, response: ChatResponse) -> ChatResponse:
        if response.usage is not None or self._usage is None:
            return response
        if isinstance(self._usage, Usage):
            return replace(response, usage=self._usage)
        with self._lock:
            return replace(response, usage=self._counter.count(request.messages, response.message))


_END: Any = object()


def _answers_of(script: Script) -> Iterator[Answer | Answering]:
    if _is_function(script):
        return itertools.repeat(script)
    if isinstance(script, (str, Mapping)) or not isinstance(script, Iterable):
        raise AgentBuildError(
            f"a script is a list of answers or a function, not {_described(script)}; put it in a list"
        )
    if isinstance(script, Sequence):
        for place, answer in enumerate(script, 1):
            if not (_is_answer(answer) or _is_function(answer)):
                raise AgentBuildError(f"answer {place} of the script is {_described(answer)}; {_ANSWERS}")
    return iter(script)


_ANSWERS = "an answer is a text, ToolCall(s), a ChatResponse, an exception, or a function that returns one of these"


def _is_answer(value: object) -> bool:
    if isinstance(value, type):
        return issubclass(value, BaseException)
    if isinstance(value, (list, tuple)):
        return all(isinstance(item, (str, Part)) for item in value)
    return isinstance(value, (str, Part, ChatResponse, BreaksOff, BaseException))


def _is_function(value: object) -> TypeGuard[Answering]:
    return callable(value) and not isinstance(value, type)


def _described(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"


async def _spoken(answer: Answer | Answering, request: ChatRequest) -> ChatResponse | BreaksOff:
    given: object = answer
    if _is_function(answer):
        given = answer(request)
        if inspect.isawaitable(given):
            given = await given
    if not _is_answer(given):
        raise ProviderError(f"the script answered with something {_described(given)}; {_ANSWERS}")
    if isinstance(given, BaseException) or (isinstance(given, type) and issubclass(given, BaseException)):
        raise given
    return given if isinstance(given, BreaksOff) else _as_response(cast("Answer", given))


def _as_response(answer: Answer) -> ChatResponse:
    if isinstance(answer, ChatResponse):
        return answer
    items = [answer] if isinstance(answer, (str, Part)) else cast("Sequence[str | Part]", answer)
    return ChatResponse(parts=[Text(item) if isinstance(item, str) else item for item in items if item != ""])


class _TokenCounter:
    """Counts a growing history without walking over what it counted before."""

    def __init__(self) -> None:
        self._length = 0
        self._last: Message | None = None
        self._characters = 0

    def count(self, messages: Sequence[Message], answer: Message) -> Usage:
        grown = 0 < self._length <= len(messages) and messages[self._length - 1] is self._last
        known, start = (self._characters, self._length) if grown else (0, 0)
        self._characters = known + sum(_characters(messages[place]) for place in range(start, len(messages)))
        self._length = len(messages)
        self._last = messages[-1] if messages else None
        return Usage(input_tokens=-(-self._characters // 4), output_tokens=-(-_characters(answer) // 4))


def _characters(message: Message) -> int:
    total = 0
    for part in message.parts:
        if isinstance(part, ToolCall):
            total += len(part.name) + len(part.raw_arguments or str(dict(part.arguments)))
        elif isinstance(part, ToolResult):
            total += len(part.content)
        elif isinstance(part, (Text, Reasoning, Refusal)):
            total += len(part.text)
    return total


__all__ = ["Answer", "Answering", "BreaksOff", "Script", "ScriptedProvider"]
