"""All that a loop is at one moment: an immutable value, a fold of its events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from loopkit.core.config import LoopRules
from loopkit.core.detection import Repetition, Watch
from loopkit.core.history import History, HistoryInTwo, HistoryWithTail
from loopkit.core.masking import LargeResults
from loopkit.events import Failure, LoopFailed, LoopFinished, LoopStarted, ModelReplied, StopAnswered
from loopkit.messages import NO_USAGE, Image, JSONObject, Message, Problem, ToolCall, ToolDefinition, ToolResult, Usage
from loopkit.outcomes import LoopDetected, Modify, TerminationReason, ToolApproval
from loopkit.quick_init import filler, quickly_made


class Phase(StrEnum):
    """Where a loop stands within its iteration."""

    # an enumeration's own hash is Python code, and what is due is looked up by phase
    __hash__ = str.__hash__

    TURN = "turn"
    STARTED = "started"
    MODEL = "model"
    RESPONDED = "responded"
    DECIDING = "deciding"
    RUNNING = "running"
    FINISHED = "finished"


class CallPhase(StrEnum):
    """Where a call stands."""

    RECEIVED = "received"
    REQUESTED = "requested"
    DECIDED = "decided"
    RUNNING = "running"
    PROCESSING = "processing"
    ENDED = "ended"


@quickly_made
@dataclass(frozen=True, slots=True)
class CallModel:
    """Effect: send the request of an iteration."""

    iteration: int
    attempt: int


@dataclass(frozen=True, slots=True)
class ReadClock:
    """Effect: read the loop time before an iteration."""

    iteration: int


@dataclass(frozen=True, slots=True)
class AskStopCondition:
    """Effect: ask `stop_when` about an iteration's response."""

    iteration: int


@quickly_made
@dataclass(frozen=True, slots=True)
class AskDecision:
    """Effect: get a decision on one version of a call."""

    call: str
    version: int

    def __hash__(self) -> int:
        # of one call there is hardly ever more than one version
        return hash(self.call)


@quickly_made
@dataclass(frozen=True, slots=True)
class RunTool:
    """Effect: run a call's handler."""

    call: str

    def __hash__(self) -> int:
        return hash(self.call)


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """Effect: let a callback rewrite a call's result.

    Args:
        processor: `processor`, `extractor` or `cacher`.
    """

    call: str
    processor: str


Effect: TypeAlias = CallModel | ReadClock | AskStopCondition | AskDecision | RunTool | ProcessResult


@quickly_made
@dataclass(frozen=True)
class CallState:
    """One call of the current response.

    Args:
        key: its own id.
        call: what the model asked for.
        problems: the schema check of the arguments that would run.
        expired: nobody decided in time.
        executed: its handler was started.
        failed: its handler raised or said that it failed.
        images: pictures of the result.
    """

    key: str
    call: ToolCall
    problems: tuple[Problem, ...] = ()
    phase: CallPhase = CallPhase.RECEIVED
    version: int = 1
    decision: ToolApproval | None = None
    expired: bool = False
    content: str | None = None
    is_error: bool = False
    executed: bool = False
    failed: bool = False
    failure: Failure | None = None
    images: tuple[Image, ...] = ()

    def changed(self, **changes: Any) -> CallState:
        """Return this call with some fields changed; `dataclasses.replace` at a tenth of its cost."""
        call = _new(CallState)
        _fill_call(call, self.__dict__ | changes)
        return call

    @property
    def arguments(self) -> JSONObject:
        """What runs: the model's arguments, or what they were changed to."""
        return self.decision.arguments if isinstance(self.decision, Modify) else self.call.arguments

    @property
    def call_as_run(self) -> ToolCall:
        """The call as the model's history shows it: with the arguments that ran (spec/loop.md 4.3)."""
        if not isinstance(self.decision, Modify):
            return self.call
        return ToolCall(self.call.id, self.call.name, self.decision.arguments)

    @property
    def result(self) -> ToolResult | None:
        if self.content is None:
            return None
        return ToolResult(self.call.id, self.content, self.is_error, self.images)


@dataclass(frozen=True)
class LoopState:
    """One loop at one moment.

    Args:
        path: its place in the depth tree.
        history: the transcript, without the response that is being worked on.
        sendable: the history as requests carry it, every call answered; the same object unless the loop was
            started with open calls.
        settled: what the view shows in place of the first messages of `sendable`; old large results are masked there.
        last_user_message: words of the newest user message, one that waits behind the results included.
        own_warnings: what loop detection put into the history; it has the role of a user and is none's words.
        loop_seconds: loop time at the last reading of the clock.
        large_results: what will leave the view, oldest first.
        fingerprint: hash chain over settings, tools and the view.
        iteration: the current one, 0 before the first; equals the model calls made once it was requested.
        requests: model calls made.
        attempt: number of the request within the iteration; `first_attempt` is the first that asked this model.
        retry_delay: seconds to wait before the request.
        binding: who is asked: 0 is the primary, then its fallbacks; a loop that fell back stays there.
        given_up: why those before it are asked no more, in order.
        response: the answer that is being worked on; `last_reply` stays when it is done with.
        calls: of the current response, in call order.
        requested, undecided, next_start, running, processing: counters over `calls`.
        completed: calls of the current response whose handlers ended, results rewritten, in that order.
        pending_messages: what enters the history behind the results.
        watch: the loop detectors, None when they are off.
        detected: the repetition that ends the loop before any call of the response runs.
        ending: how the loop ends as soon as nothing runs any more.
        failure: the exception it ends with.
        wants: effects that it waits for; each was issued once.
        before_person: how its agent was set before a person changed that, or None.
    """

    path: str
    started: LoopStarted
    rules: LoopRules
    tools: dict[str, ToolDefinition]
    history: History
    sendable: History
    fingerprint: str
    phase: Phase = Phase.TURN
    iteration: int = 0
    requests: int = 0
    attempt: int = 1
    first_attempt: int = 1
    retry_delay: float = 0.0
    binding: int = 0
    given_up: tuple[Failure, ...] = ()
    clock_read_for: int = 0
    loop_seconds: float = 0.0
    usage: Usage = NO_USAGE
    response: ModelReplied | None = None
    last_reply: ModelReplied | None = None
    stop_answer: StopAnswered | None = None
    calls: tuple[CallState, ...] = ()
    requested: int = 0
    undecided: int = 0
    next_start: int = 0
    running: int = 0
    processing: int = 0
    completed: tuple[str, ...] = ()
    pending_messages: tuple[Message, ...] = ()
    watch: Watch | None = None
    detected: LoopDetected | None = None
    consecutive_errors: int = 0
    tool_calls_executed: int = 0
    last_tool_results: tuple[ToolResult, ...] = ()
    commanded_stop: tuple[str | None] | None = None
    paused: str | None = None
    ending: TerminationReason | None = None
    failure: Failure | None = None
    finished: LoopFinished | LoopFailed | None = None
    wants: frozenset[Effect] = frozenset()
    last_user_message: str = ""
    own_warnings: History = field(default_factory=History)
    before_person: LoopStarted | None = None
    settled: History = field(default_factory=History)
    large_results: tuple[LargeResults, ...] = ()

    @property
    def view(self) -> Sequence[Message]:
        """The history as the model gets it, old large results left out."""
        return HistoryInTwo(self.settled, self.sendable) if len(self.settled) else self.sendable

    @property
    def in_flight(self) -> bool:
        """A request or a handler was started and has not ended."""
        return self.phase is Phase.MODEL or self.running > 0

    @property
    def repetitions(self) -> tuple[Repetition, ...]:
        """What repeats at the moment; looking changes nothing (spec/faults.md g10)."""
        return () if self.watch is None else self.watch.repetitions

    @property
    def messages_so_far(self) -> Sequence[Message]:
        """The history with the response that is being worked on."""
        return self.history if self.response is None else HistoryWithTail(self.history, (self.response.message,))

    def call_state(self, key: str) -> CallState | None:
        """Return a call of the current response, or None."""
        calls = self.calls
        if len(calls) == 1:
            return calls[0] if calls[0].key == key else None
        place = place_of(key)
        call = calls[place] if 0 <= place < len(calls) else None
        # the same place in another loop or iteration is another call
        return call if call is not None and call.key == key else None

    def changed(self, **changes: Any) -> LoopState:
        """Return this state with some fields changed; `dataclasses.replace` at a tenth of its cost."""
        state = _new(LoopState)
        _fill_loop(state, self.__dict__ | changes)
        return state

    def with_call(self, call: CallState, **changes: Any) -> LoopState:
        """Return this state with one call of the response replaced."""
        calls = self.calls
        if len(calls) > 1:
            place = place_of(call.key)
            calls = (*calls[:place], call, *calls[place + 1 :])
        else:
            calls = (call,)
        return self.changed(calls=calls, **changes)


_new = object.__new__
_fill_call = filler(CallState)
_fill_loop = filler(LoopState)


def place_of(call: str) -> int:
    """Return a call's place in its response, from 0; -1 for what is no call's id."""
    position = call.rpartition(".")[2]
    return int(position) - 1 if position.isdecimal() else -1
