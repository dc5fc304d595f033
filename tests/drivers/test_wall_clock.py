"""A wall clock that jumps: order and durations of a run don't know of it (spec/faults.md j18)."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from loopkit import events as e
from loopkit import tool
from loopkit.debugger.recorded import open_recording
from loopkit.drivers.replay import replay
from loopkit.recording.writer import Recorder
from tests.drivers.stage import Stage, agent, ask

pytestmark = pytest.mark.anyio


async def test_a_clock_that_is_set_back_leaves_times_and_order_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour back at each look at it."""
    hours = itertools.count()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 3600 * next(hours))

    @tool
    async def work() -> str:
        """Work."""
        time.time()
        return "worked"

    path = tmp_path / "run.jsonl"
    await Stage().run(agent([ask("work"), ask("work", "again")], "done", tools=[work], timeout=60), Recorder(path))
    events = open_recording(path).events
    times = [event.t for event in events]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert times == sorted(times)
    assert 0 <= times[0] <= times[-1] < 60
    assert all(event.fact.loop_seconds < 60 for event in events if isinstance(event.fact, e.ClockRead))
    assert replay(path).same
