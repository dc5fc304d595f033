"""Runs an agent in a thread and an event loop of its own, and stands at its gates for whoever debugs it (DESIGN §5)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

import anyio

from loopkit import events as e
from loopkit.agent import Agent
from loopkit.core.depth import check_depth
from loopkit.core.editing import PERSON
from loopkit.debugger.breakpoints import Breakpoints, BreakpointWatch
from loopkit.debugger.policy import Policy
from loopkit.debugger.rows import failure_text
from loopkit.debugger.run_decisions import RunDecisions
from loopkit.debugger.stops import Goal, Reach, StopKind, steps_at
from loopkit.debugger.taken_up import GoesOn, TakenUp
from loopkit.debugger.timeline import task_text
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.drivers.result import ToolLoopResult
from loopkit.drivers.run import Run, new_header
from loopkit.drivers.tool_loop import run_root
from loopkit.errors import RecordingError, RecordingUnwritable
from loopkit.messages import Message
from loopkit.outcomes import Cancelled
from loopkit.providers.protocol import Delta, TextDelta
from loopkit.recording.redaction.redactor import Redactor
from loopkit.recording.redaction.settings import DEFAULT_REDACTION
from loopkit.recording.syncing import Durability
from loopkit.recording.writer import Recorder

_HOLD = Goal("stop")
CALLER = "caller"
CLOSE_SECONDS = 3.0


class LiveRun(RunDecisions):
    """An agent on its way, in its own thread.

    Commands may come from any thread; none waits for the agent. Implements `drivers.run.Watcher`.

    Args:
        begins: the task of a new run, as text or as messages, or what reopens or forks one that was left.
        path: where the run is recorded.
        policy: decides before a person is asked; None asks for every call.
        backend: `asyncio` or `trio`.
        durability: when the recording reaches the disk.
        redacted: whether secrets are kept out of it.
        overwrite: whether a recording that is there already is replaced.
        follows: id of the run that a new one goes on from, or None.
        project: the folder whose remembered rules hold, or None.
        breakpoints: what the run stops at; by default none.

    Attributes:
        stand_in: decides in the place of a person while nobody is there; None waits for one.
    """

    def __init__(
        self,
        agent: Agent,
        begins: str | Sequence[Message] | GoesOn,
        path: Path,
        policy: Policy | None,
        *,
        backend: str,
        durability: Durability,
        redacted: bool = True,
        overwrite: bool = False,
        stand_in: Policy | None = None,
        follows: str | None = None,
        project: Path | None = None,
        breakpoints: Breakpoints | None = None,
    ) -> None:
        self.path = path
        super().__init__(policy, stand_in, project)
        self.result: ToolLoopResult | None = None
        self.error: BaseException | None = None
        self.agent = agent
        self.task: str | Sequence[Message] = () if callable(begins) else begins
        self.breakpoints = Breakpoints() if breakpoints is None else breakpoints
        self._watch = BreakpointWatch(self.breakpoints)
        self._goal = Goal("continue")
        self._stood = e.ROOT
        self._events: deque[e.Event] = deque()
        self._partial: dict[str, list[str]] = {}
        self._wake: Callable[[], None] | None = None
        self._woken = False
        self._policy_calls: set[str] = set()
        self._root: LoopDriver | None = None
        self._began = False
        self._stop_asked: tuple[str, str | None] | None = None
        self._ended = threading.Event()
        self._taken_up = TakenUp(begins(self), self._call_wake) if callable(begins) else None
        if self._taken_up is None:
            recorder = Recorder(
                path,
                if_exists="replace" if overwrite else "fail",
                durability=durability,
                redaction=DEFAULT_REDACTION if redacted else None,
            )
            most, at_once = agent.config.max_runs, agent.config.max_concurrent_runs
            self._run = Run(new_header(follows), recorder, self, max_runs=most, max_concurrent_runs=at_once)
            self._run.start()
        else:
            self._run = self._taken_up.run
        self._thread = threading.Thread(target=self._main, args=(backend,), name="loopkit run", daemon=True)
        self._thread.start()

    # ── the run's thread ─────────────────────────────────────────────────────────────────────────────────────────────

    def _main(self, backend: str) -> None:
        try:
            # the validators are built beside, so that the first answer isn't held up by it
            threading.Thread(target=self._build_validators, name="loopkit validators", daemon=True).start()
            self.result = anyio.run(self._drive, backend=backend)
        except BaseException as error:  # noqa: BLE001  # the person sees it; a thread must not die with a traceback
            self.error = error
        finally:
            self._deadlines.close()
            self._run.close()
            self._ended.set()
            self._call_wake()

    def _build_validators(self) -> None:
        for tool in self.agent.registry.values():
            tool.problems({})

    async def _drive(self) -> ToolLoopResult:
        check_depth(None, self.agent.config.max_depth)
        if self._taken_up is not None:
            return await self._taken_up.go_on(self._take_root)
        return await run_root(self._run, self.agent.parts(self.task), driver_made=self._take_root, started=True)

    def _take_root(self, driver: LoopDriver) -> None:
        self._root = driver
        if self._taken_up is not None:
            # it began long ago, and perhaps nothing happens before somebody decides
            with self._run.lock:
                self._began = True
                self._stop_root()
            self._taken_up.begin()

    # ── Watcher: called under the run's lock ─────────────────────────────────────────────────────────────────────────

    def stops_at(self, loop: str, gate: str) -> str | None:
        """Stand at a gate that a breakpoint or a step reaches; then whatever else comes to one stands too."""
        about, _, word = gate.rpartition(".")
        kind = cast("StopKind", word)
        met = self._watch.at_gate(loop, about)
        if self.stand_in is not None:
            return None
        steps = steps_at(kind, asked_person=about not in self._policy_calls)
        if met is None and not (steps and self._goal.reached(loop, kind)):
            return None
        self._goal = _HOLD
        self._stood = loop
        return PERSON if met is None else f"breakpoint {met}"

    def stands_unrecorded(self, error: RecordingUnwritable) -> bool:
        """Stand until a person chooses; where nobody is there, the run ends."""
        self._call_wake()
        return self.stand_in is None

    def happened(self, event: e.Event) -> None:
        """Queue an event for `take`."""
        fact = event.fact
        self._hear(event)
        if isinstance(fact, e.Decided) and fact.by != PERSON:
            self._policy_calls.add(fact.call)
        elif isinstance(fact, (e.ModelReplied, e.ModelInterrupted, e.ModelAttemptFailed)):
            self._partial.pop(event.loop, None)
        self._watch.take(event)
        self._events.append(event)
        if not self._began and self._root is not None:
            self._began = True
            self._stop_root()
        self._call_wake()

    def streamed(self, loop: str, iteration: int, delta: Delta) -> None:
        """Keep the words of the answer that is coming in."""
        if isinstance(delta, TextDelta):
            self._partial.setdefault(loop, []).append(delta.text)
            self._call_wake()

    def _call_wake(self) -> None:
        wake = self._wake
        if wake is None or self._woken:
            return
        self._woken = True
        try:
            wake()
        except Exception:  # noqa: BLE001  # an interface that is gone must not break the run
            self._wake = None

    # ── what a session asks, from any thread ─────────────────────────────────────────────────────────────────────────

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    @property
    def goal(self) -> Goal:
        """How far the run goes on before it stands."""
        return self._goal

    @property
    def has_news(self) -> bool:
        """Whether there are events that `take` has not returned yet."""
        return bool(self._events)

    @property
    def recording_trouble(self) -> RecordingUnwritable | None:
        """Why the run stands with a recording that can't be written, or None."""
        return None if self._run.broken is not None else self._run.log.trouble

    @property
    def now(self) -> float:
        """Seconds since the run started."""
        return self._run.clock() - self._run.started_at

    def on_change(self, wake: Callable[[], None]) -> None:
        """Have `wake` called, in whatever thread brings it about, when there is something new after a `take`."""
        self._wake = wake
        self._woken = False
        if self._events or self.ended or self.recording_trouble is not None:
            self._call_wake()

    def take(self) -> list[e.Event]:
        """Return the events since the last call; whole steps only, so that no call seems to wait that a policy decides."""
        with self._run.lock:
            self._woken = False
            if self._taken_up is not None and not self._taken_up.shown and not self.ended:
                return []
            taken = list(self._events)
            self._events.clear()
            return taken

    def leave_to(self, stand_in: Policy | None) -> None:
        """Let a policy stand in for the person, also for what waits already; None: a person is there again."""
        self.stand_in = stand_in
        if stand_in is None:
            return
        with self._run.lock, suppress(RecordingError):
            if self.recording_trouble is not None:
                self._run.give_up(self.recording_trouble)
                return
            self.offer_again()
        self.step("continue")

    @property
    def title(self) -> str:
        """The task without its secrets, in numbers of its own: the run counts what it records."""
        words = self.task if isinstance(self.task, str) else task_text(self.task)
        return words if self._run.originals.redactor is None else Redactor().text(words)

    @property
    def failure(self) -> str:
        """What ended the run, in one safe line and without secrets, when it was an exception; else empty."""
        if self.error is None:
            return ""
        return failure_text(type(self.error).__name__, self._run.originals.hidden_text(str(self.error)))

    def partial(self, loop: str) -> str:
        """Return the words of a loop's answer that is coming in."""
        return "".join(self._partial.get(loop, ()))

    def partials(self) -> dict[str, str]:
        """Return the words of all answers that are coming in, by loop, without secrets."""
        with self._run.lock:
            texts = {loop: "".join(pieces) for loop, pieces in self._partial.items()}
        if self._run.originals.redactor is None:
            return texts
        redactor = Redactor()
        return {loop: redactor.text(text, broken_off=True) for loop, text in texts.items()}

    @property
    def run_id(self) -> str:
        """The run's id, as its recording says it."""
        return self._run.header.run

    def step(self, reach: Reach) -> None:
        """Go on from every gate that a loop stands at, up to where the loop that stood last reaches a stop."""
        with self._run.lock, suppress(RecordingError):
            self._goal = Goal(reach, self._loop_that_stands())
            for driver in list(self._run.drivers):
                gate = driver.core.state.paused
                if gate is not None:
                    driver.post(e.Resumed(gate, PERSON))

    def _loop_that_stands(self) -> str:
        standing = [driver.path for driver in list(self._run.drivers) if driver.core.state.paused is not None]
        waiting = [waiting.driver.path for waiting in self._waiting.values()]
        if self._stood in (*standing, *waiting):
            return self._stood
        return (*standing, *waiting, e.ROOT)[0]

    def use_breakpoints(self, breakpoints: Breakpoints) -> None:
        """Stop at other breakpoints from now on."""
        with self._run.lock:
            self.breakpoints = breakpoints
            self._watch.use(breakpoints)

    def retry_recording(self) -> bool:
        """Write what was held back, and go on if that works; say whether it did."""
        return self._run.retry_recording()

    def go_on_unrecorded(self) -> None:
        """End the recording where it is and go on without one."""
        self._run.go_on_unrecorded()
        self._call_wake()

    def pause(self) -> None:
        """Stand at the next gate; a running answer comes to its end first."""
        self._goal = _HOLD

    def stop(self, reason: str | None, by: str = PERSON) -> None:
        """End the run at once, or as soon as it has begun.

        Args:
            by: `person`, or `caller` when the program that runs it ends.
        """
        with self._run.lock:
            self._stop_asked = (by, reason)
            self._run.retry_recording()
            if self.recording_trouble is not None:
                self._run.give_up(self.recording_trouble)
            elif self._began:
                self._stop_root()

    def _stop_root(self) -> None:
        if self._root is not None and self._stop_asked is not None:
            # where the recording can't be written the run has ended with that, and `error` says so
            with suppress(RecordingError):
                self._root.stop(*self._stop_asked)

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped before its own end, or still goes."""
        ended_by_itself = self.result is not None and not isinstance(self.result.termination_reason, Cancelled)
        return not self.ended or (self._stop_asked is not None and not ended_by_itself)

    def wait(self, timeout: float | None) -> bool:
        """Wait for the run's end; return whether it has ended."""
        return self._ended.wait(timeout)

    def close(self) -> None:
        """Stop the run if it still goes, and close its recording; a handler that can't be interrupted is left behind."""
        if not self.ended:
            self.stop(None, CALLER)
            self._ended.wait(CLOSE_SECONDS)
        self._deadlines.close()
        self._run.close(await_late_ends=False)
