"""The neutral steps between a foreign format and our events: what was said, in the order of the file.

A thread is one agent's conversation; the top one has the key `MAIN`. Times are seconds since the epoch, or None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from loopkit.messages import JSONObject, Message, Part, StopReason, ToolCall, Usage
from loopkit.outcomes import TerminationReason

MAIN = "main"


@dataclass(frozen=True, slots=True)
class Thread:
    """One agent's conversation.

    Args:
        key: unique in the session.
        parent: key of the thread whose call started this one, or None.
        parent_call: that call's id as the format gives it; its step stands before the first of this thread.
        background: the parent's call got its result at once, so that it doesn't end the thread.
        facts: what is known of the session beside its conversation.
    """

    key: str
    agent: str
    model: str | None = None
    parent: str | None = None
    parent_call: str = ""
    background: bool = False
    facts: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message to the model that is neither its own answer nor a tool's result.

    Args:
        by: who put it in: `person`, or the program.
        kind: `task` asks for an answer, `context` doesn't, `interrupt` broke one off.
    """

    thread: str
    at: float | None
    message: Message
    by: str = "person"
    kind: Literal["task", "context", "interrupt"] = "task"


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer of the model; each is one iteration.

    Args:
        usage: its tokens, or None when the format has none.
        stop_reason: why it ended, or None: what its content suggests.
    """

    thread: str
    at: float | None
    parts: tuple[Part, ...]
    usage: Usage | None = None
    stop_reason: StopReason | None = None
    raw_stop_reason: str | None = None
    model: str | None = None
    request_id: str | None = None

    @property
    def calls(self) -> list[ToolCall]:
        return [part for part in self.parts if isinstance(part, ToolCall)]


@dataclass(frozen=True, slots=True)
class Result:
    """What the model was told about a call.

    Args:
        call: the call's id as the format gives it; may be empty, repeated or damaged.
        denied_by: who refused the call, or None when it ran.
        reason: the words of a refusal.
    """

    thread: str
    at: float | None
    call: str
    content: str
    is_error: bool = False
    denied_by: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """A report of a running tool; its call's step stands before it."""

    thread: str
    at: float | None
    call: str
    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A record that changes nothing, kept as it is."""

    thread: str
    at: float | None
    type_name: str
    data: JSONObject


@dataclass(frozen=True, slots=True)
class Ended:
    """The format says that a thread came to its end."""

    thread: str
    at: float | None
    reason: TerminationReason


Step: TypeAlias = Prompt | Answer | Result | Progress | Note | Ended
