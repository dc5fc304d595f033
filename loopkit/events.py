"""What happened in a run: past-tense facts, and the envelope that orders them (DESIGN §3).

*Inputs* come from outside and can't be recomputed. *Derived* facts follow from the inputs and are checked by replay.
A loop's path is `root`, or its parent's call and an ordinal: `root/3.2#1`. A call's id is its loop's path, its
iteration and its position in the response, both from 1: `root/3.2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from loopkit.messages import JSONObject, Message, Problem, StopReason, ToolDefinition, Usage
from loopkit.outcomes import TerminationReason, ToolApproval

ROOT = "root"


def call_key(loop: str, iteration: int, position: int) -> str:
    """Return a call's own id, unique in its run; `iteration` and `position` count from 1."""
    return f"{loop}/{iteration}.{position}"


def child_path(call: str, ordinal: int) -> str:
    """Return the path of the loop that a call started as its `ordinal`-th, from 1."""
    return f"{call}#{ordinal}"


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception as the log keeps it.

    Args:
        type_name: class name of the exception.
        message: its text, without traceback.
        status: HTTP status of a provider's refusal, or None.
        retry_after: seconds that the server asked to wait, or None.
        request_id: the provider's id of the request, or None.
    """

    type_name: str
    message: str
    status: int | None = None
    retry_after: float | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """What the schema check said of one call when its response came in; empty `problems` mean it may run."""

    problems: tuple[Problem, ...] = ()


class Fact:
    """Base of everything that can stand in an event."""

    __slots__ = ()


class Input(Fact):
    """A fact from outside: a model, a tool, a person, a callback or the clock."""

    __slots__ = ()


class Derived(Fact):
    """A fact that follows from the inputs before it."""

    __slots__ = ()


# ── inputs ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class LoopStarted(Input):
    """A loop began; everything that its course depends on besides later inputs.

    Args:
        agent: the agent's name.
        messages: the history at the start, a system prompt included.
        tools: definitions in registry order.
        configuration: `ToolLoopConfig` as plain JSON; a callback is `true` when present.
        model: the model's name, or None.
        settings: the request's settings (temperature, tool choice …).
        depth: what the context says, 0 = top level.
        parent_call: id of the call that started this loop, or None.
    """

    agent: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    configuration: JSONObject = field(default_factory=dict)
    model: str | None = None
    settings: JSONObject = field(default_factory=dict)
    depth: int = 0
    parent_call: str | None = None


@dataclass(frozen=True, slots=True)
class ClockRead(Input):
    """Loop time in seconds, read where it decides something (spec/loop.md 3.4, 4.5)."""

    loop_seconds: float


@dataclass(frozen=True, slots=True)
class ModelAttemptFailed(Input):
    """A request failed; `retry` says that the same request is sent again."""

    attempt: int
    failure: Failure
    retry: bool = False


@dataclass(frozen=True, slots=True)
class ModelReplied(Input):
    """A model's whole answer.

    Args:
        message: the answer.
        usage: its tokens, or None when the provider gave none.
        stop_reason: why it ended.
        raw_stop_reason: the provider's own word.
        model: the model that answered, if the provider said so.
        request_id: the provider's id of the request.
        verdicts: one per call of the message, in call order.
        pieces: seconds and characters of each streamed piece, alternating; no text.
    """

    message: Message
    usage: Usage | None = None
    stop_reason: StopReason = StopReason.END_TURN
    raw_stop_reason: str | None = None
    model: str | None = None
    request_id: str | None = None
    verdicts: tuple[CallVerdict, ...] = ()
    pieces: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelInterrupted(Input):
    """A request was given up; `message` is what had been received, its usage is unknown.

    Args:
        cause: `timeout`, `stopped` or `parent ended`.
    """

    cause: str
    message: Message | None = None


@dataclass(frozen=True, slots=True)
class StopAnswered(Input):
    """What `stop_when` said of a response."""

    stop: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CallbackFailed(Input):
    """A callback of the agent raised; the loop ends with its exception (spec/loop.md 4.4).

    Args:
        callback: `on_tool_call` or `stop_when`.
    """

    callback: str
    failure: Failure


@dataclass(frozen=True, slots=True)
class Decided(Input):
    """Somebody decided on a call.

    Args:
        call: the call's id.
        version: the version of the call that was decided on, from 1.
        decision: what was decided.
        by: who: `person`, `on_tool_call`, `default`, or `policy: RULE`.
        verdict: the schema check of edited arguments.
    """

    call: str
    version: int
    decision: ToolApproval
    by: str
    verdict: CallVerdict = CallVerdict()


@dataclass(frozen=True, slots=True)
class DecisionRefused(Input):
    """A decision was not taken: late, twice, or for another version of the call."""

    call: str
    version: int
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class DecisionExpired(Input):
    """Nobody decided in time; the call is not run."""

    call: str
    version: int


@dataclass(frozen=True, slots=True)
class ToolProgressed(Input):
    """A running tool reported on its way."""

    call: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolReturned(Input):
    """A handler gave its answer; `content` is the text that the model gets."""

    call: str
    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ToolFailed(Input):
    """A handler raised; `content` is the text that the model gets."""

    call: str
    failure: Failure
    content: str


@dataclass(frozen=True, slots=True)
class ToolAbandoned(Input):
    """A running handler is no longer waited for.

    Args:
        cause: `timeout` (of the loop), `tool timeout`, `stopped`, `parent ended` or `fork`.
        content: the text that the model gets, or None when the loop ends with it.
    """

    call: str
    cause: str
    content: str | None = None


@dataclass(frozen=True, slots=True)
class ToolEndedLate(Input):
    """An abandoned handler ended after all; may follow `LoopFinished` and changes nothing."""

    call: str
    outcome: str


@dataclass(frozen=True, slots=True)
class ResultProcessed(Input):
    """A result processor shortened what the model gets of a result; the original stands in its own event."""

    call: str
    content: str
    processor: str


@dataclass(frozen=True, slots=True)
class MessagesInjected(Input):
    """Messages were added to the history by a person or a command."""

    messages: tuple[Message, ...]
    by: str


@dataclass(frozen=True, slots=True)
class HistoryEdited(Input):
    """The messages `start` to `stop` (0-based, half open) were replaced."""

    start: int
    stop: int
    messages: tuple[Message, ...]
    by: str


@dataclass(frozen=True, slots=True)
class Paused(Input):
    """The loop stands at a gate until it is resumed."""

    gate: str
    by: str


@dataclass(frozen=True, slots=True)
class Resumed(Input):
    """The loop left the gate that it stood at."""

    gate: str
    by: str


@dataclass(frozen=True, slots=True)
class Reopened(Input):
    """An unfinished recording was taken up again."""

    by: str


@dataclass(frozen=True, slots=True)
class StopCommanded(Input):
    """A command asked the loop to end before its next turn (spec/loop.md 3.3)."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RunStopped(Input):
    """The loop was stopped at once: what runs is interrupted, then the loop ends as cancelled.

    Args:
        by: `person`, `caller` or `parent`.
    """

    by: str
    reason: str | None = None


# ── derived ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class IterationStarted(Derived):
    """A turn began; the envelope carries its number."""


@dataclass(frozen=True, slots=True)
class ModelRequested(Derived):
    """The history was sent.

    Args:
        attempt: from 1; more only after a failed attempt.
        message_count: messages in the request, synthetic results for open calls included.
        fingerprint: hash chain over settings, tools and messages.
    """

    attempt: int
    message_count: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class RepetitionDetected(Derived):
    """A loop detector fired.

    Args:
        detector: which one; the seed's is `identical batches`.
        tool_name: the tool, several joined with `+`.
        count: repeats so far.
        action: `warn`, `stop` or `inject_warning`.
        since_iteration: where the repetition began.
    """

    detector: str
    tool_name: str
    count: int
    action: str
    since_iteration: int


@dataclass(frozen=True, slots=True)
class DecisionRequested(Derived):
    """A call waits for a decision; its arguments stand in the response."""

    call: str
    version: int
    name: str


@dataclass(frozen=True, slots=True)
class ToolStarted(Derived):
    """A handler was started with the arguments that were decided on."""

    call: str


@dataclass(frozen=True, slots=True)
class ToolSkipped(Derived):
    """A call got its result without its handler.

    Args:
        cause: `denied`, `responded`, `expired`, `unknown tool`, `invalid arguments` or `cut off`.
        content: the text that the model gets.
    """

    call: str
    cause: str
    content: str
    is_error: bool = True


@dataclass(frozen=True, slots=True)
class ResultsMasked(Derived):
    """Old results were left out of the view that the model gets; the log keeps them."""

    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoopFinished(Derived):
    """A loop ended with a result.

    Args:
        reason: why.
        iterations: model calls made.
        usage: the loop's own tokens, without its children's.
    """

    reason: TerminationReason
    iterations: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class LoopFailed(Derived):
    """A loop ended with an exception."""

    failure: Failure
    iterations: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Unrecognised(Fact):
    """A record of a type that this version doesn't know, or a foreign note; kept and shown raw, changes nothing."""

    type_name: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """A fact in its place.

    Args:
        seq: 1-based, gapless; the only order.
        t: seconds since the run started, for display only.
        loop: path of the loop that it belongs to.
        iteration: 1-based, 0 before the first.
        fact: what happened.
    """

    seq: int
    t: float
    loop: str
    iteration: int
    fact: Fact

    @property
    def type(self) -> str:
        return self.fact.type_name if isinstance(self.fact, Unrecognised) else type(self.fact).__name__


AnyFact: TypeAlias = (
    LoopStarted
    | ClockRead
    | ModelAttemptFailed
    | ModelReplied
    | ModelInterrupted
    | StopAnswered
    | CallbackFailed
    | Decided
    | DecisionRefused
    | DecisionExpired
    | ToolProgressed
    | ToolReturned
    | ToolFailed
    | ToolAbandoned
    | ToolEndedLate
    | ResultProcessed
    | MessagesInjected
    | HistoryEdited
    | Paused
    | Resumed
    | Reopened
    | StopCommanded
    | RunStopped
    | IterationStarted
    | ModelRequested
    | RepetitionDetected
    | DecisionRequested
    | ToolStarted
    | ToolSkipped
    | ResultsMasked
    | LoopFinished
    | LoopFailed
)
FACT_CLASSES: dict[str, type[Fact]] = {cls.__name__: cls for cls in AnyFact.__args__}
