"""How a loop reaches its event loop from other threads, and starts what outlives its caller's scope."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from loopkit.tools.waking import Waker, current_waker

_background_tasks: set[Any] = set()


def spawn_background(function: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Start a task that outlives the caller's scope; it must catch everything itself.

    A stream or a handle is not a generator that holds a task group (spec/loop.md 10.1), so its engine runs here.
    """
    if "trio" in sys.modules:
        import trio  # noqa: PLC0415  # only where the caller runs trio already

        with suppress(RuntimeError):
            trio.lowlevel.current_trio_token()
            trio.lowlevel.spawn_system_task(function, context=copy_context())
            return
    import asyncio  # noqa: PLC0415  # `import loopkit` must not load it

    task = asyncio.get_running_loop().create_task(function())
    _background_tasks.add(task)
    task.add_done_callback(_background_tasks.discard)


__all__ = ["Waker", "current_waker", "spawn_background"]
