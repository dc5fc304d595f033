"""Small agents on a stage: run one, hear its events, check that its log is whole."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from loopkit import Agent, ScriptedProvider, ToolCall, ToolLoopConfig, ToolLoopResult, Usage
from loopkit import events as e
from loopkit.core.state import CallState
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.drivers.run import Run, new_header
from loopkit.drivers.tool_loop import run_root
from loopkit.errors import RecordingUnwritable
from loopkit.outcomes import Approve, ToolApproval
from loopkit.providers.protocol import Delta
from loopkit.recording.writer import Recorder
from tests.drivers.log_rules import check_log


def agent(
    *script: Any, tools: Sequence[Any] = (), name: str = "agent", system: str | None = None, **config: Any
) -> Agent:
    """An agent whose model says `script`; each answer costs three tokens in and two out."""
    return Agent(
        ScriptedProvider(list(script), usage=Usage(3, 2)),
        tools=list(tools),
        name=name,
        system=system,
        config=ToolLoopConfig(**config),
    )


def ask(tool: str, _id: str | None = None, **arguments: Any) -> ToolCall:
    """A call whose id is its tool's name unless told otherwise."""
    return ToolCall(_id or tool, tool, arguments)


@dataclass
class Stage:
    """Runs one agent; watches, approves at once what `pending` does not hold back, and keeps all events.

    Args:
        pending: names of tools whose calls wait for somebody.
        gates: at which gates the run stands.
        on_event: called with each event, under the run's lock.
        stands: whether the run stands when its recording can't be written; `on_trouble` is called then.
    """

    pending: Sequence[str] = ()
    gates: Sequence[str] = ()
    on_event: Callable[[e.Event], None] = lambda _: None
    stands: bool = False
    on_trouble: Callable[[RecordingUnwritable], None] = lambda _: None
    events: list[e.Event] = field(default_factory=list)
    drivers: dict[str, LoopDriver] = field(default_factory=dict)
    deltas: list[Delta] = field(default_factory=list)
    answers: dict[str, ToolApproval] = field(default_factory=dict)

    async def run(
        self, agent: Agent, recorder: Recorder | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> ToolLoopResult:
        """Run an agent to its end; what it raises is raised."""
        run = Run(
            new_header(),
            recorder,
            self,
            max_runs=agent.config.max_runs,
            max_concurrent_runs=agent.config.max_concurrent_runs,
            clock=clock,
        )
        try:
            return await run_root(run, agent.parts("go"), driver_made=self._take_root)
        finally:
            if run.broken is None:
                check_log(self.events)

    def _take_root(self, driver: LoopDriver) -> None:
        self.drivers[driver.path] = driver

    # ── Watcher ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def stops_at(self, loop: str, gate: str) -> str | None:
        return "person" if gate in self.gates else None

    def decide(self, driver: LoopDriver, call: CallState) -> tuple[ToolApproval, str] | None:
        self.drivers[driver.path] = driver
        return None if call.call.name in self.pending else (self.answers.get(call.call.name, Approve()), "policy: test")

    def stands_unrecorded(self, error: RecordingUnwritable) -> bool:
        self.on_trouble(error)
        return self.stands

    def happened(self, event: e.Event) -> None:
        self.events.append(event)
        self.on_event(event)

    def streamed(self, loop: str, iteration: int, delta: Delta) -> None:
        self.deltas.append(delta)

    # ── what was heard ───────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def root(self) -> LoopDriver:
        return self.drivers[e.ROOT]

    def all_of(self, kind: type[e.Fact], loop: str | None = None) -> list[Any]:
        """Every fact of a class, of one loop or of all."""
        return [event.fact for event in self.events if isinstance(event.fact, kind) and loop in (None, event.loop)]

    def story(self, *kinds: type[e.Fact]) -> list[tuple[str, str]]:
        """Loop and kind of the events of some classes, in order."""
        return [(event.loop, event.type) for event in self.events if isinstance(event.fact, kinds)]

    def decide_as_person(self, loop: str, call: str, decision: ToolApproval, version: int = 1) -> None:
        """A person decides, as an interface passes it on."""
        # the request stands in the log before its driver is known here
        with self.root.run.lock:
            driver = self.drivers[loop]
        driver.decide(call, version, decision, "person", e.CallVerdict())


class ClosingRecorder(Recorder):
    """Says when it was closed, since handlers that were left behind still write their late ends (spec/loop.md 9.3)."""

    def __init__(self, path: Any) -> None:
        super().__init__(path)
        self.closed = threading.Event()

    def close(self) -> None:
        super().close()
        self.closed.set()


def in_a_thread(function: Callable[[], Any]) -> threading.Thread:
    """Start a function in a thread of its own, as an interface's."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread
