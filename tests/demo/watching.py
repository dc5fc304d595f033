"""Drives the demo as a person at an interface does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from loopkit.debugger.demo import DEMO_TASK, demo_agent
from loopkit.debugger.nodes import LoopNode
from loopkit.debugger.session import Session
from loopkit.debugger.status import PendingDecision

SECONDS = 30.0
Deciding = Callable[[Session, PendingDecision], None]


def start(path: Path, backend: str = "asyncio") -> tuple[Session, threading.Event]:
    session = Session.start(demo_agent(delay=0.0), DEMO_TASK, record=path, backend=backend)
    news = threading.Event()
    session.on_change(news.set)
    return session, news


def until(session: Session, news: threading.Event, met: Callable[[], bool]) -> None:
    """Poll whenever there is news, until a condition is met."""
    while True:
        ended = session.wait(0)
        session.poll()
        if met():
            return
        assert not ended, "the run ended before"
        assert news.wait(SECONDS), "no news"
        news.clear()


def run(path: Path, decide: Deciding, backend: str = "asyncio") -> Session:
    """Run the demo to its end, deciding on each call."""
    session, news = start(path, backend)

    def decided_and_ended() -> bool:
        for pending in session.pending():
            decide(session, pending)
        return session.timeline.ended

    try:
        until(session, news, decided_and_ended)
        assert session.wait(SECONDS)
    finally:
        session.close()
    assert session.error == ""
    return session


def approve(session: Session, pending: PendingDecision) -> None:
    session.approve(pending.call, pending.version)


def root_of(session: Session) -> LoopNode:
    assert session.timeline.root is not None
    return session.timeline.root


def texts(session: Session) -> list[str]:
    """What the root's model said, answer by answer."""
    return [iteration.message.text if iteration.message else "" for iteration in root_of(session).iterations]
