"""The search screen: everything that was recorded, first hits while it runs, and enter goes there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopkit.debugger.runs import run_headless
from loopkit.debugger.session import Session
from loopkit.messages import ToolCall
from loopkit_tui.app import LoopkitApp
from loopkit_tui.screens.home import HomeScreen
from loopkit_tui.screens.run import RunScreen
from loopkit_tui.screens.searching import SearchAllScreen
from tests.tui.screens import everything, lines_of, run_screen, text_of, until
from tests.tui.stories import careful_agent

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run_headless(careful_agent(), "go", record=tmp_path / "one.jsonl", approve="all")
    script: list[Any] = [ToolCall("a", "run_tests", {"path": "the/needle.py"}), "Hay\x1b[31m needle hay."]
    run_headless(careful_agent(script), "find the needle", record=tmp_path / "two.jsonl", approve="all")
    return tmp_path


async def searched(app: LoopkitApp, pilot: Any) -> SearchAllScreen:
    await until(pilot, lambda: isinstance(app.screen, SearchAllScreen))
    screen = app.screen
    assert isinstance(screen, SearchAllScreen)
    await pilot.press(*"needle")
    await until(pilot, lambda: screen._needle == "needle" and not screen.searching)
    return screen


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (180, 50)])
async def test_home_searches_all_recordings_and_enter_opens_the_row(folder: Path, size: tuple[int, int]) -> None:
    app = LoopkitApp(folder=folder)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, HomeScreen) and "two.jsonl" in text_of(app, "#runs"))
        await pilot.press("/")
        screen = await searched(app, pilot)
        lines = lines_of(screen.hits)
        assert all("two.jsonl" in line for line in lines if line.strip())
        assert any("needle.py" in line for line in lines)
        assert "\x1b" not in everything(app)
        await pilot.press("enter")
        assert screen.hits.has_focus
        wanted = next(place for place, found in enumerate(screen.hits.found) if found.hit.type == "ToolReturned")
        screen.hits.move_to(wanted)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RunScreen) and run_screen(app).is_mounted)
        await until(pilot, lambda: run_screen(app).selected_call is not None)
        call = run_screen(app).selected_call
        assert call is not None
        assert call.arguments == {"path": "the/needle.py"}
        await pilot.press("q")
        assert isinstance(app.screen, HomeScreen)


async def test_a_run_lists_all_its_hits_and_goes_to_one(folder: Path) -> None:
    app = LoopkitApp(Session.open(folder / "two.jsonl"))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("S")
        screen = await searched(app, pilot)
        assert "two.jsonl" in text_of(app, "#status")
        assert "two.jsonl" not in text_of(app, "#hits")
        await pilot.press("down", "G", "enter")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        row = run_screen(app).timeline.selected
        assert row is not None
        assert row.iteration is not None
        assert row.iteration.number == 2
        assert screen.hits.found


async def test_few_letters_nothing_found_and_leaving(folder: Path) -> None:
    app = LoopkitApp(Session.open(folder / "one.jsonl"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("S")
        await until(pilot, lambda: isinstance(app.screen, SearchAllScreen))
        await pilot.press("n")
        assert "type at least two letters" in text_of(app, "#hits-title")
        await pilot.press(*"eedle")
        await until(pilot, lambda: "0 hits" in text_of(app, "#hits-title"))
        await pilot.press("enter")
        assert isinstance(app.screen, SearchAllScreen)
        await pilot.press("escape")
        assert isinstance(app.screen, RunScreen)


async def test_a_file_that_cannot_be_read_is_counted_and_the_others_are_searched(folder: Path) -> None:
    (folder / "bad.jsonl").write_text("{}\n")
    app = LoopkitApp(folder=folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, HomeScreen) and app.screen.listed)
        app.push_screen(SearchAllScreen([folder / "bad.jsonl", folder / "two.jsonl"]))
        await searched(app, pilot)
        assert "1 file can't be read" in text_of(app, "#hits-title")
        assert "needle" in text_of(app, "#hits")
        await pilot.press("down", "/")
        assert app.screen.query_one("#needle").has_focus
