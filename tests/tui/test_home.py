"""Home: the demo to try, the recordings at hand, and one broken file among them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.cells import cell_len

from loopkit.debugger.library import RunSummary, fork_tree, newest_first
from loopkit.debugger.session import Session
from loopkit_tui.app import LoopkitApp
from loopkit_tui.screens.home import HomeScreen
from loopkit_tui.screens.run import RunScreen
from loopkit_tui.widgets.run_list import RunList
from tests.tui.screens import text_of, until
from tests.tui.stories import careful_agent

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    session = Session.start(careful_agent(["Done at once."]), "Say done.", record=tmp_path / "good.jsonl")
    assert session.wait(10)
    session.close()
    (tmp_path / "torn.jsonl").write_bytes((tmp_path / "good.jsonl").read_bytes()[:300])
    whole = (tmp_path / "good.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "broken.jsonl").write_bytes(b"".join([*whole[:2], b"{[/ not json\n", *whole[2:]]))
    return tmp_path


def home(app: LoopkitApp) -> HomeScreen:
    screen = app.screen
    assert isinstance(screen, HomeScreen)
    return screen


async def test_it_begins_with_the_demo_and_lists_what_is_there(folder: Path) -> None:
    app = LoopkitApp(folder=folder)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: home(app).listed)
        lines = text_of(app, "#runs").splitlines()
        assert "try it live: enter" in lines[0]
        assert any("good.jsonl" in line and "careful" in line and "complete" in line for line in lines)
        assert any("broken.jsonl" in line and "damaged" in line for line in lines)
        assert "enter open" in text_of(app, "#keys")


async def test_a_narrow_home_names_the_files_and_where_the_chosen_one_is(folder: Path) -> None:
    app = LoopkitApp(folder=folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: home(app).listed)
        place = next(i for i, run in enumerate(home(app).runs.runs, 1) if run.path.name == "good.jsonl")
        await pilot.press(*["j"] * place)
        assert "good.jsonl" in text_of(app, "#runs").splitlines()[place]
        assert text_of(app, "#about").endswith("/good.jsonl")
        assert "complete" in text_of(app, "#runs").splitlines()[place]


@pytest.mark.parametrize("width", [80, 120])
def test_a_long_outcome_leaves_room_for_the_marks(width: int) -> None:
    run = RunSummary(
        Path("a-rather-long-name-of-a-file.jsonl"),
        datetime(2026, 11, 30, 12, 0, tzinfo=UTC),
        agent="reviewer",
        outcome="cancelled",
        outcome_text="stopped: " + "nobody wants it " * 9,
        errors=12,
        warnings=3,
        edited=1,
        denied=2,
    )
    runs = RunList()
    runs.families = [(0, run)]
    line = "".join(text for text, _ in runs.draw(0, width, current=False))
    assert line.endswith("✗ 12 ⚠ 3 ✎ 1 ⊘ 2")
    assert cell_len(line) <= width
    assert "stop" in line


async def test_a_damaged_file_says_why_and_opens_nothing(folder: Path) -> None:
    app = LoopkitApp(folder=folder)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: home(app).listed)
        place = next(i for i, run in enumerate(home(app).runs.runs, 1) if run.path.name == "broken.jsonl")
        await pilot.press(*["j"] * place)
        assert "line 3 is damaged" in text_of(app, "#about")
        await pilot.press("enter")
        assert isinstance(app.screen, HomeScreen)
        assert "line 3 is damaged" in text_of(app, "#keys")


async def test_enter_opens_a_recording_and_q_comes_back_to_the_same_line(folder: Path) -> None:
    app = LoopkitApp(folder=folder)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: home(app).listed)
        place = next(i for i, run in enumerate(home(app).runs.runs, 1) if run.path.name == "good.jsonl")
        await pilot.press(*["j"] * place, "enter")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        assert "◌ recorded" in text_of(app, "#status")
        await pilot.press("q")
        assert isinstance(app.screen, HomeScreen)
        assert home(app).runs.cursor == place
        await until(pilot, lambda: not app.sessions)


async def test_an_empty_or_missing_folder_still_offers_the_demo(tmp_path: Path) -> None:
    app = LoopkitApp(folder=tmp_path / "nowhere")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: home(app).listed)
        assert "try it live" in text_of(app, "#runs")


async def test_the_demo_starts_live_and_stops_before_its_first_call() -> None:
    app = LoopkitApp()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: home(app).listed)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        await until(pilot, lambda: "◆ your decision" in text_of(app, "#now"))
        await pilot.press("q", "y")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        assert "recorded in" in text_of(app, "#keys")
        await until(pilot, lambda: not app.sessions)


def test_forks_stand_behind_their_parent_and_the_family_used_last_comes_first() -> None:
    def run(name: str, hour: int, parent: str | None = None) -> RunSummary:
        when = datetime(2026, 11, 30, hour, tzinfo=UTC)
        return RunSummary(Path(f"{name}.jsonl"), when, run_id=name, agent="a", outcome_text="complete", parent=parent)

    family = [run("fork", 14, "parent"), run("lone", 12), run("of-fork", 11, "fork"), run("parent", 9)]
    runs = RunList()
    runs.families = newest_first(fork_tree(family))
    lines = ["".join(text for text, _ in runs.draw(place, 80, current=False)) for place in range(4)]
    assert [run.path.stem for run in runs.runs] == ["parent", "fork", "of-fork", "lone"]
    assert "◌ 30 Nov 09:00 parent.jsonl" in lines[0]
    assert "⑂ 30 Nov 14:00 └fork.jsonl" in lines[1]
    assert "  └of-fork.jsonl" in lines[2]


async def test_home_counts_the_runs_of_today(tmp_path: Path) -> None:
    session = Session.start(careful_agent(["Done at once."]), "Say done.", record=tmp_path / "good.jsonl")
    assert session.wait(10)
    session.close()
    app = LoopkitApp(folder=tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: home(app).listed)
        assert "today: 1 run" in text_of(app, "#runs-title")


@pytest.mark.parametrize(("cost", "shown"), [(None, " - "), (0.0042, "$0.0042"), (12.5, "$12.50")])
def test_what_a_run_cost_stands_in_its_line(cost: float | None, shown: str) -> None:
    run = RunSummary(Path("a.jsonl"), datetime(2026, 11, 30, tzinfo=UTC), cost=cost, outcome_text="complete")
    runs = RunList()
    runs.families = [(0, run)]
    assert shown in "".join(text for text, _ in runs.draw(0, 80, current=False))
