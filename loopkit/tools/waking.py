"""How other threads reach an event loop: the backend's own thread-safe wake, never a future resolved from outside."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import TypeAlias

Waker: TypeAlias = Callable[[Callable[[], None]], None]


def current_waker() -> Waker:
    """Return a function that runs a callback soon in the event loop that is running here, callable from any thread.

    Once the loop has ended it does nothing; a callback must not raise.
    """
    if "trio" in sys.modules:
        import trio  # noqa: PLC0415  # only where the caller runs trio already

        with suppress(RuntimeError):
            token = trio.lowlevel.current_trio_token()

            def wake_trio(callback: Callable[[], None]) -> None:
                with suppress(trio.RunFinishedError):
                    token.run_sync_soon(callback)

            return wake_trio
    import asyncio  # noqa: PLC0415  # `import loopkit` must not load it

    loop = asyncio.get_running_loop()
    # the callback may start tasks: they need this loop's context, not the calling thread's
    context = copy_context()

    def wake_asyncio(callback: Callable[[], None]) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(callback, context=context)

    return wake_asyncio
