"""What was received of an answer so far, kept for the case that the rest never comes."""

from __future__ import annotations

from loopkit.messages import Message, Reasoning, Text
from loopkit.providers.protocol import Delta, ReasoningDelta, TextDelta


class PartialAnswer:
    """The pieces of one answer."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        self._pieces: list[Delta] = []

    def clear(self) -> None:
        """Forget the pieces of the last answer."""
        self._pieces = []

    def add(self, delta: Delta) -> None:
        """Keep one more piece."""
        self._pieces.append(delta)

    @property
    def begun(self) -> bool:
        """Whether anything was received."""
        return bool(self._pieces)

    def message(self) -> Message | None:
        """Return the words received, without calls: a partial call must never run (spec/loop.md 3.9)."""
        text = "".join(delta.text for delta in self._pieces if isinstance(delta, TextDelta))
        reasoning = "".join(delta.text for delta in self._pieces if isinstance(delta, ReasoningDelta))
        parts = (*((Reasoning(reasoning),) if reasoning else ()), *((Text(text),) if text else ()))
        return Message("assistant", parts) if parts else None
