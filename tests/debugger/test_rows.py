"""Display rows: safe words on one line for every kind of row, whatever a model, a tool or a file says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from loopkit import events as e
from loopkit.debugger.display import visible
from loopkit.debugger.nodes import CallStatus, LoopNode, RowKind
from loopkit.debugger.rows import MARKS, reason_text, row_text, seconds_text, tokens_text
from loopkit.debugger.status import waits_for
from loopkit.debugger.timeline import Timeline
from loopkit.messages import Message, Refusal, ToolCall, Usage
from loopkit.outcomes import (
    Cancelled,
    Complete,
    LoopDetected,
    MaxIterations,
    Modify,
    StopCondition,
    TerminationReason,
    Timeout,
    UnknownTool,
)
from tests.debugger.playbook import Playbook, outline, texts_of

HOSTILE = "\x1b]52;c;aGk=\x07\n\r\t\x9b2J\u202e\u2028\u200b\ud800\U000e0041[/b][red]<img src=x>"

BUSY = e.Failure("ProviderError", "busy", 503)


def hostile_run() -> Playbook:
    """A run in which every text that comes from outside is hostile."""
    failure = e.Failure(HOSTILE, HOSTILE)
    call = ToolCall(HOSTILE, HOSTILE, {HOSTILE: HOSTILE})
    unparsed = ToolCall("c2", HOSTILE, raw_arguments=HOSTILE)
    book = Playbook().say(e.ROOT, e.LoopStarted(HOSTILE, (Message.user(HOSTILE),), model=HOSTILE))
    book.say(e.ROOT, e.IterationStarted(), e.ModelRequested(1, 1, "f"), e.ModelAttemptFailed(1, failure, True))
    reply = Message.assistant(HOSTILE, [call, unparsed, call, call])
    book.say(e.ROOT, e.ModelReplied(reply, model=HOSTILE, raw_stop_reason=HOSTILE))
    book.say(e.ROOT, e.RepetitionDetected("identical batches", HOSTILE, 3, HOSTILE, 1))
    book.say(e.ROOT, e.RepetitionDetected(HOSTILE, HOSTILE, 3, HOSTILE, 1), e.ToolStarted("root/1.1"))
    book.say("root/1.1#1", e.LoopStarted(HOSTILE, (), parent_call="root/1.1"), e.LoopFailed(failure, 0, Usage()))
    book.say(e.ROOT, e.ToolFailed("root/1.1", failure, HOSTILE), e.ToolSkipped("root/1.2", HOSTILE, HOSTILE))
    book.say(e.ROOT, e.Decided("root/1.3", 1, Modify({HOSTILE: HOSTILE}), HOSTILE), e.ToolStarted("root/1.3"))
    book.say(
        e.ROOT, e.ToolAbandoned("root/1.3", HOSTILE, HOSTILE), e.MessagesInjected((Message.user(HOSTILE),), HOSTILE)
    )
    book.say(e.ROOT, e.HistoryEdited(0, 1, (), HOSTILE), e.Reopened(HOSTILE), e.StopCommanded(HOSTILE))
    book.say(e.ROOT, e.CallbackFailed(HOSTILE, failure), e.Unrecognised(HOSTILE, {HOSTILE: HOSTILE}))
    book.say(e.ROOT, e.ToolReturned("nowhere", HOSTILE), e.IterationStarted(), e.ModelInterrupted(HOSTILE, None))
    book.say(e.ROOT, e.IterationStarted(), e.ModelReplied(Message("assistant", (Refusal(HOSTILE),))))
    return book.say(e.ROOT, e.RunStopped(HOSTILE, HOSTILE), e.LoopFinished(Cancelled(HOSTILE), 3, Usage()))


def test_hostile_text_is_safe_in_every_row() -> None:
    """No escape, no second line, no hidden character, whatever the row (spec/faults.md e1, e2, e6)."""
    timeline = hostile_run().timeline
    assert {row.kind for row in timeline.rows} == set(RowKind)
    for text in texts_of(map(row_text, timeline.rows)):
        assert text == visible(text)
        assert not {"\n", "\t"} & set(text)
        text.encode()
        assert len(text) < 3000


REASONS: list[TerminationReason] = [
    Complete(),
    StopCondition(HOSTILE),
    MaxIterations(3),
    LoopDetected(HOSTILE, 3),
    Timeout(2.5),
    UnknownTool(HOSTILE),
    Cancelled(HOSTILE),
    Cancelled(),
]


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: type(reason).__name__)
def test_every_reason_is_safe_words(reason: TerminationReason) -> None:
    words = reason_text(reason)
    assert words
    assert words == visible(words)
    assert "\n" not in words


def test_every_status_has_a_mark_of_one_cell() -> None:
    """A call's state is seen without colour."""
    assert set(MARKS) == set(CallStatus)
    assert all(len(mark) == 1 for mark, _ in MARKS.values())


def test_an_edited_call_shows_what_ran() -> None:
    book = Playbook().start().ask(e.ROOT, "t")
    book.decide("root/1.1", Modify({"n": 7})).run("root/1.1")
    row = row_text(book.timeline.rows[-1])
    assert (row.mark, row.label, row.detail, row.state, row.tone) == ("✎", "t", "n=7", "edited", "person")


def test_a_sub_agents_line_says_how_it_stands_and_what_it_cost() -> None:
    book = Playbook().start().ask(e.ROOT, "d").start("root/1.1#1", "helper").ask("root/1.1#1", text="x")
    line = row_text(next(row for row in book.timeline.rows if row.kind is RowKind.AGENT))
    assert (line.level, line.label, line.state, line.right) == (0, "helper", "running", "1 it 15 tok")
    line = row_text(next(row for row in book.finish("root/1.1#1").timeline.rows if row.kind is RowKind.AGENT))
    assert line.state == "complete"


def test_an_answer_of_calls_only_says_what_it_asks_for() -> None:
    book = Playbook().start().ask(e.ROOT, "run_tests", "read_file", "run_tests")
    row = next(row for row in book.timeline.rows if row.kind is RowKind.ITERATION)
    assert row_text(row).detail == "asks for run_tests 2×, read_file"


def test_nothing_runs_or_waits_in_a_recording_that_ends_before_its_run() -> None:
    """Foreign sessions may end in a call without a result (formats.md §0.6)."""
    book = Playbook().start().ask(e.ROOT, "d").start("root/1.1#1", "helper").ask("root/1.1#1", "t", "t")
    book.decide("root/1.1#1/1.1").run("root/1.1#1/1.1")
    timeline = book.timeline
    timeline.close()
    words = {row.kind: row_text(row) for row in timeline.rows}
    assert words[RowKind.AGENT].state == "unfinished"
    assert [row_text(row).state for row in timeline.rows if row.kind is RowKind.CALL] == [
        "unanswered",
        "",
        "unanswered",
    ]
    assert not timeline.waiting
    assert not timeline.ended


def test_an_answer_that_never_came_is_named() -> None:
    book = Playbook().start().say(e.ROOT, e.IterationStarted(), e.ModelRequested(1, 1, "f"))
    assert row_text(book.timeline.rows[-1]).state == "answering"
    book.say(e.ROOT, e.RunStopped("person"), e.ModelInterrupted("stopped", Message.assistant("half")))
    row = row_text(book.timeline.rows[1])
    assert (row.state, row.detail, row.tone) == ("interrupted: stopped", "half", "bad")


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (e.ModelAttemptFailed(1, BUSY), "attempt 1 failed: busy"),
        (e.ModelAttemptFailed(1, BUSY, retry=True), "attempt 1 failed, asked again: busy"),
        (e.ModelAttemptFailed(2, BUSY, retry=True, delay=1.26), "attempt 2 failed, asked again after 1.3 s: busy"),
        (e.ModelAttemptFailed(3, BUSY, retry=True, fallback=True), "attempt 3 failed, the next model is asked: busy"),
    ],
)
def test_a_failed_attempt_says_what_follows(fact: e.ModelAttemptFailed, words: str) -> None:
    """spec/loop.md 8.3, 9.2"""
    book = Playbook().say(e.ROOT, e.LoopStarted("a", ()), e.IterationStarted(), e.ModelRequested(1, 1, "f"), fact)
    assert row_text(book.timeline.rows[-1]).detail == words


def test_the_time_of_an_answer_begins_with_its_first_attempt() -> None:
    """spec/loop.md 9.2: what failed before it and the waits are part of what it took; the status counts them down."""
    book = Playbook().say(e.ROOT, e.LoopStarted("a", ()), e.IterationStarted())
    book.say(e.ROOT, e.ModelRequested(1, 1, "f"), t=1.0)
    book.say(e.ROOT, e.ModelAttemptFailed(1, BUSY, retry=True, delay=4.0), e.ModelRequested(2, 1, "f"), t=2.0)
    assert waits_for(book.timeline, 2.0) == "the model (a), attempt 2 in 4 s"
    assert waits_for(book.timeline, 4.7) == "the model (a), attempt 2 in 2 s"
    assert waits_for(book.timeline, 6.0) == "the model (a), attempt 2"
    book.say(e.ROOT, e.ModelReplied(Message.assistant("done")), t=8.0)
    assert book.timeline.root is not None
    assert book.timeline.root.iterations[0].seconds == 7.0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0.0, ""),
        (-3.0, ""),
        (0.0124, "12 ms"),
        (2.14, "2.1 s"),
        (185.0, "3:05"),
        (3661.0, "1:01:01"),
    ],
)
def test_durations_are_short(seconds: float | None, words: str) -> None:
    assert seconds_text(seconds) == words


def test_tokens_nobody_reported_are_not_zero() -> None:
    """Unknown is unknown, not nothing (spec/faults.md h6)."""
    assert tokens_text(None) == tokens_text(Usage(unreported=1)) == "? tok"
    assert tokens_text(Usage()) == "0 tok"
    assert tokens_text(Usage(1200, 34)) == "1.2k tok"
    assert tokens_text(Usage(2_000_000, 0)) == "2.0M tok"


def test_a_timeline_reads_as_a_story() -> None:
    book = Playbook().start(task="Tidy up.").ask(e.ROOT, "look", text="I will look.").decide("root/1.1")
    timeline = book.run("root/1.1").ask(text="Done.").finish().timeline
    assert outline(timeline) == [
        "» task Tidy up.",
        "▪ model I will look.",
        "✓ look n=1",
        "▪ model Done.",
        "■ end complete",
    ]
    assert isinstance(timeline.root, LoopNode)
    assert replace(row_text(timeline.rows[-1]), right="") == replace(row_text(Timeline(book.events).rows[-1]), right="")
