"""Waits, in any event loop, for what another thread does."""

from __future__ import annotations

from concurrent.futures import CancelledError, Future
from typing import TypeVar

import anyio

from loopkit.errors import ToolError
from loopkit.tools.waking import current_waker

T = TypeVar("T")


async def outcome_of(future: Future[T]) -> T:
    """Return a future's result; cancelling the wait cancels the future.

    Raises:
        ToolError: the other thread ended first.
        Exception: what the future holds.
    """
    done = anyio.Event()
    wake = current_waker()
    future.add_done_callback(lambda _future: wake(done.set))
    try:
        await done.wait()
    except BaseException:
        future.cancel()
        raise
    try:
        return future.result()
    except CancelledError:
        raise ToolError("the connection to the MCP server was closed while the call ran") from None
