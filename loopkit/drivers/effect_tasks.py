"""The tasks of one loop's effects: started once each, cancelled when not wanted any more, in the loop's own thread.

A single effect runs in the task that drives, since a new task for each would cost more than the loop itself.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any

import anyio
from anyio.abc import TaskGroup

from loopkit.core.state import AskDecision, CallModel, Effect, ProcessResult, ReadClock, RunTool
from loopkit.drivers.waking import current_waker
from loopkit.errors import RecordingError


class EffectTasks:
    """Starts and cancels effects.

    Args:
        lock: the run's; held by whoever calls `follow`.
        wants: what the loop wants now.
        may_act: whether what is wanted may be started yet; `follow_here` is called again when it may.
        perform: carries an effect out; its second argument says that it runs in the driving task.
    """

    def __init__(
        self,
        lock: threading.RLock,
        wants: Callable[[], frozenset[Effect]],
        may_act: Callable[[], bool],
        perform: Callable[[Effect, bool], Awaitable[None]],
    ) -> None:
        self.wake = current_waker()
        self.group: TaskGroup | None = None
        self._lock = lock
        self._wants = wants
        self._may_act = may_act
        self._perform = perform
        self._thread = threading.get_ident()
        self._context = copy_context()
        self._issued: frozenset[Effect] = frozenset()
        self._scopes: dict[Effect, anyio.CancelScope] = {}
        self._changed = anyio.Event()
        self._inline: Effect | None = None
        self._driving_task_is_free = False

    def unissued(self) -> list[Effect]:
        """Return what is wanted and was not started, in call order."""
        return _in_order(self._wants() - self._issued)

    def leave_open(self, effect: Effect) -> None:
        """Start nothing for an effect: somebody will answer it on their own."""
        self._issued |= {effect}

    def performed(self, effect: Effect, *, inline: bool) -> None:
        """Leave an effect's task alone: it is done but for posting the outcome.

        Args:
            inline: it is the driving task, which has nothing else to do now.
        """
        self._scopes.pop(effect, None)
        if inline:
            self._driving_task_is_free = True

    def free_driving_task(self) -> None:
        """Say that the driving task has nothing else to do."""
        self._driving_task_is_free = True

    def follow(self) -> None:
        """Start what is wanted and was not started, cancel what runs and is not wanted any more."""
        if threading.get_ident() != self._thread:
            self.wake(self.follow_here)
            return
        wants = self._wants()
        if wants != self._issued:
            if self._scopes:
                for effect in self._scopes.keys() - wants:
                    self._scopes[effect].cancel()
            new = wants - self._issued
            self._issued &= wants
            if new and self._may_act():
                self._issued = wants
                for effect in _in_order(new):
                    self._start(effect)
        self.signal()

    def follow_here(self) -> None:
        """Follow, in the loop's own thread; a recording that broke has ended the run by itself."""
        with self._lock, suppress(RecordingError):
            if self.group is not None:
                self.follow()

    def _start(self, effect: Effect) -> None:
        if self._driving_task_is_free and self._inline is None:
            self._driving_task_is_free = False
            self._inline = effect
        elif self.group is not None:
            # what posts may run anywhere: in a person's thread, or in the task of another call
            self._context.copy().run(self.group.start_soon, self._run, effect)

    def cancel(self) -> None:
        """Cancel the driving task and all others; in the loop's own thread only."""
        if self.group is not None:
            self.group.cancel_scope.cancel()

    def signal(self) -> None:
        """Wake the driving task; in the loop's own thread only."""
        if not self._changed.is_set():
            self._changed.set()

    async def run_next(self, idle: Callable[[], bool]) -> None:
        """Run the effects that are left to the driving task, one after the other, or wait for a change.

        Args:
            idle: asked before waiting, under the lock: whether there is anything to wait for.
        """
        if self._inline is not None:
            # in one scope until one of them is cancelled: a scope for each costs as much as all else done for it here
            with anyio.CancelScope() as scope:
                while self._inline is not None and not scope.cancel_called:
                    effect, self._inline = self._inline, None
                    await self._run_in(scope, effect, True)
            return
        with self._lock:
            self._driving_task_is_free = True
            if self._changed.is_set():
                self._changed = anyio.Event()
            if not idle():
                return
        await self._changed.wait()

    async def _run(self, effect: Effect) -> None:
        with anyio.CancelScope() as scope:
            await self._run_in(scope, effect, False)

    async def _run_in(self, scope: anyio.CancelScope, effect: Effect, inline: bool) -> None:
        with self._lock:
            if effect not in self._wants():
                return
            self._scopes[effect] = scope
        try:
            await self._perform(effect, inline)
        finally:
            self._scopes.pop(effect, None)


def _in_order(effects: frozenset[Effect]) -> list[Effect]:
    return sorted(effects, key=_order) if len(effects) > 1 else list(effects)


def _order(effect: Effect) -> tuple[int, Any]:
    if isinstance(effect, (AskDecision, RunTool, ProcessResult)):
        return 1, int(effect.call.rpartition(".")[2])
    return (0, 0) if isinstance(effect, (ReadClock, CallModel)) else (2, 0)
