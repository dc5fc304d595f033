"""The diff screen: two runs beside each other, from home and from a run, folded where they are the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from loopkit.debugger.comparison import compare_runs
from loopkit.debugger.recorded import OpenedRun
from loopkit.debugger.runs import fork_file
from loopkit.debugger.session import Session
from loopkit.outcomes import Deny
from loopkit_tui.app import LoopkitApp
from loopkit_tui.screens.diff import DIFF_COMMANDS, DiffScreen
from loopkit_tui.screens.home import HomeScreen
from loopkit_tui.screens.keys import KeysScreen
from loopkit_tui.screens.picking import PickRunScreen
from loopkit_tui.screens.run import RunScreen
from tests.tui.screens import everything, lines_of, run_screen, selected_line, text_of, until
from tests.tui.stories import Story, careful_agent, flaky, long_run, odd

pytestmark = pytest.mark.anyio
SIZES = [(80, 24), (120, 40), (180, 50)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    session = Session.start(careful_agent(["First.", "Second."]), "go", record=tmp_path / "lone.jsonl")
    assert session.wait(10)
    session.close()
    session = Session.start(careful_agent(), "go", record=tmp_path / "parent.jsonl")
    while not session.wait(0.01):
        session.poll()
        for one in session.pending():
            session.approve(one.call, one.version)
    session.close()
    fork_file(
        tmp_path / "parent.jsonl", "root/1.2", Deny("not now"), careful_agent(["Then not."]), tmp_path / "f.jsonl"
    )
    return tmp_path


def comparison(left: Story, right: Story) -> DiffScreen:
    runs = [OpenedRun(Path(f"{name}.jsonl"), None, story.events) for name, story in (("a", left), ("b", right))]
    return DiffScreen(compare_runs(*runs))


def diff_screen(app: LoopkitApp) -> DiffScreen:
    assert isinstance(app.screen, DiffScreen)
    return app.screen


def line_under_cursor(app: LoopkitApp) -> str:
    diff = diff_screen(app).diff
    return lines_of(diff)[diff.cursor - diff.scroll_offset.y]


def go_to(app: LoopkitApp, name: str) -> None:
    screen = app.screen
    assert isinstance(screen, HomeScreen)
    place = next(place for place, run in enumerate(screen.runs.runs, 1) if run.path.name == name)
    screen.runs.move_to(place)


@pytest.mark.parametrize("size", SIZES)
async def test_d_on_a_fork_shows_it_beside_its_parent_from_where_they_part(folder: Path, size: tuple[int, int]) -> None:
    app = LoopkitApp(folder=folder)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "f.jsonl" in text_of(app, "#runs"))
        go_to(app, "f.jsonl")
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        await pilot.pause()
        assert "they part at root" in text_of(app, "#verdict")
        assert "A parent.jsonl" in text_of(app, "#files")
        assert "B f.jsonl" in text_of(app, "#files")
        assert "…" not in text_of(app, "#files")
        assert "≠ 1" in line_under_cursor(app)
        assert "denied: not now" in text_of(app, "#diff")
        assert all(cell_len(line) <= size[0] for line in lines_of(diff_screen(app).diff))
        await pilot.press("q")
        assert isinstance(app.screen, HomeScreen)


async def test_two_marked_runs_are_compared_in_the_order_in_which_they_were_marked(folder: Path) -> None:
    app = LoopkitApp(folder=folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "lone.jsonl" in text_of(app, "#runs"))
        for name in ("parent.jsonl", "lone.jsonl"):
            go_to(app, name)
            await pilot.press("space")
        assert sum(" *" in line or "▶*" in line for line in text_of(app, "#runs").splitlines()) == 2
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        await until(pilot, lambda: "A parent.jsonl" in text_of(app, "#files"))
        assert "B lone.jsonl" in text_of(app, "#files")
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and "A lone.jsonl" in text_of(app, "#files"))


async def test_home_says_how_to_compare_where_nothing_is_marked(folder: Path) -> None:
    app = LoopkitApp(folder=folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "lone.jsonl" in text_of(app, "#runs"))
        go_to(app, "lone.jsonl")
        await pilot.press("D")
        await pilot.pause()
        assert "space marks a run" in text_of(app, "#keys")
        await pilot.press("g", "space")
        assert "only recordings" in text_of(app, "#keys")


async def test_a_run_that_is_no_fork_is_compared_with_one_that_is_chosen(folder: Path) -> None:
    app = LoopkitApp(Session.open(folder / "parent.jsonl"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, PickRunScreen))
        await until(pilot, lambda: "lone.jsonl" in text_of(app, "#runs"))
        assert "parent.jsonl" not in text_of(app, "#runs")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        await pilot.press("q")
        assert isinstance(app.screen, RunScreen)
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, PickRunScreen))
        await pilot.press("escape")
        assert isinstance(app.screen, RunScreen)


async def test_d_in_a_fork_finds_its_parent_and_1_opens_that_at_the_iteration(folder: Path) -> None:
    app = LoopkitApp(Session.open(folder / "f.jsonl"))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        await pilot.press("n")
        assert "2" in line_under_cursor(app)
        await pilot.press("1")
        await until(pilot, lambda: isinstance(app.screen, RunScreen) and run_screen(app).is_mounted)
        await until(pilot, lambda: "▪" in selected_line(app) or " 2 " in selected_line(app))
        selected = run_screen(app).timeline.selected
        assert selected is not None
        assert selected.iteration is not None
        assert selected.iteration.number == 2
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))


async def test_a_live_run_is_compared_when_it_has_ended(tmp_path: Path) -> None:
    app = LoopkitApp(Session.start(careful_agent(), "go", record=tmp_path / "r.jsonl"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: run_screen(app).decisions.pending)
        await pilot.press("D")
        assert "when the run has ended" in text_of(app, "#keys")
    app.close_sessions()


async def test_what_is_the_same_unfolds_and_folds() -> None:
    one, other = long_run(8), long_run(9)
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(comparison(one, other))
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        await pilot.pause()
        assert "+ 9" in line_under_cursor(app)
        await pilot.press("g", "j")
        assert "iterations 1 … 8  the same" in line_under_cursor(app)
        await pilot.press("enter")
        assert "step 3" in text_of(app, "#diff")
        await pilot.press("enter")
        assert "step 3" not in text_of(app, "#diff")
        await pilot.press("+")
        assert "step 3" in text_of(app, "#diff")
        await pilot.press("minus")
        assert "step 3" not in text_of(app, "#diff")
        await pilot.press("G", "n")
        assert "no difference below" in text_of(app, "#keys")


async def test_two_equal_runs_say_so() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(comparison(flaky(), flaky()))
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        await pilot.pause()
        assert "= the same" in text_of(app, "#verdict")
        await pilot.press("n")
        assert "no difference" in text_of(app, "#keys")


async def test_hostile_text_is_shown_as_escapes_on_both_sides() -> None:
    """spec/faults.md e1 to e9: nothing from a model or a tool acts on the terminal."""
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        app.push_screen(comparison(odd("a\x1b[31m[/b]\u202e"), odd("b\x9b2J\x07[red]")))
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        await pilot.pause()
        page = everything(app)
        assert not any(character in page for character in "\x1b\x9b\x07\u202e")
        assert "[/b]" in page
        assert "[red]" in page


async def test_the_comparison_is_copied_as_text_and_its_keys_have_a_page() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 90)) as pilot:
        app.push_screen(comparison(long_run(2), long_run(3)))
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        await pilot.press("y")
        assert "they part at root" in app.clipboard
        assert {command.name for command in DIFF_COMMANDS} <= {
            each.title.split()[0] for each in app.get_system_commands(app.screen)
        }
        await pilot.press("?")
        await until(pilot, lambda: isinstance(app.screen, KeysScreen))
        assert all(command.name in everything(app) for command in DIFF_COMMANDS)


def test_every_key_of_the_diff_means_one_command() -> None:
    keys = [key for command in DIFF_COMMANDS for key in command.keys]
    assert len(keys) == len(set(keys))
