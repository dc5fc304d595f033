"""What people see of a call on its way, in rows, reports and details."""

from __future__ import annotations

import pytest

from loopkit import events as e
from loopkit.debugger.nodes import RowKind
from loopkit.debugger.report import iteration_data, iteration_report
from loopkit.debugger.rows import call_state, progress_text, row_text
from tests.debugger.playbook import Playbook


@pytest.mark.parametrize(
    ("done", "total", "words"),
    [
        (None, None, "reading"),
        (3, None, "3 · reading"),
        (3, 10, "3/10 · 30 % · reading"),
        (0, 10, "0/10 · 0 % · reading"),
        (0.25, 1, "25 % · reading"),
        (2.5, 4, "2.50/4 · 62 % · reading"),
        (1_200_000, 4_000_000, "1,200,000/4,000,000 · 30 % · reading"),
        (3, 0, "3 · reading"),
        (-3, -1, "-3 · reading"),
        (1e300, 1e-300, "1e+300/0.00 · inf % · reading"),
        (None, 10, "reading"),
    ],
)
def test_amounts_have_words(done: float | None, total: float | None, words: str) -> None:
    assert progress_text(e.ToolProgressed("root/1.1", "reading", done, total)) == words


def running(*facts: e.Fact) -> Playbook:
    return Playbook().start().ask(e.ROOT, "copy").decide("root/1.1").say(e.ROOT, e.ToolStarted("root/1.1"), *facts)


def test_a_running_call_says_its_newest_report_in_its_row() -> None:
    first = e.ToolProgressed("root/1.1", "a.txt", 1, 2)
    newest = e.ToolProgressed("root/1.1", "b\x1b[2J\n.txt", 2, 2, left_out=7)
    call = running(first, newest).timeline.calls["root/1.1"]
    assert call_state(call) == "running: 2/2 · 100 % · b␛[2J .txt"
    assert call.progress == [first, newest]


def test_what_shows_a_call_in_full_shows_its_reports() -> None:
    book = running(e.ToolProgressed("root/1.1", "a.txt", 1, 2)).say(e.ROOT, e.ToolReturned("root/1.1", "ok"))
    call = book.timeline.calls["root/1.1"]
    assert call_state(call) == ""
    assert "  progress: 1/2 · 50 % · a.txt" in list(iteration_report(call.iteration))
    (data,) = iteration_data(call.iteration)["calls"]
    assert data["progress"] == [{"text": "a.txt", "done": 1, "total": 2, "left_out": 0}]


def test_failed_attempts_are_notes_and_stand_in_what_shows_the_call() -> None:
    failed = e.ToolAttemptFailed("root/1.1", 1, e.Failure("OSError", "gone\x1b[2J"), 0.5)
    timeline = running(failed).say(e.ROOT, e.ToolReturned("root/1.1", "ok")).timeline
    (note,) = [row_text(row) for row in timeline.rows if row.kind is RowKind.NOTE]
    assert note.detail == "1.1 attempt 1 failed, run again after 0.5 s: OSError: gone␛[2J"
    call = timeline.calls["root/1.1"]
    assert timeline.errors == 0
    assert "  attempt 1 failed, run again after 0.5 s: OSError: gone␛[2J" in list(iteration_report(call.iteration))
    assert iteration_data(call.iteration)["calls"][0]["failed_attempts"] == 1
