"""The timeline shows what the model got of a result beside what the tool gave (spec/loop.md 2, last row)."""

from __future__ import annotations

from loopkit import events as e
from loopkit.debugger.nodes import RowKind
from loopkit.debugger.report import iteration_data, iteration_report
from loopkit.debugger.rows import call_state, row_text
from loopkit.debugger.timeline import Timeline
from tests.debugger.playbook import Playbook


def rewritten(*facts: e.Fact) -> Timeline:
    """A call whose result was a long one."""
    book = Playbook().start().ask(e.ROOT, "read").decide("root/1.1").run("root/1.1", "a long one")
    return book.say(e.ROOT, *facts).timeline


def test_the_original_stays_beside_what_the_model_got() -> None:
    """2: the original stays in ToolReturned."""
    timeline = rewritten(
        e.ResultProcessed("root/1.1", "short", "processor"), e.ResultProcessed("root/1.1", None, "extractor")
    )
    call = timeline.calls["root/1.1"]
    assert (call.content, call.given, call_state(call)) == ("a long one", "short", "rewritten")
    assert (iteration_data(call.iteration)["calls"][0]["result"], call.masked_in) == ("a long one", None)
    assert iteration_data(call.iteration)["calls"][0]["model_got"] == "short"
    lines = list(iteration_report(call.iteration))
    assert lines[lines.index("  the model got:") + 1].strip() == "short"


def test_a_result_that_no_callback_changed_is_what_the_model_got() -> None:
    timeline = rewritten(e.ResultProcessed("root/1.1", None, "processor"))
    call = timeline.calls["root/1.1"]
    assert (call.given, call_state(call)) == ("a long one", "")
    assert "  the model got:" not in list(iteration_report(call.iteration))


def test_a_callback_that_raised_is_a_note() -> None:
    """9.1 in spirit: the failure is recorded and seen."""
    failure = e.Failure("KeyError", "no\x1b[2J such key")
    timeline = rewritten(e.ResultProcessed("root/1.1", None, "cacher", failure))
    (note,) = [row_text(row) for row in timeline.rows if row.kind is RowKind.NOTE]
    assert note.detail.startswith("result_cacher raised KeyError: no")
    assert note.detail.endswith("the result goes on as it was")
    assert "\x1b" not in note.detail
    assert note.tone == "bad"


def test_a_masked_result_says_since_when() -> None:
    """2: ResultsMasked is an event that the timeline shows; the original is still there."""
    timeline = rewritten(e.IterationStarted(), e.ResultsMasked(("root/1.1", "root/9.9")), e.ModelRequested(1, 3, "f"))
    call = timeline.calls["root/1.1"]
    assert (call.content, call.masked_in, call_state(call)) == ("a long one", 2, "left out")
    assert "  left out of requests from iteration 2 on" in list(iteration_report(call.iteration))
    (note,) = [row_text(row) for row in timeline.rows if row.kind is RowKind.NOTE]
    assert note.detail == "left out of requests from here on: 2 older results (1.1, 9.9)"
