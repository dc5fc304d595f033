"""What the answers of all dialects share: a model's words out of pieces, figures, errors in the answer's place."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from loopkit.errors import ProviderError
from loopkit.messages import ChatResponse, Part, Reasoning, Refusal, StopReason, Text, Usage
from loopkit.providers.assembly import CallAssembler, mend_surrogates
from loopkit.providers.http_failures import without_markup
from loopkit.providers.protocol import ArgumentsDelta, Emit, ReasoningDelta, TextDelta

Spoken: TypeAlias = Text | Reasoning | Refusal


class ErrorInAnswer(Exception):
    """The server put an error where an answer belongs.

    Args:
        body: the JSON value that holds it.
    """

    def __init__(self, body: object) -> None:
        super().__init__("the answer is an error")
        self.body = body


class AnswerReader(ABC):
    """Collects one answer, piece by piece or whole; a dialect says what a piece means.

    Args:
        emit: told of each piece of text, reasoning and arguments.

    Attributes:
        kind: what the server should have sent, for complaints.
        begun: something was understood.
    """

    kind: ClassVar[str]

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._calls = CallAssembler(self._arguments)
        self._usage: Usage | None = None
        self._model: str | None = None
        self._finish: str | None = None
        self._answered = False
        self.begun = False

    @property
    def finished(self) -> bool:
        """Whether the answer is whole; nothing but usage may follow."""
        return self._finish is not None

    @property
    def complete(self) -> bool:
        """Whether nothing at all follows."""
        return False

    def take_text(self, data: str) -> None:
        """Take the JSON text of one piece of a stream.

        Raises:
            ErrorInAnswer: the piece is an error.
            ProviderError: the text is no piece of an answer.
        """
        piece = self._object(data)
        try:
            self.take_piece(piece)
        except ProviderError as error:
            error.unread = data
            raise

    def take_whole(self, data: str) -> None:
        """Take the JSON text of an answer that was not streamed.

        Raises:
            ErrorInAnswer: it is an error.
            ProviderError: it is no answer.
        """
        self.take_answer(self._object(data))

    def response(self, request_id: str | None) -> ChatResponse:
        """Return the answer, once the server is at its end.

        Raises:
            ProviderError: there is none.
        """
        if not self._answered:
            raise ProviderError("the server ended its answer without saying anything", retryable=True)
        parts = tuple(self.parts())
        return ChatResponse(
            parts=parts,
            usage=self._usage,
            stop_reason=self.stop_reason(parts),
            model=self._model,
            request_id=request_id,
            raw_stop_reason=self._finish,
        )

    @abstractmethod
    def take_piece(self, piece: Mapping[str, Any]) -> None:
        """Take one piece of a stream."""

    @abstractmethod
    def take_answer(self, answer: Mapping[str, Any]) -> None:
        """Take a whole answer."""

    @abstractmethod
    def parts(self) -> Iterable[Part]:
        """Return the content in the provider's order."""

    @abstractmethod
    def stop_reason(self, parts: Iterable[Part]) -> StopReason | None:
        """Return why the answer ended; None leaves it to the content."""

    def _object(self, data: str) -> Mapping[str, Any]:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise ProviderError(
                f"the server sent what is no {self.kind}: {_glimpse(data)}", retryable=True, unread=data
            )
        if value.get("error"):
            raise ErrorInAnswer(value)
        self.begun = True
        return value

    def _name_model(self, source: Mapping[str, Any]) -> None:
        if isinstance(source.get("model"), str):
            self._model = source["model"] or self._model

    def _arguments(self, position: int, name: str, text: str) -> None:
        self._emit(ArgumentsDelta(position, name, text))


@dataclass(slots=True)
class Run:
    """Words of one kind; a character that came in two halves is told when it is whole (spec/faults.md a25)."""

    kind: type[Spoken]
    emit: Emit
    pieces: list[str] = field(default_factory=list)
    half: str = ""

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def add(self, piece: object) -> None:
        if not isinstance(piece, str) or not piece:
            return
        piece = mend_surrogates(self.half + piece)
        # JSON escapes write an emoji as two halves, and a server may cut between them
        self.half = piece[-1] if "\ud800" <= piece[-1] <= "\udbff" else ""
        self._say(piece.removesuffix(self.half))

    def close(self) -> None:
        """Tell what is left of a character whose other half never came."""
        half, self.half = self.half, ""
        self._say(half)

    def _say(self, piece: str) -> None:
        if piece:
            self.pieces.append(piece)
            self.emit(ReasoningDelta(piece) if self.kind is Reasoning else TextDelta(piece))


class Words:
    """Text, reasoning and refusals in the order in which they came."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._runs: list[Run] = []

    def add(self, kind: type[Spoken], piece: object) -> None:
        if not isinstance(piece, str) or not piece:
            return
        if not self._runs or self._runs[-1].kind is not kind:
            self._close()
            self._runs.append(Run(kind, self._emit))
        self._runs[-1].add(piece)

    def finish(self) -> list[Part]:
        self._close()
        return [run.kind(run.text) for run in self._runs]

    def _close(self) -> None:
        if self._runs:
            self._runs[-1].close()


def count(source: object, *names: str) -> int:
    """Return the first of the named figures that is a whole number, or 0."""
    values = [source.get(name) for name in names] if isinstance(source, dict) else []
    return next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), 0)


def reports(figures: object, *names: str) -> bool:
    """Whether any of the named figures is there."""
    return isinstance(figures, dict) and any(isinstance(figures.get(name), int) for name in names)


def objects(values: object) -> list[dict[str, Any]]:
    """Return the JSON objects of what should be a list of them."""
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def has_refusal(parts: Iterable[Part]) -> bool:
    return any(isinstance(part, Refusal) for part in parts)


def _glimpse(data: str) -> str:
    line = " ".join(without_markup(data)[:400].split())
    return f"{line[:80]}…" if len(line) > 80 else line or "nothing"


__all__ = ["AnswerReader", "ErrorInAnswer", "Run", "Spoken", "Words", "count", "has_refusal", "objects", "reports"]
