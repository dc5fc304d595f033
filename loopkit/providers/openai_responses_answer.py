"""Answers in the words of OpenAI's Responses, streamed or whole.

The last event of a stream holds the whole answer, so the pieces before it are told and then forgotten
(spec/formats.md 4); where it is empty, the finished items, or else the pieces, stand in for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from loopkit.messages import Part, Reasoning, Refusal, StopReason, Text, Usage
from loopkit.providers.answer import AnswerReader, ErrorInAnswer, Spoken, Words, count, has_refusal, objects, reports
from loopkit.providers.assembly import whole_call
from loopkit.providers.protocol import Emit, deltas_of

_STOP_REASONS = {"max_output_tokens": StopReason.MAX_TOKENS, "content_filter": StopReason.CONTENT_FILTER}
_SPOKEN: dict[object, type[Spoken]] = {
    "response.output_text.delta": Text,
    "response.refusal.delta": Refusal,
    "response.reasoning_summary_text.delta": Reasoning,
    "response.reasoning_text.delta": Reasoning,
}
_BETWEEN_SUMMARIES = "\n\n"


class ResponsesReader(AnswerReader):
    """Collects one response."""

    kind = "response"

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit)
        self._words = Words(emit)
        self._streamed = False
        self._items: dict[tuple[int, int], Mapping[str, Any]] = {}
        self._output: list[Mapping[str, Any]] = []

    @property
    def complete(self) -> bool:
        return self.finished

    def take_piece(self, piece: Mapping[str, Any]) -> None:
        kind = piece.get("type")
        if kind == "error":
            raise ErrorInAnswer(piece)
        if kind in _SPOKEN:
            self._streamed = True
            self._words.add(_SPOKEN[kind], piece.get("delta"))
        elif kind == "response.reasoning_summary_part.added" and piece.get("summary_index"):
            self._words.add(Reasoning, _BETWEEN_SUMMARIES)
        elif kind == "response.function_call_arguments.delta":
            self._streamed = True
            self._calls.add(index=piece.get("output_index"), arguments=piece.get("delta"))
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._take_item(piece, done=kind.endswith("done"))
        elif isinstance(piece.get("response"), dict):
            self._take_response(piece["response"])

    def take_answer(self, answer: Mapping[str, Any]) -> None:
        self._take_response(answer)

    def parts(self) -> Iterable[Part]:
        said = self._words.finish()
        items = self._output or [self._items[place] for place in sorted(self._items)]
        ended_early = self._finish != "completed"
        parts = _parts(items, ended_early=ended_early)
        if not self._streamed:
            for piece in deltas_of(parts):
                self._emit(piece)
        return parts or (*said, *self._calls.finish(cut_off=ended_early))

    def stop_reason(self, parts: Iterable[Part]) -> StopReason | None:
        if self._finish != "completed":
            return _STOP_REASONS.get(self._finish or "", StopReason.UNKNOWN)
        return StopReason.REFUSAL if has_refusal(parts) else None

    def _take_item(self, piece: Mapping[str, Any], *, done: bool) -> None:
        item, place = piece.get("item"), piece.get("output_index")
        if not isinstance(item, dict):
            return
        if done:
            place = place if isinstance(place, int) else len(self._items)
            # places may be used twice, and an item told twice
            same = [key for key, other in self._items.items() if key[0] == place and _is_same(other, item)]
            self._items[same[0] if same else (place, len(self._items))] = item
        elif item.get("type") == "function_call":
            self._calls.add(index=place, call_id=item.get("call_id"), name=item.get("name"))

    def _take_response(self, response: Mapping[str, Any]) -> None:
        self._name_model(response)
        status = response.get("status")
        if status in ("failed", "cancelled") or response.get("error"):
            raise ErrorInAnswer(response)
        if status not in ("completed", "incomplete"):
            return
        self._answered = True
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        self._finish = reason if status == "incomplete" and isinstance(reason, str) and reason else status
        self._output = [*objects(response.get("output"))]
        self._usage = _usage(response.get("usage")) or self._usage


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one == other or (one.get("id") is not None and one.get("id") == other.get("id"))


def _parts(items: Iterable[Mapping[str, Any]], *, ended_early: bool) -> list[Part]:
    """Return what finished items say, in their order; an early end leaves the last one not whole."""
    parts: list[Part] = []
    position = 0
    for item, is_last in _with_last(list(items)):
        kind = item.get("type")
        if kind == "message":
            parts += _words(item)
        elif kind == "reasoning":
            parts.append(_reasoning(item))
        elif kind == "function_call":
            position += 1
            status = item.get("status")
            cut_off = status == "incomplete" or (ended_early and is_last and status != "completed")
            arguments = item.get("arguments")
            parts.append(whole_call(position, item.get("call_id"), item.get("name"), arguments, cut_off=cut_off))
    return parts


def _with_last(items: list[Mapping[str, Any]]) -> Iterable[tuple[Mapping[str, Any], bool]]:
    return ((item, place == len(items)) for place, item in enumerate(items, 1))


def _words(item: Mapping[str, Any]) -> list[Part]:
    words: list[Part] = []
    for block in objects(item.get("content")):
        said, refused = block.get("text"), block.get("refusal")
        if isinstance(said, str) and said:
            words.append(Text(said))
        if isinstance(refused, str) and refused:
            words.append(Refusal(refused))
    return words


def _reasoning(item: Mapping[str, Any]) -> Reasoning:
    blocks = objects(item.get("summary")) or objects(item.get("content"))
    text = _BETWEEN_SUMMARIES.join(said for block in blocks if isinstance(said := block.get("text"), str))
    encrypted, identity = item.get("encrypted_content"), item.get("id")
    if not isinstance(encrypted, str) or not encrypted:
        return Reasoning(text)
    return Reasoning(text, signature=identity if isinstance(identity, str) else "", encrypted=encrypted)


def _usage(figures: object) -> Usage | None:
    if not reports(figures, "input_tokens", "output_tokens") or not isinstance(figures, dict):
        return None
    read = figures.get("input_tokens_details")
    return Usage(
        input_tokens=count(figures, "input_tokens"),
        output_tokens=count(figures, "output_tokens"),
        cache_read_tokens=count(read, "cached_tokens"),
        cache_write_tokens=count(read, "cache_write_tokens"),
        reasoning_tokens=count(figures.get("output_tokens_details"), "reasoning_tokens"),
    )


__all__ = ["ResponsesReader"]
