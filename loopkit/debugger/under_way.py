"""What a session reads from a run that goes on, in this process or in another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from loopkit.debugger.commanding import Elsewhere
from loopkit.events import Event


class RunUnderWay(Protocol):
    """Events as they come, and what is not recorded: the time, and the words of an answer that is coming in."""

    @property
    def path(self) -> Path | None:
        """Where it is recorded."""
        ...

    @property
    def ended(self) -> bool:
        """Whether no event will come any more."""
        ...

    @property
    def has_news(self) -> bool:
        """Whether there are events that `take` has not returned yet."""
        ...

    @property
    def now(self) -> float:
        """Seconds since the run started."""
        ...

    def on_change(self, wake: Callable[[], None]) -> None:
        """Have `wake` called, in whatever thread brings it about, when there is something new after a `take`."""
        ...

    def take(self) -> list[Event]:
        """Return the events since the last call."""
        ...

    def partial(self, loop: str) -> str:
        """Return the words of a loop's answer that is coming in."""
        ...

    def wait(self, timeout: float | None) -> bool:
        """Wait for the run's end; return whether it has ended."""
        ...

    def close(self) -> None:
        """Let go of the run, within a few seconds."""
        ...


class RemoteRunUnderWay(RunUnderWay, Elsewhere, Protocol):
    """A run of another process, whose session does the commands."""

    @property
    def connection(self) -> str:
        """What is wrong with the connection to it, in safe words; empty when nothing is."""
        ...

    @property
    def watches(self) -> str:
        """Who decides in the place of this viewer, in safe words; empty when nobody else does."""
        ...
