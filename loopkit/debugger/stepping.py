"""The part of a session that goes through a run, forwards and back: the same commands live and in a recording.

A live run goes on where it stands; one that is looked at backwards, and a recording, is walked along its stops.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Literal, TypeAlias

from loopkit.debugger.breakpoints import Breakpoint, Breakpoints
from loopkit.debugger.commanding import Elsewhere, command, reported
from loopkit.debugger.condition_text import read_condition
from loopkit.debugger.filtering import EventFilter, RowFilter
from loopkit.debugger.stops import Goal, Reach
from loopkit.debugger.track import Place, Track
from loopkit.events import ROOT, Event, IterationStarted

if TYPE_CHECKING:
    from loopkit.debugger.live import LiveRun
    from loopkit.debugger.under_way import RemoteRunUnderWay

Sight: TypeAlias = Literal["error", "warning", "decision"]
_SIGHTS: dict[Sight, str] = {"error": "error", "warning": "warning", "decision": 'kind == "DecisionRequested"'}


def _along(reach: Reach) -> Callable[[Callable[[Stepping], None]], Callable[[Stepping], None]]:
    """Let a command of the live run walk along the stops instead, where these are looked at."""

    def walking(go_on: Callable[[Stepping], None]) -> Callable[[Stepping], None]:
        @wraps(go_on)
        def do(self: Stepping) -> None:
            if not self.walks:
                go_on(self)
            elif not self.track.forward(Goal(reach, self.track.loop)) and self.running:
                self.look_live()

        return do

    return walking


class Stepping:
    """Steps, jumps and breakpoints of a session."""

    _live: LiveRun | None
    _remote: RemoteRunUnderWay | None
    _own_breakpoints: Breakpoints
    _track: Track | None = None
    _looks_back: bool = False

    if TYPE_CHECKING:

        @property
        def elsewhere(self) -> Elsewhere | None: ...

        @property
        def live(self) -> bool: ...

        @property
        def running(self) -> bool: ...

        @property
        def events(self) -> Sequence[Event]: ...

    # ── where one looks ──────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def track(self) -> Track:
        """The run's stops, and the place among them that is looked at."""
        if self._track is None:
            self._track = Track(lambda: self.events, self._own_breakpoints)
        return self._track

    @property
    def walks(self) -> bool:
        """Whether steps walk along what has happened: in a recording, after a live run, or looking back in one."""
        goes_on = self.running if self._remote is None else not self._remote.ended
        return self._looks_back or not goes_on

    @property
    def place(self) -> Place:
        """Where one looks; in a live run that is not looked at backwards, behind its last event."""
        return self.track.place if self.walks else Place(len(self.events))

    def look_live(self) -> None:
        """Look at where a live run stands now."""
        self._looks_back = False

    def _look_back(self) -> Track:
        track = self.track
        if not self.walks:
            track.jump(len(self.events))
            self._looks_back = True
        return track

    # ── forwards ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @command
    def pause(self) -> None:
        """Stand at the next gate; a running answer or tool comes to its end first."""
        if self._live is not None:
            self._live.pause()

    @_along("stop")
    @command
    def step(self) -> None:
        """Go on to the next stop: before a request, after a response, before a decision or call, after a result."""
        self._go_on("stop")

    @_along("iteration")
    @command
    def next_iteration(self) -> None:
        """Go on to the next request of the agent that stands, or of one above it: over sub-agents."""
        self._go_on("iteration")

    @_along("into")
    @command
    def into(self) -> None:
        """Go on to the next stop of a sub-agent below; where none starts, to the next request."""
        self._go_on("into")

    @_along("over")
    @command
    def over(self) -> None:
        """Go on to the next stop of the agent that stands, or of one above it: over sub-agents."""
        self._go_on("over")

    @_along("out")
    @command
    def out(self) -> None:
        """Go on to the next stop of an agent above the one that stands."""
        self._go_on("out")

    @_along("continue")
    @command
    def resume(self) -> None:
        """Go on to the next breakpoint; decisions are still asked for."""
        self._go_on("continue")

    def _go_on(self, reach: Reach) -> None:
        if self._live is not None:
            self._live.step(reach)

    # ── backwards ────────────────────────────────────────────────────────────────────────────────────────────────────

    def back(self) -> None:
        """Look at the stop before; a live run stands or goes on as it does."""
        self._look_back().backward(Goal("stop"))

    def reverse_continue(self) -> None:
        """Look at the last stop before at which a breakpoint is met, else at the beginning."""
        self._look_back().backward(Goal("continue"))

    # ── jumps: each says whether there was such a moment ─────────────────────────────────────────────────────────────

    def jump_to_event(self, seq: int) -> bool:
        """Look at the moment after the event with a number."""
        events = self.events
        place = bisect_left(events, seq, key=lambda event: event.seq)
        return self._jump(place + 1 if place < len(events) and events[place].seq == seq else None)

    def jump_to_time(self, seconds: float) -> bool:
        """Look at the moment so many seconds after the run started."""
        if not self.events or seconds < 0:
            return False
        return self._jump(bisect_right(self.events, seconds, key=lambda event: event.t))

    def jump_to_iteration(self, number: int, loop: str = ROOT) -> bool:
        """Look at the moment before an iteration's request."""
        wanted = (loop, number)
        found = (
            place
            for place, event in enumerate(self.events, 1)
            if (event.loop, event.iteration) == wanted and isinstance(event.fact, IterationStarted)
        )
        return self._jump(next(found, None))

    def jump_to(self, sight: Sight, direction: Literal[1, -1] = 1) -> bool:
        """Look at the next error, loop warning or decision, or at the one before."""
        return self.jump_where(_SIGHTS[sight], direction)

    def jump_where(self, condition: str, direction: Literal[1, -1] = 1) -> bool:
        """Look at the moment after the next event that a condition holds for, or after the one before.

        Raises:
            ConditionError: the condition can't be understood.
        """
        found = EventFilter(read_condition(condition))
        here = self.place.events
        last: int | None = None
        for place, event in enumerate(self.events, 1):
            holds = found.take(event)
            if direction < 0 and place >= here:
                break
            if holds and (direction < 0 or place > here):
                last = place
                if direction > 0:
                    break
        return self._jump(last)

    def _jump(self, events: int | None) -> bool:
        if events is None:
            return False
        self._look_back().jump(events)
        return True

    # ── breakpoints and filters ──────────────────────────────────────────────────────────────────────────────────────

    @property
    @reported
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        """All breakpoints, with how often they were met: in the live run so far, or in the recording."""
        return self._own_breakpoints.all if self.live else self.track.breakpoints

    @command
    def add_breakpoint(self, condition: str, one_shot: bool = False, ignore: int = 0) -> Breakpoint:
        """Stop wherever a condition comes to hold (docs/conditions.md).

        Args:
            one_shot: only once.
            ignore: how often it is met before it stops anything.

        Raises:
            CommandRefused: the condition can't be understood, or `ignore` is negative.
        """
        return self._own_breakpoints.add(condition, one_shot=one_shot, ignore=ignore)

    @command
    def remove_breakpoint(self, number: int) -> None:
        """Take a breakpoint away.

        Raises:
            CommandRefused: there is none with this number.
        """
        self._own_breakpoints.remove(number)

    @command
    def enable_breakpoint(self, number: int, enabled: bool = True) -> None:
        """Let a breakpoint stop the run, or no more.

        Raises:
            CommandRefused: there is none with this number.
        """
        self._own_breakpoints.enable(number, enabled=enabled)

    def use_breakpoints_of(self, other: Stepping) -> None:
        """Share the breakpoints of another session, as its fork does; they count from 0 again."""
        shared = other._own_breakpoints
        shared.restart()
        self._own_breakpoints, self._track = shared, None
        if self._live is not None:
            self._live.use_breakpoints(shared)

    def filter_rows(self, condition: str) -> RowFilter:
        """Return what says which rows show an event so far that a condition holds for.

        Raises:
            ConditionError: the condition can't be understood.
        """
        return RowFilter(read_condition(condition), self.events)
