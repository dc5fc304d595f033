"""Decisions and stops from many threads at once: one of each counts, and every log is whole (DESIGN §5)."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import anyio
import pytest

from loopkit import events as e
from loopkit import tool
from loopkit.errors import DecisionNotAccepted
from loopkit.outcomes import Approve, Cancelled, Complete
from tests.drivers.stage import Stage, agent, ask, in_a_thread

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _threads_change_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@tool
async def work() -> str:
    """Work for a moment."""
    await anyio.lowlevel.checkpoint()
    return "worked"


@tool
def work_in_thread() -> str:
    """Work in a thread."""
    return "worked"


@tool
def delegate() -> str:
    """Ask a sub-agent from a thread; its calls are decided as well."""
    return agent([ask("work"), ask("work_in_thread")], "ok", tools=[work, work_in_thread]).run_sync("task").text


@pytest.mark.parametrize("stop_at", [None, 8, 15, 25, 35])
async def test_many_threads_decide_and_one_stops(stop_at: int | None) -> None:
    """Each call is decided by two threads at once; somebody may stop the run at an event."""
    stage = Stage(pending=["work", "work_in_thread", "delegate"])
    threads: list[threading.Thread] = []
    refused: list[str] = []

    def decide(loop: str, call: str) -> None:
        try:
            stage.decide_as_person(loop, call, Approve())
        except DecisionNotAccepted:
            refused.append(call)

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.DecisionRequested):
            call = event.fact.call
            threads.extend(in_a_thread(lambda: decide(event.loop, call)) for _ in range(2))
        if event.seq == stop_at:
            threads.append(in_a_thread(lambda: stage.root.stop("person")))

    stage.on_event = on_event
    calls = [ask("work"), ask("work_in_thread"), ask("delegate", "1"), ask("delegate", "2")]
    result = await stage.run(agent(calls, "done", tools=[work, work_in_thread, delegate]))
    for thread in threads:
        await anyio.to_thread.run_sync(thread.join, 10)
    if stop_at is None:
        assert result.termination_reason == Complete()
        assert len(refused) == len(stage.all_of(e.Decided)) == 8
    else:
        assert result.termination_reason in (Cancelled(None), Complete())
    late = stage.all_of(e.DecisionRefused)
    assert len(late) <= len(refused)
