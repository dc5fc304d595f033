"""Facts that follow from the inputs before them, and that replay checks (DESIGN §3)."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopkit.events.fact import Derived, Failure
from loopkit.messages import Usage
from loopkit.outcomes import TerminationReason
from loopkit.quick_init import quickly_made


@dataclass(frozen=True, slots=True)
class IterationStarted(Derived):
    """A turn began; the envelope carries its number."""


@quickly_made
@dataclass(frozen=True, slots=True)
class ModelRequested(Derived):
    """The history was sent.

    Args:
        attempt: from 1; more only after a failed attempt.
        message_count: messages in the request, synthetic results for open calls included.
        fingerprint: hash chain over settings, tools and messages.
        binding: who is asked: 0 is the loop's model, then its fallbacks in order (spec/loop.md 8.3).
    """

    attempt: int
    message_count: int
    fingerprint: str
    binding: int = 0


@dataclass(frozen=True, slots=True)
class RepetitionDetected(Derived):
    """A loop detector fired.

    Args:
        detector: which one; the seed's is `identical batches`.
        tool_name: the tool, several joined with `+`.
        count: repeats so far.
        action: `warn`, `stop` or `inject_warning`.
        since_iteration: where the repetition began.
        calls: the evidence, ids of the newest of the calls that repeat, 24 at most; empty in recordings made before
            it was kept, in which they are all calls since then. It follows from the rest, so it isn't compared: those
            recordings replay the same.
    """

    detector: str
    tool_name: str
    count: int
    action: str
    since_iteration: int
    calls: tuple[str, ...] = field(default=(), compare=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class DecisionRequested(Derived):
    """A call waits for a decision; its arguments stand in the response."""

    call: str
    version: int
    name: str


@quickly_made
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
