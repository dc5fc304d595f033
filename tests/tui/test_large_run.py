"""Large recordings, and those that another process writes, on the run screen: shown at once, read on between keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from loopkit.debugger import recorded
from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.session import Session
from loopkit.recording.writer import Recorder
from loopkit_tui.app import LoopkitApp
from tests.bench.large_file import write_large
from tests.recording.story import HEADER, small_run
from tests.tui.screens import lines_of, run_screen, selected_line, text_of, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A recording of some 400 rows that is read in windows, whatever counts as large."""
    path = tmp_path / "large.jsonl"
    write_large(path, 1500)
    monkeypatch.setattr(recorded, "LARGE_BYTES", 1000)
    monkeypatch.setattr("loopkit.debugger.large._FIRST_SLICE", 0.0)
    session = Session.open(path)
    assert isinstance(session.timeline, LargeTimeline)
    yield session
    session.close()


async def test_a_large_recording_is_walked_like_any_other(large: Session) -> None:
    """issue: the same rows, read on between keys; jumps, folding and the raw events work on what is not in memory."""
    app = LoopkitApp(large)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: large.reading is None)
        await until(pilot, lambda: "complete" in text_of(app, "#now"))
        whole = recorded.open_recording(large.path or "").timeline
        assert len(large.timeline.rows) == len(whole.rows)
        await pilot.press("]", "e")
        assert "error" in selected_line(app)
        await pilot.press("]", "a")
        assert "keeper" in selected_line(app)
        count = run_screen(app).timeline.count()
        await pilot.press("h")
        assert run_screen(app).timeline.count() == count - 17 - 1
        await pilot.press("k", "4", "1", "g")
        assert " 41 " in selected_line(app)
        await pilot.press("3")
        assert "ModelReplied" in text_of(app, "#detail")
        await pilot.press("G")
        assert "end" in selected_line(app)


async def test_search_goes_through_the_file(large: Session) -> None:
    """issue: search over everything without loading it."""
    app = LoopkitApp(large)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: large.reading is None)
        await pilot.press("/", *"ITEM 61", "enter")
        await until(pilot, lambda: "file61.txt" in selected_line(app))
        await pilot.press("/", *"no such words", "enter")
        await until(pilot, lambda: "no match in the whole run" in text_of(app, "#keys"))


async def test_a_run_of_another_process_is_followed_to_its_end(tmp_path: Path) -> None:
    """issue: `tui` on an unfinished recording of another process follows it."""
    events = small_run()
    path = tmp_path / "run.jsonl"
    recorder = Recorder(path)
    recorder.start(HEADER)
    for event in events[:5]:
        recorder.append(event)
    session = Session.open(path)
    app = LoopkitApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "another process writes this run" in text_of(app, "#now"))
        assert not any("end" in line for line in lines_of(run_screen(app).timeline))
        for event in events[5:]:
            recorder.append(event)
        recorder.close()
        await until(pilot, lambda: "■ complete" in text_of(app, "#now"))
        await until(pilot, lambda: not session.followed)
    session.close()
