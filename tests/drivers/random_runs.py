"""Somebody who decides, pauses, stops and injects at random moments of random agents' runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import anyio
from hypothesis import strategies as st

from loopkit import events as e
from loopkit.core.loop import apply_to
from loopkit.core.state import CallState, LoopState
from loopkit.debugger import gate_edits
from loopkit.debugger.standing import standing_of
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.drivers.run import Run, new_header
from loopkit.drivers.tool_loop import run_root
from loopkit.drivers.waking import current_waker
from loopkit.errors import DecisionNotAccepted, RecordingUnwritable
from loopkit.messages import Message, ToolCall
from loopkit.outcomes import Approve, Deny, Modify, ToolApproval
from loopkit.providers.protocol import Delta
from loopkit.recording.writer import Recorder
from tests.drivers.random_agents import ANSWERS, Plan, agent_of, number_of


@dataclass(frozen=True)
class Meddling:
    """What somebody does in the course of a run.

    Args:
        decisions: looked up by call, None leaves the call to a person.
        stands: numbers of the gates at which a person stops the loop.
        acts: what happens at which event.
        late: the person decides every call once more.
        edits: the person changes what stands at each gate that they stop at.
    """

    decisions: tuple[ToolApproval | None, ...] = (Approve(),)
    stands: frozenset[int] = frozenset()
    acts: tuple[tuple[int, Act], ...] = ()
    late: bool = False
    edits: bool = False


Act: TypeAlias = Literal["stop root", "stop loop", "stop command", "inject", "cancel"]


def meddlings() -> st.SearchStrategy[Meddling]:
    """What somebody may do."""
    acts: list[Act] = ["stop root", "stop loop", "stop command", "inject", "cancel"]
    return st.builds(
        Meddling,
        decisions=st.lists(st.sampled_from([*ANSWERS, Approve(), Approve(), None]), min_size=1, max_size=5).map(tuple),
        stands=st.frozensets(st.integers(1, 40), max_size=4) | st.frozensets(st.integers(1, 8), min_size=1, max_size=6),
        acts=st.lists(st.tuples(st.integers(1, 60), st.sampled_from(acts)), max_size=2).map(tuple),
        late=st.booleans(),
        edits=st.booleans(),
    )


def change_what_stands(driver: LoopDriver, number: int) -> None:
    """Edit whatever may be edited where a loop stands, by a number that says how; then try it once more, too late."""
    standing = standing_of(driver.core.state)
    assert standing is not None
    for result in standing.results:
        for words in ("edited", "edited twice"):
            with suppress(DecisionNotAccepted):
                gate_edits.edit_result(driver, result.call, result.seen, f"{words} {number}", is_error=number % 2 == 0)
    if standing.answer is not None:
        again = ToolCall("mine", "echo", {"n": number}) if number % 3 == 0 else None
        answer = Message.assistant(f"edited {number}", [] if again is None else [again])
        gate_edits.edit_answer(driver, standing.seen, answer)
    elif standing.seen:
        gate_edits.edit_request(
            driver,
            standing.seen,
            messages=(*driver.core.state.history, Message.user(f"more {number}")) if number % 2 else None,
            system=f"prompt {number}" if number % 3 == 0 else None,
            model=f"model-{number}" if number % 4 == 0 else None,
            tools=standing.tools[: number % 3] if number % 5 == 0 else None,
            settings={"seed": number},
        )


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Meddler:
    """Watches a run, compares its live states with the fold of its events, and meddles."""

    meddling: Meddling = field(default_factory=Meddling)
    events: list[e.Event] = field(default_factory=list)
    folded: dict[str, LoopState] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    root: LoopDriver | None = None
    _gates: int = 0
    _todo: deque[Callable[[], None]] = field(default_factory=deque)
    _wake: Callable[[], None] = lambda: None

    def take_root(self, driver: LoopDriver) -> None:
        self.root = driver

    def stops_at(self, loop: str, gate: str) -> str | None:
        self._gates += 1
        if self._gates not in self.meddling.stands:
            return None
        self._later(lambda: self._leave(loop, gate))
        return "person"

    def decide(self, driver: LoopDriver, call: CallState) -> tuple[ToolApproval, str] | None:
        said = self.meddling.decisions[number_of(call.key) % len(self.meddling.decisions)]
        if said is not None and not self.meddling.late:
            return said, "policy: random"
        self._later(lambda: self._decide_as_person(driver, call, said or Approve()))
        return None

    def stands_unrecorded(self, error: RecordingUnwritable) -> bool:
        return False

    def happened(self, event: e.Event) -> None:
        self.events.append(event)
        apply_to(self.folded, event)
        driver = self._driver(event.loop)
        if driver is not None and driver.core.state != self.folded[event.loop]:
            self.wrong.append(f"after event {event.seq} ({event.type}) the fold is not the live state")
        for number, act in self.meddling.acts:
            if number == event.seq:
                self._later(lambda act=act: self._act(act, event.loop))  # type: ignore[misc]  # a default binds it

    def streamed(self, loop: str, iteration: int, delta: Delta) -> None:
        """Pieces are not states."""

    def _later(self, act: Callable[[], None]) -> None:
        self._todo.appendleft(act)  # the newest first: decisions come in reverse order
        self._wake()

    def _driver(self, loop: str) -> LoopDriver | None:
        if self.root is None:
            return None
        found = [*self.root.run.drivers, self.root]
        for driver in found:
            found += [child for children in driver.children.values() for child in children if child not in found]
        return next((driver for driver in found if driver.path == loop), None)

    def _post(self, loop: str, fact: e.Input) -> None:
        driver = self._driver(loop)
        if driver is not None:
            driver.post(fact)

    def _leave(self, loop: str, gate: str) -> None:
        driver = self._driver(loop)
        if driver is not None and self.meddling.edits and driver.core.state.paused == gate:
            change_what_stands(driver, self._gates)
        self._post(loop, e.Resumed(gate, "person"))

    def _decide_as_person(self, driver: LoopDriver, call: CallState, said: ToolApproval) -> None:
        if isinstance(said, Modify) and said.arguments.get("n") == "no number":
            said = Deny("the edit does not fit")
        for decision in (said, Deny("too late")) if self.meddling.late else (said,):
            try:
                driver.decide(call.key, call.version, decision, "person", e.CallVerdict())
            except DecisionNotAccepted:
                continue

    def _act(self, act: Act, loop: str) -> None:
        match act:
            case "stop root":
                assert self.root is not None
                self.root.stop("person", "enough")
            case "stop loop":
                driver = self._driver(loop)
                if driver is not None:
                    driver.stop("person")
            case "stop command":
                self._post(loop, e.StopCommanded("command"))
            case "inject":
                self._post(loop, e.MessagesInjected((Message.user("by the way"),), "person"))
            case "cancel":
                self.scope.cancel()

    async def meddle(self) -> None:
        """Do what is to be done, a turn of the event loop later."""
        wake = current_waker()
        changed = anyio.Event()
        self._wake = lambda: wake(lambda: changed.set())  # noqa: PLW0108  # `changed` is another one each time
        while True:
            while self._todo:
                await anyio.lowlevel.checkpoint()
                if self._todo:
                    self._todo.popleft()()
            if changed.is_set():
                changed = anyio.Event()
            elif not self._todo:
                await changed.wait()

    async def watch(self, start: Callable[[], Awaitable[Any]]) -> BaseException | None:
        """Run something beside the meddling; return what it raised."""
        raised: BaseException | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self.meddle)
            with anyio.fail_after(30), anyio.CancelScope() as self.scope:
                try:
                    await start()
                except (Exception, BaseExceptionGroup) as error:
                    raised = error
            group.cancel_scope.cancel()
        return raised


async def play(plan: Plan, meddling: Meddling, recorder: Recorder) -> Meddler:
    """Run an agent and meddle with it."""
    meddler = Meddler(meddling)
    run = Run(new_header(), recorder, meddler)

    async def start() -> None:
        await run_root(run, agent_of(plan).parts("go"), driver_made=meddler.take_root)

    meddler.raised = await meddler.watch(start)  # type: ignore[attr-defined]  # how it ended, for a reader of failures
    return meddler
