"""What forks and resumed runs have in common: going on with loops that others left (DESIGN §3, §4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loopkit import events as e
from loopkit.core.state import LoopState
from loopkit.drivers.orphans import append_to_inherited, complete_end
from loopkit.drivers.parts import LoopParts
from loopkit.drivers.result import ToolLoopResult
from loopkit.drivers.run import Run
from loopkit.drivers.tool_loop import DriverMade, continue_root


@dataclass(frozen=True)
class RunToGoOn:
    """A run that others left, brought to where it goes on; its recording is open.

    Args:
        parts: what today's agent makes its root loop of.
    """

    run: Run
    parts: LoopParts

    async def go_on(self, driver_made: DriverMade | None = None) -> ToolLoopResult:
        """Go on to its end.

        Args:
            driver_made: called with the root's driver before anything goes on.
        """
        try:
            return await continue_root(self.run, self.parts, driver_made=driver_made)
        finally:
            self.run.close()


def complete_ends(run: Run) -> None:
    """Bring loops to their end that were being stopped when they were left; deepest first."""
    ending = [path for path, state in run.inherited.items() if state.ending is not None and state.finished is None]
    for path in sorted(ending, key=lambda path: path.count("#"), reverse=True):
        complete_end(run, path)


def leave_gates(run: Run, goes_on: Callable[[str, LoopState], bool]) -> None:
    """Let loops go on that stood at a gate: nobody of then is there to resume them."""
    for path, state in list(run.inherited.items()):
        if state.paused is not None and goes_on(path, state):
            append_to_inherited(run, path, e.Resumed(state.paused, run.gone_on_by))


def is_gone_on_with(path: str, state: LoopState, loop: str) -> bool:
    """Say whether a loop is on the way to another one, or reached by a handler that is: that one runs again."""
    call = state.started.parent_call
    on_the_way = loop == path or loop.startswith(f"{path}/")
    return on_the_way or (call is not None and f"{loop}#".startswith(f"{call}#"))
