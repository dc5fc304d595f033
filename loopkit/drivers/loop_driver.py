"""Drives one loop: feeds the core's inputs, appends what it derives, starts and cancels what it wants.

Every change goes through `post`, `settle` and `close`, which hold the run's lock and never wait, so that decisions
and stops may come from any thread. Tasks are started in the loop's own event loop only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import suppress

import anyio

from loopkit import events as e
from loopkit.core.depth import deeper
from loopkit.core.loop import LoopCore
from loopkit.core.state import AskDecision, CallPhase, Effect, Phase, ReadClock, RunTool
from loopkit.drivers.cancelling import plain_error
from loopkit.drivers.effect_tasks import EffectTasks
from loopkit.drivers.orphans import close_orphans, open_below
from loopkit.drivers.partial import PartialAnswer
from loopkit.drivers.parts import LoopParts
from loopkit.drivers.performing import perform
from loopkit.drivers.run import CallScope, Run, Watcher
from loopkit.drivers.stopwatch import LoopClock
from loopkit.drivers.watcher_decisions import decided_by_watcher, forbidden
from loopkit.errors import DecisionNotAccepted, RecordingError
from loopkit.messages import Usage
from loopkit.outcomes import Modify, ToolApproval
from loopkit.providers.protocol import Delta


class LoopDriver:
    """One loop of a run.

    Args:
        core: its machine, when a fork goes on with it; a new loop gets one in `begin`.
        started_by: the call that started this loop, or None for a root.
    """

    def __init__(
        self, run: Run, path: str, parts: LoopParts, core: LoopCore | None = None, started_by: CallScope | None = None
    ) -> None:
        self.run = run
        self.path = path
        self.models = parts.models
        self.registry = parts.registry
        self.config = parts.config
        self.context = deeper(parts.context)
        self.parent = None if started_by is None else started_by.driver
        self.parent_call = None if started_by is None else started_by.call
        if core is not None:
            self.core = core
        self.raised: BaseException | None = None
        self.tool_exceptions: dict[str, BaseException] = {}
        self.children: dict[str, list[LoopDriver]] = {}
        self.subtree_usage = Usage()
        self.may_take_turn: Callable[[], bool] | None = None
        self._ordinals: dict[str, int] = {}
        self._passed_gates: set[str] = set()
        self.partial = PartialAnswer()
        self._tasks = EffectTasks(
            run.lock, lambda: self.core.state.wants, run.may_act, functools.partial(perform, self)
        )
        limit = self.config.timeout_seconds if core is None else core.state.rules.timeout
        self.clock = LoopClock(run.clock, limit, self._tasks.wake, 0.0 if core is None else core.state.loop_seconds)
        self._timed: bool = limit is not None or (self.parent is not None and self.parent._timed)

    # ── inputs ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, fact: e.LoopStarted) -> None:
        """Append the loop's first event."""
        with self.run.lock:
            fact = self.run.originals.hidden(fact)
            self.core = LoopCore.started(self.path, fact)
            self.run.append(self, fact)

    def post(self, fact: e.Input, effect: Effect | None = None) -> bool:
        """Take in an input and all that follows from it.

        Args:
            effect: what the input answers; if that is not wanted any more, nothing is appended.

        Returns:
            whether the input was taken.
        """
        with self.run.lock:
            if self.finished or (effect is not None and effect not in self.core.wants):
                return False
            if isinstance(effect, RunTool):
                self.close_children(effect.call)
            self.run.add(self, self.run.originals.hidden(fact))
            self.settle()
            return True

    def answer(self, fact: e.Input, effect: Effect, *, inline: bool) -> bool:
        """Take in an effect's outcome from whoever performed it and does nothing after this.

        Args:
            inline: it was performed by the task that drives, so the next effect may run in its place.
        """
        with self.run.lock:
            self._tasks.performed(effect, inline=inline)
            return self.post(fact, effect)

    def expect_late_end(self) -> None:
        """Keep the recording open for a handler that was abandoned and still runs."""
        with self.run.lock:
            self.run.late_handlers += 1

    def post_late(self, call: str, outcome: str) -> None:
        """Record that an abandoned handler ended after all (spec/loop.md 9.3)."""
        with self.run.lock:
            self.run.late_handlers -= 1
            if self.run.broken is None and not self.run.closed:
                # the recorder's owner may have closed it; the handler's thread is no place to raise that
                with suppress(RecordingError):
                    self.run.append(self, e.ToolEndedLate(call, outcome))
            if not self.run.drivers:
                self.run.close()

    def decide(self, call: str, version: int, decision: ToolApproval, by: str, verdict: e.CallVerdict) -> None:
        """Take somebody's decision on a version of a call.

        Raises:
            DecisionNotAccepted: late, twice, for another version, or with arguments that don't fit; but for the last,
                the refusal stands in the log.
        """
        with self.run.lock:
            if isinstance(decision, Modify) and verdict.problems:
                raise DecisionNotAccepted("; ".join(str(problem) for problem in verdict.problems))
            if self.post(e.Decided(call, version, decision, by, verdict), AskDecision(call, version)):
                return
            state = self.core.state.call_state(call)
            if self.finished:
                raise DecisionNotAccepted(f"{call} can't be decided any more: its loop has ended")
            reason = (
                "this call does not wait for a decision any more"
                if state is None or state.phase is not CallPhase.REQUESTED
                else f"the call is at version {state.version}, the decision was on {version}"
            )
            self.run.append(self, self.run.originals.hidden(e.DecisionRefused(call, version, by, reason)))
            raise DecisionNotAccepted(reason)

    # ── what follows ─────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def finished(self) -> bool:
        return self.core.state.finished is not None

    def settle(self) -> None:
        """Take the step to its end: append what is due, up to a gate that somebody stops at, and start what is wanted."""
        if self.may_take_turn is not None and self.at_open_turn and not self.may_take_turn():
            self.run.publish()
            self._update_clock()  # a held handle is no work (4.5)
            self._tasks.signal()
            return
        core, run = self.core, self.run
        self._append_due()
        while core.state.finished is None and (fact := self._answer_at_once()) is not None:
            run.add(self, fact)
            self._append_due()
        run.publish()
        if self._timed:
            self._update_clock()
        if self.finished:
            self.leave()
        self._tasks.follow()

    @property
    def at_open_turn(self) -> bool:
        """Whether the loop stands before a turn that nothing keeps it from."""
        state = self.core.state
        ends = state.commanded_stop is not None or state.ending is not None or state.failure is not None
        return state.phase is Phase.TURN and not ends

    def _append_due(self) -> None:
        core, run = self.core, self.run
        while (fact := core.due()) is not None:
            if run.watcher is not None and self._stands_at_gate(run.watcher):
                return
            if isinstance(fact, e.IterationStarted):
                self._passed_gates.clear()
                self.tool_exceptions.clear()
                self._ordinals.clear()
            run.add(self, fact)

    def _stands_at_gate(self, watcher: Watcher) -> bool:
        for gate in self.core.gates():
            if gate not in self._passed_gates:
                self._passed_gates.add(gate)
                by = watcher.stops_at(self.path, gate)
                if by is not None:
                    self.run.add(self, e.Paused(gate, by))
                    return True
        return False

    def _answer_at_once(self) -> e.Input | None:
        """Return an input for something newly wanted that needs no task, or None."""
        prepared = self.run.prepared
        wanted: Sequence[Effect] = self._tasks.unissued()
        if prepared is not None:
            wanted = prepared.in_order(self.path, wanted)
        for effect in wanted:
            if prepared is not None and (recorded := prepared.answer(self.path, effect)) is not None:
                return recorded
            if isinstance(effect, ReadClock):
                return e.ClockRead(self.clock.elapsed())
            if isinstance(effect, AskDecision):
                asks = self.config.on_tool_call is not None
                decided = forbidden(self, effect) if asks else self._decision_of_watcher(effect)
                if decided is not None:
                    return self.run.originals.hidden(decided)
        return None

    def _decision_of_watcher(self, effect: AskDecision) -> e.Decided | None:
        decided = decided_by_watcher(self, effect)
        if decided is None:
            self._tasks.leave_open(effect)
        return decided

    def offer_to_watcher(self, effect: AskDecision) -> None:
        """Let whoever watches decide, after `on_tool_call` had nothing to say."""
        with self.run.lock:
            decided = self._decision_of_watcher(effect) if effect in self.core.wants else None
            if decided is not None:
                self.post(decided, effect)

    def go_on(self) -> None:
        """Look again whether the next turn may be taken."""
        with self.run.lock:
            if not self.finished:
                self.settle()

    def do_later(self, do: Callable[[], None]) -> None:
        """Have something done in the loop's own thread, after the step that goes on; from any thread."""
        self._tasks.wake(do)

    def give_up(self) -> None:
        """Cancel all that this loop does, since its recording broke; from any thread."""
        self._tasks.wake(self._tasks.cancel)

    def look_again(self) -> None:
        """Start what is wanted and had to wait for the recording; from any thread."""
        self._tasks.wake(self._tasks.follow_here)

    # ── the task that drives ─────────────────────────────────────────────────────────────────────────────────────────

    async def drive(self) -> None:
        """Run the loop to its end.

        Raises:
            BaseException: the caller's own cancellation or interruption, after the log was closed.
        """
        self.run.drivers.add(self)
        try:
            async with anyio.create_task_group() as group:
                self._tasks.group = group
                if self.clock.limit:
                    group.start_soon(self._watch_timeout)
                # a child task, so that a cancellation of the caller's own task comes in through the group's scope
                group.start_soon(self._drive_to_end, group.cancel_scope)
        except BaseExceptionGroup as group_error:
            raise self.run.broken or plain_error(group_error) from None
        finally:
            self._tasks.group = None
            self.run.drivers.discard(self)
        if self.run.broken is not None and self.run.log.held:
            raise self.run.broken

    async def _drive_to_end(self, scope: anyio.CancelScope) -> None:
        try:
            await self._drive_effects()
        except BaseException as error:
            self.stop("caller", type(error).__name__ if isinstance(error, Exception) else None)
            raise
        finally:
            scope.cancel()

    async def _drive_effects(self) -> None:
        with self.run.lock:
            self._tasks.free_driving_task()
            self.settle()
        while self._has_to_go_on():
            if self.run.broken is not None:
                raise self.run.broken
            await self._tasks.run_next(lambda: self._has_to_go_on() and self.run.broken is None)

    def _has_to_go_on(self) -> bool:
        return not self.finished or not self.run.may_act()

    # ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _watch_timeout(self) -> None:
        while True:
            await self.clock.wait()
            with self.run.lock:
                if self.clock.limit_passed():
                    self.close(e.ClockRead(self.clock.elapsed()), "timeout")
                    return

    def hold_clock(self) -> None:
        """Let no time pass while the recording can't be written."""
        if self._timed:
            self._update_clock()

    def _update_clock(self) -> None:
        """Hold the clock while nothing of the subtree works, here and above (spec/loop.md 4.5)."""
        if not self._timed:
            return
        self.clock.run(self.run.log.trouble is None and self._works())
        if self.parent is not None:
            self.parent._update_clock()

    def _works(self) -> bool:
        state = self.core.state
        if state.phase is Phase.MODEL or state.processing:
            return True
        for call in state.calls:
            if call.phase is CallPhase.RUNNING:
                children = self.children.get(call.key)
                if not children or any(child._works() for child in children):
                    return True
        return False

    # ── ends ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def stop(self, by: str, reason: str | None = None) -> None:
        """End the loop at once, as cancelled; does nothing once it has ended."""
        self.close(e.RunStopped(by, reason), "stopped" if by != "parent" else "parent ended")

    def close(self, trigger: e.Input, cause: str) -> None:
        """End the loop and all below it: descendants first, then what runs, then the loop (spec/loop.md 7.4, 9.3)."""
        with self.run.lock:
            if self.finished or self.run.broken is not None:
                return
            for call_key in list(self.children):
                self.close_children(call_key)
            close_orphans(self.run, open_below(self.run, self.path))
            hidden = self.run.originals.hidden
            self.run.add(self, hidden(trigger))
            state = self.core.state
            if state.phase is Phase.MODEL:
                self.run.add(self, hidden(e.ModelInterrupted(cause, self.partial.message())))
            for call in state.calls:
                if call.phase is CallPhase.RUNNING:
                    self.run.add(self, e.ToolAbandoned(call.key, cause))
            self.settle()

    def close_children(self, call: str) -> None:
        """End the loops that a call started and that still go (spec/loop.md 7.4)."""
        for child in list(self.children.get(call, ())):
            child.close(e.RunStopped("parent"), "parent ended")
        if self.run.inherited:
            close_orphans(self.run, open_below(self.run, call))

    def leave(self) -> None:
        """Take an ended loop out of the tree of open ones."""
        parent = self.parent
        self.subtree_usage += self.core.state.usage
        if parent is None or self.parent_call is None:
            return
        siblings = parent.children.get(self.parent_call, [])
        if self in siblings:
            siblings.remove(self)
            if not siblings:
                del parent.children[self.parent_call]
            parent.subtree_usage += self.subtree_usage
            self.run.open_runs -= 1
            parent._update_clock()

    # ── what performers and children ask ─────────────────────────────────────────────────────────────────────────────

    def runs_call(self, key: str) -> bool:
        """Say whether a call's handler is running and wanted."""
        return RunTool(key) in self.core.wants

    def next_ordinal(self, call: str) -> int:
        """Return the place of the next child loop among those of a call, from 1."""
        self._ordinals[call] = self._ordinals.get(call, 0) + 1
        return self._ordinals[call]

    def adopt(self, child: LoopDriver) -> None:
        """Take a child loop into the tree."""
        assert child.parent_call is not None
        self.children.setdefault(child.parent_call, []).append(child)

    def streamed(self, delta: Delta) -> None:
        """Keep a piece of the answer that is coming in, and tell who watches."""
        self.partial.add(delta)
        self.run.streamed(self.path, self.core.state.iteration, delta)
