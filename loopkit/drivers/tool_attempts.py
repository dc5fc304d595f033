"""Runs a handler again after a failure that may pass; each failed attempt is an input of its own.

The state does not change in between: the call runs, and what interrupts it interrupts attempts and waits alike. A
replay gets the call's last outcome from the recording, so it never draws a random number and never waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from anyio import move_on_after, sleep

from loopkit import events as e
from loopkit.drivers.facts import failure_of
from loopkit.drivers.progress import note

if TYPE_CHECKING:
    from loopkit.drivers.loop_driver import LoopDriver
    from loopkit.tools.retrying import ToolRetry


class Attempts:
    """The attempts of one call.

    Args:
        seconds: how long one attempt may take, or None.
    """

    def __init__(self, driver: LoopDriver, call: str, retry: ToolRetry, seconds: float | None) -> None:
        self._driver = driver
        self._call = call
        self._retry = retry
        self._seconds = seconds
        self._number = 1
        self._delay = 0.0

    async def outcome(self, attempt: Callable[[bool], Awaitable[e.Input | None]]) -> e.Input:
        """Return the outcome that the call ends with.

        Args:
            attempt: runs the handler once; it is told whether it has to keep the limit of time itself, and gives None
                when `fails` said that another attempt follows.
        """
        while True:
            fact = await self._one(attempt)
            if fact is not None:
                return fact
            await sleep(self._delay)

    async def _one(self, attempt: Callable[[bool], Awaitable[e.Input | None]]) -> e.Input | None:
        seconds = self._seconds
        overdue = TimeoutError("" if seconds is None else f"the attempt did not end within {seconds:g} s")
        if seconds is None or self._delay_after(overdue) is None:
            return await attempt(True)
        fact = None
        with move_on_after(seconds) as limit:
            fact = await attempt(False)
        if fact is None and limit.cancelled_caught:
            self.fails(overdue)
        return fact

    def fails(self, error: BaseException) -> bool:
        """Take in that an attempt failed; say whether another one follows."""
        delay = self._delay_after(error)
        if delay is None:
            return False
        with self._driver.run.lock:
            fact = e.ToolAttemptFailed(self._call, self._number, failure_of(error), delay)
            if not note(self._driver, self._call, fact):
                return False
            self._driver.close_children(self._call)
        self._number += 1
        self._delay = delay
        return True

    def _delay_after(self, error: BaseException) -> float | None:
        return self._retry.delay(self._number, error, self._driver.run.jitter)
