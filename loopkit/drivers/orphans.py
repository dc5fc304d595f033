"""Ends the loops that a fork's prefix left open and that nothing goes on with (DESIGN §4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from loopkit import events as e
from loopkit.core.loop import LoopCore
from loopkit.core.state import CallPhase, LoopState, Phase

if TYPE_CHECKING:
    from loopkit.drivers.run import Run

REASON = "not on the way to the fork"


class _Orphan:
    """Stands in for a driver where the log is written."""

    def __init__(self, path: str, state: LoopState) -> None:
        self.path = path
        self.core = LoopCore(state)


def append_to_inherited(run: Run, path: str, *facts: e.Fact) -> None:
    """Let something happen to a loop that no driver goes on with, or not yet."""
    orphan: Any = _Orphan(path, run.inherited[path])
    for fact in facts:
        run.append(orphan, fact)
    run.inherited[path] = orphan.core.state


def open_below(run: Run, place: str) -> list[str]:
    """Return the paths of inherited loops below a loop or a call that are still open."""
    return [
        path
        for path, state in run.inherited.items()
        if state.finished is None and path.startswith((f"{place}#", f"{place}/"))
    ]


def complete_end(run: Run, path: str) -> None:
    """Let an inherited loop that is about to end come to its end: nobody runs what it waits for."""
    state = run.inherited[path]
    if state.phase is Phase.MODEL:
        append_to_inherited(run, path, e.ModelInterrupted("fork"))
    running = [call.key for call in state.calls if call.phase is CallPhase.RUNNING]
    append_to_inherited(run, path, *(e.ToolAbandoned(key, "fork") for key in running))
    while (due := LoopCore(run.inherited[path]).due()) is not None:
        append_to_inherited(run, path, due)


def close_orphans(run: Run, paths: Iterable[str]) -> None:
    """End inherited loops as cancelled, deepest first; their paths are not taken again."""
    for path in sorted(paths, key=lambda path: path.count("#"), reverse=True):
        append_to_inherited(run, path, e.RunStopped("fork", REASON))
        complete_end(run, path)
        del run.inherited[path]
        run.orphans.add(path)
