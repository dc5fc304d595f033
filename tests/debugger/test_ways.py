"""Landmarks, iterations and folds are found by the outline where they are found in the rows."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.nodes import RowKind
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.ways import Landmark, ways_of
from loopkit.events import Event
from tests.bench.large_file import write_large

STORIES = sorted((Path(__file__).parents[2] / "loopkit" / "demo").glob("*.jsonl"))
LANDMARKS: list[Landmark] = ["error", "warning", "decision", "sub-agent", "iteration"]


@pytest.fixture(params=["written", *STORIES], ids=lambda story: getattr(story, "stem", story))
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if isinstance(request.param, Path):
        return request.param
    write_large(tmp_path / "run.jsonl", 800)
    return tmp_path / "run.jsonl"


def test_both_find_the_same(run: Path) -> None:
    whole = open_recording(run).timeline
    with LargeTimeline(run) as large:
        large.advance()
        one, other = ways_of(whole), ways_of(large)
        for start in range(0, len(whole.rows), 7):
            for landmark, direction in product(LANDMARKS, (1, -1)):
                assert other.find(landmark, start, direction) == one.find(landmark, start, direction)
            assert other.over(0, start, 1) == one.over(0, start, 1)
            row = large.rows[start]
            assert other.place_of(row) == start
            assert other.iteration(row.loop, 2) == one.iteration(whole.rows[start].loop, 2)
        agents = {row.loop.path for row in whole.rows if row.kind is RowKind.AGENT}
        assert agents
        assert other.agents(agents) == one.agents(agents)
        for place, event in enumerate(whole_events(run)):
            shown = large.rows[large.place_of_event(place)]
            assert shown.loop.path == event.loop
            assert getattr(event.fact, "call", None) in (None, shown.call and shown.call.id)


def whole_events(path: Path) -> list[Event]:
    return list(open_recording(path).events)
