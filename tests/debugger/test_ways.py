"""Landmarks, iterations and folds are found by the outline where they are found in the rows."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopkit import events as e
from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.matching import Wanted
from loopkit.debugger.nodes import RowKind
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.ways import Landmark, ways_of
from loopkit.events import Event
from loopkit.messages import Message, ToolCall
from tests.bench.large_file import write_large
from tests.debugger.playbook import Playbook
from tests.recording.story import record

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


def wanted_rows() -> st.SearchStrategy[Wanted]:
    tools = st.sampled_from(["read_file", "search", "run_tests", "edit_file", "delegate", "one", "other", "no such"])
    return st.builds(
        Wanted,
        kinds=st.frozensets(st.sampled_from(RowKind), max_size=3),
        tools=st.frozensets(tools, max_size=2),
        marks=st.frozensets(st.sampled_from(["error", "warning", "decision"])),
        tokens=st.none() | st.integers(0, 3000),
        cost=st.none() | st.floats(0, 0.1),
    )


@given(wanted=wanted_rows(), start=st.floats(0, 1), direction=st.sampled_from((1, -1)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_rows_by_what_they_hold_are_the_same(run: Path, wanted: Wanted, start: float, direction: int) -> None:
    """issue: tool names, errors, warnings, costs for filtering; forwards and backwards."""
    whole = open_recording(run).timeline
    with LargeTimeline(run) as large:
        large.advance()
        place = int(start * (len(whole.rows) - 1))
        one, other = ways_of(whole), ways_of(large)
        found = [place for place in other.matching(wanted, place, direction) if place is not None]
        assert found == [place for place in one.matching(wanted, place, direction) if place is not None]
        assert other.next_matching(wanted, place, direction) == (found[0] if found else None)
        assert all(wanted.fits(large.rows[place]) for place in found[:20])


def test_calls_of_an_answer_that_was_edited_go_by_their_new_names(tmp_path: Path) -> None:
    book = Playbook().start().ask(e.ROOT, "one", "two")
    calls = [ToolCall("x", "new", {}), ToolCall("y", "two", {})]
    book.say(e.ROOT, e.AnswerEdited(Message.assistant("edited", calls), "person")).run("root/1.1").run("root/1.2")
    record(tmp_path / "run.jsonl", book.finish().events)
    wanted = Wanted(tools=frozenset({"new"}))
    with LargeTimeline(tmp_path / "run.jsonl") as large:
        large.advance()
        found = ways_of(large).next_matching(wanted, 0)
        assert found is not None
        assert wanted.fits(large.rows[found])


def test_a_time_leads_to_what_had_begun_then(run: Path) -> None:
    whole = open_recording(run).timeline
    with LargeTimeline(run) as large:
        large.advance()
        for part in range(-1, 42):
            seconds = whole.t * part / 40
            assert ways_of(large).at_time(seconds) == ways_of(whole).at_time(seconds)


def whole_events(path: Path) -> list[Event]:
    return list(open_recording(path).events)
