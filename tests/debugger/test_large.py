"""A recording that is read in windows shows what the whole run's timeline shows, whatever stands in it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from loopkit import events as e
from loopkit.debugger import large as large_module
from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.nodes import Row, RowKind
from loopkit.debugger.outline_steps import STEPS
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.report import iteration_report
from loopkit.debugger.rows import RowText, row_text
from loopkit.debugger.timeline import Timeline
from loopkit.messages import Message, ToolCall
from loopkit.recording.reader import read_recording
from tests.bench.large_file import write_large
from tests.debugger.playbook import Playbook
from tests.drivers.random_agents import Plan, plans
from tests.drivers.random_runs import Meddling, meddlings, play
from tests.drivers.stage import ClosingRecorder
from tests.recording.story import record

# shrinking runs agents again, which takes its time
thorough = settings(
    max_examples=int(os.environ.get("LOOPKIT_EXAMPLES", "40")),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def words(row: Row) -> tuple[RowText, int, list[str]]:
    """What a row says, and in full what it stands for."""
    return (
        row_text(row),
        row.seq,
        list(iteration_report(row.iteration)) if row.kind is RowKind.ITERATION and row.iteration else [],
    )


def figures(timeline: Timeline) -> list[object]:
    root = timeline.root
    return [
        timeline.usage,
        timeline.seq,
        timeline.t,
        timeline.gaps,
        timeline.warnings,
        timeline.errors,
        timeline.denied,
        timeline.edited,
        timeline.depth,
        timeline.agents,
        round(timeline.waiting_seconds(), 6),
        root and (root.path, root.iteration_count, root.subtree_usage, root.reason, root.failure, root.over),
    ]


def assert_same(path: Path, shuffle: Callable[[list[int]], None]) -> None:
    """The large timeline, looked at in any order, against the whole one."""
    whole = open_recording(path).timeline
    places = list(range(len(whole.rows)))
    shuffle(places)
    with LargeTimeline(path) as large:
        large.advance()
        assert figures(large) == figures(whole)
        assert len(large.rows) == len(whole.rows)
        for place in places:
            assert words(large.rows[place]) == words(whole.rows[place]), place


@given(
    plan=plans(),
    meddling=meddlings(),
    chance=st.randoms(use_true_random=True),
    damage=st.lists(st.floats(0, 1), max_size=3),
)
@thorough
def test_every_row_of_any_run_is_the_same(plan: Plan, meddling: Meddling, chance: Any, damage: list[float]) -> None:
    """DESIGN §3, large files; sub-agents, warnings, edits, stops; also with lines missing (spec/faults.md j4)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        recorder = ClosingRecorder(path)
        anyio.run(play, plan, meddling, recorder)
        assert recorder.closed.wait(10)
        assert_same(path, chance.shuffle)
        lines = path.read_bytes().splitlines(keepends=True)
        for place in damage:
            if len(lines) > 2:
                del lines[1 + int(place * (len(lines) - 2))]
        path.write_bytes(b"".join(lines))
        assert_same(path, chance.shuffle)


@given(plan=plans(), meddling=meddlings(), cuts=st.lists(st.floats(0, 1), min_size=1, max_size=4))
@thorough
def test_a_growing_file_shows_at_any_moment_what_its_whole_lines_say(
    plan: Plan, meddling: Meddling, cuts: list[float]
) -> None:
    """spec/faults.md j1: cut at any byte, a torn last line waits for its rest."""
    with tempfile.TemporaryDirectory() as folder:
        path, growing = Path(folder) / "run.jsonl", Path(folder) / "growing.jsonl"
        recorder = ClosingRecorder(path)
        anyio.run(play, plan, meddling, recorder)
        assert recorder.closed.wait(10)
        data = path.read_bytes()
        header = data.index(b"\n") + 1
        growing.write_bytes(data[:header])
        # nobody holds its lock, so somebody has to seem to
        with (
            patch.object(large_module, "owner_of", return_value="somebody"),
            LargeTimeline(growing, follow=True) as large,
        ):
            for cut in [*sorted(cuts), 1.0]:
                growing.write_bytes(data[: header + int((len(data) - header) * cut)])
                large.advance()
                whole = Timeline(read_recording(growing).events)
                assert figures(large) == figures(whole)
                assert [words(row) for row in large.rows] == [words(row) for row in whole.rows]


def test_edited_answers_and_results_are_the_same(tmp_path: Path) -> None:
    """Calls that an edited answer adds, drops and leaves; data of a tool that looks like an error; results changed late."""
    book = Playbook().start().ask(e.ROOT, "one", "two", "three")
    calls = [ToolCall("x", "one", {}), ToolCall("y", "other", {})]
    book.say(e.ROOT, e.AnswerEdited(Message.assistant("edited", calls), "person"))
    book.run("root/1.1", "bad", is_error=True)
    book.say(e.ROOT, e.ToolStarted("root/1.2"), e.ToolReturned("root/1.2", "fine", json={"is_error": True}))
    book.ask(e.ROOT, "one")
    more = [*calls, ToolCall("z", "late", {})]
    book.say(e.ROOT, e.AnswerEdited(Message.assistant("more", more), "fork"), e.ResultEdited("root/1.2", "n", "person"))
    book.start("root/2.3#1").ask("root/2.3#1").finish("root/2.3#1").run("root/2.1").run("root/2.3").finish()
    path = tmp_path / "run.jsonl"
    record(path, book.events)
    assert_same(path, list.reverse)


@given(
    times=st.lists(st.sampled_from(["0", "-0.0", "1e-7", "3.25e2", "1e15", "-1e15", "1E3", "12"]), min_size=1),
    spaces=st.lists(st.booleans(), min_size=1),
    backwards=st.booleans(),
    ending=st.sampled_from([b"\n", b"\r\n", b"\n \n"]),
)
@thorough
def test_lines_that_are_written_otherwise_say_the_same(
    times: list[str], spaces: list[bool], backwards: bool, ending: bytes
) -> None:
    """Numbers in other forms, blanks, keys in another order, other ends of lines, letters as escapes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        write_large(path, 300)
        header, *lines = path.read_bytes().splitlines()
        written = []
        for place, line in enumerate(lines):
            data = json.loads(line)
            data = {**data, "t": "the time"} if not backwards else dict(reversed({**data, "t": "the time"}.items()))
            apart = (", ", ": ") if spaces[place % len(spaces)] else (",", ":")
            text = json.dumps(data, separators=apart).replace('"the time"', times[place % len(times)])
            written.append(text.replace('"root', '"\\u0072oot').encode())
        path.write_bytes(ending.join([header, *written, b""]))
        assert_same(path, list.reverse)


def test_every_type_of_event_has_its_step() -> None:
    """A type that is added to the log has to be added here: its rows would be missing from large recordings."""
    assert STEPS.keys() == e.FACT_CLASSES.keys()
