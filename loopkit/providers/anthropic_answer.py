"""Answers in the words of Anthropic's Messages, streamed or whole.

Blocks stay in their order, thinking with its signature byte for byte (spec/faults.md a29).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from loopkit.messages import Part, Reasoning, Refusal, StopReason, Text, Usage
from loopkit.providers.answer import AnswerReader, ErrorInAnswer, Run, count, reports
from loopkit.providers.protocol import Emit

_STOP_REASONS = {
    "end_turn": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_CALLS,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.MAX_TOKENS,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "refusal": StopReason.REFUSAL,
}
_ENDED_EARLY = (StopReason.MAX_TOKENS, StopReason.REFUSAL)
_WORD_BLOCKS = {"text": (Text, "text"), "thinking": (Reasoning, "thinking")}
_INPUT_FIGURES = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@dataclass(slots=True)
class _Block:
    """One block of the answer: words, thinking that can't be read, or a call that the assembler has."""

    index: object
    words: Run | None = None
    signature: str | None = None
    encrypted: str | None = None
    given: object = None

    @property
    def is_call(self) -> bool:
        return self.words is None and self.encrypted is None

    def part(self) -> Part | None:
        if self.words is None:
            return Reasoning(encrypted=self.encrypted)
        self.words.close()
        text = self.words.text
        if self.words.kind is Reasoning:
            return Reasoning(text, signature=self.signature) if text or self.signature else None
        return Text(text) if text else None


class AnthropicReader(AnswerReader):
    """Collects one message."""

    kind = "message"

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit)
        self._blocks: list[_Block] = []
        self._figures: dict[str, Any] = {}
        self._explanation = ""
        self._stopped = False

    @property
    def complete(self) -> bool:
        return self._stopped

    def take_piece(self, piece: Mapping[str, Any]) -> None:
        kind = piece.get("type")
        if kind == "error":
            raise ErrorInAnswer(piece)
        if kind == "message_start":
            self._take_message(_inner(piece, "message"))
        elif kind == "content_block_start":
            self._start(piece.get("index"), _inner(piece, "content_block"))
        elif kind == "content_block_delta":
            self._take_delta(piece.get("index"), _inner(piece, "delta"))
        elif kind == "content_block_stop":
            self._settle()
        elif kind == "message_delta":
            self._take_end({"usage": piece.get("usage"), **_inner(piece, "delta")})
        elif kind == "message_stop":
            self._stopped = self._answered = True

    def take_answer(self, answer: Mapping[str, Any]) -> None:
        self._take_message(answer)
        self._take_end(answer)

    def parts(self) -> Iterable[Part]:
        self._settle()
        cut_off = self._reason() in _ENDED_EARLY and bool(self._blocks) and self._blocks[-1].is_call
        calls = iter(self._calls.finish(cut_off=cut_off))
        parts = [next(calls) if block.is_call else block.part() for block in self._blocks]
        explanation = (Refusal(self._explanation),) if self._explanation else ()
        return (*(part for part in parts if part is not None), *explanation)

    def stop_reason(self, parts: Iterable[Part]) -> StopReason | None:
        return self._reason()

    def _reason(self) -> StopReason | None:
        return _STOP_REASONS.get(self._finish, StopReason.UNKNOWN) if self._finish else None

    def _take_message(self, message: Mapping[str, Any]) -> None:
        self._name_model(message)
        self._take_figures(message.get("usage"))
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            if isinstance(block, dict):
                self._start(index, block)
                self._settle()

    def _take_end(self, end: Mapping[str, Any]) -> None:
        self._take_figures(end.get("usage"))
        reason = end.get("stop_reason")
        if isinstance(reason, str) and reason:
            self._finish, self._answered = reason, True
            explanation = _inner(end, "stop_details").get("explanation")
            self._explanation = explanation if isinstance(explanation, str) else ""

    def _start(self, index: object, block: Mapping[str, Any]) -> None:
        self._settle()
        kind = block.get("type")
        if kind in _WORD_BLOCKS:
            said, text_field = _WORD_BLOCKS[kind]
            run = Run(said, self._emit)
            run.add(block.get(text_field))
            signature = block.get("signature")
            self._blocks.append(_Block(index, run, signature if isinstance(signature, str) and signature else None))
        elif kind == "redacted_thinking" and isinstance(block.get("data"), str):
            self._blocks.append(_Block(index, encrypted=block["data"]))
        elif kind == "tool_use":
            known = len(self._calls)
            self._calls.add(index=index, call_id=block.get("id"), name=block.get("name"))
            if len(self._calls) > known:
                self._blocks.append(_Block(index, given=block.get("input") or None))

    def _take_delta(self, index: object, delta: Mapping[str, Any]) -> None:
        block = next((each for each in reversed(self._blocks) if each.index == index), None)
        if block is None:
            return
        if block.is_call:
            if delta.get("partial_json"):
                block.given = None
                self._calls.add(index=index, arguments=delta["partial_json"])
        elif block.words is not None:
            block.words.add(delta.get("thinking" if block.words.kind is Reasoning else "text"))
            signature = delta.get("signature")
            if isinstance(signature, str) and signature:
                block.signature = signature

    def _settle(self) -> None:
        """Take the arguments that a call began with and that no piece replaced."""
        if self._blocks and self._blocks[-1].given is not None:
            given, self._blocks[-1].given = self._blocks[-1].given, None
            self._calls.add(index=self._blocks[-1].index, arguments=given)

    def _take_figures(self, figures: object) -> None:
        if not isinstance(figures, dict):
            return
        # later figures are totals; what they leave out still holds
        self._figures |= {name: value for name, value in figures.items() if value is not None}
        if reports(self._figures, *_INPUT_FIGURES, "output_tokens"):
            read, written = (count(self._figures, name) for name in _INPUT_FIGURES[1:])
            self._usage = Usage(
                # here the cached ones are counted apart
                input_tokens=count(self._figures, "input_tokens") + read + written,
                output_tokens=count(self._figures, "output_tokens"),
                cache_read_tokens=read,
                cache_write_tokens=written,
                reasoning_tokens=count(self._figures.get("output_tokens_details"), "thinking_tokens"),
            )


def _inner(source: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = source.get(name)
    return value if isinstance(value, dict) else {}


__all__ = ["AnthropicReader"]
