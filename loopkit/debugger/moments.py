"""What conditions are asked about: each event of a run with what was known of it, in one pass and in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from loopkit import events as e
from loopkit.debugger.conditions import MISSING, Field, Missing, Value
from loopkit.debugger.costs import answer_cost
from loopkit.debugger.moment_words import error_words, spoken_words
from loopkit.messages import JSONObject, ToolCall, Usage
from loopkit.outcomes import Approve, Deny, Modify, Respond

_DECISIONS: dict[type, str] = {Approve: "approved", Deny: "denied", Modify: "edited", Respond: "answered"}


@dataclass(slots=True)
class KnownCall:
    """What is known of a call so far.

    Args:
        told: whether an event told of its arguments already.
    """

    name: str
    arguments: JSONObject
    raw_arguments: str | None = None
    requested_at: float | None = None
    started_at: float | None = None
    decision: str | None = None
    by: str | None = None
    told: bool = False


@dataclass(slots=True)
class _KnownLoop:
    agent: str
    model: str | None
    started_at: float
    requested_at: float | None = None
    answered_by: str | None = None
    calls: dict[str, KnownCall] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventMoment:
    """One event with what was known when it happened; what a field says is worked out when it is asked for.

    Args:
        call: the call that it belongs to, or None.
        duration: seconds that the thing took that ends here, or None.
        told: the call whose arguments this event tells of first, or None.
    """

    event: e.Event
    call: KnownCall | None
    duration: float | None
    told: KnownCall | None
    _loop: _KnownLoop
    _moments: Moments

    def value(self, field: Field) -> Value | tuple[str, ...] | Missing:
        """Return what a field says here."""
        if field.name == "args":
            return MISSING if self.call is None else _at(self.call.arguments, field.path)
        found = _VALUES[field.name](self)
        return MISSING if found is None else found

    @property
    def words(self) -> tuple[str, ...]:
        """Texts that came with the event."""
        return spoken_words(self.event.fact, self.told)

    @property
    def own_usage(self) -> Usage | None:
        """Tokens of the answer that came with this event, or None."""
        return self.event.fact.usage if isinstance(self.event.fact, e.ModelReplied) else None

    def own_cost(self) -> float | None:
        """What the answer cost in US dollars, or None when that is unknown."""
        return answer_cost(self.own_usage, self.model)

    @property
    def model(self) -> str | None:
        return self._loop.answered_by or self._loop.model

    @property
    def agent(self) -> str:
        return self._loop.agent

    def total_cost(self) -> float | None:
        """What the run cost so far, as far as that is known, or None."""
        return self._moments.total_cost()

    @property
    def total_tokens(self) -> int:
        return self._moments.tokens


class Moments:
    """Takes in a run's events one after another; keeps of each loop its last iteration only.

    Args:
        costs: whether somebody will ask what the run has cost; the answers' tokens are kept for that.
    """

    def __init__(self, *, costs: bool = True) -> None:
        self._loops: dict[str, _KnownLoop] = {}
        self._costs = costs
        self._unpriced: list[tuple[Usage | None, str | None]] = []
        self._dollars: float | None = None
        self.tokens = 0

    def take(self, event: e.Event) -> EventMoment:
        """Take in the next event and return its moment, which holds until the next one."""
        fact = event.fact
        loop = self._loops.get(event.loop)
        if loop is None or isinstance(fact, e.LoopStarted):
            # of a damaged recording, or one that is looked at from the middle, the start may be unknown
            start = fact if isinstance(fact, e.LoopStarted) else e.LoopStarted("?", ())
            loop = self._loops[event.loop] = _KnownLoop(start.agent, start.model, event.t)
        key = getattr(fact, "call", None)
        call = loop.calls.get(key) if isinstance(key, str) else None
        since = self._note(event, loop, call)
        told = self._told(fact, call)
        return EventMoment(event, call, None if since is None else event.t - since, told, loop, self)

    def _told(self, fact: e.Fact, call: KnownCall | None) -> KnownCall | None:
        """Return the call whose arguments this event tells of first."""
        if call is None or call.told or not isinstance(fact, (e.DecisionRequested, e.ToolStarted, e.ToolSkipped)):
            return None
        call.told = True
        return call

    def _note(self, event: e.Event, loop: _KnownLoop, call: KnownCall | None) -> float | None:
        """Keep what later moments say, and return since when the thing was going on that ends here, in seconds."""
        match event.fact:
            case e.IterationStarted():
                loop.calls, loop.requested_at, loop.answered_by = {}, None, None
            case e.ModelRequested():
                loop.requested_at = event.t if loop.requested_at is None else loop.requested_at
            case e.ModelReplied() as reply:
                loop.answered_by = reply.model
                self._spend(reply.usage, loop)
                self._keep_calls(event, loop, reply.message.tool_calls)
                return loop.requested_at
            case e.AnswerEdited(message):
                self._keep_calls(event, loop, message.tool_calls)
            case e.ModelInterrupted():
                return loop.requested_at
            case e.AgentChanged(agent, _, _, model):
                loop.agent, loop.model = agent, model
            case e.LoopFinished() | e.LoopFailed():
                return loop.started_at
            case _ if call is not None:
                return _note_of_call(event, call)
        return None

    def _keep_calls(self, event: e.Event, loop: _KnownLoop, calls: tuple[ToolCall, ...]) -> None:
        loop.calls = {
            e.call_key(event.loop, event.iteration, place): KnownCall(call.name, call.arguments, call.raw_arguments)
            for place, call in enumerate(calls, 1)
        }

    def _spend(self, usage: Usage | None, loop: _KnownLoop) -> None:
        if usage is not None:
            self.tokens += usage.input_tokens + usage.output_tokens
        if self._costs:
            self._unpriced.append((usage, loop.answered_by or loop.model))

    def total_cost(self) -> float | None:
        """Return what all answers so far cost in US dollars, those of unknown price left out; None when all are."""
        for usage, model in self._unpriced:
            cost = answer_cost(usage, model)
            if cost is not None:
                self._dollars = cost + (self._dollars or 0.0)
        self._unpriced.clear()
        return self._dollars


def _note_of_call(event: e.Event, call: KnownCall) -> float | None:
    match event.fact:
        case e.DecisionRequested():
            call.requested_at = event.t
        case e.Decided(_, _, decision, by):
            call.decision, call.by = _DECISIONS[type(decision)], by
            if isinstance(decision, Modify):
                call.arguments, call.raw_arguments = decision.arguments, None
            return call.requested_at
        case e.DecisionExpired():
            call.decision = "expired"
            return call.requested_at
        case e.ToolStarted():
            call.started_at = event.t
        case e.ToolReturned() | e.ToolFailed() | e.ToolAbandoned() | e.ToolEndedLate():
            return call.started_at
    return None


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, (list, tuple)) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return MISSING
    return value


def _own_tokens(moment: EventMoment) -> int | None:
    usage = moment.own_usage
    return None if usage is None or usage.unreported else usage.input_tokens + usage.output_tokens


_VALUES: dict[str, Callable[[EventMoment], Any]] = {
    "kind": lambda moment: moment.event.type,
    "event": lambda moment: moment.event.seq,
    "time": lambda moment: moment.event.t,
    "tool": lambda moment: None if moment.call is None else moment.call.name,
    "decision": lambda moment: None if moment.call is None else moment.call.decision,
    "by": lambda moment: None if moment.call is None else moment.call.by,
    "text": lambda moment: moment.words or None,
    "iteration": lambda moment: moment.event.iteration or None,
    "model": lambda moment: moment.model,
    "depth": lambda moment: moment.event.loop.count("#"),
    "agent": lambda moment: moment.agent,
    "loop": lambda moment: moment.event.loop,
    "error": lambda moment: error_words(moment.event.fact),
    "warning": lambda moment: getattr(moment.event.fact, "detector", None),
    "duration": lambda moment: moment.duration,
    "tokens.own": _own_tokens,
    "tokens.total": lambda moment: moment.total_tokens,
    "cost.own": EventMoment.own_cost,
    "cost.total": EventMoment.total_cost,
}
