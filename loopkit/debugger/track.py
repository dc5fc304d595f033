"""A way through a run's stops that can be walked in both directions: where somebody looks, and where breakpoints are."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loopkit import events as e
from loopkit.debugger.breakpoints import Breakpoint, Breakpoints, BreakpointWatch
from loopkit.debugger.stops import Goal, Stop, StopFinder


@dataclass(frozen=True, slots=True)
class Place:
    """Where somebody looks in a run.

    Args:
        events: how many events have happened there.
        stop: the stop there, or None between stops and at the end.
        breakpoint: number of the breakpoint that is met at this stop, or None.
    """

    events: int
    stop: Stop | None = None
    breakpoint: int | None = None


class Track:
    """The stops of a run, found as far as they are asked for, and somebody's place among them.

    Args:
        events: returns all events that there are.
        breakpoints: stops of theirs are found too; their own counters are left alone.

    Attributes:
        place: where somebody looks.
    """

    def __init__(self, events: Callable[[], Sequence[e.Event]], breakpoints: Breakpoints) -> None:
        self.place = Place(0)
        self._events = events
        self._breakpoints = breakpoints
        self._start_over()

    def _start_over(self) -> None:
        self._version = self._breakpoints.version
        self._counted = self._breakpoints.fresh()
        self._watch = BreakpointWatch(self._counted)
        self._finder = StopFinder()
        self._stops: list[Stop] = []
        self._places: list[int] = []
        self._met: dict[int, int] = {}

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        """The breakpoints with what they have met in the events so far."""
        self._find()
        return self._counted.all

    def stops(self) -> Sequence[Stop]:
        """Return all stops so far at which a step stands."""
        self._find()
        return [stop for stop in self._stops if stop.steps]

    def _find(self) -> None:
        """Find what is not found yet; all again when the breakpoints were changed."""
        if self._version != self._breakpoints.version:
            self._start_over()
        events = self._events()
        for place in range(self._finder.place, len(events)):
            event = events[place]
            for stop in self._finder.take(event):
                met = self._watch.at_gate(stop.loop, stop.about)
                if met is not None:
                    self._met[len(self._stops)] = met
                self._stops.append(stop)
                self._places.append(stop.place)
            self._watch.take(event)

    # ── walking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def loop(self) -> str:
        """The loop that stands at the place, or that the last event there belongs to."""
        if self.place.stop is not None:
            return self.place.stop.loop
        events = self._events()
        return events[self.place.events - 1].loop if 0 < self.place.events <= len(events) else e.ROOT

    def forward(self, goal: Goal) -> bool:
        """Go on to the next stop that a goal reaches, or to the next breakpoint; False when that is the end."""
        self._find()
        for number in range(self._here() + 1, len(self._stops)):
            if self._reaches(number, goal):
                self._stand(number)
                return True
        self.place = Place(len(self._events()))
        return False

    def backward(self, goal: Goal) -> bool:
        """Go back to the stop before that a goal reaches, or to a breakpoint; False when that is the beginning."""
        self._find()
        here = self._here() if self.place.stop is not None else bisect_left(self._places, self.place.events)
        for number in range(here - 1, -1, -1):
            if self._reaches(number, goal):
                self._stand(number)
                return True
        self.place = Place(0)
        return False

    def jump(self, events: int) -> None:
        """Look at the moment at which so many events have happened."""
        self._find()
        events = max(0, min(events, len(self._events())))
        number = bisect_left(self._places, events)
        if number < len(self._stops) and self._stops[number].place == events:
            self._stand(number)
        else:
            self.place = Place(events)

    def _here(self) -> int:
        """The number of the stop that the place is at, or of the last one before it."""
        if self.place.stop is None:
            return bisect_left(self._places, self.place.events) - 1
        first = bisect_left(self._places, self.place.events)
        last = bisect_right(self._places, self.place.events)
        return self._stops.index(self.place.stop, first, last)

    def _reaches(self, number: int, goal: Goal) -> bool:
        stop = self._stops[number]
        return number in self._met or (stop.steps and goal.reached(stop.loop, stop.kind))

    def _stand(self, number: int) -> None:
        stop = self._stops[number]
        self.place = Place(stop.place, stop, self._met.get(number))
