"""Answers in the words of Chat Completions, streamed or whole.

Complete calls decide, whatever the finish reason says; both stand in the response (spec/faults.md a18, a19).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from loopkit.messages import Part, Reasoning, Refusal, StopReason, Text, Usage
from loopkit.providers.answer import AnswerReader, Words, count, has_refusal, objects, reports
from loopkit.providers.protocol import Emit

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
_ENDED_EARLY = (StopReason.MAX_TOKENS, StopReason.CONTENT_FILTER)


class ChatReader(AnswerReader):
    """Collects one chat completion."""

    kind = "chat completion"

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit)
        self._words = Words(emit)
        self._listed = False

    def take_piece(self, piece: Mapping[str, Any]) -> None:
        self._take(piece, whole=False)

    def take_answer(self, answer: Mapping[str, Any]) -> None:
        self._take(answer, whole=True)

    def parts(self) -> Iterable[Part]:
        return (*self._words.finish(), *self._calls.finish(cut_off=self._reason() in _ENDED_EARLY))

    def stop_reason(self, parts: Iterable[Part]) -> StopReason | None:
        reason = self._reason()
        return StopReason.REFUSAL if reason is StopReason.END_TURN and has_refusal(parts) else reason

    def _reason(self) -> StopReason | None:
        return _STOP_REASONS.get(self._finish, StopReason.UNKNOWN) if self._finish else None

    def _take(self, chunk: Mapping[str, Any], *, whole: bool) -> None:
        self._name_model(chunk)
        self._take_usage(chunk.get("usage"))
        # a chunk without choices brings usage or a filter's verdict only (a16)
        for choice in objects(chunk.get("choices")):
            if not choice.get("index"):
                self._take_choice(choice, whole=whole)

    def _take_choice(self, choice: Mapping[str, Any], *, whole: bool) -> None:
        # some servers stream one chunk that holds the whole message
        whole = whole or ("delta" not in choice and not self._answered)
        self._answered = True
        said = choice.get("message" if whole else "delta")
        if isinstance(said, dict):
            self._take_words(said)
            for call in objects(said.get("tool_calls")):
                self._listed = True
                self._take_call(call, whole=whole)
            # what calls were before there could be several; some servers send the first call in both ways
            if isinstance(said.get("function_call"), dict) and not self._listed:
                self._take_call({"index": 0, "function": said["function_call"]}, whole=whole)
        self._take_usage(choice.get("usage"))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish = reason

    def _take_words(self, said: Mapping[str, Any]) -> None:
        # servers that send both fields say the same in both
        self._words.add(Reasoning, said.get("reasoning_content") or said.get("reasoning"))
        content = said.get("content")
        for block in objects(content):
            self._words.add(Reasoning, _thinking(block.get("thinking")))
            self._words.add(Text, block.get("text"))
        self._words.add(Text, content)
        self._words.add(Refusal, said.get("refusal"))

    def _take_call(self, call: Mapping[str, Any], *, whole: bool) -> None:
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments = function.get("name"), function.get("arguments")
        if whole:
            self._calls.add_whole(call_id=call.get("id"), name=name, arguments=arguments)
        else:
            self._calls.add(index=call.get("index"), call_id=call.get("id"), name=name, arguments=arguments)

    def _take_usage(self, figures: object) -> None:
        if not reports(figures, "prompt_tokens", "completion_tokens") or not isinstance(figures, dict):
            return
        cached = count(figures.get("prompt_tokens_details"), "cached_tokens")
        self._usage = Usage(
            input_tokens=count(figures, "prompt_tokens"),
            output_tokens=count(figures, "completion_tokens"),
            cache_read_tokens=cached or count(figures, "prompt_cache_hit_tokens", "cached_tokens"),
            reasoning_tokens=count(figures.get("completion_tokens_details"), "reasoning_tokens"),
        )


def _thinking(blocks: object) -> str:
    if isinstance(blocks, str):
        return blocks
    return "".join(text for block in objects(blocks) if isinstance(text := block.get("text"), str))


__all__ = ["ChatReader"]
