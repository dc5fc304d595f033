"""What each event of a run says to a condition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopkit import events as e
from loopkit.debugger.condition_text import read_condition
from loopkit.debugger.fields import FIELDS
from loopkit.debugger.moments import Moments
from loopkit.debugger.recorded import open_recording
from loopkit.messages import Message, ToolCall, Usage
from loopkit.outcomes import Approve, Complete, Deny, Modify
from tests.debugger.playbook import Playbook


def matching(events: Any, condition: str) -> list[tuple[int, str]]:
    """Numbers and types of the events that a condition holds for."""
    read, moments = read_condition(condition), Moments()
    return [(event.seq, event.type) for event in events if read.holds(moments.take(event))]


def story() -> Playbook:
    book = Playbook()
    book.start(task="Mend the flaky test")
    call = ToolCall("c", "run_tests", {"rounds": 5, "paths": ["tests/a.py"], "deep": {"er": None}})
    book.say(e.ROOT, e.IterationStarted(), e.ModelRequested(1, 1, "f"))
    book.say(e.ROOT, e.ModelReplied(Message.assistant("Let me see", [call, call, call]), Usage(30, 12)))
    book.say(e.ROOT, e.RepetitionDetected("identical batches", "run_tests", 3, "warn", 1))
    book.decide("root/1.1", Modify({"rounds": 1}))
    book.decide("root/1.2", Deny("not twice"), by="policy: once")
    book.decide("root/1.3", Approve(), by="policy: rest")
    book.say(e.ROOT, e.ToolStarted("root/1.1"))
    book.start("root/1.1#1", agent="fixer", task="help")
    book.ask("root/1.1#1", text="Done", usage=None)
    book.finish("root/1.1#1")
    book.say(e.ROOT, e.ToolReturned("root/1.1", "1 failed: flaky", is_error=True))
    book.say(e.ROOT, e.ToolSkipped("root/1.2", "denied", "not twice"))
    book.say(e.ROOT, e.ToolStarted("root/1.3"))
    book.say(e.ROOT, e.ToolFailed("root/1.3", e.Failure("OSError", "no disk"), "It failed"))
    book.say(
        e.ROOT, e.IterationStarted(), e.ModelRequested(1, 5, "f"), e.ModelReplied(Message.assistant("Ok"), Usage(1, 2))
    )
    return book.say(e.ROOT, e.LoopFinished(Complete(), 2, Usage()))


NUMBERS = {event.seq: event.type for event in story().events}


@pytest.mark.parametrize(
    ("condition", "numbers"),
    [
        ('kind == "IterationStarted"', [2, 14, 22]),
        ("event >= 25", [25]),
        ("time > 24", [25]),
        ('tool == "run_tests" and kind ~ /^Tool/', [12, 18, 19, 20, 21]),
        ("args.rounds > 3 and kind == 'DecisionRequested'", [6, 8, 10]),
        ("args.rounds == 1", [7, 12, 18]),
        ("args.paths.0 ~ /a[.]py/ and decision", [9, 11, 19, 20, 21]),
        ("args.deep.er == null and kind == 'ToolFailed'", [21]),
        ("args.deep.nothing == null", []),
        ('decision == "denied"', [9, 19]),
        ('by ~ /^policy/ and kind == "Decided"', [9, 11]),
        ("/flaky/", [1, 18]),
        ('text ~ "rounds"', [6, 8, 10]),
        ('"let ME"', [4]),
        ("iteration == 2 and depth == 0", [22, 23, 24, 25]),
        ("depth >= 1", [13, 14, 15, 16, 17]),
        ('agent == "fixer" and loop == "root/1.1#1" and iteration == 1', [14, 15, 16, 17]),
        ("error", [18, 21]),
        ('error == "OSError: no disk"', [21]),
        ("warning", [5]),
        ('warning == "identical batches"', [5]),
        ("duration == 1", [4, 7, 9, 11, 16, 21, 24]),
        ("duration > 1", [17, 18, 25]),
        ("tokens.own > 40", [4]),
        ("tokens >= 45", [24, 25]),
        ("cost", []),
    ],
)
def test_what_a_field_says(condition: str, numbers: list[int]) -> None:
    assert [number for number, _ in matching(story().events, condition)] == numbers, NUMBERS


def test_the_first_of_a_calls_events_tells_of_its_arguments() -> None:
    """A session of another tool tells of no decisions; the arguments come with the start then."""
    book = Playbook().start().ask(e.ROOT, "grep").run("root/1.1")
    assert matching(book.events, 'text ~ "n"') == [(5, "ToolStarted")]


def test_what_a_run_cost_is_known_where_prices_are() -> None:
    pytest.importorskip("genai_prices")
    book = Playbook().start()
    for _ in range(3):
        reply = e.ModelReplied(Message.assistant("x"), Usage(1000, 1000), model="gpt-4o")
        book.say(e.ROOT, e.IterationStarted(), e.ModelRequested(1, 1, "f"), reply)
    assert [number for number, _ in matching(book.events, "cost.own > 0")] == [4, 7, 10]
    assert [number for number, _ in matching(book.events, "cost > 0.02")] == [7, 8, 9, 10]


def test_every_field_is_found_in_the_recordings_of_the_repository() -> None:
    folder = Path(__file__).parents[3] / "recordings"
    runs = [open_recording(path).events for path in sorted(folder.glob("*.jsonl"))]
    found = {name for name in FIELDS if any(matching(run, name) for run in runs)}
    assert found >= set(FIELDS) - {"cost.own", "cost.total"}


def test_what_is_kept_does_not_grow_with_the_run() -> None:
    moments = Moments(costs=False)
    book = Playbook().start()
    for number in range(1, 40):
        book.ask(e.ROOT, "grep", "grep").run(f"root/{number}.1").run(f"root/{number}.2")
    for event in book.events:
        moments.take(event)
        assert sum(len(loop.calls) for loop in moments._loops.values()) <= 2
    assert moments._unpriced == []
