"""Answers in the words of Ollama's own chat, streamed or whole; calls come whole and often without ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from loopkit.messages import Part, Reasoning, StopReason, Text, Usage
from loopkit.providers.answer import AnswerReader, Words, count, objects, reports
from loopkit.providers.protocol import Emit


class OllamaReader(AnswerReader):
    """Collects one chat answer."""

    kind = "chat answer"

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit)
        self._words = Words(emit)
        self._ends_in_call = False

    @property
    def finished(self) -> bool:
        return self._answered

    @property
    def complete(self) -> bool:
        return self._answered

    def take_piece(self, piece: Mapping[str, Any]) -> None:
        self._name_model(piece)
        message = piece.get("message")
        if isinstance(message, dict):
            self._take_message(message)
        if piece.get("done") is True:
            self._answered = True
            reason = piece.get("done_reason")
            self._finish = reason if isinstance(reason, str) and reason else None
            if reports(piece, "prompt_eval_count", "eval_count"):
                self._usage = Usage(count(piece, "prompt_eval_count"), count(piece, "eval_count"))

    def take_answer(self, answer: Mapping[str, Any]) -> None:
        self.take_piece(answer)

    def parts(self) -> Iterable[Part]:
        cut_off = self._finish == "length" and self._ends_in_call
        return (*self._words.finish(), *self._calls.finish(cut_off=cut_off))

    def stop_reason(self, parts: Iterable[Part]) -> StopReason | None:
        if self._finish in (None, "stop"):
            return None
        return StopReason.MAX_TOKENS if self._finish == "length" else StopReason.UNKNOWN

    def _take_message(self, message: Mapping[str, Any]) -> None:
        self._words.add(Reasoning, message.get("thinking"))
        self._words.add(Text, message.get("content"))
        if message.get("thinking") or message.get("content"):
            self._ends_in_call = False
        for call in objects(message.get("tool_calls")):
            function = call.get("function")
            function = function if isinstance(function, dict) else {}
            self._calls.add_whole(
                call_id=call.get("id"), name=function.get("name"), arguments=function.get("arguments")
            )
            self._ends_in_call = True


__all__ = ["OllamaReader"]
