"""Any run that was cut short at any byte goes on, and what comes of it is a run like any other (DESIGN §3)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopkit import events as e
from loopkit.drivers.replay import replay
from loopkit.drivers.resume import RunAgain, resume
from loopkit.recording.reader import read_recording
from tests.drivers.log_rules import check_log
from tests.drivers.random_agents import Plan, agent_of, plans
from tests.drivers.random_runs import Meddling, meddlings, play
from tests.drivers.stage import ClosingRecorder

AGAIN: list[RunAgain] = ["all", ()]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(plan=plans(), meddling=meddlings(), cut=st.floats(0, 1), again=st.sampled_from(AGAIN))
@settings(
    max_examples=int(os.environ.get("LOOPKIT_EXAMPLES", "15")), deadline=None, suppress_health_check=list(HealthCheck)
)
def test_any_run_goes_on_from_any_byte(
    backend: str, plan: Plan, meddling: Meddling, cut: float, again: RunAgain
) -> None:
    """The log stays whole, no call starts twice, and it replays the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        recorder = ClosingRecorder(path)
        anyio.run(play, plan, meddling, recorder, backend=backend)
        assert recorder.closed.wait(10)
        data = path.read_bytes()
        first = data.index(b"\n", data.index(b"\n") + 1) + 1
        path.write_bytes(data[: first + round(cut * (len(data) - first))])
        kept = list(read_recording(path).events)
        if any(event.loop == e.ROOT and isinstance(event.fact, (e.LoopFinished, e.LoopFailed)) for event in kept):
            return

        async def main() -> None:
            with anyio.fail_after(30):
                try:
                    await resume(path, agent=agent_of(plan), run_again=again)
                except (Exception, BaseExceptionGroup):
                    assert read_recording(path).events[-1].loop == e.ROOT

        anyio.run(main, backend=backend)
        events = list(read_recording(path).events)
        assert events[: len(kept)] == kept
        assert isinstance(events[-1].fact, (e.LoopFinished, e.LoopFailed, e.ToolEndedLate))
        check_log(events)
        report = replay(path)
        assert report.same, report.text()
