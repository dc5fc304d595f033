"""Lines that are passed over unread change nothing of what a condition holds for."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopkit.debugger.condition_text import read_condition
from loopkit.debugger.conditions import Condition
from loopkit.debugger.filtering import EventFilter
from loopkit.debugger.skimming import passing_over
from loopkit.debugger.watching import stream_events
from loopkit.events import Event
from tests.bench.large_file import write_large
from tests.debugger.conditions.random_conditions import conditions

RECORDINGS = sorted((Path(__file__).parents[3] / "recordings").glob("*.jsonl"))
REAL = [
    "error",
    "warning or error",
    'kind == "ToolFailed" or kind == "RepetitionDetected"',
    "not error and event < 9",
    "depth >= 1 and time > 1",
    'tool == "search" and error',
    "tokens.own > 5 or duration > 0.001",
    'text ~ "lamp" and not tool',
    "tokens > 3000 and iteration == 4",
]


def assert_same(path: Path, condition: Condition) -> None:
    whole = list(EventFilter(condition).kept(stream_events(path)))
    assert list(EventFilter(condition).kept(stream_events(path, passing_over(condition)))) == whole


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_recording_holds_the_same(path: Path) -> None:
    for text in REAL:
        assert_same(path, read_condition(text))


@given(
    condition=conditions() | st.sampled_from(REAL).map(read_condition),
    source=st.none() | st.sampled_from(RECORDINGS),
    missing=st.sets(st.integers(1, 150), max_size=9),
)
@settings(deadline=None)
def test_any_condition_holds_for_the_same_events(condition: Condition, source: Path | None, missing: set[int]) -> None:
    """Also with lines missing (spec/faults.md j4): what was due is told all the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        if source is None:
            write_large(path, 150)
        lines = (source or path).read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(line for place, line in enumerate(lines) if place not in missing))
        assert_same(path, condition)


def test_a_search_for_warnings_decodes_little(tmp_path: Path) -> None:
    write_large(tmp_path / "run.jsonl", 2000)
    condition = read_condition("warning or depth == 1 and error")
    seen = [item for item in stream_events(tmp_path / "run.jsonl", passing_over(condition)) if isinstance(item, Event)]
    assert 0 < len(seen) < 100
