"""Along a run's stops, breakpoints and filters by keys: in a recording, and in a live run that is looked at backwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit_tui.app import LoopkitApp
from loopkit_tui.screens.breakpoints import BreakpointsScreen, FilterScreen
from loopkit_tui.screens.run import RunScreen
from tests.tui.screens import everything, lines_of, run_screen, selected_line, text_of, until
from tests.tui.stories import flaky
from tests.tui.test_live_run import debugging, waits

pytestmark = pytest.mark.anyio


async def test_into_over_and_out_of_a_sub_agent() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3", "g", "I")
        assert run_screen(app).session.track.loop == "root/3.1#1"
        inside = selected_line(app)
        await pilot.press("o")
        assert run_screen(app).session.track.loop == "root/3.1#1"
        await pilot.press("u")
        assert run_screen(app).session.track.loop == "root"
        assert "after the result" in text_of(app, "#keys")
        assert selected_line(app) != inside
        await pilot.press("R", "R")
        assert run_screen(app).session.track.loop == "root/3.1#1"


async def test_a_breakpoint_is_added_walked_to_and_taken_away() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("B")
        await until(pilot, lambda: isinstance(app.screen, BreakpointsScreen))
        await pilot.press(*"tol", "enter")
        await until(pilot, lambda: "did you mean tool?" in everything(app) and "^" in everything(app))
        await pilot.press("backspace", *'ol == "run_tests" and error', "enter")
        await until(pilot, lambda: '● 1  tool == "run_tests" and error' in everything(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        await pilot.press("c")
        assert "✗ run_tests" in selected_line(app)
        assert "breakpoint 1, after the result" in text_of(app, "#keys")
        first = selected_line(app)
        await pilot.press("G", "C")
        assert "✗ run_tests" in selected_line(app)
        await pilot.press("C", "C", "C")
        assert "the beginning" in text_of(app, "#keys")
        await pilot.press("c")
        assert selected_line(app) == first
        await pilot.press("B")
        await until(pilot, lambda: isinstance(app.screen, BreakpointsScreen))
        # a call that is selected suggests its tool
        assert 'tool == "run_tests"' in app.screen.query_one("#line").value  # type: ignore[attr-defined]  # an Input
        await pilot.press("ctrl+u", *"off 1", "enter")
        await until(pilot, lambda: "○ 1  tool" in everything(app))
        await pilot.press(*"del 1", "enter")
        await until(pilot, lambda: "○ 1  tool" not in everything(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        assert run_screen(app).session.breakpoints == ()


async def test_the_timeline_shows_only_what_a_condition_holds_for() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        everyone = run_screen(app).timeline.count()
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, FilterScreen))
        await pilot.press(*'tool == "run_tests"', "enter")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        drawn = [line for line in lines_of(run_screen(app).timeline) if line.strip()]
        assert 0 < len(drawn) < everyone
        assert all("run_tests" in line for line in drawn)
        await pilot.press("j")
        assert "run_tests" in selected_line(app)
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, FilterScreen))
        await pilot.press("ctrl+u", "enter")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        assert run_screen(app).timeline.count() == everyone


async def test_a_live_run_is_looked_at_backwards_and_gone_on_with(tmp_path: Path) -> None:
    async with debugging(tmp_path) as (app, pilot, session):
        await waits(app, pilot, 2)
        await pilot.press("R")
        assert session.walks
        assert "after the response" in text_of(app, "#keys")
        await pilot.press("R")
        assert "before the request" in text_of(app, "#keys")
        await pilot.press("s", "s")
        assert not session.walks
        await pilot.press("G")
        assert "WAITS" in selected_line(app)
        assert len(run_screen(app).decisions.pending) == 2
