"""Loop time: runs while something of a loop's subtree works, stands still while a person thinks (spec/loop.md 4.5)."""

from __future__ import annotations

from collections.abc import Callable


class Stopwatch:
    """Adds up the spans in which it ran.

    Args:
        clock: monotonic seconds.
    """

    __slots__ = ("_clock", "_since", "_total")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._total = 0.0
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
