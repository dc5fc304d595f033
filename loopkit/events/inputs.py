"""Facts from outside, which can't be recomputed: models, tools, people, callbacks and the clock (DESIGN §3)."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopkit.events.fact import NO_PROBLEMS, CallVerdict, Failure, Input
from loopkit.messages import JSON, Image, JSONObject, Message, StopReason, ToolDefinition, Usage
from loopkit.outcomes import ToolApproval
from loopkit.quick_init import quickly_made


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
        fallbacks: names of the models that are asked after `model`, in this order.
        own_prompt: a system message at the very start is the agent's own prompt; false where the task brought it.
    """

    agent: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    configuration: JSONObject = field(default_factory=dict)
    model: str | None = None
    settings: JSONObject = field(default_factory=dict)
    depth: int = 0
    parent_call: str | None = None
    fallbacks: tuple[str | None, ...] = ()
    own_prompt: bool = True

    @property
    def task(self) -> tuple[Message, ...]:
        """The messages that the agent was given, without its own prompt."""
        has_prompt = self.own_prompt and bool(self.messages) and self.messages[0].role == "system"
        return self.messages[1:] if has_prompt else self.messages


@dataclass(frozen=True, slots=True)
class ClockRead(Input):
    """Loop time in seconds, read where it decides something (spec/loop.md 3.4, 4.5)."""

    loop_seconds: float


@dataclass(frozen=True, slots=True)
class ModelAttemptFailed(Input):
    """A request failed (spec/loop.md 9.2).

    Args:
        attempt: from 1 in each iteration, whichever model was asked.
        failure: what went wrong.
        retry: the same history is sent again.
        delay: seconds to wait before that.
        fallback: the next model is asked from now on, no more the one that failed (spec/loop.md 8.3).
        message: the words that had come before it broke, or None; no part of the history.
        unread: the text of the answer that could not be read, or None.
        unreported: it may have cost tokens that nobody told.
    """

    attempt: int
    failure: Failure
    retry: bool = False
    delay: float = 0.0
    fallback: bool = False
    message: Message | None = None
    unread: str | None = None
    unreported: bool = False


@quickly_made
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


@quickly_made
@dataclass(frozen=True, slots=True)
class Decided(Input):
    """Somebody decided on a call.

    Args:
        call: the call's id.
        version: the version of the call that was decided on, from 1.
        decision: what was decided.
        by: who: `person`, `on_tool_call`, `default`, `policy: RULE`, or `policy deny: RULE` for a rule that denied before
            anybody was asked.
        verdict: the schema check of edited arguments.
    """

    call: str
    version: int
    decision: ToolApproval
    by: str
    verdict: CallVerdict = NO_PROBLEMS


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
    """A running tool said where it stands.

    Args:
        text: its words; may be empty.
        done: how much is done, in a unit of its own, or None.
        total: how much there is to do, in the same unit, or None.
        left_out: reports before this one that came too fast to be recorded.
    """

    call: str
    text: str
    done: float | None = None
    total: float | None = None
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class ToolAttemptFailed(Input):
    """A handler raised and is run again, as its tool was declared to be; the model does not hear of it.

    Args:
        attempt: which one failed, from 1; the last one's failure is the call's.
        failure: what went wrong; a `TimeoutError` when the attempt took too long.
        delay: seconds to wait before the next one.
    """

    call: str
    attempt: int
    failure: Failure
    delay: float = 0.0


@quickly_made
@dataclass(frozen=True, slots=True)
class ToolReturned(Input):
    """A handler gave its answer.

    Args:
        content: the text that the model gets.
        json: the answer as data, where that is not the text itself.
        images: the pictures that the model gets.
    """

    call: str
    content: str
    is_error: bool = False
    json: JSON = None
    images: tuple[Image, ...] = ()


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
    """A result passed one of the callbacks that rewrite it; the original stands in its own event.

    Args:
        content: what the model gets from here on, or None when nothing changed.
        processor: `processor`, `extractor` or `cacher`, in this order.
        failure: what the callback raised, or None; the result goes on as it was.
        images: the pictures that the model gets from here on, or None when they did not change.
    """

    call: str
    content: str | None
    processor: str
    failure: Failure | None = None
    images: tuple[Image, ...] | None = None


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
    """The loop stands at a gate until it is resumed.

    Args:
        by: `person`, who paused or stepped, or `breakpoint NUMBER`.
    """

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
        by: `person`, `caller`, `parent`, or `policy` where nobody was there to decide.
    """

    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RecordingEnded(Input):
    """The run went on and was recorded no further, since the disk took no more and a person chose so.

    Args:
        reason: what the system said.
    """

    reason: str
