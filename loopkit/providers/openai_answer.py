"""Answers in the words of Chat Completions, streamed or whole, turned into a `ChatResponse`.

Complete calls decide, whatever the finish reason says; both stand in the response (spec/faults.md a18, a19).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from loopkit.errors import ProviderError
from loopkit.messages import ChatResponse, Part, Reasoning, Refusal, StopReason, Text, Usage
from loopkit.providers.assembly import CallAssembler, mend_surrogates
from loopkit.providers.protocol import ArgumentsDelta, Emit, ReasoningDelta, TextDelta

_STOP_REASONS = {
    "stop": StopReason.END_TURN,
    "eos": StopReason.END_TURN,
    "eos_token": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "length": StopReason.MAX_TOKENS,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "content_filter": StopReason.CONTENT_FILTER,
}
_Spoken: TypeAlias = Text | Reasoning | Refusal
_ENDED_EARLY = (StopReason.MAX_TOKENS, StopReason.CONTENT_FILTER)


class ErrorInAnswer(Exception):
    """The server put an error where an answer belongs.

    Args:
        body: the JSON value that holds it.
    """

    def __init__(self, body: object) -> None:
        super().__init__("the answer is an error")
        self.body = body


class AnswerReader:
    """Collects one answer, chunk by chunk or in one piece.

    Args:
        emit: told of each piece of text, reasoning and arguments.
    """

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._words = _Words(emit)
        self._calls = CallAssembler(self._arguments)
        self._usage: Usage | None = None
        self._model: str | None = None
        self._finish: str | None = None
        self._answered = False

    @property
    def finished(self) -> bool:
        """Whether the server has said why the answer ended; nothing but usage may follow."""
        return self._finish is not None

    def take_text(self, data: str) -> None:
        """Take the JSON text of one chunk of a stream.

        Raises:
            ErrorInAnswer: the chunk is an error.
            ProviderError: the text is not a chunk.
        """
        self._take(_object(data), whole=False)

    def take_whole(self, data: str) -> None:
        """Take the JSON text of an answer that was not streamed.

        Raises:
            ErrorInAnswer: it is an error.
            ProviderError: it is no answer.
        """
        self._take(_object(data), whole=True)

    def response(self, request_id: str | None) -> ChatResponse:
        """Return the answer, once the server has said that it is at its end.

        Raises:
            ProviderError: there is none.
        """
        if not self._answered:
            raise ProviderError("the server ended its answer without saying anything", retryable=True)
        words = self._words.finish()
        reason = _STOP_REASONS.get(self._finish, StopReason.UNKNOWN) if self._finish else None
        if reason is StopReason.END_TURN and any(isinstance(part, Refusal) for part in words):
            reason = StopReason.REFUSAL
        calls = self._calls.finish(cut_off=reason in _ENDED_EARLY)
        return ChatResponse(
            parts=(*words, *calls),
            usage=self._usage,
            stop_reason=reason,
            model=self._model,
            request_id=request_id,
            raw_stop_reason=self._finish,
        )

    def _take(self, chunk: Mapping[str, Any], *, whole: bool) -> None:
        if chunk.get("error"):
            raise ErrorInAnswer(chunk)
        if isinstance(chunk.get("model"), str):
            self._model = chunk["model"] or self._model
        self._take_usage(chunk.get("usage"))
        choices = chunk.get("choices")
        # a chunk without choices brings usage or a filter's verdict only (a16)
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                self._take_choice(choice, whole=whole)

    def _take_choice(self, choice: Mapping[str, Any], *, whole: bool) -> None:
        # some servers stream one chunk that holds the whole message
        whole = whole or ("delta" not in choice and not self._answered)
        self._answered = True
        said = choice.get("message" if whole else "delta")
        if isinstance(said, dict):
            self._take_words(said)
            calls = said.get("tool_calls")
            for call in calls if isinstance(calls, list) else ():
                self._take_call(call, whole=whole)
        self._take_usage(choice.get("usage"))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish = reason

    def _take_words(self, said: Mapping[str, Any]) -> None:
        # servers that send both fields say the same in both
        self._words.add(Reasoning, said.get("reasoning_content") or said.get("reasoning"))
        content = said.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                self._words.add(Reasoning, _thinking(block.get("thinking")))
                self._words.add(Text, block.get("text"))
        self._words.add(Text, content)
        self._words.add(Refusal, said.get("refusal"))

    def _take_call(self, call: object, *, whole: bool) -> None:
        if not isinstance(call, dict):
            return
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments = function.get("name"), function.get("arguments")
        if whole:
            self._calls.add_whole(call_id=call.get("id"), name=name, arguments=arguments)
        else:
            self._calls.add(index=call.get("index"), call_id=call.get("id"), name=name, arguments=arguments)

    def _take_usage(self, figures: object) -> None:
        if isinstance(figures, dict) and (usage := _usage(figures)) is not None:
            self._usage = usage

    def _arguments(self, position: int, name: str, text: str) -> None:
        self._emit(ArgumentsDelta(position, name, text))


class _Words:
    """Text, reasoning and refusals in the order in which they came."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._runs: list[tuple[type[_Spoken], list[str]]] = []
        self._half = ""

    def add(self, kind: type[_Spoken], piece: object) -> None:
        if not isinstance(piece, str) or not piece:
            return
        if not self._runs or self._runs[-1][0] is not kind:
            self._say(self._half)
            self._half = ""
            self._runs.append((kind, []))
        piece = mend_surrogates(self._half + piece)
        # JSON escapes write an emoji as two halves, and a server may cut between them (a25)
        self._half = piece[-1] if "\ud800" <= piece[-1] <= "\udbff" else ""
        self._say(piece.removesuffix(self._half))

    def finish(self) -> list[Part]:
        self._say(self._half)
        return [kind("".join(pieces)) for kind, pieces in self._runs]

    def _say(self, piece: str) -> None:
        if piece:
            kind, pieces = self._runs[-1]
            pieces.append(piece)
            self._emit(ReasoningDelta(piece) if kind is Reasoning else TextDelta(piece))


def _object(data: str) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ProviderError(f"the server sent what is no chat completion: {_glimpse(data)}", retryable=True)
    return value


def _glimpse(data: str) -> str:
    line = " ".join(data[:400].split())
    return f"{line[:80]}…" if len(line) > 80 else line or "nothing"


def _thinking(blocks: object) -> str:
    if isinstance(blocks, str):
        return blocks
    texts = [block.get("text") for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    return "".join(text for text in texts if isinstance(text, str))


def _usage(figures: Mapping[str, Any]) -> Usage | None:
    def count(source: object, *names: str) -> int:
        values = [source.get(name) for name in names] if isinstance(source, dict) else []
        return next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), 0)

    if not any(isinstance(figures.get(name), int) for name in ("prompt_tokens", "completion_tokens")):
        return None
    cached = count(figures.get("prompt_tokens_details"), "cached_tokens")
    return Usage(
        input_tokens=count(figures, "prompt_tokens"),
        output_tokens=count(figures, "completion_tokens"),
        cache_read_tokens=cached or count(figures, "prompt_cache_hit_tokens", "cached_tokens"),
        reasoning_tokens=count(figures.get("completion_tokens_details"), "reasoning_tokens"),
    )


__all__ = ["AnswerReader", "ErrorInAnswer"]
