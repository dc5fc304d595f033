"""Which result belongs to which call, where ids repeat, are missing or were damaged.

Calls are paired within the most recent answer that still waits for their id, in order (spec/faults.md b8, b9). A result
whose id no call has goes to the first call of that answer that no result names (formats.md §0.6).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from loopkit.importers.steps import Answer, Result, Step


@dataclass(slots=True, eq=False)
class CallSlot:
    """One call in its place.

    Args:
        answer: index of its answer's step.
        position: its place in the answer, from 1.
        result: index of its result's step, or None.
    """

    id: str
    name: str
    answer: int
    position: int
    result: int | None = None


@dataclass(slots=True)
class Pairing:
    """The calls of a session and what answers them.

    Args:
        of_answer: the calls of each answer, by the answer's step index.
        of_result: the call that each paired result answers, by the result's step index.
        by_position: results that were paired by order because their id fits no call.
    """

    of_answer: dict[int, list[CallSlot]] = field(default_factory=dict)
    of_result: dict[int, CallSlot] = field(default_factory=dict)
    by_position: int = 0


def pair(steps: Sequence[Step]) -> Pairing:
    """Pair every result with a call of its thread, as far as one is there."""
    pairing = Pairing()
    named: dict[str, set[str]] = defaultdict(set)
    for step in steps:
        if isinstance(step, Result):
            named[step.thread].add(step.call)
    latest: dict[str, list[CallSlot]] = {}
    waiting: dict[tuple[str, str], list[CallSlot]] = defaultdict(list)
    for index, step in enumerate(steps):
        if isinstance(step, Answer):
            slots = [CallSlot(call.id, call.name, index, place) for place, call in enumerate(step.calls, 1)]
            pairing.of_answer[index] = slots
            if slots:
                latest[step.thread] = slots
            for slot in slots:
                waiting[step.thread, slot.id].append(slot)
        elif isinstance(step, Result):
            found = _first_of_latest_answer(waiting[step.thread, step.call])
            if found is None:
                found = _unnamed(latest.get(step.thread, []), named[step.thread])
                pairing.by_position += found is not None
            if found is not None:
                waiting[step.thread, found.id].remove(found)
                found.result = index
                pairing.of_result[index] = found
    return pairing


def _first_of_latest_answer(slots: list[CallSlot]) -> CallSlot | None:
    if not slots:
        return None
    latest = slots[-1].answer
    return next(slot for slot in slots if slot.answer == latest)


def _unnamed(slots: list[CallSlot], named: set[str]) -> CallSlot | None:
    return next((slot for slot in slots if slot.result is None and slot.id not in named), None)
