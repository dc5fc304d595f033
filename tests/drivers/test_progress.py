"""What handlers say of themselves while they run: recorded within bounds, and changing nothing (DESIGN §3)."""

from __future__ import annotations

import contextvars
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

import loopkit
from loopkit import (
    Recorder,
    ScriptedProvider,
    ToolRegistry,
    fork,
    replay,
    report_progress,
    tool,
    tool_loop,
    tool_loop_stream,
)
from loopkit import events as e
from loopkit.debugger.timeline import Timeline
from loopkit.drivers import progress
from loopkit.outcomes import Respond
from loopkit.recording.check import check_recording
from loopkit.recording.reader import read_recording
from tests.drivers.stage import ClosingRecorder, Stage, agent, ask

pytestmark = pytest.mark.anyio


@tool
async def walk(steps: int) -> str:
    """Report each step."""
    for step in range(1, steps + 1):
        report_progress(f"step {step}", step, steps)
    return "there"


@tool
def climb(steps: int) -> str:
    """The same in a worker thread."""
    for step in range(1, steps + 1):
        report_progress(f"step {step}", step, steps)
    return "up"


def reports(stage: Stage) -> list[e.ToolProgressed]:
    return stage.all_of(e.ToolProgressed)


@pytest.mark.parametrize("name", ["walk", "climb"])
async def test_reports_stand_in_the_log_between_start_and_end(name: str) -> None:
    """DESIGN §3: `ToolProgressed`, of sync and async handlers."""
    stage = Stage()
    result = await stage.run(agent(ask(name, steps=2), "done", tools=[walk, climb]))
    assert result.text == "done"
    kinds = (e.ToolStarted, e.ToolProgressed, e.ToolReturned)
    assert [kind for _, kind in stage.story(*kinds)] == ["ToolStarted", *["ToolProgressed"] * 2, "ToolReturned"]
    assert reports(stage) == [
        e.ToolProgressed("root/1.1", "step 1", 1, 2),
        e.ToolProgressed("root/1.1", "step 2", 2, 2),
    ]


async def test_parallel_calls_report_each_for_itself() -> None:
    stage = Stage()
    calls = [ask("walk", "1", steps=1), ask("climb", "2", steps=2)]
    await stage.run(agent(calls, "done", tools=[walk, climb]))
    assert sorted(fact.call for fact in reports(stage)) == ["root/1.1", "root/1.2", "root/1.2"]


async def test_a_sub_agents_tool_reports_for_its_own_call() -> None:
    """7.4"""

    @tool
    async def delegate() -> str:
        """Ask a sub-agent."""
        report_progress("asking")
        result = await tool_loop(ScriptedProvider([ask("walk", steps=1), "ok"]), ToolRegistry([walk]), "go")
        report_progress("asked")
        return result.text

    stage = Stage()
    await stage.run(agent(ask("delegate"), "done", tools=[delegate]))
    told = [(event.loop, event.fact.text) for event in stage.events if isinstance(event.fact, e.ToolProgressed)]
    assert told == [("root", "asking"), ("root/1.1#1", "step 1"), ("root", "asked")]


async def test_a_thread_of_the_handler_reports_with_the_handlers_context() -> None:
    """9.4"""

    @tool
    def spread() -> str:
        """Report from a thread of its own."""
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(report_progress, "from below"))
        thread.start()
        thread.join()
        return "done"

    stage = Stage()
    await stage.run(agent(ask("spread"), "done", tools=[spread]))
    assert [fact.text for fact in reports(stage)] == ["from below"]


def test_outside_a_call_a_report_is_checked_and_does_nothing() -> None:
    assert loopkit.report_progress("nobody listens", 1, 2) is None  # type: ignore[func-returns-value]  # that it is None
    with pytest.raises(TypeError, match="a progress report is a str, not int"):
        report_progress(7)  # type: ignore[arg-type]  # what a mistake gives
    with pytest.raises(TypeError, match="done is a number, not list"):
        report_progress("x", [])  # type: ignore[arg-type]  # what a mistake gives
    with pytest.raises(ValueError, match="total is a finite number, not inf"):
        report_progress("x", 1, float("inf"))


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def ticking(count: int, seconds: float, clock: Clock) -> Any:
    @tool
    async def tick() -> str:
        """Report often."""
        for number in range(1, count + 1):
            report_progress(f"{number}")
            clock.now += seconds
        return "done"

    return tick


async def test_ten_thousand_reports_leave_few_events_and_none_uncounted() -> None:
    """The first ten stand as they come, the last one always, and the events count those that were left out."""
    clock, stage = Clock(), Stage()
    await stage.run(agent(ask("tick"), "done", tools=[ticking(10_000, 0.0001, clock)]), clock=clock)
    told = reports(stage)
    assert [fact.text for fact in told[:10]] == [str(number) for number in range(1, 11)]
    assert told[-1].text == "10000"
    assert len(told) == 10 + 3 + 1
    assert len(told) + sum(fact.left_out for fact in told) == 10_000


async def test_a_call_of_hours_reports_less_and_less_often() -> None:
    """An hour of ten reports a second: at most one for each hundredth of the time."""
    clock, stage = Clock(), Stage()
    await stage.run(agent(ask("tick"), "done", tools=[ticking(36_000, 0.1, clock)]), clock=clock)
    assert 500 < len(reports(stage)) < 650


async def test_a_slow_call_loses_no_report() -> None:
    clock, stage = Clock(), Stage()
    await stage.run(agent(ask("tick"), "done", tools=[ticking(40, 0.5, clock)]), clock=clock)
    assert len(reports(stage)) == 40


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHORTEST_PAUSE", 0.01)


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.usefixtures("short_pauses")
async def test_the_newest_report_comes_without_another_one(in_thread: bool) -> None:
    """A burst, then silence: people see where it stands although it does not go on."""
    seen = threading.Event()

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.ToolProgressed) and event.fact.text == "30":
            seen.set()

    def burst() -> None:
        for number in range(1, 31):
            report_progress(f"{number}")

    @tool
    async def burst_and_wait() -> str:
        """Report, then wait until it was heard."""
        burst()
        with anyio.fail_after(5):
            while not seen.is_set():  # noqa: ASYNC110  # it comes from a thread that knows no event loop
                await anyio.sleep(0.001)
        return "heard"

    @tool
    def burst_and_block() -> str:
        """The same in a thread."""
        burst()
        return "heard" if seen.wait(5) else "never"

    stage = Stage(on_event=on_event)
    chosen = burst_and_block if in_thread else burst_and_wait
    result = await stage.run(agent(ask(chosen.name), "done", tools=[chosen]))
    assert result.messages[-2].tool_results[0].content == "heard"
    assert len(reports(stage)) < 30


async def test_a_report_after_the_call_was_given_up_is_no_error(tmp_path: Path) -> None:
    """9.3: it is ignored, before and after the loop's end."""
    go_on, told = threading.Event(), threading.Event()

    @tool(timeout=0.02)
    def slow() -> str:
        """Outlive the limit."""
        report_progress("in time")
        assert go_on.wait(5)
        report_progress("late")
        told.set()
        return "late"

    stage, recorder = Stage(), ClosingRecorder(tmp_path / "run.jsonl")
    await stage.run(agent(ask("slow"), "done", tools=[slow]), recorder)
    go_on.set()
    assert told.wait(5)
    assert recorder.closed.wait(5)
    assert [fact.text for fact in reports(stage)] == ["in time"]
    assert stage.all_of(e.ToolAbandoned)[0].cause == "tool timeout"
    assert check_recording(tmp_path / "run.jsonl") == []


async def test_the_last_report_before_a_tools_timeout_is_kept() -> None:
    """It says where the tool hangs."""

    @tool(timeout=0.02)
    async def hang() -> str:
        """Hang."""
        for number in range(20):
            report_progress(f"{number}")
        await anyio.sleep_forever()
        return "never"

    stage = Stage()
    await stage.run(agent(ask("hang"), "done", tools=[hang]))
    assert reports(stage)[-1].text == "19"


async def test_long_words_are_cut_and_odd_ones_kept(tmp_path: Path) -> None:
    """spec/faults.md e20: lone surrogates are written and read again."""

    @tool
    async def mumble() -> str:
        """Say odd things."""
        report_progress("x" * 600)
        report_progress("\ud800\x1b[2J")
        return "ok"

    path = tmp_path / "run.jsonl"
    await agent(ask("mumble"), "done", tools=[mumble]).run("go", recorder=Recorder(path))
    told = [event.fact for event in read_recording(path).events if isinstance(event.fact, e.ToolProgressed)]
    assert (len(told[0].text), told[0].text[-1], told[1].text) == (500, "…", "\ud800\x1b[2J")


# ── stream, replay, fork ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_stream_yields_reports_as_they_happen() -> None:
    """10.1"""
    provider = ScriptedProvider([ask("walk", steps=2), "done"])
    items = [item async for item in tool_loop_stream(provider, ToolRegistry([walk]), "go")]
    assert [item.fact.text for item in items if isinstance(item, e.Event) and isinstance(item.fact, e.ToolProgressed)]


async def recorded(path: Path) -> Path:
    calls = [ask("walk", "1", steps=3), ask("climb", "2", steps=2)]
    await agent(calls, "done", tools=[walk, climb]).run("go", recorder=Recorder(path))
    return path


async def test_replays_ignore_reports_with_recorded_and_with_live_tools(tmp_path: Path) -> None:
    """DESIGN §4: a tool that reports otherwise today has not diverged."""
    path = await recorded(tmp_path / "run.jsonl")

    @tool(name="walk")
    async def quiet(steps: int) -> str:
        """Report each step."""
        return "there"

    today = agent([ask("walk", "1", steps=3), ask("climb", "2", steps=2)], "done", tools=[quiet, climb])
    assert replay(path).same
    assert replay(path, today).same
    assert replay(path, today, tools="live").same


@pytest.mark.parametrize("call", ["root/1.2", "root/7.1", "nobody"])
async def test_a_report_of_a_call_that_does_not_run_is_a_divergence(tmp_path: Path, call: str) -> None:
    path = tmp_path / "run.jsonl"
    await agent(ask("walk", steps=1), "done", tools=[walk]).run("go", recorder=Recorder(path))
    path.write_text(
        path.read_text().replace(
            '"type":"ToolProgressed","call":"root/1.1"', f'"type":"ToolProgressed","call":"{call}"'
        )
    )
    report = replay(path)
    assert report.divergence is not None
    assert report.divergence.seq == next(
        event.seq for event in read_recording(path).events if isinstance(event.fact, e.ToolProgressed)
    )


async def test_a_fork_goes_on_from_between_two_reports(tmp_path: Path) -> None:
    """DESIGN §4: reports of the prefix are copied, those of tools that run again are new."""
    parent = await recorded(tmp_path / "run.jsonl")
    at = [event.seq for event in read_recording(parent).events if isinstance(event.fact, e.ToolProgressed)][1]
    path = tmp_path / "fork.jsonl"
    today = agent("done", tools=[walk, climb])
    await fork(parent, at=at, agent=today, recorder=Recorder(path))
    assert check_recording(path) == []
    assert replay(path).same
    path = tmp_path / "answered.jsonl"
    await fork(
        parent,
        at="root/1.1",
        edit=Respond("skipped"),
        agent=agent("done", tools=[walk, climb]),
        recorder=Recorder(path),
    )
    timeline = Timeline(read_recording(path).events)
    assert timeline.calls["root/1.1"].progress == []
    assert replay(path).same


async def test_the_loops_timeout_ends_a_call_that_reports() -> None:
    """9.3"""

    @tool
    async def forever() -> str:
        """Never end."""
        number = 0
        while True:
            number += 1
            report_progress(f"{number}")
            await anyio.sleep(0.001)

    stage = Stage()
    await stage.run(agent(ask("forever"), tools=[forever], timeout=0.05))
    assert [kind for _, kind in stage.story(e.ToolAbandoned, e.LoopFinished)] == ["ToolAbandoned", "LoopFinished"]
    assert reports(stage)
