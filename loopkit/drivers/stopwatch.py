"""Loop time: runs while something of a loop's subtree works, stands still while a person thinks (spec/loop.md 4.5)."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from loopkit.drivers.waking import Waker


class Stopwatch:
    """Adds up the spans in which it ran.

    Args:
        clock: monotonic seconds.
        total: seconds that it shows already.
    """

    __slots__ = ("_clock", "_since", "_total")

    def __init__(self, clock: Callable[[], float], total: float = 0.0) -> None:
        self._clock = clock
        self._total = total
        self._since: float | None = None

    @property
    def running(self) -> bool:
        return self._since is not None

    def run(self, running: bool) -> None:
        """Start or hold it; saying the same twice changes nothing."""
        if running and self._since is None:
            self._since = self._clock()
        elif not running and self._since is not None:
            self._total += self._clock() - self._since
            self._since = None

    def elapsed(self) -> float:
        """Return the seconds so far."""
        return self._total if self._since is None else self._total + self._clock() - self._since


class LoopClock:
    """A loop's stopwatch and the wait for its limit.

    Args:
        clock: monotonic seconds.
        limit: seconds of loop time, or None.
        wake: reaches the loop's own thread.
        carried: loop time that a prefix took, in seconds.
    """

    def __init__(self, clock: Callable[[], float], limit: float | None, wake: Waker, carried: float = 0.0) -> None:
        self.limit = limit
        self.stopwatch = Stopwatch(clock, carried)
        self._wake = wake
        self._started_again: anyio.Event | None = None

    def run(self, running: bool) -> None:
        """Let time pass or stand still; from any thread, under the run's lock."""
        self.stopwatch.run(running)
        if running and self._started_again is not None:
            self._wake(self._started_again.set)

    def elapsed(self) -> float:
        """Return the loop time in seconds, to the microsecond; never rounded to below a limit that is reached."""
        seconds = self.stopwatch.elapsed()
        reached = self.limit is not None and seconds >= self.limit
        return seconds if reached else round(seconds, 6)

    def limit_passed(self) -> bool:
        """Say whether the limit is reached; while the clock stands still, `wait` then waits until it goes on."""
        assert self.limit is not None
        if self.stopwatch.elapsed() >= self.limit:
            return True
        self._started_again = None if self.stopwatch.running else anyio.Event()
        return False

    async def wait(self) -> None:
        """Wait for as long as the limit can't be reached."""
        assert self.limit is not None
        if self._started_again is not None:
            await self._started_again.wait()
        remaining = self.limit - self.stopwatch.elapsed()
        if remaining > 0:
            await anyio.sleep(remaining)
