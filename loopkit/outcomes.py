"""How a tool call is decided, what a fork changes, how a loop ends: plain values, compared by content (spec/loop.md 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from loopkit.messages import JSONObject, Message

DENIED_WITHOUT_REASON = "Denied by the user."


@dataclass(frozen=True, slots=True)
class Approve:
    """Run the call as the model asked for it."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Don't run the call; the model gets `reason` verbatim."""

    reason: str = DENIED_WITHOUT_REASON


@dataclass(frozen=True, slots=True)
class Modify:
    """Run the call with other arguments; its id and name stay."""

    arguments: JSONObject


@dataclass(frozen=True, slots=True)
class Respond:
    """Don't run the call; the model gets `output` in the tool's place."""

    output: str
    is_error: bool = False


ToolApproval: TypeAlias = Approve | Deny | Modify | Respond


@dataclass(frozen=True, slots=True)
class EditMessage:
    """Edit of a fork: another message in the history, from the start of an iteration on.

    Args:
        place: which one, from 0; a negative one counts from the end.
        message: what takes its place, or None to take it out.
    """

    place: int
    message: Message | None


@dataclass(frozen=True, slots=True)
class AddMessages:
    """Edit of a fork: more messages behind the history, from the start of an iteration on."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class EditAnswer:
    """Edit of a fork: another answer in the place of what the model said in an iteration."""

    message: Message


@dataclass(frozen=True, slots=True)
class EditResult:
    """Edit of a fork: another result of a call; its handler is not run again."""

    content: str
    is_error: bool = False


ForkEdit: TypeAlias = ToolApproval | EditMessage | AddMessages | EditAnswer | EditResult


@dataclass(frozen=True, slots=True)
class Complete:
    """The model gave its final answer."""


@dataclass(frozen=True, slots=True)
class StopCondition:
    """`stop_when`, or a `Stop` command, ended the loop."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class MaxIterations:
    """The model was called `limit` times and still asked for tools."""

    limit: int


@dataclass(frozen=True, slots=True)
class LoopDetected:
    """Loop detection ended a loop that repeated `tool_name` `count` times."""

    tool_name: str
    count: int


@dataclass(frozen=True, slots=True)
class Timeout:
    """Loop time reached `limit` seconds."""

    limit: float


@dataclass(frozen=True, slots=True)
class UnknownTool:
    """The model asked for a tool that the agent does not have, and the settings end the loop then."""

    name: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Somebody stopped the run, or the loop that it belongs to ended."""

    reason: str | None = None


TerminationReason: TypeAlias = (
    Complete | StopCondition | MaxIterations | LoopDetected | Timeout | UnknownTool | Cancelled
)


@dataclass(frozen=True, slots=True)
class Continue:
    """As an answer of `stop_when`: go on. As a command of a handle: take the next turn."""


@dataclass(frozen=True, slots=True)
class Stop:
    """As an answer of `stop_when` or a command of a handle: end the loop with `StopCondition(reason)`."""

    reason: str | None = None


def StopWithReason(reason: str) -> Stop:
    """The seed's name for `Stop(reason)`."""
    return Stop(reason)


StopDecision: TypeAlias = Continue | Stop

__all__ = [
    "DENIED_WITHOUT_REASON",
    "Approve",
    "Cancelled",
    "Complete",
    "Continue",
    "Deny",
    "LoopDetected",
    "MaxIterations",
    "Modify",
    "Respond",
    "Stop",
    "StopCondition",
    "StopDecision",
    "StopWithReason",
    "TerminationReason",
    "Timeout",
    "ToolApproval",
    "UnknownTool",
]
