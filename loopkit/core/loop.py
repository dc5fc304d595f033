"""The loop as a pure machine: events in, what must happen next out.

Theory of operation. A loop's state is a fold of its events, nothing else. A driver feeds inputs (a model's answer, a
decision, a result, a clock reading) and, before anything else happens, appends what the machine derives from them:
`due` names the next derived fact, `gates` the stops before it, `wants` the effects that are still waited for. Live,
replay and fork differ only in where the inputs come from, so they can't drift apart. Nothing here does I/O, reads a
clock or starts a task; nothing but `apply` changes state.
"""

from __future__ import annotations

from collections.abc import Iterable

from loopkit import events as e
from loopkit.core.applying import apply, start
from loopkit.core.deciding import decide, gates
from loopkit.core.state import Effect, LoopState


class LoopCore:
    """One loop's machine.

    Args:
        state: where it stands; `LoopCore.started` makes the first.
    """

    __slots__ = ("state",)

    def __init__(self, state: LoopState) -> None:
        self.state = state

    @classmethod
    def started(cls, path: str, fact: e.LoopStarted) -> LoopCore:
        """Return the machine of a loop that just began."""
        return cls(start(path, fact))

    def apply(self, event: e.Event) -> None:
        """Take in the next event of this loop."""
        self.state = apply(self.state, event.fact)

    def due(self) -> e.Derived | None:
        """Return the derived fact that must be appended next, or None."""
        return decide(self.state)

    def gates(self) -> tuple[str, ...]:
        """Return the gates before what is due, in passing order."""
        return gates(self.state)

    @property
    def wants(self) -> frozenset[Effect]:
        """Effects that the loop waits for."""
        return self.state.wants

    def iteration_of(self, fact: e.Fact) -> int:
        """Return the iteration that an event with this fact belongs to."""
        return self.state.iteration + (type(fact) is e.IterationStarted)


def fold(events: Iterable[e.Event]) -> dict[str, LoopState]:
    """Return the state of every loop after these events, by path."""
    states: dict[str, LoopState] = {}
    for event in events:
        apply_to(states, event)
    return states


def apply_to(states: dict[str, LoopState], event: e.Event) -> None:
    """Take one event into a run's states."""
    if isinstance(event.fact, e.LoopStarted):
        states[event.loop] = start(event.loop, event.fact)
    elif event.loop in states:
        states[event.loop] = apply(states[event.loop], event.fact)
