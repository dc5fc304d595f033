"""One run: a tree of loops that share a log, a numbering and whoever watches."""

from __future__ import annotations

import os
import random  # noqa: TID251  # the driver is where randomness enters
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from loopkit import __version__
from loopkit import events as e
from loopkit.core.state import CallState, Effect, LoopState
from loopkit.drivers.log import RunLog
from loopkit.drivers.originals import Originals
from loopkit.drivers.progress import CallProgress
from loopkit.errors import LoopClosed, RecordingError, RecordingUnwritable, TooManyRuns
from loopkit.outcomes import Deny, ToolApproval
from loopkit.providers.protocol import Delta
from loopkit.recording.header import FORMAT, Header
from loopkit.recording.redaction.redactor import Redactor
from loopkit.recording.writer import Recorder
from loopkit.tools.progress import Progress, current_taker

if TYPE_CHECKING:
    from loopkit.drivers.loop_driver import LoopDriver


class Listener(Protocol):
    """Who hears what happens in a run; called under the run's lock, so nothing here may block or raise."""

    def happened(self, event: e.Event) -> None:
        """Hear of an event that stands in the log."""
        ...

    def streamed(self, loop: str, iteration: int, delta: Delta) -> None:
        """Hear of a piece of an answer; pieces are not recorded."""
        ...


class Watcher(Listener, Protocol):
    """Who also stands at the gates of a run; called under the run's lock, so nothing here may block or raise."""

    def stops_at(self, loop: str, gate: str) -> str | None:
        """Say who wants the loop to stand at this gate, or None to pass."""
        ...

    def decide(self, driver: LoopDriver, call: CallState) -> tuple[ToolApproval, str] | None:
        """Decide on a call at once and say who decided, or None to leave it pending for a person."""
        ...

    def stands_unrecorded(self, error: RecordingUnwritable) -> bool:
        """Say whether the run stands until somebody chooses what to do about a disk that takes no more; else it ends."""
        ...


@runtime_checkable
class Forbidding(Protocol):
    """A watcher that denies calls before anybody is asked, and again after their arguments were edited."""

    def forbids(self, driver: LoopDriver, call: CallState) -> tuple[Deny, str] | None:
        """Return a denial and who it is by, which begins with `policy deny: `, or None."""
        ...


class Prepared(Protocol):
    """Inputs that are known beforehand: a recording's, when a run is replayed or forked."""

    def in_order(self, loop: str, effects: Sequence[Effect]) -> Sequence[Effect]:
        """Return effects in the order in which they are to be answered."""
        ...

    def answer(self, loop: str, effect: Effect) -> e.Input | None:
        """Return the recorded input for an effect, or None to perform it."""
        ...


@dataclass(slots=True, eq=False)
class CallScope:
    """Where a handler runs: what a loop that it starts is linked to (spec/loop.md 7.4), and what it reports on.

    Args:
        progress: its reports, once there are any.
        over: it ended, or is no longer waited for.
    """

    driver: LoopDriver
    call: str
    progress: CallProgress | None = None
    over: bool = False

    def progressed(self, progress: Progress) -> None:
        """Take a report of the handler, from any thread."""
        with self.driver.run.lock:
            if self.over:
                return
            if self.progress is None:
                self.progress = CallProgress(self.driver, self.call)
            self.progress.take(progress)

    def end(self) -> None:
        """Take no more from the handler, and record the report that waits, if the call is still waited for."""
        self.over = True
        if self.progress is not None:
            with self.driver.run.lock:
                self.progress.end()


# the tools' floor declares the variable, and only drivers set it
current_call = cast("ContextVar[CallScope | None]", current_taker)


def new_run_id() -> str:
    """Return an id that sorts by time and that two machines don't share."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.urandom(4).hex()}"  # noqa: TID251  # the driver is where time enters


def new_header(parent: str | None = None, fork_seq: int | None = None, run_id: str | None = None) -> Header:
    """Return the header of a run that starts now."""
    return Header(
        format=FORMAT,
        loopkit=__version__,
        run=run_id or new_run_id(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),  # noqa: TID251  # the driver is where time enters
        parent=parent,
        fork_seq=fork_seq,
    )


@dataclass(eq=False)
class Run:
    """A tree of loops on its way.

    Args:
        header: what the recording says of the run.
        recorder: where events are kept, or None.
        watcher: who stands at the gates, or None for an unattended run.
        prepared: inputs that are known beforehand, or None.
        inherited: states of loops that a fork's prefix left, by path; each is taken up once.
        gone_on_by: what lets inherited loops go on: `fork` or `resume`.
        orphans: paths of loops that a fork's prefix left and that nothing goes on with; they are not used again.
        clock: monotonic seconds.
        jitter: random numbers from 0 to 1, for the waits between attempts.
        seq: number of the last event.
        carried_seconds: what a fork's prefix took; `t` goes on from there.
        max_runs, max_concurrent_runs: limits of the root's configuration (spec/loop.md 2).
        originals: what the run's placeholders stand for; made from what the recorder hides.
    """

    header: Header
    recorder: Recorder | None = None
    watcher: Watcher | None = None
    prepared: Prepared | None = None
    inherited: dict[str, LoopState] = field(default_factory=dict)
    gone_on_by: str = "fork"
    orphans: set[str] = field(default_factory=set)
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random
    seq: int = 0
    carried_seconds: float = 0.0
    max_runs: int = 100
    max_concurrent_runs: int = 16
    lock: threading.RLock = field(default_factory=threading.RLock)
    open_runs: int = 0
    started_runs: int = 0
    listeners: list[Listener] = field(default_factory=list)
    drivers: set[LoopDriver] = field(default_factory=set)
    broken: BaseException | None = None
    closed: bool = False
    late_handlers: int = 0
    originals: Originals = field(default_factory=Originals)
    started_at: float = field(init=False)
    log: RunLog = field(init=False)
    forbidding: Forbidding | None = field(init=False)

    def __post_init__(self) -> None:
        self.log = RunLog(self.recorder, self._stands)
        self.forbidding = self.watcher if isinstance(self.watcher, Forbidding) else None
        self.started_at = self.clock() - self.carried_seconds
        if self.recorder is not None and self.recorder.redaction is not None and self.originals.redactor is None:
            self.originals = Originals(Redactor(self.recorder.redaction))

    def start(self) -> None:
        """Write the header."""
        if self.recorder is not None:
            self.header = replace(self.header, redaction=self.originals.rule_names)
            self.recorder.start(self.header)

    def append(self, driver: LoopDriver, fact: e.Fact) -> None:
        """Let a fact happen that is a step by itself."""
        self.add(driver, fact)
        self.publish()

    def add(self, driver: LoopDriver, fact: e.Fact) -> None:
        """Let a fact happen within a step, which whoever adds it publishes at its end; who watches hears of each at once."""
        if self.broken is not None:
            raise self.broken
        # whole microseconds, as the recording keeps them
        t = int((self.clock() - self.started_at) * 1e6) / 1e6
        event = e.Event(self.seq + 1, t, driver.path, driver.core.iteration_of(fact), fact)
        try:
            self.log.hold(event)
        except BaseException as error:
            self.give_up(error)
            raise
        self.seq += 1
        driver.core.apply(event)
        if self.listeners or self.watcher is not None:
            self.publish()

    def publish(self) -> None:
        """Write what has happened since the last time, with one write, then tell who watches; before anybody acts on it."""
        if not self.log.held:
            return
        if self.broken is not None:
            raise self.broken
        try:
            written = self.log.write()
        except BaseException as error:
            self.give_up(error)
            raise
        if written:
            self._tell_held()

    def _tell_held(self) -> None:
        held = self.log.held
        if self.watcher is None and not self.listeners:
            held.clear()
        while held:
            event = held.popleft()
            if self.watcher is not None:
                self.watcher.happened(event)
            for listener in self.listeners:
                listener.happened(event)

    def give_up(self, error: BaseException) -> None:
        """End the run at once, without another event."""
        self.broken = error
        for driver in list(self.drivers):
            driver.give_up()

    # ── a disk that takes no more ────────────────────────────────────────────────────────────────────────────────────

    def may_act(self) -> bool:
        """Say whether effects may start and loops may return."""
        try:
            return self.log.may_act(self._look_again)
        except BaseException as error:
            self.give_up(error)
            raise

    def retry_recording(self) -> bool:
        """Write what was held back, and go on if that works; say whether it did."""
        with self.lock:
            if self.log.trouble is not None and self._written_again():
                self._go_on()
            return self.log.trouble is None

    def go_on_unrecorded(self) -> None:
        """End the recording where it is, with an event that says why where there is room, and go on without one."""
        with self.lock:
            trouble = self.log.trouble
            if trouble is not None:
                self.log.end_recording(lambda seq: self._recording_ended(seq, trouble.reason))
                self._written_again()
                self._go_on()

    def _recording_ended(self, seq: int, reason: str) -> e.Event:
        root = next((driver for driver in list(self.drivers) if driver.path == e.ROOT), None)
        iteration = 0 if root is None else root.core.state.iteration
        return e.Event(seq, round(self.clock() - self.started_at, 6), e.ROOT, iteration, e.RecordingEnded(reason))

    def _writes_held_at_last(self) -> bool:
        """Try once more, since the run was ended while it stood."""
        with suppress(RecordingError):
            return self._written_again()
        return False

    def _written_again(self) -> bool:
        written = self.log.write_again()
        if written:
            self._tell_held()
        return written

    def _stands(self, error: RecordingUnwritable) -> bool:
        stands = self.watcher is not None and self.watcher.stands_unrecorded(error)
        if stands:
            for driver in list(self.drivers):
                driver.hold_clock()
        return stands

    def _go_on(self) -> None:
        for driver in list(self.drivers):
            driver.hold_clock()
        self._look_again()

    def _look_again(self) -> None:
        for driver in list(self.drivers):
            driver.look_again()

    def streamed(self, loop: str, iteration: int, delta: Delta) -> None:
        """Tell who watches of a piece of an answer."""
        if self.watcher is not None:
            self.watcher.streamed(loop, iteration, delta)
        for listener in self.listeners:
            listener.streamed(loop, iteration, delta)

    def admit(self, driver: LoopDriver, call: str) -> str:
        """Let a call start a child loop and return the child's path.

        Its ordinal is its place in the order in which the call's loops began. Of loops that a handler starts at once,
        trio runs the beginnings in an order of its own, so that two runs of the same handler may number them
        differently; each recording is sound by itself (docs/decisions/0015).

        Raises:
            LoopClosed: the call has ended; a loop that attaches late is refused (spec/loop.md 7.4).
            TooManyRuns: the tree's limits are reached (spec/loop.md 2).
        """
        if not driver.runs_call(call):
            raise LoopClosed(f"the call {call} has ended; a loop can't be started in it any more")
        if self.started_runs >= self.max_runs:
            raise TooManyRuns(f"this run has started {self.started_runs} sub-agents, its limit (max_runs)")
        if self.open_runs >= self.max_concurrent_runs:
            raise TooManyRuns(f"{self.open_runs} sub-agents are open, the limit (max_concurrent_runs)")
        self.started_runs += 1
        self.open_runs += 1
        path = e.child_path(call, driver.next_ordinal(call))
        while path in self.orphans:
            path = e.child_path(call, driver.next_ordinal(call))
        return path

    def close(self, *, await_late_ends: bool = True) -> None:
        """Close the recording; while abandoned handlers still run it stays open for their late ends (spec/loop.md 9.3).

        Args:
            await_late_ends: False gives these ends up.
        """
        with self.lock:
            if self.closed:
                return
            if self.log.held and self.broken is None and not self._writes_held_at_last():
                self.broken = self.log.trouble
            if await_late_ends and self.late_handlers and self.broken is None:
                return
            self.closed = True
            self.log.close()
