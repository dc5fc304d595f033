"""Figures over many recordings; each run's are those that its timeline shows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings

from loopkit import events as e
from loopkit.debugger.fleet import Fleet
from loopkit.debugger.library import recordings_in
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.report import outcome_name
from loopkit.debugger.totals import totals
from loopkit.errors import UserError
from loopkit.messages import Message, ToolCall, Usage
from loopkit.outcomes import Approve, Complete, Deny, Timeout
from loopkit.recording.header import Header
from loopkit.recording.writer import Recorder
from tests.drivers.random_agents import plans
from tests.drivers.random_runs import meddlings, play

RECORDINGS = Path(__file__).resolve().parents[2] / "recordings"
COUNTS = ("iterations", "calls", "sub_agents", "warnings", "errors", "denied", "edited")


def row_of(file: Path, columns: str) -> dict[str, Any]:
    [row] = Fleet([file]).query(f"SELECT {columns} FROM runs").data()
    return row


def counted_by_timeline(file: Path) -> dict[str, Any]:
    timeline = open_recording(file).timeline
    figures = totals(timeline)
    names = {"calls": figures.tool_calls, "sub_agents": figures.runs}
    return {
        "outcome": outcome_name(timeline.root),
        **{name: names.get(name, getattr(figures, name, None)) for name in COUNTS},
    }


@pytest.mark.parametrize("file", sorted(RECORDINGS.glob("*.jsonl")), ids=lambda file: file.stem)
def test_a_run_counts_as_its_timeline_counts_it(file: Path) -> None:
    row = row_of(file, "*")
    assert {name: row[name] for name in ("outcome", *COUNTS)} == counted_by_timeline(file)
    timeline = open_recording(file).timeline
    assert (row["input_tokens"], row["output_tokens"]) == (timeline.usage.input_tokens, timeline.usage.output_tokens)


@pytest.mark.timeout(300)
@given(plan=plans(), meddling=meddlings())
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_run_counts_as_its_timeline_counts_it(
    tmp_path_factory: pytest.TempPathFactory, plan: Any, meddling: Any
) -> None:
    file = tmp_path_factory.mktemp("any") / "run.jsonl"

    async def record() -> None:
        await play(plan, meddling, Recorder(file))

    anyio.run(record)
    row = row_of(file, "*")
    assert {name: row[name] for name in ("outcome", *COUNTS)} == counted_by_timeline(file)
    assert row["model_seconds"] + row["tool_seconds"] + row["person_seconds"] <= row["seconds"] + 1e-6


def write(file: Path, *timed: tuple[float, str, e.Fact]) -> Path:
    """Write events at chosen times."""
    with Recorder(file) as recorder:
        recorder.start(Header(run="r", created="2026-11-30T00:00:00+00:00"))
        for seq, (t, loop, fact) in enumerate(timed, 1):
            recorder.append(e.Event(seq, t, loop, 1, fact))
    return file


def asking(*calls: ToolCall) -> e.ModelReplied:
    return e.ModelReplied(Message.assistant(tool_calls=calls), Usage(10, 2), verdicts=(e.CallVerdict(),) * len(calls))


def test_every_moment_counts_once_for_what_worked_then(tmp_path: Path) -> None:
    """4.5 of spec/loop.md: a person is waited for only while nothing works; a sub-agent's call is no work of its own."""
    request = e.ModelRequested(1, 1, "f")
    call = ToolCall("a", "look", {})
    file = write(
        tmp_path / "run.jsonl",
        (0.0, "root", e.LoopStarted("agent", (Message.user("go"),))),
        (1.0, "root", request),
        (5.0, "root", asking(call, ToolCall("b", "delegate", {}))),
        (5.0, "root", e.DecisionRequested("root/1.1", 1, "look")),
        (7.0, "root", e.Decided("root/1.1", 1, Approve(), "person")),
        (7.0, "root", e.ToolStarted("root/1.1")),
        (7.0, "root", e.ToolStarted("root/1.2")),
        (8.0, "root/1.2#1", e.LoopStarted("child", (Message.user("help"),), parent_call="root/1.2")),
        (9.0, "root/1.2#1", request),
        (12.0, "root", e.ToolReturned("root/1.1", "seen")),
        (13.0, "root/1.2#1", e.ModelReplied(Message.assistant("helped"), Usage(1, 1))),
        (13.5, "root/1.2#1", e.LoopFinished(Complete(), 1, Usage(1, 1))),
        (14.0, "root", e.ToolReturned("root/1.2", "helped")),
        (14.0, "root", e.Paused("result", "person")),
        (20.0, "root", e.Resumed("result", "person")),
        (20.0, "root", e.LoopFinished(Complete(), 1, Usage(10, 2))),
    )
    row = row_of(file, "seconds, model_seconds, tool_seconds, person_seconds")
    assert row == {"seconds": 20.0, "model_seconds": 4.0 + 4.0, "tool_seconds": 2.0, "person_seconds": 2.0 + 6.0}
    assert Fleet([file]).stats().totals["other_seconds"] == pytest.approx(2.0)


def test_a_refusal_counts_once_the_model_is_told(tmp_path: Path) -> None:
    """A run that ends before the rest of the batch is decided denied nothing: what the timeline says too."""
    calls = [ToolCall(name, "look", {}) for name in "ab"]
    batch = [
        (0.0, "root", e.LoopStarted("agent", (Message.user("go"),))),
        (0.0, "root", e.IterationStarted()),
        (1.0, "root", e.ModelRequested(1, 1, "f")),
        (2.0, "root", asking(*calls)),
        *((2.0, "root", e.DecisionRequested(f"root/1.{place}", 1, "look")) for place in (1, 2)),
        (3.0, "root", e.Decided("root/1.1", 1, Deny("not that"), "person")),
    ]
    ended = write(tmp_path / "ended.jsonl", *batch, (4.0, "root", e.LoopFinished(Timeout(1.0), 1, Usage(10, 2))))
    told = write(tmp_path / "told.jsonl", *batch, (4.0, "root", e.ToolSkipped("root/1.1", "denied", "not that")))
    for file, denied in ((ended, 0), (told, 1)):
        assert row_of(file, "denied")["denied"] == counted_by_timeline(file)["denied"] == denied
        [tool] = Fleet([file]).stats().tools.data()
        assert tool["denied"] == denied


def test_costs_stay_unknown_where_a_price_is(tmp_path: Path) -> None:
    pytest.importorskip("genai_prices")
    usage, known, unknown = Usage(1_000, 100), "gpt-4o", "no-such-model"
    for number, model in enumerate((known, unknown, known)):
        write(
            tmp_path / f"{number}.jsonl",
            (0.0, "root", e.LoopStarted("agent", (Message.user("go"),), model=model)),
            (0.1, "root", e.ModelRequested(1, 1, "f")),
            (0.2, "root", e.ModelReplied(Message.assistant("hi"), usage)),
        )
    stats = Fleet(recordings_in([tmp_path])).stats()
    assert stats.totals["cost"] is None
    assert stats.totals["unpriced_answers"] == 1
    prices = {row["model"]: row["cost"] for row in stats.models.data()}
    assert prices[unknown] is None
    assert prices[known] == pytest.approx(stats.totals["known_cost"])
    assert prices[known] == pytest.approx(2 * open_and_price(tmp_path / "0.jsonl"))


def open_and_price(file: Path) -> float:
    cost = totals(open_recording(file).timeline).cost
    assert cost is not None
    return cost


def test_damaged_lines_and_strange_names_hide_nothing(tmp_path: Path) -> None:
    """j4, j5: a torn end or a broken line costs that line only; a path is a path, never a pattern."""
    whole = (RECORDINGS / "plain-success.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    (tmp_path / "[a]*?.jsonl").write_bytes(whole)
    (tmp_path / "a.jsonl").write_bytes(b"".join([*lines[:4], b'{"broken\xff\n', *lines[4:-1], lines[-1][:20]]))
    (tmp_path / "notes.jsonl").write_text('{"just": "notes"}\n')
    (tmp_path / "empty.jsonl").write_text("")
    runs = Fleet(recordings_in([tmp_path])).query("SELECT file, calls, events FROM runs ORDER BY file").data()
    whole_events = len(lines) - 1
    assert [(Path(row["file"]).name, row["calls"], row["events"]) for row in runs] == [
        ("[a]*?.jsonl", 8, whole_events),
        ("a.jsonl", 8, whole_events - 1),
    ]


def test_places_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"just": "notes"}\n')
    with pytest.raises(UserError, match="no such file or folder"):
        recordings_in([tmp_path / "nowhere"])
    with pytest.raises(UserError, match="not a recording"):
        recordings_in([tmp_path / "notes.jsonl"])


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UserError, match=r"pip install 'loopkit\[fleet\]'"):
        Fleet([])
