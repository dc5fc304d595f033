"""Lays two event logs of one run side by side: what corresponds, what is missing, what is extra, what changed places.

Events correspond by what they are about (an iteration, a call, a request), loop by loop, so that one missing or extra
event shifts nothing behind it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from loopkit import events as e
from loopkit.events import Event


@dataclass(frozen=True, slots=True)
class Pair:
    """Two events that correspond, or one that corresponds to none.

    Args:
        recorded, came: at least one of them.
        before: number of the last recorded event of the loop in front of one that is not recorded.
        moved: both are there, but not in the same place.
    """

    recorded: Event | None
    came: Event | None
    before: int = 0
    moved: bool = False

    @property
    def seq(self) -> int:
        return self.before if self.recorded is None else self.recorded.seq

    @property
    def event(self) -> Event:
        event = self.came if self.recorded is None else self.recorded
        assert event is not None
        return event


def subject_of(event: Event) -> tuple[Hashable, ...]:
    """Return what an event is about; in a sound log no two events of a loop share it, spontaneous ones excepted."""
    place = _SUBJECTS.get(type(event.fact))
    if place is None:
        return event.type, event.iteration
    word, of_iteration, fields = place
    values = tuple([getattr(event.fact, name) for name in fields])
    return (word, event.iteration, *values) if of_iteration else (word, *values)


# by class: a word, whether the iteration belongs to it, and which fields do
_SUBJECTS: dict[type[e.Fact], tuple[str, bool, tuple[str, ...]]] = {
    e.LoopStarted: ("start", False, ()),
    e.LoopFinished: ("end", False, ()),
    e.LoopFailed: ("end", False, ()),
    e.ModelRequested: ("request", True, ("attempt",)),
    e.ModelAttemptFailed: ("failed attempt", True, ("attempt",)),
    e.ModelReplied: ("answer", True, ()),
    e.ModelInterrupted: ("answer", True, ()),
    e.RepetitionDetected: ("repetition", True, ("detector",)),
    e.DecisionRequested: ("decision asked for", False, ("call", "version")),
    e.Decided: ("decision", False, ("call", "version")),
    e.DecisionExpired: ("decision", False, ("call", "version")),
    e.ToolStarted: ("run", False, ("call",)),
    e.ToolSkipped: ("run", False, ("call",)),
    e.ToolReturned: ("result", False, ("call",)),
    e.ToolFailed: ("result", False, ("call",)),
    e.ToolAbandoned: ("result", False, ("call",)),
    e.ResultProcessed: ("processed", False, ("call", "processor")),
}


def align(recorded: Sequence[Event], came: Sequence[Event], *, ordered: bool = True) -> list[Pair]:
    """Return pairs in the recording's order, what came without a counterpart behind what it followed.

    Args:
        ordered: also inputs have to come in the recorded order; else only what the loop derives.
    """
    before, after = _by_loop(recorded), _by_loop(came)
    starts = {event.fact.call: event.seq for event in recorded if isinstance(event.fact, e.ToolStarted)}
    pairs: list[Pair] = []
    for loop in dict.fromkeys([*before, *after]):
        known = before.get(loop, [])
        start = known[0].seq - 1 if known else starts.get(loop.rpartition("#")[0], len(recorded))
        pairs.extend(_aligned(known, after.get(loop, []), start, ordered=ordered))
    return sorted(pairs, key=lambda pair: (pair.seq, pair.recorded is None, 0 if pair.came is None else pair.came.seq))


def _by_loop(events: Sequence[Event]) -> dict[str, list[Event]]:
    loops: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        loops[event.loop].append(event)
    return loops


def _numbered(events: Sequence[Event]) -> list[tuple[Hashable, ...]]:
    """Return each event's subject with its occurrence."""
    seen: dict[tuple[Hashable, ...], int] = defaultdict(int)
    numbered: list[tuple[Hashable, ...]] = []
    for event in events:
        subject = subject_of(event)
        seen[subject] += 1
        numbered.append((*subject, seen[subject]))
    return numbered


def _aligned(before: Sequence[Event], after: Sequence[Event], start: int, *, ordered: bool) -> Iterator[Pair]:
    places = {subject: place for place, subject in enumerate(_numbered(after))}
    matched = [(place, places[subject]) for place, subject in enumerate(_numbered(before)) if subject in places]
    strict = [
        pair
        for pair in matched
        if ordered or isinstance(before[pair[0]].fact, (e.Derived, e.LoopStarted, e.StopAnswered))
    ]
    kept = _longest_rising(strict)
    in_place = set(kept) | (set(matched) - set(strict))
    for place, other in matched:
        yield Pair(before[place], after[other], moved=(place, other) not in in_place)
    left = sorted(set(range(len(before))) - {place for place, _ in matched})
    right = sorted(set(range(len(after))) - {place for _, place in matched})
    substitute, extra = _substituted(before, after, left, right, kept)
    for place in left:
        yield Pair(before[place], after[substitute[place]] if place in substitute else None)
    behind = {other: before[place].seq for place, other in matched}
    newest = start
    for place in range(len(after)):
        newest = max(newest, behind.get(place, start))
        if place in extra:
            yield Pair(None, after[place], before=newest)


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of pairs, sorted by their first, that is sorted by the second too."""
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for number, (_, other) in enumerate(pairs):
        length = bisect_left(tails, other)
        previous.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [other]
        ends[length : length + 1] = [number]
    chain: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chain.append(pairs[number])
        number = previous[number]
    return chain[::-1]


def _substituted(
    before: Sequence[Event],
    after: Sequence[Event],
    left: Sequence[int],
    right: Sequence[int],
    kept: Sequence[tuple[int, int]],
) -> tuple[dict[int, int], set[int]]:
    """Pair what stands between the same neighbours and is of the same type: its number or call was changed.

    Returns:
        the pairs, and which of `right` stay alone.
    """
    firsts, seconds = [place for place, _ in kept], [place for _, place in kept]
    waiting: dict[tuple[int, str], list[int]] = defaultdict(list)
    for place in right:
        waiting[bisect_left(seconds, place), after[place].type].append(place)
    pairs: dict[int, int] = {}
    for place in left:
        others = waiting.get((bisect_left(firsts, place), before[place].type))
        if others:
            pairs[place] = others.pop(0)
    return pairs, {place for places in waiting.values() for place in places}
