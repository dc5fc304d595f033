"""Tells the two meanings of a cancellation apart: somebody cancelled us, or something that we waited for was cancelled."""

from __future__ import annotations

import math
import sys

import anyio


def cancelled_by_whoever_waits(error: BaseException) -> bool:
    """Say whether an exception is the cancellation of this task, and not one that came out of agents' code.

    On asyncio, awaiting a task that somebody cancelled raises the same class; that is a tool's own failure
    (spec/loop.md 9.5).
    """
    if not isinstance(error, anyio.get_cancelled_exc_class()):
        return False
    return anyio.current_effective_deadline() == -math.inf or _natively_cancelled()


def _natively_cancelled() -> bool:
    if "trio" in sys.modules:
        import trio  # noqa: PLC0415  # only where the caller runs trio already

        if trio.lowlevel.in_trio_run():
            return True
    import asyncio  # noqa: PLC0415  # `import loopkit` must not load it

    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def plain_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the one exception of a group; public functions never raise a group of one (spec/loop.md 9.5)."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
