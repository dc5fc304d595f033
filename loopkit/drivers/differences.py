"""What a pair of events that differ says by itself: which kind of change it is, and how far its effects may go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from loopkit import events as e
from loopkit.drivers.alignment import Pair
from loopkit.drivers.drifts import Namer, call_in_words, decision_in_words, drifts_of_start
from loopkit.drivers.findings import Drift
from loopkit.encoding import encode_tagged
from loopkit.events import Event
from loopkit.outcomes import Modify

RESULTS = (e.ToolReturned, e.ToolFailed, e.ToolAbandoned)
# what only the words of a request tell the model; everything else may change what the loop does
_IN_REQUESTS_ONLY = frozenset(
    (
        Drift.AGENT,
        Drift.SYSTEM_PROMPT,
        Drift.MESSAGES,
        Drift.TOOL_DESCRIPTION,
        Drift.TOOL_ORDER,
        Drift.MODEL,
        Drift.SETTINGS,
    )
)


class Reach(IntEnum):
    """How far the effects of a change go."""

    NOTHING = 0
    NEXT_REQUEST = 1
    LOOP = 2


@dataclass(frozen=True, slots=True)
class Difference:
    """One change.

    Args:
        what: which thing, in a few words.
        before, after: the values that differ, a text or plain JSON.
        name: which one of its kind, such as a configuration's field.
        suspects: recorded events of which one was changed, when it can't be told which.
    """

    drift: Drift
    what: str
    reach: Reach
    before: Any = None
    after: Any = None
    name: str = ""
    suspects: tuple[Event, ...] = ()


def differences_of_start(recorded: e.LoopStarted, came: e.LoopStarted) -> Iterator[Difference]:
    """Yield what changed in the start of a loop, part by part."""
    for part in drifts_of_start(recorded, came):
        reach = Reach.NEXT_REQUEST if part.drift in _IN_REQUESTS_ONLY else Reach.LOOP
        how = "is new" if part.before is None else "is gone" if part.after is None else "changed"
        which = part.name or f"that of {recorded.agent}"
        yield Difference(part.drift, f"{which} {how}", reach, part.before, part.after, part.name)


def difference_of_input(recorded: Event, came: Event, namer: Namer) -> Difference:
    """Return what changed in what a callback, a person or a tool said."""
    match recorded.fact:
        case e.Decided(call) | e.DecisionExpired(call):
            return _decision(recorded.fact, came.fact, namer.call(call))
        case e.StopAnswered():
            what = "stop_when says otherwise"
            return Difference(Drift.STOP_CONDITION, what, Reach.LOOP, _value(recorded.fact), _value(came.fact))
        case e.ResultProcessed(call, _, processor):
            what = f"result_{processor} makes something else of the result of {namer.call(call)}"
            return Difference(Drift.PROCESSING, what, Reach.LOOP, _value(recorded.fact), _value(came.fact))
        case e.ToolReturned(call) | e.ToolFailed(call) | e.ToolAbandoned(call):
            what = f"{namer.call(call)} gives something else"
            return Difference(Drift.RESULT, what, Reach.LOOP, _value(recorded.fact), _value(came.fact))
    return difference_of_derived(recorded, came, namer)


def difference_of_derived(recorded: Event, came: Event, namer: Namer) -> Difference:
    """Return what changed in what the loop does."""
    what = f"{namer.event(recorded)} otherwise"
    if type(recorded.fact) is not type(came.fact):
        what = f"{namer.event(recorded)}; today: {namer.event(came)}"
    elif recorded.fact == came.fact:
        what = f"{recorded.type} stands in iteration {recorded.iteration}, today in {came.iteration}"
    reach = Reach.NOTHING if type(recorded.fact) is type(came.fact) else Reach.LOOP
    return Difference(Drift.COURSE, what, reach, *_facts(recorded, came))


def difference_of_order(recorded: Event, behind: Event | None, namer: Namer) -> Difference:
    """Return that an event changed places.

    Args:
        behind: what it comes behind today, or None at the beginning.
    """
    place = "it comes first" if behind is None else f"it comes behind: {namer.event(behind)}"
    return Difference(Drift.ORDER, f"{namer.event(recorded)} changed places; today {place}", Reach.NOTHING)


def difference_of_request(recorded: Event, came: Event, suspects: tuple[Event, ...], namer: Namer) -> Difference:
    """Return that a request carries something that was not sent when it was recorded."""
    what = f"{namer.event(recorded)} carries what was not sent when it was recorded"
    if not suspects:
        return Difference(Drift.HISTORY, what, Reach.LOOP, *_facts(recorded, came))
    what += "; one of these was changed" if len(suspects) > 1 else "; this was changed"
    return Difference(Drift.HISTORY, what, Reach.LOOP, suspects=suspects)


def difference_of_left_over(recorded: Event, namer: Namer, *, live: bool, unstarted: bool) -> Difference:
    """Return that something is recorded that does not happen today.

    Args:
        live: what runs live said what the loop does.
        unstarted: nothing of its loop happens today.
    """
    fact, name = recorded.fact, namer.event(recorded)
    shown = _value(fact)
    if isinstance(fact, e.LoopStarted):
        return Difference(Drift.SUB_AGENT, f"{fact.agent} is not started", Reach.LOOP, shown)
    if isinstance(fact, e.ModelReplied) and live:
        if not fact.message.tool_calls:
            return Difference(Drift.ANSWER, "the model does not give its answer", Reach.LOOP)
        return Difference(Drift.MISSING_CALL, f"{_tools(fact)} is not asked for", Reach.LOOP, _calls(fact))
    if unstarted:
        return Difference(Drift.SUB_AGENT, "the start of its loop is not recorded, or not met", Reach.LOOP, shown)
    if isinstance(fact, e.Derived):
        return Difference(Drift.COURSE, f"does not happen today: {name}", Reach.LOOP, shown)
    return Difference(Drift.LEFT_OVER, f"today's loop does not ask for it: {name}", Reach.LOOP, shown)


def difference_of_extra(came: Event, shown: Event, namer: Namer, *, stands_in: bool) -> Difference:
    """Return that something happens today that is not recorded.

    Args:
        shown: the event as it was.
        stands_in: it stands for an input that the recording lacks.
    """
    fact, name = came.fact, namer.event(shown)
    value = _value(shown.fact)
    if stands_in:
        return Difference(Drift.MISSING_EVENT, f"not recorded: {name}", Reach.LOOP)
    if isinstance(fact, e.CallbackFailed):
        what = f"{fact.callback} raises {fact.failure.type_name} today"
        return Difference(Drift.CALLBACK, what, Reach.LOOP, None, value)
    if isinstance(fact, e.LoopStarted):
        return Difference(Drift.SUB_AGENT, f"{fact.agent} is started today only", Reach.LOOP, None, value)
    if isinstance(fact, e.ModelReplied) and fact.message.tool_calls:
        what = f"{_tools(fact)} is asked for today only"
        return Difference(Drift.EXTRA_CALL, what, Reach.LOOP, None, _calls(fact))
    return Difference(Drift.COURSE, f"happens today only: {name}", Reach.LOOP, None, value)


def differs(pair: Pair) -> bool:
    """Say whether two events that correspond are not the same."""
    recorded, came = pair.recorded, pair.came
    assert recorded is not None
    assert came is not None
    return recorded.fact != came.fact or recorded.iteration != came.iteration


def _decision(recorded: e.Fact, came: e.Fact, call: str) -> Difference:
    decisions = [fact.decision if isinstance(fact, e.Decided) else None for fact in (recorded, came)]
    arguments = [dict(decision.arguments) for decision in decisions if isinstance(decision, Modify)]
    if len(arguments) == 2 and arguments[0] != arguments[1]:
        return Difference(Drift.ARGUMENTS, f"{call} gets other arguments", Reach.LOOP, arguments[0], arguments[1])
    what = f"{call} is decided otherwise"
    return Difference(Drift.DECISION, what, Reach.LOOP, decision_in_words(recorded), decision_in_words(came))


def _facts(recorded: Event, came: Event) -> tuple[Any, Any]:
    return encode_tagged(recorded.fact), encode_tagged(came.fact)


def _value(fact: e.Fact) -> Any:
    """Return what matters of a fact, as short as it can be said."""
    match fact:
        case e.ToolReturned(_, content, False) | e.ResultProcessed(_, str() as content, _, None):
            return content
        case e.ToolFailed(_, failure) | e.CallbackFailed(_, failure):
            return f"{failure.type_name}: {failure.message}"
        case e.Decided() | e.DecisionExpired():
            return decision_in_words(fact)
        case e.StopAnswered(stop, reason):
            return f"stop: {reason}" if stop else "go on"
        case e.LoopStarted(agent, messages):
            return f"{agent}: {messages[-1].text if messages else ''}"
        case e.ModelReplied():
            return _calls(fact) or fact.message.text
    return encode_tagged(fact)


def _tools(fact: e.ModelReplied) -> str:
    return ", ".join(call.name for call in fact.message.tool_calls)


def _calls(fact: e.ModelReplied) -> str:
    return "\n".join(call_in_words(call) for call in fact.message.tool_calls)
