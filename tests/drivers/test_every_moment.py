"""A run may be ended at every moment: its log is whole, the history valid, and it replays the same."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import anyio
import pytest

from loopkit import events as e
from loopkit.core.context_tools import ResultMasking
from loopkit.core.history import with_every_call_answered
from loopkit.drivers.replay import replay
from loopkit.messages import Message
from loopkit.recording.reader import read_recording
from tests.drivers.log_rules import answers_every_call, check_log
from tests.drivers.random_agents import CallPlan, Plan
from tests.drivers.random_runs import Act, Meddler, Meddling, play
from tests.drivers.stage import ClosingRecorder

HELPER = Plan(((CallPlan("echo"), CallPlan("thread")),), stumbles=("busy", ""))
PLANS = {
    "batches": Plan(
        ((CallPlan("echo"), CallPlan("boom"), CallPlan("unknown")), (CallPlan("wait", 1), CallPlan("late", 1))),
        processing=("shorten", "keep"),
        masking=ResultMasking(0, 1),
        stops=("go",),
    ),
    "stumbling, then another model": Plan(
        ((CallPlan("echo"),),), stumbles=("breaks", "busy", "refuses"), fallbacks=1, timeout=1000.0
    ),
    "sub-agents": Plan(
        ((CallPlan("child", 0, HELPER), CallPlan("sync_child", 0, HELPER)), (CallPlan("pair", 0, HELPER),))
    ),
    "one by one": Plan(((CallPlan("boom"), CallPlan("echo")), (CallPlan("refuse"),)), parallel=False, error_limit=1),
}
# a hunt looks at each event with each act; the suite shares them out
STEP = 1 if int(os.environ.get("LOOPKIT_EXAMPLES", "40")) > 1000 else 5
ACTS: tuple[Act, ...] = ("stop root", "stop loop", "stop command", "inject", "cancel")


def run(plan: Plan, meddling: Meddling, backend: str, path: Path) -> Meddler:
    recorder = ClosingRecorder(path)
    meddler = anyio.run(play, plan, meddling, recorder, backend=backend)
    assert recorder.closed.wait(10)
    return meddler


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("name", PLANS)
def test_whatever_happens_at_any_event_leaves_a_whole_log(name: str, act: Act, backend: str) -> None:
    """3 (last part), 3.3, 7.4, 9.3, 9.4, b2, h3, i1, i12: ends descendants first, gives every call one result."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "0.jsonl"
        length = len(run(PLANS[name], Meddling(), backend, path).events)
        for number in range(1 + (ACTS.index(act) + len(backend)) % STEP, length + 1, STEP):
            path = Path(folder) / f"{number}.jsonl"
            meddler = run(PLANS[name], Meddling(acts=((number, act),)), backend, path)
            assert meddler.wrong == [], number
            states = check_log(meddler.events)
            for state in states.values():
                assert answers_every_call(with_every_call_answered(state.history)), number
            report = replay(path)
            assert report.same, (number, report.text())
            assert _is_told(read_recording(path).events, act), number


def _is_told(events: tuple[e.Event, ...] | list[e.Event], act: Act) -> bool:
    """The log says what was done, unless the run had ended by then."""
    facts = [event.fact for event in events]
    match act:
        case "inject":
            said = Message.user("by the way")
            return all(said in fact.messages for fact in facts if isinstance(fact, e.MessagesInjected))
        case "stop root" | "cancel":
            stopped = [fact for fact in facts if isinstance(fact, e.RunStopped)]
            return not stopped or isinstance(facts[-1], (e.LoopFinished, e.ToolEndedLate))
    return True
