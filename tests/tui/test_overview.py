"""The run in one line: a map of its marks, how full the context is, and what a request added to it."""

from __future__ import annotations

import pytest

from loopkit.debugger import context_use as windows
from loopkit.debugger.session import Session
from loopkit_tui.app import LoopkitApp
from loopkit_tui.widgets.bars import RegionTitle
from tests.tui.screens import lines_of, run_screen, text_of, until
from tests.tui.stories import careful_agent, flaky, long_run

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A price table of one model."""
    monkeypatch.setattr(windows, "_windows", {})
    monkeypatch.setattr(windows, "_window", lambda model: 4000 if model == "gpt-5-mini" else None)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (180, 50)])
async def test_the_rule_above_the_timeline_marks_what_went_wrong_and_where_one_is(size: tuple[int, int]) -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=size) as pilot:
        await pilot.press("g")
        title = text_of(app, "#timeline-title")
        assert "✗" in title
        assert "⚠" in title
        assert title.index("▾") < title.index("✗") < title.index("⚠")
        await pilot.press("G")
        moved = text_of(app, "#timeline-title")
        assert moved.index("⚠") < moved.index("▾")


async def test_a_call_that_waits_is_marked_while_the_run_is_live() -> None:
    app = LoopkitApp(Session.start(careful_agent(), "go"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: run_screen(app).decisions.pending)
        await until(pilot, lambda: "◆" in text_of(app, "#timeline-title"))
    app.close_sessions()


async def test_a_click_on_the_map_goes_there() -> None:
    app = LoopkitApp(long_run(60).session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("g")
        title = app.screen.query_one("#timeline-title", RegionTitle)
        start = lines_of(title)[0].index("▾")
        end = lines_of(title)[0].rindex("─")
        await pilot.click("#timeline-title", offset=((start + end) // 2, 0))
        rows = len(run_screen(app).timeline.timeline.rows)
        assert abs(run_screen(app).timeline.selected_index - rows // 2) < rows // 10
        await pilot.press("ctrl+o")
        assert run_screen(app).timeline.selected_index == 0


async def test_the_context_fills_a_bar_of_the_models_window_and_the_detail_says_what_is_new() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("g", "J", "J")
        await until(pilot, lambda: "ctx ▇▇▁▁▁▁ 30%" in text_of(app, "#status"))
        detail = text_of(app, "#detail")
        assert "context: 1,200 tokens of 4,000 (30.0%)" in detail
        assert "since the request before" in detail
        assert "+0 tokens" in detail


async def test_where_the_window_is_unknown_only_tokens_are_shown() -> None:
    story = flaky()
    app = LoopkitApp(story.session())
    windows._windows["gpt-5-mini"] = None
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("g", "J")
        assert "ctx 1.2k tok" in text_of(app, "#status")
        assert "context: 1,200 tokens" in text_of(app, "#detail")


async def test_an_agents_figures_are_its_own_and_those_of_its_tree_with_times() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(180, 50)) as pilot:
        await pilot.press("G")
        detail = " ".join(text_of(app, "#detail").split())
        assert "of its own 5 iterations" in detail
        assert "whole tree 9 iterations" in detail
        assert "models 7.0 s" in detail
        assert "models 12.6 s" in detail
