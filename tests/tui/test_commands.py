"""The table of commands, as keys, help and palette read it."""

from __future__ import annotations

import pytest
from textual.widgets import OptionList

from loopkit_tui.app import LoopkitApp
from loopkit_tui.screens.keys import KeysScreen
from loopkit_tui.screens.run import RunScreen
from loopkit_tui.screens.run_commands import RUN_COMMANDS
from tests.tui.screens import everything, run_screen, selected_line, text_of, until
from tests.tui.stories import flaky

pytestmark = pytest.mark.anyio


async def test_the_help_lists_every_command_with_its_keys() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 130)) as pilot:
        await pilot.press("?")
        await pilot.pause()
        assert isinstance(app.screen, KeysScreen)
        page = everything(app)
        for command in RUN_COMMANDS:
            assert command.name in page
            assert command.keys_shown.split()[0] in page
        await pilot.press("q")
        assert run_screen(app)


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_the_help_goes_to_its_end_to_its_top_and_to_the_marks(size: tuple[int, int]) -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=size) as pilot:
        await pilot.press("?")
        await until(pilot, lambda: isinstance(app.screen, KeysScreen))
        await pilot.press("m")
        await until(pilot, lambda: " marks" in everything(app) and "◌" in everything(app), "the legend")
        await pilot.press("g")
        await until(pilot, lambda: "run the call that waits" in everything(app))
        assert "…" not in text_of(app, "#keys-lines")
        await pilot.press("G")
        await until(pilot, lambda: "a recording" in everything(app))


def test_every_key_means_one_command() -> None:
    keys = [key for command in RUN_COMMANDS for key in command.keys]
    assert len(keys) == len(set(keys))
    assert len({command.name for command in RUN_COMMANDS}) == len(RUN_COMMANDS)


async def test_the_palette_offers_the_same_commands() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        offered = {command.title.split()[0]: command for command in app.get_system_commands(app.screen)}
        assert {command.name for command in RUN_COMMANDS} <= set(offered)
        offered["warning.next"].callback()
        assert "⚠ loop" in selected_line(app)


async def test_the_palette_opens_over_a_run_and_finds_a_command_by_its_name() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 130)) as pilot:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: app.screen.query("OptionList"))
        offered = app.screen.query_one(OptionList)
        await until(pilot, lambda: offered.option_count > len(RUN_COMMANDS), "all commands")
        assert any("error.previous  ([e)" in str(option.prompt) for option in offered.options)
        await pilot.press(*"warning.next")
        await until(pilot, lambda: offered.option_count == 1, "the one command")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RunScreen) and "⚠ loop" in selected_line(app))


async def test_commands_of_a_live_run_say_why_they_do_nothing_on_a_recording() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("c")
        assert "this is a recording" in text_of(app, "#keys")
        await pilot.press("a")
        assert "no call waits" in text_of(app, "#keys")
