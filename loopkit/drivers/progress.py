"""What running calls say of themselves on their way, and how much of it a recording keeps.

A call's first reports are recorded as they come. Then the newest one waits until a pause has passed, and those that it
replaces are only counted: a pause is a quarter of a second, or a hundredth of the time since the first report where
that is longer. So a call that reports all the time for ten hours leaves some 850 events, whatever it does.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from loopkit import events as e
from loopkit.core.state import RunTool
from loopkit.errors import RecordingError
from loopkit.tools.progress import Progress

if TYPE_CHECKING:
    from loopkit.drivers.loop_driver import LoopDriver

FIRST_AT_ONCE = 10
SHORTEST_PAUSE = 0.25
PART_OF_THE_TIME = 0.01


def note(driver: LoopDriver, call: str, fact: e.ToolProgressed | e.ToolAttemptFailed) -> bool:
    """Append what a running call says of itself, which changes nothing; from any thread.

    Returns:
        whether the call still runs and the fact stands in the log.
    """
    with driver.run.lock:
        if driver.run.broken is None and RunTool(call) in driver.core.wants:
            # a recording that broke ends the run from where it is driven, not out of a handler's report
            with suppress(RecordingError):
                driver.run.append(driver, driver.run.originals.hidden(fact))
                return True
        return False


class CallProgress:
    """The reports of one call; used under its run's lock.

    Args:
        driver: the loop that the call belongs to.
        call: its id.
    """

    def __init__(self, driver: LoopDriver, call: str) -> None:
        self._driver = driver
        self._call = call
        self._began = driver.run.clock()
        self._last = self._began
        self._recorded = 0
        self._waiting: Progress | None = None
        self._left_out = 0
        self._timer: threading.Timer | None = None
        self._ended = False

    def take(self, report: Progress) -> None:
        """Record a report now, or let it wait in the place of the one that waited."""
        if self._ended:
            return
        self._left_out += self._waiting is not None
        self._waiting = report
        if self._recorded < FIRST_AT_ONCE:
            self.record()
            return
        now = self._driver.run.clock()
        pause = self._last + max(SHORTEST_PAUSE, PART_OF_THE_TIME * (now - self._began)) - now
        if pause <= 0:
            self.record()
        elif self._timer is None:
            # no task of the event loop: a handler may block that, and is shown to be where it is all the same
            self._timer = threading.Timer(pause, self._pause_passed)
            self._timer.daemon = True
            self._timer.start()

    def record(self) -> None:
        """Record the report that waits, if there is one."""
        report, self._waiting = self._waiting, None
        if report is not None:
            fact = e.ToolProgressed(self._call, report.text, report.done, report.total, self._left_out)
            if note(self._driver, self._call, fact):
                self._recorded += 1
                self._left_out = 0
                self._last = self._driver.run.clock()

    def end(self) -> None:
        """Record the last report, if the call is still waited for; take no more."""
        self._ended = True
        self.record()
        if self._timer is not None:
            self._timer.cancel()

    def _pause_passed(self) -> None:
        with self._driver.run.lock:
            self._timer = None
            self.record()
