"""For any run: prefixes fold to the live states, replays say the same, logs are whole, forks are runs of their own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from loopkit import events as e
from loopkit.core.loop import fold
from loopkit.drivers.fork import fork
from loopkit.drivers.live_replay import UNREPEATABLE
from loopkit.drivers.replay import replay
from loopkit.errors import UserError
from loopkit.outcomes import ToolApproval
from loopkit.recording.reader import read_recording
from tests.drivers.log_rules import check_log
from tests.drivers.random_agents import ANSWERS, Plan, agent_of, hangs_on_pace, plans
from tests.drivers.random_runs import Meddler, Meddling, meddlings, play
from tests.drivers.stage import ClosingRecorder

EXAMPLES = int(os.environ.get("LOOPKIT_EXAMPLES", "40"))
PHASES = [phase for phase in Phase if phase.name in os.environ.get("LOOPKIT_PHASES", "explicit reuse generate shrink")]
thorough = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=PHASES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def recorded(plan: Plan, meddling: Meddling, backend: str, path: Path) -> Meddler:
    """Run an agent into a file, and check what holds for every run."""
    recorder = ClosingRecorder(path)
    meddler = anyio.run(play, plan, meddling, recorder, backend=backend)
    assert recorder.closed.wait(10)
    assert meddler.wrong == []
    check_log(meddler.events)
    return meddler


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(plan=plans(), meddling=meddlings(), cut=st.floats(0, 1))
@thorough
def test_any_prefix_of_any_run_folds_to_the_state_that_was_live(
    backend: str, plan: Plan, meddling: Meddling, cut: float
) -> None:
    """DESIGN §1: state is a fold of the log; also of a file that was cut at any byte. The whole replays the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        meddler = recorded(plan, meddling, backend, path)
        assert list(read_recording(path).events) == meddler.events
        report = replay(path)
        assert report.same, report.text()

        data = path.read_bytes()
        header = data.index(b"\n") + 1
        path.write_bytes(data[: header + int((len(data) - header) * cut)])
        prefix = read_recording(path).events
        assert list(prefix) == meddler.events[: len(prefix)]
        check_log(prefix, whole=False)
        if prefix:
            report = replay(path)
            assert report.same, report.text()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(
    plan=plans(),
    meddling=meddlings(),
    place=st.floats(0, 1, exclude_max=True),
    edit=st.sampled_from(ANSWERS),
    by_number=st.booleans(),
    later=meddlings(),
)
@thorough
def test_a_fork_anywhere_is_a_run_of_its_own(
    backend: str,
    plan: Plan,
    meddling: Meddling,
    place: float,
    edit: ToolApproval | None,
    by_number: bool,
    later: Meddling,
) -> None:
    """DESIGN §4: its prefix is its parent's, it runs to an end, it replays the same, its parent stays as it was."""
    with tempfile.TemporaryDirectory() as folder:
        parent, path = Path(folder) / "run.jsonl", Path(folder) / "fork.jsonl"
        meddler = recorded(plan, meddling, backend, parent)
        calls = [event.fact.call for event in meddler.events if isinstance(event.fact, e.Decided)]
        at: int | str = 1 + int(place * len(meddler.events))
        if not by_number and calls:
            at = calls[int(place * len(calls))]
        before = parent.read_bytes()
        watcher, recorder = Meddler(later), ClosingRecorder(path)

        async def start() -> None:
            await fork(
                parent,
                at=at,
                edit=None if by_number else edit,
                agent=agent_of(plan),
                recorder=recorder,
                watcher=watcher,
                driver_made=watcher.take_root,
            )

        async def watched() -> BaseException | None:
            return await watcher.watch(start)

        raised = anyio.run(watched, backend=backend)
        assert parent.read_bytes() == before
        if isinstance(raised, UserError):
            assert not path.exists(), raised
            return
        assert recorder.closed.wait(10)
        events = read_recording(path).events
        header = read_recording(path).header
        assert header.parent == read_recording(parent).header.run
        assert header.fork_seq is not None
        assert list(events[: header.fork_seq]) == meddler.events[: header.fork_seq]
        assert watcher.wrong == []
        check_log(events)
        assert fold(events)[e.ROOT].finished is not None
        report = replay(path)
        assert report.same, report.text()


@given(plan=plans(depth=1))
@thorough
def test_any_agent_replays_its_own_run_the_same(plan: Plan) -> None:
    """DESIGN §4: its prompt, tools, configuration and callbacks are compared; also when its tools really run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        meddler = recorded(plan, Meddling(), "asyncio", path)
        report = replay(path, agent_of(plan))
        assert report.same, report.text()
        if not hangs_on_pace(plan) and not any(isinstance(event.fact, UNREPEATABLE) for event in meddler.events):
            report = replay(path, agent_of(plan), tools="live")
            assert report.same, report.text()
