"""A whole run in a few cells, in memory and by the outline."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.overview import Mark, cell_of, overview
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.timeline import Timeline

RECORDINGS = Path(__file__).resolve().parents[2] / "recordings"


@pytest.mark.parametrize("cells", [1, 7, 40, 300])
def test_each_cell_holds_the_most_important_mark_of_its_rows(cells: int) -> None:
    timeline = open_recording(RECORDINGS / "error-and-recovery.jsonl").timeline
    marks = overview(timeline, cells)
    assert len(marks) == cells
    assert max(marks) is Mark.FAILED


@pytest.mark.parametrize("name", ["error-and-recovery", "stuck-loop", "edited-call"])
def test_the_outline_marks_the_same_kinds_of_things(name: str) -> None:
    path = RECORDINGS / f"{name}.jsonl"
    large = LargeTimeline(path)
    while not large.complete:
        large.advance()
    in_memory = set(overview(open_recording(path).timeline, 400)) - {Mark.AGENT}
    assert set(overview(large, 400)) == in_memory
    large.release()


def test_an_empty_run_and_no_room_are_nothing() -> None:
    assert overview(Timeline(), 3) == [Mark.NOTHING] * 3
    assert overview(Timeline(), 0) == []
    assert cell_of(0, 0, 10) == 0
    assert cell_of(99, 100, 10) == 9
