"""Where a run can stand, live or recorded: the gates that its loops pass, and how far a command goes on among them.

A live run is asked at each gate; in a recording the same gates are found by folding its events and asking the same core
(`core.deciding.gates`) before each event that follows from others. So stepping through a recording visits what stepping
through the run did.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from loopkit import events as e
from loopkit.core.applying import start
from loopkit.core.deciding import gates
from loopkit.core.editing import PERSON
from loopkit.core.loop import apply_to
from loopkit.core.state import CallPhase, LoopState, Phase
from loopkit.outcomes import Approve

StopKind: TypeAlias = Literal["request", "response", "decision", "call", "result"]
Reach: TypeAlias = Literal["stop", "iteration", "into", "over", "out", "continue"]

_REACHES = {
    "stop": "at the next gate",
    "iteration": "before the next request",
    "into": "in the next sub-agent, or before the next request",
    "over": "at the next gate of the same agent, or of one above it",
    "out": "at the next gate of an agent above",
    "continue": "",
}
_BROKEN_FOLD = (ValueError, TypeError, AttributeError, LookupError, AssertionError)


@dataclass(frozen=True, slots=True)
class Goal:
    """How far a run goes on.

    Args:
        reach: to which stop.
        loop: whose stops `iteration`, `into`, `over` and `out` are about: the loop that stands.
    """

    reach: Reach
    loop: str = e.ROOT

    def reached(self, loop: str, kind: StopKind) -> bool:
        """Return whether the run goes no further than this stop of a loop."""
        around = loop == self.loop or self.loop.startswith(f"{loop}/")
        match self.reach:
            case "stop":
                return True
            case "iteration":
                return around and kind == "request"
            case "into":
                return loop.startswith(f"{self.loop}/") or (around and kind == "request")
            case "over":
                return around
            case "out":
                return around and loop != self.loop
        return False

    @property
    def words(self) -> str:
        """Where the run will stand, in words; empty when nowhere."""
        return _REACHES[self.reach]


@dataclass(frozen=True, slots=True)
class Stop:
    """A moment at which a run can stand.

    Args:
        place: how many events have happened.
        loop: the loop that stands.
        kind: before a request, after a response, before a person's decision, before a call, after a result.
        about: the iteration (`root/3`) or the call (`root/3.1`).
        steps: whether a step stands here; before a call it does not when a person has just decided on it.
    """

    place: int
    loop: str
    kind: StopKind
    about: str
    steps: bool = True


def steps_at(kind: StopKind, *, asked_person: bool) -> bool:
    """Return whether a step stands at a gate; before a call not, when a person has just decided on it.

    Args:
        asked_person: whether a person decided on the call that it is about.
    """
    return kind != "call" or not asked_person


class StopFinder:
    """Takes in a run's events one after another and says which stops were passed before each.

    Attributes:
        place: how many events it has taken in.
    """

    def __init__(self) -> None:
        self.place = 0
        self._states: dict[str, LoopState] = {}
        self._passed: dict[str, set[str]] = {}
        self._by_person: dict[str, set[str]] = {}

    def take(self, event: e.Event) -> list[Stop]:
        """Take in the next event; return the stops before it, in the order in which they were passed."""
        state = self._states.get(event.loop)
        stops = [] if state is None else self._before(state, event)
        if isinstance(event.fact, e.IterationStarted):
            self._put_right(event)
        self.place += 1
        # of a damaged recording, or another tool's session, the fold may fail; the next iteration puts it right
        with suppress(*_BROKEN_FOLD):
            apply_to(self._states, event)
        if isinstance(event.fact, (e.IterationStarted, e.LoopStarted)):
            self._forget(event.loop)
        return stops

    def _put_right(self, event: e.Event) -> None:
        """Begin an iteration where something before it is missing; what its gates are doesn't hang on that."""
        state = self._states.get(event.loop)
        if state is None:
            state = start(event.loop, e.LoopStarted("?", ()))
        if state.iteration != event.iteration - 1:
            state = state.changed(iteration=event.iteration - 1)
        self._states[event.loop] = state

    def _forget(self, loop: str) -> None:
        self._passed[loop] = set()
        self._by_person[loop] = set()

    def _before(self, state: LoopState, event: e.Event) -> list[Stop]:
        fact = event.fact
        if isinstance(fact, (e.Decided, e.DecisionExpired)):
            return self._decision(event, fact)
        if isinstance(fact, e.Paused):
            return self._gates(event.loop, gates(state), fact.gate)
        if not isinstance(fact, e.Derived):
            return []
        stops = self._gates(event.loop, gates(state))
        if isinstance(fact, e.ToolStarted):
            if state.phase is Phase.RESPONDED:
                self._states[event.loop] = _decided_by_nobody(state, event)
            # sessions of other tools don't say which tools there are, so that the core would not run this call
            stops += self._gates(event.loop, (f"{fact.call}.call",))
        return stops

    def _decision(self, event: e.Event, fact: e.Decided | e.DecisionExpired) -> list[Stop]:
        if isinstance(fact, e.Decided) and fact.by != PERSON:
            return []
        self._by_person[event.loop].add(fact.call)
        return [Stop(self.place, event.loop, "decision", fact.call)]

    def _gates(self, loop: str, before: tuple[str, ...], until: str | None = None) -> list[Stop]:
        passed, by_person = self._passed[loop], self._by_person[loop]
        stops: list[Stop] = []
        for gate in before:
            if gate in passed:
                continue
            passed.add(gate)
            about, _, word = gate.rpartition(".")
            kind = cast("StopKind", word)
            steps = steps_at(kind, asked_person=about in by_person)
            stops.append(Stop(self.place, loop, kind, about, steps))
            if gate == until:
                break
        return stops


def _decided_by_nobody(state: LoopState, event: e.Event) -> LoopState:
    """Let the calls of an answer run that nobody was asked about, as in sessions of other tools."""
    states = {event.loop: state}
    for call in state.calls:
        if call.phase is CallPhase.RECEIVED:
            for fact in (
                e.DecisionRequested(call.key, call.version, call.call.name),
                e.Decided(call.key, call.version, Approve(), "default"),
            ):
                try:
                    apply_to(states, e.Event(event.seq, event.t, event.loop, event.iteration, fact))
                except _BROKEN_FOLD:
                    return state
    return states[event.loop]
