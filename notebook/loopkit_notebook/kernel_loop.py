"""The bridge from loopkit's thread, and from a kernel's subshell threads, to the kernel's main loop.

On some kernels a comm message arrives on another thread with another loop; only `call_soon_threadsafe` works on all.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable

BATCH_SECONDS = 0.05


class KernelLoop:
    """Runs callbacks in the thread that made it, from whatever thread they are asked for.

    Without a running loop there (plain IPython, a script), what other threads ask for waits for `catch_up`.

    Args:
        on_wake: called in that thread, once for all wakes of a batch.
    """

    def __init__(self, on_wake: Callable[[], None]) -> None:
        self._on_wake = on_wake
        self._thread = threading.get_ident()
        self._waiting: deque[Callable[[], None]] = deque()
        self._woken = threading.Event()
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    def wake(self) -> None:
        """Ask for one `on_wake` soon; safe in every thread, never blocks, never raises."""
        if self._woken.is_set():
            return
        self._woken.set()
        if self._loop is not None:
            self._threadsafe(self._arm)

    def call(self, callback: Callable[[], None]) -> None:
        """Run `callback` in the loop's thread; at once when there is no loop and this is its thread."""
        if self._loop is not None:
            self._threadsafe(callback)
        elif threading.get_ident() == self._thread:
            callback()
        else:
            self._waiting.append(callback)

    def catch_up(self) -> None:
        """Run what waits; call it in the thread that made this."""
        while self._waiting:
            self._waiting.popleft()()
        if self._woken.is_set():
            self._fire()

    def _arm(self) -> None:
        assert self._loop is not None
        self._loop.call_later(BATCH_SECONDS, self._fire)

    def _fire(self) -> None:
        # Cleared first: a wake that comes while the batch is taken must lead to another.
        self._woken.clear()
        self._on_wake()

    def _threadsafe(self, callback: Callable[[], None]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:
            # The kernel's loop is closed: the kernel ends, and nobody looks any more.
            self._waiting.clear()
