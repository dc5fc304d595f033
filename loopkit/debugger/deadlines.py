"""Moments by which somebody has to have decided; a thread of its own tells when one has passed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Deadlines(Generic[Key]):
    """Tells once of each deadline that passes; its thread starts with the first and ends with `close`.

    Args:
        passed: called from that thread with what was not decided in time; may set and drop deadlines.
    """

    def __init__(self, passed: Callable[[Key], None]) -> None:
        self._passed = passed
        self._moments: dict[Key, float] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def set(self, key: Key, seconds: float) -> None:
        """Tell of `key` after some seconds, unless it is dropped before."""
        with self._changed:
            if self._closed:
                return
            self._moments[key] = time.monotonic() + seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="loopkit deadlines", daemon=True)
                self._thread.start()
            self._changed.notify()

    def drop(self, key: Key) -> None:
        """Tell nothing of `key`: it was decided."""
        with self._changed:
            self._moments.pop(key, None)

    def close(self) -> None:
        """Tell nothing any more."""
        with self._changed:
            self._closed = True
            self._moments.clear()
            self._changed.notify()

    def _watch(self) -> None:
        while (key := self._next()) is not None:
            self._passed(key)

    def _next(self) -> Key | None:
        """Wait for the earliest moment and return what it is of; None once closed."""
        with self._changed:
            while not self._closed:
                key = min(self._moments, key=self._moments.__getitem__, default=None)
                if key is None:
                    self._changed.wait()
                    continue
                left = self._moments[key] - time.monotonic()
                if left <= 0:
                    del self._moments[key]
                    return key
                self._changed.wait(left)
        return None
