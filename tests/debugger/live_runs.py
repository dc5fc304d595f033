"""Agents to debug, and eyes that watch a live session as an interface does: woken, then polling."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio

from loopkit import Agent, ScriptedProvider, ToolLoopConfig, tool
from loopkit import events as e
from loopkit.debugger.policy import Policy
from loopkit.debugger.runs import check_file, replay_file
from loopkit.debugger.session import Session
from loopkit.debugger.status import PendingDecision
from loopkit.messages import ChatResponse
from loopkit.providers.protocol import ChatRequest, Emit, TextDelta

PATIENCE = 10.0


@tool(side_effect="read")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def shout(text: str) -> str:
    """Say it louder, in a worker thread."""
    return text.upper()


class Held:
    """Tools and a model that begin and don't come back until they are let go."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.release = threading.Event()
        self.model: str | None = "held"

    async def respond(self, request: ChatRequest, emit: Emit) -> ChatResponse:
        emit(TextDelta("half an "))
        self.began.set()
        while not self.release.is_set():  # noqa: ASYNC110  # another thread lets go
            await anyio.sleep(0.001)
        emit(TextDelta("answer"))
        return ChatResponse("half an answer")

    @property
    def async_tool(self) -> Any:
        @tool(name="wait")
        async def wait() -> str:
            """Wait until let go."""
            self.began.set()
            while not self.release.is_set():  # noqa: ASYNC110  # another thread lets go
                await anyio.sleep(0.001)
            return "waited"

        return wait

    @property
    def sync_tool(self) -> Any:
        @tool(name="wait")
        def wait() -> str:
            """Block a thread until let go."""
            self.began.set()
            self.release.wait(PATIENCE)
            return "waited"

        return wait

    @property
    def stubborn_tool(self) -> Any:
        @tool(name="wait")
        async def wait() -> str:
            """Swallow every cancellation until let go."""
            self.began.set()
            while not self.release.is_set():
                try:
                    await anyio.sleep(0.001)
                except BaseException:
                    self.release.wait(0.001)
            return "waited"

        return wait

    def wait_until_it_began(self) -> None:
        assert self.began.wait(PATIENCE)


class Eyes:
    """Whoever looks at a session: wakes up, polls, looks."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._woken = threading.Event()
        session.on_change(self._woken.set)

    def until(self, condition: Callable[[], object]) -> None:
        """Poll at each wake until the condition holds."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self._woken.clear()
            self.session.poll()
            if condition():
                return
            left = deadline - time.monotonic()
            assert left > 0, f"it did not come: {self.session.status()}"
            self._woken.wait(left)

    def until_pending(self, count: int = 1) -> list[PendingDecision]:
        self.until(lambda: len(self.session.pending()) >= count)
        return self.session.pending()

    def until_paused(self) -> str:
        """Wait for the next gate and return it."""
        self.until(lambda: self.session.timeline.paused)
        return self.session.timeline.paused[0].paused_at or ""

    def until_ended(self) -> None:
        self.until(lambda: self.session.timeline.ended)
        assert self.session.wait(PATIENCE)
        self.session.poll()

    def approve_all_to_the_end(self) -> None:
        """Approve whatever is asked."""

        def step() -> bool:
            for one in self.session.pending():
                if one.call not in approved:
                    approved.add(one.call)
                    self.session.approve(one.call, one.version)
            return self.session.timeline.ended

        approved: set[str] = set()
        self.until(step)
        assert self.session.wait(PATIENCE)


@contextmanager
def started(
    script: Any,
    path: Path,
    *tools: Any,
    backend: str = "asyncio",
    config: ToolLoopConfig | None = None,
    policy: Policy | None = None,
) -> Iterator[tuple[Session, Eyes]]:
    """A live session of a scripted agent, closed at the end."""
    provider = ScriptedProvider(script) if isinstance(script, list) or callable(script) else script
    agent = Agent(provider, tools=tools or (add, shout), config=config)
    session = Session.start(agent, "go", record=path, policy=policy, backend=backend)
    try:
        yield session, Eyes(session)
    finally:
        session.close()


def facts_of(session: Session, kind: type[e.Fact]) -> list[Any]:
    """The facts of one class so far."""
    return [event.fact for event in session.events if isinstance(event.fact, kind)]


def assert_sound(session: Session) -> None:
    """The recording of a run that has ended is whole, replays the same, and nobody holds it."""
    assert session.path is not None
    assert check_file(session.path) == []
    report = replay_file(session.path)
    assert report.same, report.text()
    assert not session.path.with_name(session.path.name + ".lock").exists()
