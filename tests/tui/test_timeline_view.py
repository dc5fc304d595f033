"""The timeline's list costs what is seen, and a row stays selected wherever it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App, ComposeResult

from loopkit.debugger.nodes import Row, RowKind
from loopkit.debugger.rows import RowText, row_text
from loopkit_tui.themes import DARK
from loopkit_tui.widgets import timeline as timeline_module
from loopkit_tui.widgets.timeline import TimelineView, row_spans
from tests.tui.screens import lines_of
from tests.tui.stories import flaky, long_run

pytestmark = pytest.mark.anyio


class ListApp(App[None]):
    """A timeline and nothing else."""

    CSS_PATH = Path(timeline_module.__file__).parents[1] / "loopkit.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.register_theme(DARK)
        self.theme = DARK.name

    def compose(self) -> ComposeResult:
        yield TimelineView(id="timeline")


async def test_a_key_draws_what_is_seen_however_many_rows_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """spec/performance.md goal 13"""
    timeline = long_run(3).session().timeline
    rows = timeline.rows
    assert isinstance(rows, list)
    rows[2:2] = [Row(RowKind.CALL, 0, rows[2].loop, rows[1].iteration, rows[2].call)] * 200_000
    drawn = 0
    plain = row_text

    def counted(row: Row) -> RowText:
        nonlocal drawn
        drawn += 1
        return plain(row)

    app = ListApp()
    async with app.run_test(size=(100, 30)) as pilot:
        view = app.query_one(TimelineView)
        view.show(timeline)
        await pilot.pause()
        monkeypatch.setattr(timeline_module, "row_text", counted)
        for _ in range(3):
            view.move(1)
            await pilot.pause()
        view.move_to(150_000)
        await pilot.pause()
    assert drawn <= 5 * 30


async def test_a_row_inserted_above_moves_the_cursor_with_its_row() -> None:
    """spec/faults.md e23"""
    timeline = flaky().session().timeline
    app = ListApp()
    async with app.run_test(size=(100, 12)) as pilot:
        view = app.query_one(TimelineView)
        view.show(timeline)
        view.set_cursor(15)
        await pilot.pause()
        row, line = view.selected, lines_of(view)
        rows = timeline.rows
        assert isinstance(rows, list)
        rows[3:3] = [Row(RowKind.TASK, 0, rows[0].loop) for _ in range(4)]
        view.take_in()
        await pilot.pause()
        assert view.selected is row
        assert view.cursor == 19
        assert lines_of(view) == line


async def test_a_fold_keeps_its_place_when_rows_come_in() -> None:
    story = flaky(end=False)
    timeline = story.session().timeline
    app = ListApp()
    async with app.run_test(size=(100, 40)) as pilot:
        view = app.query_one(TimelineView)
        view.show(timeline)
        agent = next(row for row in timeline.rows if row.kind is RowKind.AGENT)
        view.select(agent)
        view.fold()
        folded = view.count()
        before = len(story.events)
        story.reply("The test is steady now.")
        for event in story.events[before:]:
            timeline.apply(event)
        view.take_in()
        await pilot.pause()
        assert view.count() == folded + 1
        assert view.selected is agent
        assert "The test is steady now." in "\n".join(lines_of(view))


def test_deep_chains_stop_indenting_and_say_their_level() -> None:
    words = RowText(9, "3", "✓", "read", "a", "", "1 s", "good")
    text = "".join(span for span, _ in row_spans(words, 60, current=False))
    assert text.startswith(" " * 9 + "›9 ")


@pytest.mark.parametrize("width", [1, 5, 12, 20, 200])
def test_a_row_never_needs_more_than_its_width(width: int) -> None:
    words = RowText(2, "12", "⚠", "漢字漢字漢字", "detail " * 20, "a long state of things", "1.2k tok 2.1 s", "bad")
    text = "".join(span for span, _ in row_spans(words, width, current=True))
    assert len(text) <= max(width + 6, 14)
