"""An event loop whose time passes as it does, but jumps over the waits that a test injects: no real second passes then.

All else keeps real time, so that an agent's own callbacks may wait for what is really outside.
"""

from __future__ import annotations

import asyncio
import math
import selectors
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class VirtualTime(ABC):
    """The time of one event loop, in seconds from any start.

    Attributes:
        options: for `anyio.run`, so that its event loop keeps this time.
    """

    options: dict[str, Any]

    def __init__(self) -> None:
        self._skipping = 0

    @abstractmethod
    def now(self) -> float:
        """Return its seconds."""

    def skip(self, waits: int) -> None:
        """Take in that more (or, below 0, fewer) waits are to be jumped over; in the event loop's thread."""
        self._skipping = max(0, self._skipping + waits)

    @contextmanager
    def skipped(self) -> Iterator[None]:
        """Jump over what is waited for inside."""
        self.skip(1)
        try:
            yield
        finally:
            self.skip(-1)


def virtual_time(backend: str) -> VirtualTime:
    """Return a time for an event loop of `asyncio` or `trio`."""
    return _TrioTime() if backend == "trio" else _AsyncioTime()


class _AsyncioTime(VirtualTime):
    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0
        self.options = {"loop_factory": lambda: _JumpingLoop(self)}

    def now(self) -> float:
        return self.seconds

    @property
    def jumps(self) -> bool:
        return self._skipping > 0


class _JumpingLoop(asyncio.SelectorEventLoop):
    def __init__(self, own_time: _AsyncioTime) -> None:
        super().__init__(_JumpingSelector(own_time))
        self._own_time = own_time

    def time(self) -> float:
        return self._own_time.seconds


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, own_time: _AsyncioTime) -> None:
        super().__init__()
        self._own_time = own_time

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout > 0 and self._own_time.jumps:
            ready = super().select(0)
            if not ready:
                self._own_time.seconds += timeout
            return ready
        began = time.monotonic()
        ready = super().select(timeout)
        self._own_time.seconds += time.monotonic() - began
        return ready


class _TrioTime(VirtualTime):
    def __init__(self) -> None:
        super().__init__()
        from trio.testing import MockClock  # noqa: PLC0415  # only where trio is what runs

        self._clock = MockClock(rate=1.0)
        self.options = {"clock": self._clock}

    def now(self) -> float:
        return self._clock.current_time()

    def skip(self, waits: int) -> None:
        super().skip(waits)
        self._clock.autojump_threshold = 0 if self._skipping else math.inf
