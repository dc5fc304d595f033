"""The detectors, each a value: `asked` takes a turn in and says what repeats, `answered` the results of its calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeAlias

from loopkit.core.detection import settings as names
from loopkit.core.detection.turns import AskedCall, DetectionRules, Outcomes, Repetition, Run, Turn, result_of

Fired: TypeAlias = tuple[Repetition, int]  # with the number of the firing, from 1

FORGOTTEN_AFTER_TURNS = 10
REMEMBERED = 32


NOTHING = Run()


class Detector(Protocol):
    """Counts one kind of repetition; its size does not grow with the run."""

    def asked(self, turn: Turn, rules: DetectionRules) -> tuple[Self, tuple[Fired, ...]]:
        """Return it with a turn's calls taken in, and what has to be reported before they run."""

    def answered(self, turn: Turn, outcomes: Outcomes) -> Self:
        """Return it with the results of that turn."""

    def standing(self, rules: DetectionRules) -> tuple[Repetition, ...]:
        """Return what repeats at the moment."""


def is_due(count: int, firings: int, threshold: int) -> bool:
    """Say whether the next multiple of the threshold is reached (spec/loop.md 6.2)."""
    return count >= threshold * (firings + 1)


@dataclass(frozen=True, slots=True)
class RepeatedText:
    """The same words with response after response; one without words neither counts nor resets."""

    text: str = ""
    tools: tuple[str, ...] = ()
    run: Run = NOTHING

    def asked(self, turn: Turn, rules: DetectionRules) -> tuple[RepeatedText, tuple[Fired, ...]]:
        if not turn.text:
            return self, ()
        run = self.run if turn.text == self.text else NOTHING
        if not turn.polls:
            run = run.grown(turn.iteration, turn.keys, run.result)
        run, fired = _fire(run, _standing(names.REPEATED_TEXT, turn.names, run, rules))
        return RepeatedText(turn.text, turn.names, run), fired

    def answered(self, turn: Turn, outcomes: Outcomes) -> RepeatedText:
        if not turn.text or not turn.polls:
            return self
        polled = turn.polled(outcomes)
        run = self.run if self.run.result in ("", polled) else NOTHING
        return replace(self, run=run.grown(turn.iteration, turn.keys, polled))

    def standing(self, rules: DetectionRules) -> tuple[Repetition, ...]:
        return _repeating(_standing(names.REPEATED_TEXT, self.tools, self.run, rules))


@dataclass(frozen=True, slots=True)
class UnknownTools:
    """Responses in a row that ask for tools that aren't there."""

    tools: tuple[str, ...] = ()
    run: Run = NOTHING

    def asked(self, turn: Turn, rules: DetectionRules) -> tuple[UnknownTools, tuple[Fired, ...]]:
        unknown = tuple(call for call in turn.calls if not call.known)
        if not unknown:
            return UnknownTools(), ()
        run = self.run.grown(turn.iteration, tuple(call.key for call in unknown))
        tools = tuple(call.name for call in unknown)
        run, fired = _fire(run, _standing(names.UNKNOWN_TOOLS, tools, run, rules))
        return UnknownTools(tools, run), fired

    def answered(self, turn: Turn, outcomes: Outcomes) -> UnknownTools:
        return self

    def standing(self, rules: DetectionRules) -> tuple[Repetition, ...]:
        return _repeating(_standing(names.UNKNOWN_TOOLS, self.tools, self.run, rules))


@dataclass(frozen=True)
class SameResults:
    """Calls that gave the same result again and again, by signature."""

    runs: dict[str, tuple[str, Run]]

    def asked(self, turn: Turn, rules: DetectionRules) -> tuple[SameResults, tuple[Fired, ...]]:
        asked = {call.signature for call in turn.calls}
        runs, fired = _asked_again(names.SAME_RESULT, self.runs, asked, turn, rules)
        return SameResults(runs), fired

    def answered(self, turn: Turn, outcomes: Outcomes) -> SameResults:
        runs = dict(self.runs)
        for signature, calls in _grouped(turn.calls, lambda call: call.signature).items():
            result = " ".join(dict.fromkeys(result_of(call, outcomes) for call in calls))
            _, run = runs.pop(signature, ("", NOTHING))
            run = run if run.result == result else NOTHING
            runs[signature] = calls[0].name, run.grown(turn.iteration, tuple(call.key for call in calls), result)
        return SameResults(_newest(runs))

    def standing(self, rules: DetectionRules) -> tuple[Repetition, ...]:
        return _all_standing(names.SAME_RESULT, self.runs, rules)


@dataclass(frozen=True)
class RepeatedErrors:
    """Tools that did nothing but fail for some turns, by name; a turn counts once, however many of its calls failed."""

    runs: dict[str, tuple[str, Run]]

    def asked(self, turn: Turn, rules: DetectionRules) -> tuple[RepeatedErrors, tuple[Fired, ...]]:
        runs, fired = _asked_again(names.REPEATED_ERRORS, self.runs, set(turn.names), turn, rules)
        return RepeatedErrors(runs), fired

    def answered(self, turn: Turn, outcomes: Outcomes) -> RepeatedErrors:
        runs = dict(self.runs)
        answered = [call for call in turn.calls if call.known and call.key in outcomes]
        for name, calls in _grouped(answered, lambda call: call.name).items():
            verdicts = [failed for call in calls if (failed := outcomes[call.key].failed) is not None]
            if not verdicts:
                continue
            _, run = runs.pop(name, ("", NOTHING))
            if all(verdicts):
                polled = " ".join(result_of(call, outcomes) for call in calls if call.polling)
                run = run if run.result == polled else NOTHING
                runs[name] = name, run.grown(turn.iteration, tuple(call.key for call in calls), polled)
        return RepeatedErrors(_newest(runs))

    def standing(self, rules: DetectionRules) -> tuple[Repetition, ...]:
        return _all_standing(names.REPEATED_ERRORS, self.runs, rules)


# ── counting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _standing(detector: str, tools: tuple[str, ...], run: Run, rules: DetectionRules) -> Repetition:
    return Repetition(detector, "+".join(tools), run.count, rules.threshold_of(tools), run.since, run.calls)


def _repeating(*found: Repetition) -> tuple[Repetition, ...]:
    return tuple(repetition for repetition in found if repetition.count > 1)


def _fire(run: Run, found: Repetition) -> tuple[Run, tuple[Fired, ...]]:
    if not is_due(run.count, run.firings, found.threshold):
        return run, ()
    run = run.fired()
    return run, ((found, run.firings),)


def _asked_again(
    detector: str, runs: dict[str, tuple[str, Run]], asked: set[str], turn: Turn, rules: DetectionRules
) -> tuple[dict[str, tuple[str, Run]], tuple[Fired, ...]]:
    """Report what is asked for again after too many repeats; forget what is long ago and what a warning ended."""
    kept: dict[str, tuple[str, Run]] = {}
    fired: tuple[Fired, ...] = ()
    for key, (name, run) in runs.items():
        if turn.iteration - run.last > FORGOTTEN_AFTER_TURNS:
            continue
        if key in asked:
            after, found = _fire(run, _standing(detector, (name,), run, rules))
            kept[key] = name, after
            fired += found
        elif not run.firings:
            kept[key] = name, run
    return kept, fired


def _grouped(calls: Iterable[AskedCall], key: Callable[[AskedCall], str]) -> dict[str, list[AskedCall]]:
    groups: dict[str, list[AskedCall]] = {}
    for call in calls:
        groups.setdefault(key(call), []).append(call)
    return groups


def _newest(runs: dict[str, tuple[str, Run]]) -> dict[str, tuple[str, Run]]:
    return dict(list(runs.items())[-REMEMBERED:])


def _all_standing(detector: str, runs: dict[str, tuple[str, Run]], rules: DetectionRules) -> tuple[Repetition, ...]:
    return _repeating(*(_standing(detector, (name,), run, rules) for name, run in runs.values()))
