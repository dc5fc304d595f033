"""Runs a loop beside its caller, who takes what happens from a queue and may leave at any time (spec/loop.md 10.1)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TypeAlias

import anyio

from loopkit.drivers.loop_driver import LoopDriver
from loopkit.drivers.parts import LoopParts
from loopkit.drivers.result import ToolLoopResult
from loopkit.drivers.tool_loop import run_parts
from loopkit.drivers.waking import current_waker, spawn_background
from loopkit.events import Event
from loopkit.providers.protocol import Delta
from loopkit.recording.writer import Recorder


@dataclass(frozen=True, slots=True)
class StreamedDelta:
    """A piece of an answer, while it is coming in; pieces are not recorded.

    Args:
        loop: path of the loop whose model answers.
        iteration: 1-based.
        delta: the piece.
    """

    loop: str
    iteration: int
    delta: Delta


Happening: TypeAlias = Event | StreamedDelta


class BackgroundRun:
    """A loop in a task of its own; whoever holds it may drop it, and the loop ends.

    It never refers to its holder, so that dropping the holder is noticed.
    """

    def __init__(self, parts: LoopParts, recorder: Recorder | None) -> None:
        self.parts = parts
        self.recorder = recorder
        self.happenings: deque[Happening] = deque()
        self.result: ToolLoopResult | None = None
        self.error: BaseException | None = None
        self.driver: LoopDriver | None = None
        self.may_take_turn = True
        self.holds_turns = False
        self.started = False
        self._changed = anyio.Event()
        self._ended = anyio.Event()
        self._scope = anyio.CancelScope()
        self._path = ""
        self._wake = current_waker()

    def start(self) -> None:
        """Start the loop, in the event loop that is running here."""
        self.started = True
        spawn_background(self._run)

    async def _run(self) -> None:
        with self._scope:
            try:
                self.result = await run_parts(
                    self.parts, recorder=self.recorder, listener=self, driver_made=self._take_driver
                )
            except BaseException as error:  # noqa: BLE001  # whoever asks next gets it
                self.error = error
        self._ended.set()
        self.notify()

    def _take_driver(self, driver: LoopDriver) -> None:
        self.driver = driver
        self._path = driver.path
        if self.holds_turns:
            driver.may_take_turn = self._take_turn

    def _take_turn(self) -> bool:
        if self.may_take_turn:
            self.may_take_turn = False
            return True
        self._wake(self.notify)
        return False

    def happened(self, event: Event) -> None:
        """Queue an event of the loop or of one below it."""
        if self._holds(event.loop):
            self.happenings.append(event)
            self._wake(self.notify)

    def streamed(self, loop: str, iteration: int, delta: Delta) -> None:
        """Queue a piece of an answer."""
        if self._holds(loop):
            self.happenings.append(StreamedDelta(loop, iteration, delta))
            self._wake(self.notify)

    def _holds(self, loop: str) -> bool:
        return loop == self._path or loop.startswith(f"{self._path}/")

    def notify(self) -> None:
        """Wake whoever waits for a change; in the loop's own thread only."""
        self._changed.set()

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    @property
    def at_turn(self) -> bool:
        """Whether the loop is held before its next turn."""
        return self.driver is not None and self.holds_turns and not self.may_take_turn and self.driver.at_open_turn

    async def changed(self) -> None:
        """Wait for the next change."""
        await self._changed.wait()
        self._changed = anyio.Event()

    async def close(self) -> None:
        """End the loop, if it still goes, and wait for its end."""
        if self.started:
            self._scope.cancel()
            with anyio.CancelScope(shield=True):
                await self._ended.wait()

    def abandon(self) -> None:
        """End the loop without waiting, from any thread."""
        if self.started and not self.ended:
            self._wake(self._scope.cancel)
