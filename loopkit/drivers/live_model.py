"""Compares a recording with a run whose model was live: by what it asked for, wherever that stands.

A live model words things anew and its calls move to other iterations, so words, ids, tokens and requests don't count:
its calls with their arguments, decisions, results and how the loop ended do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from loopkit import events as e
from loopkit.core.detection.signatures import batch_signature
from loopkit.drivers.drifts import call_in_words
from loopkit.drivers.findings import Drift
from loopkit.events import Event
from loopkit.messages import NO_USAGE, Message, ToolCall

_OTHER_EACH_TIME = (e.ClockRead, e.IterationStarted, e.ModelRequested, e.ModelAttemptFailed, e.ModelInterrupted)


@dataclass(frozen=True, slots=True)
class CallDrift:
    """A difference between two answers.

    Args:
        what: the call, or None for one that changed places.
    """

    drift: Drift
    what: str
    before: object
    after: object


def comparable(events: Sequence[Event]) -> list[Event]:
    """Return a run's events without what is other each time."""
    return [
        Event(event.seq, event.t, event.loop, event.iteration, _plain(event.fact)) for event in events if _counts(event)
    ]


def _counts(event: Event) -> bool:
    return not isinstance(event.fact, _OTHER_EACH_TIME)


def _plain(fact: e.Fact) -> e.Fact:
    match fact:
        case e.ModelReplied(message):
            calls = [ToolCall("", call.name, call.arguments, call.raw_arguments) for call in message.tool_calls]
            return e.ModelReplied(Message.assistant("", calls))
        case e.LoopFinished(reason):
            return e.LoopFinished(reason, 0, NO_USAGE)
        case e.LoopFailed(failure):
            return e.LoopFailed(failure, 0, NO_USAGE)
    return fact


def call_drifts(recorded: Sequence[ToolCall], came: Sequence[ToolCall]) -> Iterator[CallDrift]:
    """Yield what differs between the calls of two answers."""
    places = dict(matched_calls(recorded, came))
    for place, call in enumerate(came):
        if place not in places.values():
            yield CallDrift(Drift.EXTRA_CALL, f"{call.name} is asked for today only", None, call_in_words(call))
    for place, call in enumerate(recorded):
        if place not in places:
            yield CallDrift(Drift.MISSING_CALL, f"{call.name} is not asked for", call_in_words(call), None)
            continue
        other = came[places[place]]
        if batch_signature((call,)) != batch_signature((other,)):
            yield CallDrift(
                Drift.ARGUMENTS, f"{call.name} is asked for with other arguments", _arguments(call), _arguments(other)
            )
    order = [places[place] for place in sorted(places)]
    if order != sorted(order):
        names = ["\n".join(call_in_words(call) for call in calls) for calls in (recorded, came)]
        yield CallDrift(Drift.ORDER, "the calls are asked for in another order", *names)


def matched_calls(recorded: Sequence[ToolCall], came: Sequence[ToolCall]) -> list[tuple[int, int]]:
    """Pair the calls of two answers: equal ones first, then those of the same tool, each in order."""
    left = dict(enumerate(recorded))
    right = dict(enumerate(came))
    pairs: list[tuple[int, int]] = []
    for key in (lambda call: batch_signature((call,)), lambda call: call.name):
        for place, call in list(left.items()):
            other = next((other for other, candidate in right.items() if key(candidate) == key(call)), None)
            if other is not None:
                pairs.append((place, other))
                del left[place], right[other]
    return pairs


def renumbered(recorded: Sequence[Event], came: Sequence[Event]) -> list[Event]:
    """Return today's events with the iterations and calls of the recorded ones that they correspond to.

    What corresponds to none keeps a number that no recorded one has.
    """
    result: list[Event] = []
    numbers = {loop: _Numbers.of(recorded, came, loop) for loop in dict.fromkeys(event.loop for event in came)}
    for event in came:
        known = numbers[event.loop]
        fact = event.fact
        call = getattr(fact, "call", None)
        if isinstance(call, str) and (number := known.calls.get(call, f"{call}+")) != call:
            fact = dataclasses.replace(fact, call=number)  # type: ignore[type-var]  # each has one
        turn = known.turns.get(event.iteration, event.iteration)
        result.append(Event(event.seq, event.t, event.loop, turn, fact))
    return result


@dataclass(frozen=True)
class _Numbers:
    """Recorded numbers of today's iterations and calls in one loop."""

    turns: Mapping[int, int]
    calls: Mapping[str, str]

    @classmethod
    def of(cls, recorded: Sequence[Event], came: Sequence[Event], loop: str) -> _Numbers:
        before, after = _answers(recorded, loop), _answers(came, loop)
        old, new = list(before), list(after)
        first, second = ([batch_signature(calls) for calls in answers.values()] for answers in (before, after))
        turns: dict[int, int] = {}
        for tag, one, one_end, two, two_end in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
            if tag in ("equal", "replace"):
                turns.update(zip(new[two:two_end], old[one:one_end], strict=False))
        unused = max(old, default=0) + 1
        for turn in new:
            if turn not in turns:
                turns[turn], unused = unused, unused + 1
        calls: dict[str, str] = {}
        for turn, number in turns.items():
            for place, other in matched_calls(before.get(number, ()), after[turn]):
                calls[e.call_key(loop, turn, other + 1)] = e.call_key(loop, number, place + 1)
        return cls(turns, calls)


def _answers(events: Sequence[Event], loop: str) -> dict[int, tuple[ToolCall, ...]]:
    return {
        event.iteration: event.fact.message.tool_calls
        for event in events
        if event.loop == loop and isinstance(event.fact, e.ModelReplied)
    }


def _arguments(call: ToolCall) -> object:
    return dict(call.arguments) if call.raw_arguments is None else call.raw_arguments
