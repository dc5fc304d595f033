"""Batches of calls that come again in the same order: equal ones in a row, and cycles (spec/loop.md 6.1, 6.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from loopkit.core.detection.detectors import Fired, is_due
from loopkit.core.detection.turns import EVIDENCE_CALLS, DetectionRules, Outcomes, Repetition, Turn

CYCLE_LENGTHS = (2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class SeenBatch:
    """One turn of the window; `polled` is what its polling tools gave, once that is known."""

    iteration: int
    signature: str
    names: tuple[str, ...]
    polled: str = ""


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often a turn was, in a row, what the turn `length` before it was.

    Args:
        matches: turns in a row that match.
        since: iteration of the first turn that was matched.
        firings: how often it was reported.
    """

    length: int
    matches: int = 0
    since: int = 0
    firings: int = 0

    @property
    def count(self) -> int:
        """Whole rounds so far."""
        return 1 + self.matches // self.length

    def matched(self, earlier: SeenBatch) -> Rounds:
        return Rounds(self.length, self.matches + 1, self.since or earlier.iteration, self.firings)


@dataclass(frozen=True, slots=True)
class RepeatedRounds:
    """Counts rounds of some lengths; of length 1 they are the seed's identical batches.

    Args:
        detector: its name.
        rounds: one count for each length.
        window: the last turns, as many as a match needs.
        newest: iteration and id of the last calls, as evidence.
    """

    detector: str
    rounds: tuple[Rounds, ...]
    window: tuple[SeenBatch, ...] = ()
    newest: tuple[tuple[int, str], ...] = ()

    @classmethod
    def of(cls, detector: str, *lengths: int) -> RepeatedRounds:
        """Return one that has seen nothing."""
        return cls(detector, tuple(Rounds(length) for length in lengths))

    def asked(self, turn: Turn, rules: DetectionRules) -> tuple[RepeatedRounds, tuple[Fired, ...]]:
        size = self.rounds[-1].length + 1
        seen = SeenBatch(turn.iteration, turn.signature, turn.names)
        window = (*self.window, seen)[-size:]
        newest = (*self.newest, *((turn.iteration, key) for key in turn.keys))[-EVIDENCE_CALLS:]
        now = RepeatedRounds(self.detector, tuple(_after(one, window, turn) for one in self.rounds), window, newest)
        return now._fired(rules)

    def answered(self, turn: Turn, outcomes: Outcomes) -> RepeatedRounds:
        if not turn.polls:
            return self
        last = replace(self.window[-1], polled=turn.polled(outcomes))
        window = (*self.window[:-1], last)
        return replace(self, window=window, rounds=tuple(_after_polling(one, window) for one in self.rounds))

    def standing(self, rules: DetectionRules) -> tuple[Repetition, ...]:
        found = (
            self._repetition(one, rules) for one in self.rounds if one.count > 1 and _is_shortest(one, self.window)
        )
        return tuple(found)

    def _fired(self, rules: DetectionRules) -> tuple[RepeatedRounds, tuple[Fired, ...]]:
        fired: list[Fired] = []
        rounds = list(self.rounds)
        for place, one in enumerate(rounds):
            if one.count > 1 and _is_shortest(one, self.window):
                found = self._repetition(one, rules)
                if is_due(one.count, one.firings, found.threshold):
                    rounds[place] = replace(one, firings=one.firings + 1)
                    fired.append((found, one.firings + 1))
        return (replace(self, rounds=tuple(rounds)), tuple(fired)) if fired else (self, ())

    def _repetition(self, one: Rounds, rules: DetectionRules) -> Repetition:
        steps = self.window[-one.length :]
        name = " → ".join("+".join(step.names) for step in steps)
        threshold = rules.threshold_of(tuple(tool for step in steps for tool in step.names))
        calls = tuple(key for iteration, key in self.newest if one.since <= iteration)
        return Repetition(self.detector, name, one.count, threshold, one.since, calls)


def _after(one: Rounds, window: tuple[SeenBatch, ...], turn: Turn) -> Rounds:
    earlier = _earlier(one, window)
    if earlier is None or earlier.signature != window[-1].signature:
        return Rounds(one.length)
    return one if turn.polls else one.matched(earlier)


def _after_polling(one: Rounds, window: tuple[SeenBatch, ...]) -> Rounds:
    """Count a turn with polling tools once it is known that their results are the same (spec/faults.md g1)."""
    earlier = _earlier(one, window)
    if earlier is None or earlier.signature != window[-1].signature:
        return one
    return one.matched(earlier) if earlier.polled == window[-1].polled else Rounds(one.length)


def _earlier(one: Rounds, window: tuple[SeenBatch, ...]) -> SeenBatch | None:
    return window[-1 - one.length] if len(window) > one.length else None


def _is_shortest(one: Rounds, window: tuple[SeenBatch, ...]) -> bool:
    """Say whether no shorter round explains the same turns: A A A A is no cycle, A B A B none of four."""
    steps = [batch.signature for batch in window[-one.length :]]
    shorter = (size for size in range(1, one.length) if one.length % size == 0)
    return not any(all(step == steps[place % size] for place, step in enumerate(steps)) for size in shorter)
