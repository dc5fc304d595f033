"""Faults on purpose in a replay: today's agent copes with them on what was recorded (features row 62; issue 4, item 7).

The waits are of hours: a replay that really waited would not come to its end.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from loopkit import Agent, Recorder, ScriptedProvider, Stop, ToolResult, tool
from loopkit.debugger.targets import load_agent
from loopkit.demo import agent
from loopkit.errors import UserError
from loopkit.testing import (
    FailingModel,
    FailingTool,
    Fault,
    GarbledAnswer,
    GarbledResult,
    LateResult,
    ReplayFailed,
    SlowModel,
    SlowTool,
    Trajectory,
    observe_sync,
    replay_with_faults,
)
from tests.testing.fault_stage import Stage, call

HOUR = 3600.0
ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "loopkit" / "demo" / "flaky-test.jsonl"


@pytest.fixture
def stage(tmp_path: Path, anyio_backend: str) -> Stage:
    return Stage(tmp_path / "run.jsonl", anyio_backend)


# ── the model ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_request_that_fails_is_sent_again(stage: Stage) -> None:
    """spec/loop.md 9.2: the agent's own policy decides, and its waits pass at once."""
    stage.record()
    run = stage.replay(FailingModel(at=2, status=503, times=2))
    run.retried(times=2).ended("complete").said("Done.")
    assert [failed.delay for failed in run.failed_attempts] == [45.0, 90.0]
    assert run.iterations[1].seconds == pytest.approx(135.0, abs=1.0)
    run.called_in_order("search", "search", "fetch", "search")


def test_a_model_that_stays_away_is_replaced_by_its_fallback(stage: Stage) -> None:
    """spec/loop.md 8.3."""
    stage.record()
    run = stage.replay(FailingModel(at=2, status=401))
    run.fell_back(times=1).ended("complete")
    assert [turn.model for turn in run.iterations] == [None, "second", None]


def test_when_all_models_stay_away_the_run_fails_with_it(stage: Stage) -> None:
    stage.record()
    run = stage.replay(FailingModel(at=2, status=None, times=99))
    run.failed_with("ProviderError", "the connection broke off").fell_back(times=1).retried(times=4)
    assert len(run.iterations) == 2


def test_a_server_may_say_how_long_to_wait(stage: Stage) -> None:
    stage.record()
    run = stage.replay(FailingModel(status=429, retry_after=500.0))
    assert [failed.delay for failed in run.failed_attempts] == [500.0]
    run.ended("complete")


def test_any_exception_can_be_a_models(stage: Stage) -> None:
    stage.record()
    stage.replay(FailingModel(error=KeyError("choices"))).failed_with("KeyError", "choices")


def test_a_slow_model_meets_the_loops_limit(stage: Stage) -> None:
    """spec/loop.md 4.5."""
    stage.record(timeout=2 * HOUR)
    stage.replay(SlowModel(at=2, seconds=HOUR)).ended("complete")
    run = stage.replay(SlowModel(at=2, seconds=3 * HOUR))
    run.ended("timeout")
    assert run.iterations[1].interrupted == "timeout"


def test_a_garbled_call_is_told_to_the_model_which_then_says_what_it_said(stage: Stage) -> None:
    """spec/loop.md 9.1; the recorded calls move to another turn, and are met by what they ask for."""
    stage.record()
    run = stage.replay(GarbledAnswer(at=1, arguments="{]"))
    assert len(run.iterations) == 4
    assert run.calls[0].cause == "invalid arguments"
    run.ran("search", arguments={"query": "x"}, times=1)
    run.ran("search", times=3)
    run.ended("complete").said("Done.")


def test_arguments_that_end_in_the_middle_never_run(stage: Stage) -> None:
    """spec/loop.md 3.9."""
    stage.record()
    run = stage.replay(GarbledAnswer(at=2, arguments='{"query": "z'))
    run.ended("complete")
    assert (run.calls[3].cause, run.calls[3].executed) == ("cut off", False)


def test_words_in_the_place_of_calls_end_the_run(stage: Stage) -> None:
    stage.record()
    stage.replay(GarbledAnswer(at=1, text="%$#!")).said("%$#!").not_called("search").ended("complete")


# ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_slow_tool_meets_its_limit(stage: Stage) -> None:
    """spec/loop.md 9.3; places are counted in call order, also in a batch."""
    stage.record()
    run = stage.replay(SlowTool("search", at=2, seconds=HOUR))
    assert [each.cause for each in run.calls] == [None, "tool timeout", None, None]
    assert run.calls[1].arguments == {"query": "y"}
    run.ended("complete")


def test_a_tool_within_its_limit_is_waited_for(stage: Stage) -> None:
    stage.record()
    run = stage.replay(SlowTool("search", at=3, seconds=29))
    assert run.calls[3].content == "found z"
    assert run.calls[3].seconds == pytest.approx(29.0, abs=0.5)


def test_a_slow_tool_meets_the_loops_limit(stage: Stage) -> None:
    stage.record(timeout=2 * HOUR)
    run = stage.replay(SlowTool("fetch", seconds=3 * HOUR))
    run.ended("timeout")
    assert run.called("fetch")[0].cause == "timeout"


def test_a_late_result_is_not_wanted_any_more(stage: Stage) -> None:
    """spec/loop.md 9.3: what can't be interrupted ends late, and the record says so."""
    stage.record()
    run = stage.replay(LateResult("search", at=1, seconds=HOUR))
    assert (run.calls[0].cause, run.calls[0].ended_late) == ("tool timeout", "returned")
    run.ended("complete")


def test_a_tool_that_is_declared_so_is_run_again(stage: Stage) -> None:
    stage.record()
    run = stage.replay(FailingTool("fetch", error=ConnectionError("reset"), times=2))
    (fetch,) = run.called("fetch")
    assert len(fetch.attempts) == 2
    assert fetch.content == "page u"


def test_any_other_failure_is_the_models_to_read(stage: Stage) -> None:
    """spec/loop.md 9.1."""
    stage.record()
    run = stage.replay(FailingTool("search", at=3, error="Nothing there."))
    assert run.calls[3].is_error
    assert run.calls[3].content == "Nothing there."
    stage.replay(FailingTool("fetch", error=OSError("x"))).ended("complete")


def test_errors_in_a_row_end_a_run_that_is_told_so(stage: Stage) -> None:
    """spec/loop.md 8.6."""
    stage.record([call("search", query="x"), call("search", query="y"), "Done."], maximum_consecutive_errors=1)
    run = stage.replay(
        FailingTool("search", error=OSError("no disk")), FailingTool("search", at=2, error=OSError("no disk"))
    )
    run.failed_with("OSError", "no disk")


def test_recorded_failures_stay_what_they_were(stage: Stage) -> None:
    stage.record([call("fetch", url="gone"), call("fetch", url="u"), "Done."])
    run = stage.replay(SlowTool("fetch", at=1, seconds=HOUR))
    assert run.calls[0].content == "FileNotFoundError: gone"
    assert run.calls[0].failure is not None
    assert run.calls[0].failure.type_name == "FileNotFoundError"


def test_a_garbled_result_is_what_the_model_gets(stage: Stage) -> None:
    stage.record()
    run = stage.replay(GarbledResult("search", at=3, text="<html>", is_error=True))
    assert (run.calls[3].content, run.calls[3].is_error) == ("<html>", True)


def test_several_faults_in_one_run(stage: Stage) -> None:
    stage.record()
    run = stage.replay(
        FailingModel(at=1),
        SlowTool("search", at=1, seconds=HOUR),
        FailingTool("search", at=2),
        GarbledAnswer(at=2, arguments="?"),
    )
    run.retried(times=1).ended("complete")
    assert [each.status.value for each in run.calls] == ["abandoned", "error", "done", "refused", "done"]


# ── the agent's own code, and what the recording does not hold ───────────────────────────────────────────────────────


def test_callbacks_wait_in_real_time_and_no_limit_is_jumped_to(stage: Stage) -> None:
    """Only the waits of faults are jumped over; what a callback waits for is really there."""

    async def shorten(_: object, result: ToolResult) -> str:
        await anyio.to_thread.run_sync(lambda: None)
        await anyio.sleep(0.001)
        return result.content[:3]

    stage.record(timeout=2 * HOUR, result_processor=shorten)
    run = stage.replay(SlowTool("fetch", seconds=HOUR))
    assert {each.given for each in run.calls} == {"fou", "pag"}
    run.ended("complete")


def test_what_is_not_recorded_is_told_and_never_asked_for(stage: Stage) -> None:
    """features 18: no silent live call; the recording ends where the agent stopped, and the fault makes it go on."""

    def enough(context: Any) -> Stop | None:
        return Stop("found") if any("found y" in result.content for result in context.last_tool_results) else None

    stage.record([call("search", query="y"), call("search", query="z")], stop_when=enough)
    with pytest.raises(ReplayFailed) as failed:
        stage.replay(GarbledResult("search", text="nothing"))
    told = str(failed.value)
    assert "asks for what is not recorded: the result of root/2.1 (search with these arguments)" in told
    assert "what happened" in told
    assert 'query="z"' in told


def test_the_recording_has_to_replay_before_anything_goes_wrong(stage: Stage) -> None:
    """features 18: a fault does not hide that the agent has drifted from its recording."""
    stage.record()
    with pytest.raises(ReplayFailed, match="system prompt"):
        stage.replay(FailingModel(at=2), prompt="Be quick.")


def test_a_fault_that_never_comes_about_fails(stage: Stage) -> None:
    stage.record()
    with pytest.raises(ReplayFailed, match=r"SlowModel\(at=9, seconds=1\) never came about: the run took 3 turns"):
        stage.replay(SlowModel(at=9, seconds=1))
    with pytest.raises(ReplayFailed, match=r"FailingTool\('fetch', at=2\) never came about: fetch ran 1×"):
        stage.replay(FailingTool("fetch", at=2))


@pytest.mark.parametrize(
    "make",
    [lambda: SlowTool("x", at=0, seconds=1), lambda: GarbledAnswer(at=1), lambda: GarbledAnswer(text="", arguments="")],
)
def test_a_fault_that_can_not_be_is_refused(make: Any) -> None:
    with pytest.raises(UserError):
        make()


def test_a_call_that_is_not_there_can_not_be_garbled(stage: Stage) -> None:
    stage.record()
    with pytest.raises(UserError, match=r"GarbledAnswer\(at=3, arguments='x'\): there is no call in this answer"):
        stage.replay(GarbledAnswer(at=3, arguments="x"))


@pytest.mark.parametrize("fault", [FailingModel(at=3), GarbledAnswer(at=1, arguments="?")])
def test_sub_agents_stand_below_the_calls_whose_recorded_results_are_given(fault: Fault, anyio_backend: str) -> None:
    """What they did stays in the run, at its place, also where a fault moved the call."""
    recorded = Trajectory.of_file(DEMO)
    run = replay_with_faults(DEMO, agent, [fault], backend=anyio_backend)
    moved = isinstance(fault, GarbledAnswer)
    assert len(run.sub_agents()) == len(recorded.sub_agents()) > 1
    (before,), (after,) = (each.called("investigate", depth=0) for each in (recorded, run))
    assert after.iteration.number == before.iteration.number + moved
    assert [loop.path for loop in after.children] == [f"{after.id}#1"]
    run.called("query_orders", depth=2, times=len(recorded.called("query_orders", depth=2)))
    assert run.usage.output_tokens >= recorded.usage.output_tokens


def test_what_a_limit_ended_when_it_was_recorded_ends_the_same(stage: Stage) -> None:
    async def hangs(query: str) -> str:
        """Search for something."""
        await anyio.sleep(HOUR)
        return query

    def make(*script: Any) -> Agent:
        return Agent(
            ScriptedProvider(list(script)), tools=[tool(name="search", side_effect="read", timeout=0.01)(hangs)]
        )

    script = [call("search", query="x"), "Done."]
    observe_sync(make(*script), "go", recorder=Recorder(stage.path), backend=stage.backend)
    run = replay_with_faults(stage.path, make(), [FailingModel(at=2)], backend=stage.backend)
    run.retried().ended("complete")
    assert run.calls[0].cause == "tool timeout"


@pytest.mark.parametrize("story", ["plain-success", "stuck-loop", "error-and-recovery"])
def test_every_fault_at_every_place_is_coped_with_or_told(story: str) -> None:
    """Whatever goes wrong, there is an end, or a text that says what is missing; never an error of the replay's own."""
    path = ROOT / "recordings" / f"{story}.jsonl"
    story_agent = load_agent(f"{ROOT}/recordings/stories/{story.replace('-', '_')}.py:agent")
    recorded = Trajectory.of_file(path)
    faults: list[Fault] = []
    for turn in range(1, len(recorded.iterations) + 1):
        faults += [FailingModel(at=turn), FailingModel(at=turn, status=400, times=9), SlowModel(at=turn, seconds=HOUR)]
        faults += [GarbledAnswer(at=turn, text="?"), GarbledAnswer(at=turn, arguments="{")]
    places = Counter(each.name for each in recorded.calls if each.executed)
    for name, count in places.items():
        for place in range(1, count + 1):
            faults += [SlowTool(name, at=place, seconds=HOUR), LateResult(name, at=place, seconds=HOUR)]
            faults += [FailingTool(name, at=place), GarbledResult(name, at=place, text="\x1b\ud800")]
    ends: Counter[str] = Counter()
    told: list[str] = []
    for fault in faults:
        try:
            ends[replay_with_faults(path, story_agent, [fault]).outcome] += 1
        except (ReplayFailed, UserError) as error:
            told.append(str(error))
    known = ("asks for what is not recorded", "no call in this answer")
    assert [text for text in told if not any(words in text for words in known)] == []
    assert ends["failed"] >= len(recorded.iterations)
    assert ends.total() > len(faults) / 2


def test_faults_change_nothing_on_disk(stage: Stage) -> None:
    stage.record()
    before = stage.path.read_bytes()
    faults: list[Fault] = [FailingModel(), SlowTool("search", seconds=1)]
    stage.replay(*faults)
    assert stage.path.read_bytes() == before
    assert [path.name for path in stage.path.parent.iterdir()] == ["run.jsonl"]
