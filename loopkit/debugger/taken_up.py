"""A run that others left, taken up live: it is shown once what was known beforehand has been decided."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from loopkit.drivers.going_on import RunToGoOn
from loopkit.drivers.result import ToolLoopResult
from loopkit.drivers.run import Run, Watcher
from loopkit.drivers.tool_loop import DriverMade
from loopkit.drivers.waking import Waker, current_waker

GoesOn: TypeAlias = Callable[[Watcher], RunToGoOn]
"""Brings a run that was left to where it goes on, watched from there."""

# of the event loop: the driver's first task, which decides what is known, runs in the one after it is made
_TURNS_TO_BEGIN = 3


class TakenUp:
    """A run to go on with.

    Args:
        changed: called when it is shown.

    Attributes:
        shown: whether nobody waits for a decision that is known beforehand.
    """

    def __init__(self, to_go_on: RunToGoOn, changed: Callable[[], None]) -> None:
        self.run: Run = to_go_on.run
        self.shown = False
        self._to_go_on = to_go_on
        self._changed = changed

    async def go_on(self, driver_made: DriverMade) -> ToolLoopResult:
        return await self._to_go_on.go_on(driver_made)

    def begin(self) -> None:
        """Show it soon; called in its event loop."""
        self._show_after(current_waker(), _TURNS_TO_BEGIN)

    def _show_after(self, wake: Waker, turns: int) -> None:
        if turns:
            wake(partial(self._show_after, wake, turns - 1))
        else:
            self.shown = True
            self._changed()
