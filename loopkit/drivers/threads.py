"""Worker threads for synchronous handlers: daemons, so that one that never returns can't hold the process."""

from __future__ import annotations

import queue
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

import anyio

from loopkit.drivers.waking import current_waker

IDLE_SECONDS = 10.0


class _Worker:
    """A thread that runs one job after another and leaves when there is none for a while."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="loopkit tool", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                job = self.jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                if _retire(self):
                    return
                continue
            job()
            del job
            with _idle_lock:
                _idle.append(self)


_idle: deque[_Worker] = deque()
_idle_lock = threading.Lock()


def _retire(worker: _Worker) -> bool:
    with _idle_lock:
        if worker in _idle:
            _idle.remove(worker)
            return True
    return False


def _submit(job: Callable[[], None]) -> None:
    with _idle_lock:
        worker = _idle.pop() if _idle else None
    (worker or _Worker()).jobs.put(job)


class _Outcome:
    __slots__ = ("abandoned", "ended", "error", "lock", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self.lock = threading.Lock()
        self.ended = False
        self.abandoned = False

    def end(self) -> bool:
        """Note that the function ended; return whether nobody waits any more."""
        with self.lock:
            self.ended = True
            return self.abandoned

    def abandon(self) -> bool:
        """Note that nobody waits any more; return whether the function had ended already."""
        with self.lock:
            self.abandoned = True
            return self.ended


def _context_beside_event_loops() -> Context:
    """Return a copy of the context in which the thread may run an event loop of its own, as `Agent.run_sync` does."""
    context = copy_context()
    if "sniffio" in sys.modules:
        import sniffio  # noqa: PLC0415  # only where an event loop has loaded it

        context.run(sniffio.current_async_library_cvar.set, None)
    return context


async def run_in_thread(
    function: Callable[[], Any], left_behind: Callable[[], None], ended_late: Callable[[BaseException | None], None]
) -> Any:
    """Run a function in a worker thread with the caller's context variables (spec/loop.md 9.4).

    Args:
        function: what to run.
        left_behind: called when the caller is cancelled before the function ended.
        ended_late: called in the worker thread when the function ends after the caller was cancelled, with its
            exception or None.

    Raises:
        BaseException: whatever the function raised.
    """
    outcome = _Outcome()
    done = anyio.Event()
    wake = current_waker()
    context = _context_beside_event_loops()

    def job() -> None:
        try:
            outcome.value = context.run(function)
        except BaseException as error:  # noqa: BLE001  # a tool's SystemExit must not end the worker (9.4)
            outcome.error = error
        if outcome.end():
            ended_late(outcome.error)
        else:
            wake(done.set)

    _submit(job)
    try:
        await done.wait()
    except BaseException:
        left_behind()
        if outcome.abandon():
            ended_late(outcome.error)
        raise
    if outcome.error is not None:
        error, outcome.error = outcome.error, None
        raise error
    return outcome.value
