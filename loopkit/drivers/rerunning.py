"""Runs a recording's inputs through today's loops once more, past every difference, to see the whole of what changed.

An input is fed where today's loop asks for it, in recorded order. What the loop asks for and the recording lacks gets a
stand-in, so that the rest can still be compared; what it asks for no more is left over.
"""

from __future__ import annotations

from collections.abc import Sequence

from loopkit import events as e
from loopkit.core.loop import LoopCore
from loopkit.core.state import (
    AskDecision,
    CallModel,
    CallPhase,
    Effect,
    Phase,
    ProcessResult,
    RunTool,
)
from loopkit.drivers.alignment import subject_of
from loopkit.drivers.asking_again import TodaysAgent
from loopkit.drivers.following import equal_as_recorded, is_expected
from loopkit.drivers.prepared import SPONTANEOUS, InputIndex
from loopkit.drivers.standing_in import StandIns
from loopkit.events import Event


class Rerun:
    """One pass over a recording.

    Args:
        recorded: its events.
        today: today's agent, or None for today's loop alone.

    Attributes:
        came: what happened today, numbered from 1.
        stand_ins: numbers of those of `came` that stand for something that is not recorded.
    """

    def __init__(self, recorded: Sequence[Event], today: TodaysAgent | None) -> None:
        self.came: list[Event] = []
        self.stand_ins: set[int] = set()
        self._recorded = recorded
        self._today = today
        self._index = InputIndex(recorded)
        self._stand_in_for = StandIns(recorded)
        self._cores: dict[str, LoopCore] = {}
        self._fed: set[int] = set()
        self._answered: set[tuple[str, Effect]] = set()
        self._done: set[tuple[object, ...]] = set()
        self._starts = {event.loop: (event, event.fact) for event in recorded if isinstance(event.fact, e.LoopStarted)}
        self._ends = {event.loop for event in recorded if isinstance(event.fact, (e.LoopFinished, e.LoopFailed))}
        self._t = 0.0

    async def run(self) -> None:
        """Go over the whole recording."""
        for event in self._recorded:
            if event.seq in self._fed:
                continue
            self._t = event.t
            if event.loop not in self._cores and event.loop in self._starts:
                await self._start(*self._starts.pop(event.loop))
            if event.loop not in self._cores or isinstance(event.fact, e.LoopStarted):
                continue
            if isinstance(event.fact, e.Derived):
                self._derive(event)
            else:
                await self._take(self._cores[event.loop], event)
        for loop in sorted(self._ends, key=lambda loop: -loop.count("#")):
            await self._bring_to_end(loop)

    # ── loops ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _start(self, event: Event, fact: e.LoopStarted) -> None:
        if fact.parent_call is not None and not await self._runs(fact.parent_call):
            return
        if event.loop == e.ROOT and self._today is not None:
            came = self._today.started(fact)
            fact = fact if equal_as_recorded(came, fact) else came
        self._cores[event.loop] = core = LoopCore.started(event.loop, fact)
        self.came.append(Event(len(self.came) + 1, self._t, event.loop, core.state.iteration, fact))

    async def _runs(self, call: str) -> bool:
        """Bring a loop to where it runs a call; say whether it does."""
        parent = self._cores.get(call.rpartition("/")[0])
        if parent is None:
            return False
        self._settle(parent)
        turn = int(call.rpartition("/")[2].partition(".")[0])
        while RunTool(call) not in parent.wants and (turn > parent.state.iteration or self._is_ahead(parent, call)):
            if not await self._catch_up(parent):
                break
        return RunTool(call) in parent.wants

    async def _bring_to_end(self, loop: str) -> None:
        core = self._cores.get(loop)
        if core is None:
            return
        self._settle(core)
        while core.state.finished is None and self._was_asked(core) and await self._catch_up(core):
            self._settle(core)

    # ── what the loops derive ────────────────────────────────────────────────────────────────────────────────────────

    def _derive(self, event: Event) -> None:
        """Append what is due up to the counterpart of a recorded fact; no further, since a pause may follow."""
        core = self._cores[event.loop]
        subject = (event.loop, *subject_of(event))
        while subject not in self._done:
            due = core.due()
            if due is not None:
                self._append(core, due)
            elif event.iteration < core.state.iteration or not self._stand_in(core, sorted(core.wants, key=_order)):
                return

    def _settle(self, core: LoopCore) -> None:
        while (due := core.due()) is not None:
            self._append(core, due)

    def _append(self, core: LoopCore, fact: e.Fact, *, stand_in: bool = False) -> None:
        event = Event(len(self.came) + 1, self._t, core.state.path, core.iteration_of(fact), fact)
        core.apply(event)
        self.came.append(event)
        self._done.add((event.loop, *subject_of(event)))
        if stand_in:
            self.stand_ins.add(event.seq)

    # ── inputs ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _take(self, core: LoopCore, event: Event) -> None:
        if isinstance(event.fact, e.ToolEndedLate):
            self._append(core, event.fact)
            return
        if self._is_spent(core, event):
            return
        if isinstance(event.fact, e.Resumed) and core.state.paused is None:
            await self._pause_first(core, event.fact.gate)
        if not isinstance(event.fact, SPONTANEOUS) or not self._may_withhold(core, event.fact):
            self._settle(core)
        while not is_expected(core.state, event):
            if core.state.finished is not None or not await self._catch_up(core):
                return
            self._settle(core)
        await self._feed(core, event)

    async def _pause_first(self, core: LoopCore, gate: str) -> None:
        """Feed the pause that a person ended, if it stands further on."""
        for event in self._recorded:
            paused = isinstance(event.fact, e.Paused) and event.fact.gate == gate and event.loop == core.state.path
            if paused and event.seq not in self._fed:
                await self._feed(core, event)
                return

    def _may_withhold(self, core: LoopCore, fact: e.Fact) -> bool:
        """Say whether something may be due when nobody's answer comes in: before a gate, and between two turns."""
        return core.state.paused is not None or core.state.phase is Phase.TURN or isinstance(fact, e.Paused)

    def _is_spent(self, core: LoopCore, event: Event) -> bool:
        """Say whether the loop is past what an input is about."""
        state, effect = core.state, self._index.effects.get(event.seq)
        if state.finished is not None or event.iteration < state.iteration:
            return True
        if effect is not None and (event.loop, effect) in self._answered:
            return True
        if isinstance(effect, (AskDecision, RunTool, ProcessResult)) and event.iteration == state.iteration:
            return state.phase is not Phase.MODEL and not self._is_ahead(core, effect.call)
        return False

    def _is_ahead(self, core: LoopCore, call: str) -> bool:
        """Say whether a call of the current response has not ended yet."""
        state = core.state.call_state(call)
        if state is None:
            return core.state.phase in (Phase.STARTED, Phase.MODEL)
        return state.phase is not CallPhase.ENDED

    async def _feed(self, core: LoopCore, event: Event) -> None:
        effect = self._index.effects.get(event.seq)
        if isinstance(effect, RunTool):
            for loop in [loop for loop in self._cores if loop.startswith(f"{effect.call}#") and loop in self._ends]:
                await self._bring_to_end(loop)
        came: e.Fact | None = event.fact
        if self._today is not None and event.loop == e.ROOT:
            came = await self._today.said_of(core, event)
        self._fed.add(event.seq)
        if effect is not None:
            self._answered.add((event.loop, effect))
        self._append(core, event.fact if came is None else came)

    async def _catch_up(self, core: LoopCore) -> bool:
        """Give a loop one input that it waits for: a stand-in for what is not recorded, then what stands further on.

        Returns:
            whether there was anything to give.
        """
        if core.state.paused is not None:
            self._append(core, e.Resumed(core.state.paused, "replay"), stand_in=True)
            return True
        wanted = sorted(core.wants, key=_order)
        if self._stand_in(core, wanted):
            return True
        for effect in wanted:
            event = self._further_on(core, effect)
            if event is not None:
                await self._feed(core, event)
                return True
        return False

    def _stand_in(self, core: LoopCore, wanted: Sequence[Effect]) -> bool:
        """Append a stand-in for the first of what is wanted that is not recorded; say whether there is one."""
        for effect in wanted:
            if self._further_on(core, effect) is None:
                self._answered.add((core.state.path, effect))
                self._append(core, self._stand_in_for(core.state.path, effect), stand_in=True)
                return True
        return False

    def _further_on(self, core: LoopCore, effect: Effect) -> Event | None:
        event = self._index.get(core.state.path, effect)
        fits = event is not None and event.seq not in self._fed and is_expected(core.state, event)
        return event if fits else None

    def _was_asked(self, core: LoopCore) -> bool:
        """Say whether the recorded loop waited for the same."""
        return all(self._stand_in_for.was_asked(core.state.path, effect) for effect in core.wants)


def _order(effect: Effect) -> tuple[int, int]:
    if isinstance(effect, (AskDecision, RunTool, ProcessResult)):
        return 1, int(effect.call.rpartition(".")[2])
    return (0 if isinstance(effect, CallModel) else 2), 0
