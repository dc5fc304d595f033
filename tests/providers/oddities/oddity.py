"""What an odd stream is, and what several of them hold."""

from __future__ import annotations

from dataclasses import dataclass

from loopkit.messages import Part, ToolCall, Usage
from loopkit.providers.assembly import NAMELESS
from tests.providers.dialects import (
    Dialect,
)

DEEP = '{"a":' * 120 + "1" + "}" * 120
TWICE = '{"a": 1, "a": 2}'


@dataclass(frozen=True)
class Oddity:
    """One stream.

    Args:
        faults: what it is an instance of.
        parts: what it says, or a pattern of the error that it is.
        usage: its figures, or None where it gives none.
    """

    dialect: Dialect
    faults: str
    name: str
    body: bytes
    parts: tuple[Part, ...] | str
    usage: Usage | None = None

    def __str__(self) -> str:
        return f"{self.dialect}: {self.name}".replace(" ", "-")


def calls(*calls: ToolCall) -> tuple[Part, ...]:
    return calls


F, G = ToolCall("A", "f", {"a": 1}), ToolCall("B", "g", {"b": 2})
DOUBLE = ToolCall("A", "f", {"a": 2}, duplicate_keys=("a",))
NO_NAME = ToolCall("A", "", {"a": 1}, problem=NAMELESS)
TOO_DEEP = ToolCall("A", "f", raw_arguments=DEEP, problem="the arguments are nested deeper than 100 levels")
NO_NUMBER = ToolCall("A", "f", raw_arguments='{"a": NaN}', problem="NaN is not JSON")
NO_OBJECT = ToolCall("A", "f", raw_arguments="[1]", problem="the arguments are a list, not a JSON object")
CUT = ToolCall("A", "f", raw_arguments='{"a": 1', cut_off=True)
CUT_WHOLE = ToolCall("A", "f", raw_arguments='{"a": 1}', cut_off=True)
FIGURES = {"prompt_tokens": 5, "completion_tokens": 2}
NOISE = b": OPENROUTER PROCESSING\n\n:\n\nevent: ping\n\nretry: 100\nid: 7\n\n"
