"""The parts of a timeline: what happened in a run, put where it belongs.

Nodes are plain mutable records that only `Timeline` changes; interfaces read them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from loopkit.events import (
    Event,
    Failure,
    LoopStarted,
    ModelAttemptFailed,
    RepetitionDetected,
    ResultEdited,
    ResultProcessed,
    ToolAttemptFailed,
    ToolProgressed,
)
from loopkit.messages import JSON, NO_USAGE, Image, JSONObject, Message, Problem, StopReason, ToolCall, Usage
from loopkit.outcomes import TerminationReason, ToolApproval


class CallStatus(StrEnum):
    """Where a call stands."""

    RECEIVED = "received"
    WAITING = "waiting"
    DECIDED = "decided"
    RUNNING = "running"
    DONE = "done"
    ERROR = "error"
    DENIED = "denied"
    ANSWERED = "answered"
    EXPIRED = "expired"
    REFUSED = "refused"
    ABANDONED = "abandoned"
    UNANSWERED = "unanswered"


FINAL_STATUSES = frozenset(CallStatus) - {
    CallStatus.RECEIVED,
    CallStatus.WAITING,
    CallStatus.DECIDED,
    CallStatus.RUNNING,
}


@dataclass(slots=True, eq=False)
class CallNode:
    """One tool call with its decision, its result and the loops that it started.

    Args:
        id: the call's own id, unique in the run.
        arguments: what the model asked for.
        edited_arguments: what ran instead, or None.
        problems: what the schema check said of the model's arguments.
        duplicate_keys: what the model wrote more than once.
        progress: what the handler said of itself while it ran, oldest first.
        attempts: failures after which the handler was run again.
        content: the result as the tool gave it, or None so far; `given` is what the model got.
        json: the result as data, where that is not its text.
        images: the result's pictures as the tool gave them; `given_images` are what the model got.
        rewrites: what callbacks made of it, in order.
        edited_result: what a person or a fork made of it, or None.
        masked_in: the iteration from which on requests leave the result out, or None.
        requested_at, decided_at, started_at, ended_at: seconds since the run started, or None.
    """

    id: str
    loop: LoopNode
    iteration: IterationNode
    position: int
    name: str
    provider_id: str
    arguments: JSONObject
    raw_arguments: str | None = None
    problems: tuple[Problem, ...] = ()
    duplicate_keys: tuple[str, ...] = ()
    status: CallStatus = CallStatus.RECEIVED
    version: int = 1
    decision: ToolApproval | None = None
    decided_by: str | None = None
    edited_arguments: JSONObject | None = None
    refused_decisions: list[str] = field(default_factory=list)
    progress: list[ToolProgressed] = field(default_factory=list)
    attempts: list[ToolAttemptFailed] = field(default_factory=list)
    content: str | None = None
    is_error: bool = False
    json: JSON = None
    images: tuple[Image, ...] = ()
    rewrites: list[ResultProcessed] = field(default_factory=list)
    edited_result: ResultEdited | None = None
    masked_in: int | None = None
    failure: Failure | None = None
    cause: str | None = None
    ended_late: str | None = None
    requested_at: float | None = None
    decided_at: float | None = None
    started_at: float | None = None
    ended_at: float | None = None
    children: list[LoopNode] = field(default_factory=list)

    def ask(self, call: ToolCall, problems: tuple[Problem, ...]) -> None:
        """Take over what an answer asks for."""
        self.name = call.name
        self.provider_id = call.id
        self.arguments = call.arguments
        self.raw_arguments = call.raw_arguments
        self.duplicate_keys = call.duplicate_keys
        self.problems = problems if call.problem is None else (Problem("$", call.problem), *problems)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the model's arguments though they may run (spec/loop.md 9.1); not safe to show as it is."""
        return tuple(f"{key!r} stands there more than once; the last value counts" for key in self.duplicate_keys)

    @property
    def effective_arguments(self) -> JSONObject:
        """What ran, or would run."""
        return self.arguments if self.edited_arguments is None else self.edited_arguments

    @property
    def given(self) -> str | None:
        """The text that the model got in its next request, or None so far."""
        if self.edited_result is not None:
            return self.edited_result.content
        return next((fact.content for fact in reversed(self.rewrites) if fact.content is not None), self.content)

    @property
    def given_images(self) -> tuple[Image, ...]:
        """The pictures that the model got in its next request."""
        return next((fact.images for fact in reversed(self.rewrites) if fact.images is not None), self.images)

    @property
    def executed(self) -> bool:
        return self.started_at is not None

    @property
    def seconds(self) -> float | None:
        """How long the handler ran, or None."""
        if self.started_at is None or self.ended_at is None:
            return None
        return self.ended_at - self.started_at

    @property
    def waited_seconds(self) -> float | None:
        """How long the call waited for its decision, or None."""
        if self.requested_at is None or self.decided_at is None:
            return None
        return self.decided_at - self.requested_at


@dataclass(slots=True, eq=False)
class IterationNode:
    """One model request with its answer and its calls.

    Args:
        number: 1-based.
        message: the model's answer, a partial one when `interrupted`, or None so far.
        original: what the model said, where somebody put `message` in its place.
        usage: tokens of the answer, or None when unknown.
        attempts: the requests that failed.
        retry_at: seconds since the run started at which the next attempt is made, or None when none failed yet.
        interrupted: why the request was given up, or None.
    """

    loop: LoopNode
    number: int
    started_at: float
    requested_at: float | None = None
    replied_at: float | None = None
    message_count: int | None = None
    fingerprint: str | None = None
    message: Message | None = None
    original: Message | None = None
    usage: Usage | None = None
    stop_reason: StopReason | None = None
    raw_stop_reason: str | None = None
    model: str | None = None
    request_id: str | None = None
    interrupted: str | None = None
    attempts: list[ModelAttemptFailed] = field(default_factory=list)
    retry_at: float | None = None
    calls: list[CallNode] = field(default_factory=list)
    warnings: list[RepetitionDetected] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        """How long the answer took, attempts that failed and the waits between them included, or None."""
        if self.requested_at is None or self.replied_at is None:
            return None
        return self.replied_at - self.requested_at


@dataclass(frozen=True, slots=True)
class Counted:
    """A loop in figures.

    Args:
        model: the first that answered, if its provider said so.
    """

    iterations: int
    calls: int
    model: str | None = None


@dataclass(slots=True, eq=False)
class LoopNode:
    """One loop of the depth tree.

    Args:
        path: `root`, or its parent's call and an ordinal.
        level: levels below the root.
        usage: the loop's own tokens so far.
        subtree_usage: the same of this loop and all below it.
        reason: why it ended with a result, or None.
        failure: the exception it ended with, or None.
        paused_at: id of the gate that it stands at, or None; `paused_since`: seconds since the run started.
        paused_by: who stopped it there: `person`, or a breakpoint.
        cut_off: whether its recording ends before it does.
        counted: how many iterations and calls there are where `iterations` holds only those that are looked at.
    """

    path: str
    level: int
    started: LoopStarted
    started_at: float
    parent: CallNode | None = None
    iterations: list[IterationNode] = field(default_factory=list)
    injected: list[Message] = field(default_factory=list)
    usage: Usage = NO_USAGE
    subtree_usage: Usage = NO_USAGE
    reason: TerminationReason | None = None
    failure: Failure | None = None
    paused_at: str | None = None
    paused_since: float | None = None
    paused_by: str = ""
    ended_at: float | None = None
    cut_off: bool = False
    counted: Counted | None = None

    @property
    def iteration_count(self) -> int:
        """How many iterations it has so far."""
        return len(self.iterations) if self.counted is None else self.counted.iterations

    @property
    def call_count(self) -> int:
        """How many calls its answers asked for."""
        return (
            sum(len(iteration.calls) for iteration in self.iterations) if self.counted is None else self.counted.calls
        )

    @property
    def agent(self) -> str:
        return self.started.agent

    @property
    def ended(self) -> bool:
        return self.ended_at is not None

    @property
    def over(self) -> bool:
        """Whether nothing more comes of it: it ended, or its recording did."""
        return self.ended or self.cut_off

    def subtree(self) -> list[LoopNode]:
        """This loop and all below it, depth first."""
        found: list[LoopNode] = []
        rest = [self]
        while rest:
            loop = rest.pop()
            found.append(loop)
            below = [child for it in loop.iterations for call in it.calls for child in call.children]
            rest.extend(reversed(below))
        return found


class RowKind(StrEnum):
    """What a line of the timeline shows."""

    TASK = "task"
    ITERATION = "iteration"
    CALL = "call"
    AGENT = "agent"
    WARNING = "warning"
    MESSAGE = "message"
    NOTE = "note"
    OUTCOME = "outcome"


@dataclass(slots=True, eq=False, weakref_slot=True)
class Row:
    """One line of the timeline, in display order; its text is made by `loopkit.debugger.rows`.

    Args:
        kind: which of the other fields are set.
        seq: the event that made the line appear.
        loop: the loop that it belongs to; for `AGENT` the sub-agent's own.
        iteration: set for `ITERATION`, `CALL` and `WARNING`.
        call: set for `CALL`, and for `AGENT` the call that started it.
        warning: set for `WARNING`.
        event: set for `NOTE` and `MESSAGE`.
        took: seconds that a person stood there before an edit that `event` is, or None.
    """

    kind: RowKind
    seq: int
    loop: LoopNode
    iteration: IterationNode | None = None
    call: CallNode | None = None
    warning: RepetitionDetected | None = None
    event: Event | None = None
    took: float | None = None


Node: TypeAlias = CallNode | IterationNode | LoopNode
