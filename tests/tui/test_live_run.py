"""A live run on the run screen: it stops before a call, and every decision and command does what its key says."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import Context
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from loopkit import events as e
from loopkit.agent import Agent
from loopkit.debugger.nodes import CallStatus
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.session import Session
from loopkit.messages import ToolCall
from loopkit.providers.scripted import ScriptedProvider
from loopkit.tools.definition import tool
from loopkit_tui.app import LoopkitApp
from loopkit_tui.screens.asking import AnswerScreen, ConfirmScreen, ReasonScreen
from loopkit_tui.screens.run import RunScreen
from tests.tui.screens import run_screen, selected_line, text_of, until
from tests.tui.stories import careful_agent

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def debugging(
    tmp_path: Path, agent: Agent | None = None, *, grace: float = 0.0, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[LoopkitApp, Pilot[Any], Session]]:
    """A live run on the screen; closed at the end."""
    session = Session.start(agent or careful_agent(), "Check the tests.", record=tmp_path / "run.jsonl")
    app = LoopkitApp(session)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("loopkit_tui.decisions.GRACE_SECONDS", grace)
            async with app.run_test(size=size) as pilot:
                await until(pilot, lambda: isinstance(app.screen, RunScreen))
                yield app, pilot, session
    finally:
        session.close()


async def waits(app: LoopkitApp, pilot: Pilot[Any], count: int = 1) -> None:
    await until(pilot, lambda: len(run_screen(app).decisions.pending) == count, f"{count} waiting calls")


def statuses(session: Session) -> list[CallStatus]:
    return [call.status for call in session.timeline.calls.values()]


def who_stopped(folder: Path) -> list[str]:
    events = open_recording(folder / "run.jsonl").events
    return [event.fact.by for event in events if isinstance(event.fact, e.RunStopped)]


async def test_it_stops_before_the_first_call_and_says_what_it_waits_for(tmp_path: Path) -> None:
    """spec/faults.md c4: all parallel calls are shown."""
    async with debugging(tmp_path) as (app, pilot, _session):
        await waits(app, pilot, 2)
        assert "● live" in text_of(app, "#status")
        now = text_of(app, "#now")
        assert "◆ your decision: run_tests  +1  asked by careful" in now
        assert "a approve" in now
        assert "◆ run_tests" in selected_line(app)
        assert "waiting for you · 2" in text_of(app, "#pending-title")
        pending = text_of(app, "#pending")
        assert 'run_tests (path="tests/test_a.py")' in pending
        assert 'write_file (path="n", content="x")' in pending
        assert "nothing has run yet" in text_of(app, "#detail")


async def test_approve_goes_to_the_next_pending_call_and_the_run_to_its_end(tmp_path: Path) -> None:
    async with debugging(tmp_path) as (app, pilot, session):
        await waits(app, pilot, 2)
        await pilot.press("a")
        assert "◆ write_file" in selected_line(app)
        assert "waiting for you · 1" in text_of(app, "#pending-title")
        await pilot.press("a")
        await until(pilot, lambda: "timeout=5" in selected_line(app), "the second iteration's call")
        await waits(app, pilot)
        await pilot.press("a")
        await until(pilot, lambda: "recorded in" in text_of(app, "#now"), "the end")
        assert "run.jsonl" in text_of(app, "#now")
        assert "recorded in" in text_of(app, "#detail")
    assert statuses(session) == [CallStatus.DONE] * 3
    assert open_recording(tmp_path / "run.jsonl").timeline.ended


async def test_a_narrow_terminal_still_shows_which_file_the_run_is_recorded_in(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 20)
    folder.mkdir()
    async with debugging(folder, careful_agent(["All done."]), size=(80, 24)) as (app, pilot, session):
        await until(pilot, lambda: session.timeline.ended and "recorded in" in text_of(app, "#now"), "the end")
        assert text_of(app, "#now").endswith("/run.jsonl")
        assert text_of(app, "#keys").endswith("/run.jsonl")
        await pilot.press("G")
        assert str(folder / "run.jsonl") in "".join(text_of(app, "#detail").split())


async def test_deny_asks_for_a_reason_that_reaches_the_model(tmp_path: Path) -> None:
    """spec/faults.md c21, spec/loop.md 4.2"""
    agent = careful_agent([ToolCall("a", "run_tests", {"path": "x"}), "As you wish."])
    async with debugging(tmp_path, agent) as (app, pilot, session):
        await waits(app, pilot)
        await pilot.press("d")
        assert isinstance(app.screen, ReasonScreen)
        await pilot.press(*"wrong", "space", *"file", "enter")
        await until(pilot, lambda: session.timeline.ended)
    (call,) = session.timeline.calls.values()
    assert call.status is CallStatus.DENIED
    assert call.content == "wrong file"


async def test_an_empty_reason_is_a_denial_and_escape_is_none(tmp_path: Path) -> None:
    agent = careful_agent([ToolCall("a", "run_tests", {"path": "x"}), "As you wish."])
    async with debugging(tmp_path, agent) as (app, pilot, session):
        await waits(app, pilot)
        await pilot.press("d", "escape")
        assert statuses(session) == [CallStatus.WAITING]
        await pilot.press("d", "enter")
        await until(pilot, lambda: session.timeline.ended)
    (call,) = session.timeline.calls.values()
    assert call.content == "Denied by the user."


async def test_an_answer_in_the_tools_place_is_what_the_model_gets(tmp_path: Path) -> None:
    agent = careful_agent([ToolCall("a", "run_tests", {"path": "x"}), "Fine."])
    async with debugging(tmp_path, agent) as (app, pilot, session):
        await waits(app, pilot)
        await pilot.press("w")
        assert isinstance(app.screen, AnswerScreen)
        await pilot.press(*"all", "enter", *"green", "ctrl+t", "ctrl+s")
        await until(pilot, lambda: session.timeline.ended)
    (call,) = session.timeline.calls.values()
    assert (call.content, call.is_error, call.status) == ("all\ngreen", True, CallStatus.ANSWERED)


async def test_approve_all_shows_what_it_would_run_and_asks_once(tmp_path: Path) -> None:
    async with debugging(tmp_path) as (app, pilot, session):
        await waits(app, pilot, 2)
        await pilot.press("A")
        assert isinstance(app.screen, ConfirmScreen)
        await pilot.pause()
        shown = text_of(app, "#question-lines")
        (irreversible,) = (line for line in shown.splitlines() if "write_file" in line)
        assert "⚠ can't be undone" in irreversible
        assert shown.count("can't be undone") == 1
        assert "run_tests" in shown
        assert "▶" not in shown
        await pilot.press("a", "enter")
        assert isinstance(app.screen, ConfirmScreen), "keys that are not its answer do nothing"
        await pilot.press("y")
        assert "approved 2: run_tests, write_file" in text_of(app, "#keys")
        await until(pilot, lambda: len(session.timeline.calls) == 3)
    assert [call.decided_by for call in session.timeline.calls.values()][:2] == ["person", "person"]


async def test_keys_in_flight_decide_nothing(tmp_path: Path) -> None:
    """spec/faults.md c14: `yes please` and enter, typed for something else, while a call comes up."""
    async with debugging(tmp_path, grace=60.0) as (app, pilot, session):
        await until(pilot, lambda: run_screen(app).decisions.pending)
        await pilot.press("y", "e", "s", "space", "p", "l", "e", "a", "s", "e", "enter", "A", "d", "w")
        assert isinstance(app.screen, RunScreen)
        assert statuses(session) == [CallStatus.WAITING] * 2


async def test_a_decision_key_with_another_row_selected_only_shows_what_waits(tmp_path: Path) -> None:
    async with debugging(tmp_path) as (app, pilot, session):
        await waits(app, pilot, 2)
        await pilot.press("g")
        assert "task" in selected_line(app)
        assert "a show what waits" in text_of(app, "#now")
        assert "a show what waits" in text_of(app, "#keys")
        assert "approve" not in text_of(app, "#keys")
        await pilot.press("a")
        assert statuses(session) == [CallStatus.WAITING] * 2
        assert "◆ run_tests" in selected_line(app)


async def test_a_row_that_is_looked_at_stays_selected_when_rows_come_in(tmp_path: Path) -> None:
    """spec/faults.md e23"""
    async with debugging(tmp_path) as (app, pilot, session):
        await waits(app, pilot, 2)
        await pilot.press("g", "j")
        row = run_screen(app).timeline.selected
        for call in list(session.pending()):
            session.approve(call.call, call.version)
        await until(pilot, lambda: len(session.timeline.calls) == 3)
        await waits(app, pilot, 1)
        assert run_screen(app).timeline.selected is row


async def test_pause_step_and_continue(tmp_path: Path) -> None:
    answers: list[Any] = [[ToolCall(f"c{n}", "run_tests", {"path": str(n)})] for n in range(3)]
    async with debugging(tmp_path, careful_agent([*answers, "Done."])) as (app, pilot, session):
        await waits(app, pilot)
        await pilot.press("s")
        assert "decide first" in text_of(app, "#keys")
        await pilot.press("p", "a")
        await until(pilot, lambda: run_screen(app).status.state == "paused", "a pause")
        assert "paused" in text_of(app, "#now")
        assert "s step" in text_of(app, "#now")
        before = session.timeline.seq
        await pilot.press("s")
        await until(pilot, lambda: session.timeline.seq > before and run_screen(app).status.state != "running")
        await pilot.press("n")
        await until(pilot, lambda: run_screen(app).status.state != "running")
        await pilot.press("c")
        await waits(app, pilot)
        assert session.timeline.root is not None
        assert len(session.timeline.root.iterations) == 2


async def test_a_pause_that_is_asked_for_is_said_until_the_run_stands(tmp_path: Path) -> None:
    release = threading.Event()

    @tool
    def slow() -> str:
        """Take a while."""
        release.wait(30)
        return "done"

    agent = Agent(ScriptedProvider([ToolCall("h", "slow", {}), "Fine."]), tools=[slow])
    async with debugging(tmp_path, agent) as (app, pilot, session):
        await waits(app, pilot)
        await pilot.press("p")
        assert "will pause at the next gate" in text_of(app, "#keys")
        assert "your decision: slow  ‖ then pauses" in text_of(app, "#now")
        await pilot.press("a")
        await until(pilot, lambda: CallStatus.RUNNING in statuses(session))
        assert "running: waits for tool slow  ‖ will pause at the next gate" in text_of(app, "#now")
        await pilot.press("c")
        assert "will pause" not in text_of(app, "#now")
        await pilot.press("n")
        assert "will pause before the next request" in text_of(app, "#now")
        release.set()
        await until(pilot, lambda: run_screen(app).status.state == "paused")
        assert "will pause" not in text_of(app, "#now")


async def test_stop_asks_and_ends_the_run_with_a_whole_recording(tmp_path: Path) -> None:
    async with debugging(tmp_path) as (app, pilot, session):
        await waits(app, pilot, 2)
        await pilot.press("X", "escape")
        assert not session.timeline.ended
        await pilot.press("X", *"enough", "enter")
        await until(pilot, lambda: "stopped: enough" in text_of(app, "#now"), "the end")
    assert open_recording(tmp_path / "run.jsonl").timeline.ended


async def test_a_stop_needs_no_reason(tmp_path: Path) -> None:
    async with debugging(tmp_path) as (app, pilot, session):
        await waits(app, pilot, 2)
        await pilot.press("X", "enter")
        await until(pilot, lambda: session.timeline.ended)
        assert "■ stopped  " in text_of(app, "#now")


async def test_quitting_a_live_run_asks_first(tmp_path: Path) -> None:
    async with debugging(tmp_path) as (app, pilot, _session):
        await waits(app, pilot, 2)
        await pilot.press("q")
        assert isinstance(app.screen, ConfirmScreen)
        await pilot.press("n")
        assert isinstance(app.screen, RunScreen)
        await pilot.press("q", "y")
        await until(pilot, lambda: not app.is_running)
    assert app.close_sessions() == [str(tmp_path / "run.jsonl")]
    assert open_recording(tmp_path / "run.jsonl").timeline.ended
    assert who_stopped(tmp_path) == ["person"]


async def test_ctrl_c_ends_at_once_and_the_recording_is_whole(tmp_path: Path) -> None:
    async with debugging(tmp_path) as (app, pilot, _session):
        await waits(app, pilot, 2)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not app.is_running)
    app.close_sessions()
    assert app.return_code == 130
    assert open_recording(tmp_path / "run.jsonl").timeline.ended
    assert who_stopped(tmp_path) == ["person"]


@pytest.mark.parametrize("question", ["d", "w", "e", "X", "q", "A", "?", "/", "ctrl+p"])
async def test_ctrl_c_ends_at_once_from_every_question(tmp_path: Path, question: str) -> None:
    async with debugging(tmp_path) as (app, pilot, _session):
        await waits(app, pilot, 2)
        await pilot.press(question)
        await until(pilot, lambda: not isinstance(app.screen, RunScreen), "the question")
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not app.is_running)
    app.close_sessions()
    assert app.return_code == 130
    assert open_recording(tmp_path / "run.jsonl").timeline.ended


async def test_a_tool_that_never_returns_does_not_hold_the_exit(tmp_path: Path) -> None:
    """spec/faults.md e18"""
    release = threading.Event()

    @tool
    def hang() -> str:
        """Wait for ever."""
        release.wait(30)
        return "late"

    agent = Agent(ScriptedProvider([ToolCall("h", "hang", {})]), tools=[hang])
    try:
        async with debugging(tmp_path, agent) as (app, pilot, session):
            await waits(app, pilot)
            await pilot.press("a")
            await until(pilot, lambda: CallStatus.RUNNING in statuses(session))
            assert "running: waits for tool hang" in text_of(app, "#now")
            await pilot.press("ctrl+c")
            await until(pilot, lambda: not app.is_running)
        app.close_sessions()
        assert session.wait(5)
    finally:
        release.set()


async def test_an_answer_is_shown_while_it_comes_in(tmp_path: Path) -> None:
    agent = Agent(ScriptedProvider(["one two three four five six seven"], chunk=4, delay=0.02), name="slow")
    async with debugging(tmp_path, agent) as (app, pilot, session):
        await until(pilot, lambda: "one t" in text_of(app, "#detail"), "the first words")
        assert not session.timeline.ended
        await until(pilot, lambda: session.timeline.ended)


async def test_a_resize_to_one_cell_and_back_leaves_the_run_alone(tmp_path: Path) -> None:
    """spec/faults.md e24"""
    agent = careful_agent([[ToolCall("a", "run_tests", {"path": "漢字👩‍👩‍👧/❤️"})], "漢字 done"])
    async with debugging(tmp_path, agent) as (app, pilot, session):
        await waits(app, pilot)
        for size in ((1, 1), (2, 3), (7, 2), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        await pilot.press("a")
        await until(pilot, lambda: session.timeline.ended)


async def test_a_run_that_breaks_says_why(tmp_path: Path) -> None:
    agent = Agent(ScriptedProvider([RuntimeError("the model [/] is gone")]), name="broken")
    async with debugging(tmp_path, agent) as (app, pilot, _session):
        await until(pilot, lambda: run_screen(app).status.state == "failed", "the failure")
        assert "the model [/] is gone" in text_of(app, "#now")


def test_decisions_reach_the_run_from_a_plain_event_loop(tmp_path: Path) -> None:
    """Outside a test the screen's thread has no context of the run's event loop; tasks start in it all the same."""

    async def scenario() -> list[CallStatus]:
        async with debugging(tmp_path, careful_agent([ToolCall("a", "run_tests", {"path": "x"}), "Fine."])) as (
            app,
            pilot,
            session,
        ):
            await waits(app, pilot)
            await pilot.press("a")
            await until(pilot, lambda: session.timeline.ended)
            return statuses(session)

    assert Context().run(asyncio.run, scenario()) == [CallStatus.DONE]
