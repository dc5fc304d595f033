"""Answers of a session elsewhere, brought to the threads that wait for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any


class Answers:
    """Commands that were sent and their answers, between the threads that ask and the one that reads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: set[int] = set()
        self._came: dict[int, Mapping[str, Any]] = {}
        self._number = 0
        self._heard = 0.0

    def next_number(self) -> int:
        """Return the id of a command that is about to be sent."""
        with self._changed:
            self._number += 1
            self._waiting.add(self._number)
            self._heard = time.monotonic()
            return self._number

    def heard(self) -> None:
        """Take in that the other side is there: while it sends what was asked for before, an answer is not late."""
        self._heard = time.monotonic()

    def take(self, number: object, message: Mapping[str, Any]) -> None:
        """Take in an answer."""
        with self._changed:
            if isinstance(number, int) and number in self._waiting:
                self._came[number] = message
                self._changed.notify_all()

    def give_up(self) -> None:
        """Take in that none of the answers will come."""
        with self._changed:
            for number in self._waiting - self._came.keys():
                self._came[number] = {"refused": "the connection was lost, so it is not known whether this was done"}
            self._changed.notify_all()

    def wait(self, number: int, seconds: float) -> Mapping[str, Any]:
        """Wait for an answer, or for a silence that is too long."""
        with self._changed:
            while number not in self._came:
                left = self._heard + seconds - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            self._waiting.discard(number)
            none = {"refused": f"no answer came in {seconds:.0f} s, so it is not known whether this was done"}
            return self._came.pop(number, none)
