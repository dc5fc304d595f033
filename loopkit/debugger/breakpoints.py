"""Breakpoints: conditions that a run stands at the next gate after, once for each thing that they are about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock

from loopkit import events as e
from loopkit.core.editing import PERSON
from loopkit.debugger.condition_text import read_condition
from loopkit.debugger.conditions import Condition, scope_of
from loopkit.debugger.fields import Scope
from loopkit.debugger.moments import EventMoment, Moments
from loopkit.errors import CommandRefused


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A breakpoint, as plain data.

    Args:
        number: its name in commands, from 1; never given twice.
        condition: as it may be typed.
        enabled: whether it stops anything.
        one_shot: whether it stops only the first time that it isn't ignored.
        ignore: how often it is met without stopping anything.
        hits: how often it was met so far, since it was enabled.
    """

    number: int
    condition: str
    enabled: bool = True
    one_shot: bool = False
    ignore: int = 0
    hits: int = 0


class Breakpoints:
    """The breakpoints of a person; from any thread.

    Args:
        kept: those that were there before.
        keep: keeps all of them, after each change of them that a person made.
    """

    def __init__(
        self,
        kept: Iterable[Breakpoint] = (),
        keep: Callable[[tuple[Breakpoint, ...]], None] = lambda _: None,
    ) -> None:
        self.all = tuple(kept)
        self.version = 0
        self._keep = keep
        self._lock = Lock()
        self._last = max((one.number for one in self.all), default=0)

    def add(self, condition: str, *, one_shot: bool = False, ignore: int = 0) -> Breakpoint:
        """Add one that is met whenever a condition comes to hold.

        Raises:
            ConditionError: the condition can't be understood.
            CommandRefused: `ignore` is negative.
        """
        if ignore < 0:
            raise CommandRefused("a breakpoint is ignored 0 times or more often")
        words = str(read_condition(condition))
        with self._lock:
            self._last += 1
            added = Breakpoint(self._last, words, one_shot=one_shot, ignore=ignore)
            self._change((*self.all, added))
        return added

    def remove(self, number: int) -> None:
        """Take one away.

        Raises:
            CommandRefused: there is none with this number.
        """
        with self._lock:
            gone = self.find(number)
            self._change(tuple(one for one in self.all if one is not gone))

    def enable(self, number: int, *, enabled: bool = True) -> None:
        """Let one stop runs, or no more; it counts from 0 again.

        Raises:
            CommandRefused: there is none with this number.
        """
        with self._lock:
            found = self.find(number)
            self._change(self._with(replace(found, enabled=enabled, hits=0)))

    def find(self, number: int) -> Breakpoint:
        """Return the one with a number.

        Raises:
            CommandRefused: there is none.
        """
        found = next((one for one in self.all if one.number == number), None)
        if found is None:
            known = ", ".join(str(one.number) for one in self.all)
            raise CommandRefused(f"there is no breakpoint {number}; there {f'are {known}' if known else 'is none'}")
        return found

    def met(self, number: int) -> bool:
        """Count that one was met; say whether it stops what met it."""
        with self._lock:
            one = next((one for one in self.all if one.number == number), None)
            if one is None or not one.enabled:
                return False
            self.all = self._with(replace(one, hits=one.hits + 1))
            return one.hits == one.ignore if one.one_shot else one.hits >= one.ignore

    def _with(self, changed: Breakpoint) -> tuple[Breakpoint, ...]:
        return tuple(changed if one.number == changed.number else one for one in self.all)

    def restart(self) -> None:
        """Count from 0 again: another run begins."""
        with self._lock:
            self.all = tuple(replace(one, hits=0) for one in self.all)

    def fresh(self) -> Breakpoints:
        """Return the same ones as they were before they met anything; nothing that happens to them is kept."""
        return Breakpoints(replace(one, hits=0) for one in self.all)

    def _change(self, all_: tuple[Breakpoint, ...]) -> None:
        self.all = all_
        self.version += 1
        self._keep(all_)


class BreakpointWatch:
    """Follows one run's events and says which breakpoint its loops stop at.

    A breakpoint is met once for each thing that its condition is about: a call, an iteration, a loop, the run; where it
    is about single moments, at each. It stops the loop at the next gate after the event, and where the loop ends without
    one, the loop above.
    """

    def __init__(self, breakpoints: Breakpoints) -> None:
        self._breakpoints = breakpoints
        self._moments = Moments()
        self._due: dict[str, dict[str | None, int]] = {}
        self._met: dict[tuple[int, str], tuple[int, set[str | None]]] = {}

    def take(self, event: e.Event) -> None:
        """Take in the next event."""
        moment = self._moments.take(event)
        if isinstance(event.fact, e.Decided) and event.fact.by == PERSON:
            # the person stood there, before the decision
            for call in (event.fact.call, None):
                self._due.get(event.loop, {}).pop(call, None)
        for one in self._breakpoints.all:
            if one.enabled and self._is_met(one, moment) and self._breakpoints.met(one.number):
                call = getattr(event.fact, "call", None)
                self._due.setdefault(event.loop, {}).setdefault(call, one.number)
        if isinstance(event.fact, (e.LoopFinished, e.LoopFailed)):
            self._hand_up(event.loop)

    def _hand_up(self, loop: str) -> None:
        call = loop.rpartition("#")[0]
        for number in self._due.pop(loop, {}).values():
            if call:
                self._due.setdefault(call.rpartition("/")[0], {}).setdefault(call, number)

    def use(self, breakpoints: Breakpoints) -> None:
        """Watch for other breakpoints from now on."""
        self._breakpoints = breakpoints
        self._met.clear()

    def at_gate(self, loop: str, about: str) -> int | None:
        """Return the number of the breakpoint that a loop stops at here, or None; asked once for each gate.

        Args:
            about: the iteration or the call that the gate is about; what a call met doesn't stop at another call's gate.
        """
        due = self._due.get(loop)
        if not due:
            return None
        is_call = "." in about.rpartition("/")[2]
        reached = [call for call in due if not is_call or call is None or call == about]
        numbers = [due.pop(call) for call in reached]
        return numbers[0] if numbers else None

    def _is_met(self, one: Breakpoint, moment: EventMoment) -> bool:
        condition, scope = _understood(one.condition)
        if not condition.holds(moment):
            return False
        if scope is Scope.MOMENT:
            return True
        event = moment.event
        # of each loop only the last iteration is remembered
        loop = "" if scope is Scope.RUN else event.loop
        iteration = event.iteration if scope >= Scope.ITERATION else 0
        call = getattr(event.fact, "call", None) if scope is Scope.CALL else None
        last, seen = self._met.get((one.number, loop), (-1, set()))
        if last != iteration:
            last, seen = self._met[one.number, loop] = (iteration, set())
        if call in seen:
            return False
        seen.add(call)
        return True


@lru_cache(maxsize=256)
def _understood(condition: str) -> tuple[Condition, Scope]:
    read = read_condition(condition)
    return read, scope_of(read)
