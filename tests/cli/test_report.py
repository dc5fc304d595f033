"""`loopkit show`: one JSON object, or plain aligned lines (DESIGN §6)."""

from __future__ import annotations

import json

import pytest

from loopkit.debugger.report import (
    event_data,
    event_line,
    heading,
    iteration_report,
    reason_name,
    run_report,
    text_report,
    totals_text,
    width,
)
from loopkit.debugger.timeline import Timeline
from loopkit.debugger.totals import totals
from loopkit.events import Event, LoopStarted, Unrecognised
from loopkit.messages import Message
from loopkit.outcomes import MaxIterations, StopCondition
from tests.cli.stories import CHILD, story_events, story_timeline


def test_the_object_has_run_totals_and_iterations() -> None:
    data = run_report(story_timeline(), run_id="r1")
    assert list(data) == ["run", "totals", "iterations"]
    assert data["run"] == {
        "id": "r1",
        "agent": "main",
        "model": "m-1",
        "source_format": "loopkit",
        "outcome": "complete",
        "outcome_text": "complete",
    }
    assert data["totals"] == {
        "iterations": 3,
        "tool_calls": 3,
        "depth": 1,
        "runs": 1,
        "warnings": 1,
        "errors": 1,
        "denied": 1,
        "edited": 1,
        "input_tokens": 207,
        "output_tokens": 43,
        "cost": None,
        "seconds": pytest.approx(2.4),
    }


def test_a_foreign_session_counts_its_root_agent_only() -> None:
    counted = totals(story_timeline(), "claude-code")
    assert (counted.iterations, counted.tool_calls, counted.runs, counted.depth) == (2, 3, 1, 1)
    text = totals_text(story_timeline(), "claude-code")
    assert text.startswith("2 iterations, 3 calls (root agent only), 1 sub-agent")


def test_iterations_hold_their_calls_and_calls_their_sub_agents() -> None:
    first, second = run_report(story_timeline())["iterations"]
    assert [call["name"] for call in first["calls"]] == ["read_file", "delete_file", "ask_helper"]
    assert [call["decision"] for call in first["calls"]] == ["edited", "denied", "approved"]
    assert first["calls"][0]["edited_arguments"] == {"path": "c.txt"}
    assert first["calls"][1]["result"] == "keep it"
    (child,) = first["calls"][2]["runs"]
    assert (child["path"], child["agent"], child["outcome"]) == (CHILD, "helper", "complete")
    assert child["iterations"][0]["text"] == "Because."
    assert second["calls"] == []


def test_the_object_is_plain_json() -> None:
    data = run_report(story_timeline())
    assert json.loads(json.dumps(data)) == data


def test_what_is_unknown_is_null() -> None:
    """An unfinished run without any answer."""
    started = LoopStarted("main", (Message.user("go"),))
    data = run_report(Timeline([Event(1, 0.0, "root", 0, started)]), source_format="openai-chat")
    assert data["run"]["outcome"] == "unfinished"
    assert data["run"]["model"] is None
    assert data["totals"]["seconds"] is None
    assert data["totals"]["cost"] is None


def test_an_empty_timeline_has_a_report() -> None:
    data = run_report(Timeline())
    assert data["run"]["agent"] is None
    assert data["iterations"] == []
    assert list(text_report(Timeline())) == []
    assert heading(Timeline()).startswith("empty run")


def test_text_lines_are_one_per_row_and_aligned() -> None:
    timeline = story_timeline()
    lines = list(text_report(timeline))
    assert len(lines) == len(timeline.rows)
    calls = [line for line in lines if "_file" in line and "loop" not in line]
    assert len({line.index("path=") for line in calls}) == 1
    assert any("[denied]" in line for line in lines)


def test_a_sub_agents_lines_are_indented_under_its_call() -> None:
    lines = list(text_report(story_timeline()))
    start = next(number for number, line in enumerate(lines) if "ask_helper" in line)
    assert "helper" in lines[start + 1]
    assert lines[start + 2].index("»") > lines[0].index("»")


def test_nothing_hostile_reaches_the_text() -> None:
    """spec/faults.md e6: terminal escapes are shown, not sent."""
    timeline = story_timeline()
    text = "\n".join(
        [
            heading(timeline),
            *text_report(timeline),
            totals_text(timeline),
            *iteration_report(timeline.loops["root"].iterations[0]),
            *(event_line(event) for event in story_events()),
        ]
    )
    assert "\x1b" not in text
    assert "␛[2J" in text


def test_the_totals_line_names_only_what_there_is() -> None:
    assert totals_text(story_timeline()) == (
        "3 iterations, 3 calls (whole tree), 1 sub-agent, 1 warning, 1 error, 1 denied, 1 edited, 250 tok, 2.4 s"
    )


def test_one_iteration_in_full_shows_decisions_results_and_edits() -> None:
    text = "\n".join(iteration_report(story_timeline().loops["root"].iterations[0]))
    for expected in ("request: 2 messages", "edited by person", '"path": "c.txt"', "denied by person", "OSError: gone"):
        assert expected in text
    assert f"sub-agent {CHILD} (helper): complete" in text


def test_an_event_keeps_its_own_fields_beside_the_envelope() -> None:
    data = event_data(story_events()[8])
    assert data["type"] == "Decided"
    assert data["decision"] == {"type": "Modify", "arguments": {"path": "c.txt"}}
    assert (data["seq"], data["loop"], data["iteration"]) == (9, "root", 1)


def test_an_unrecognised_event_is_shown_raw() -> None:
    event = Event(1, 0.0, "root", 0, Unrecognised("FutureThing", {"level": 9}))
    assert event_data(event)["type"] == "FutureThing"
    assert event_data(event)["level"] == 9
    assert "FutureThing" in event_line(event)


@pytest.mark.parametrize(("text", "cells"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("", 0)])
def test_width_counts_terminal_cells(text: str, cells: int) -> None:
    assert width(text) == cells


def test_reasons_have_machine_names() -> None:
    assert reason_name(MaxIterations(3)) == "max_iterations"
    assert reason_name(StopCondition()) == "stop_condition"
