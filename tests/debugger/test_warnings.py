"""Loop warnings in words, and the calls that they are about (spec/loop.md 6.5)."""

from __future__ import annotations

import pytest

from loopkit import events as e
from loopkit.core.detection import DETECTORS
from loopkit.debugger.evidence import evidence_of
from loopkit.debugger.rows import warning_text
from tests.debugger.playbook import Playbook


def repeated(detector: str, tool: str = "look", calls: tuple[str, ...] = ()) -> e.RepetitionDetected:
    return e.RepetitionDetected(detector, tool, 3, "warn", 2, calls)


def ids(book: Playbook, warning: e.RepetitionDetected, iteration: int) -> list[str]:
    root = book.timeline.root
    assert root is not None
    return [call.id for call in evidence_of(root.iterations[iteration - 1], warning)]


def run_of(iterations: int) -> Playbook:
    book = Playbook().start()
    for _ in range(iterations):
        book.ask(e.ROOT, "look", "write")
    return book


@pytest.mark.parametrize(
    ("detector", "tool", "words"),
    [
        ("identical batches", "look", "look 3×, same arguments, since iteration 2"),
        ("cycle", "look → write", "look → write, round and round 3×, since iteration 2"),
        ("same call same result", "look", "look 3×, same arguments and same result, since iteration 2"),
        ("repeated errors", "look", "look failed 3× in a row, since iteration 2"),
        ("repeated text", "look", "the same words 3×, now with look, since iteration 2"),
        ("unknown tools", "nope", "tools that aren't there 3× in a row, now nope, since iteration 2"),
        ("of a later version", "look", "of a later version: look 3×, since iteration 2"),
    ],
)
def test_each_detector_has_its_words(detector: str, tool: str, words: str) -> None:
    assert warning_text(repeated(detector, tool)) == words


@pytest.mark.parametrize("detector", [*DETECTORS, "{x}{0}"])
def test_names_are_safe_and_no_templates(detector: str) -> None:
    """spec/faults.md e1: a tool's name comes from a model."""
    words = warning_text(repeated(detector, "{count}\x1b[2J\n"))
    assert "{count}␛[2J" in words
    assert "\n" not in words


def test_the_evidence_is_what_the_warning_names() -> None:
    """6.5: also where other calls stand between."""
    book = run_of(5)
    named = ("root/2.1", "root/3.2", "root/4.1")
    assert ids(book, repeated("same call same result", calls=named), 5) == list(named)


def test_a_warning_that_names_no_calls_is_about_all_since_it_began() -> None:
    """Recordings made before warnings named their calls."""
    book = run_of(5)
    assert ids(book, repeated("identical batches"), 4) == [f"root/{at}.{place}" for at in (2, 3, 4) for place in (1, 2)]


def test_calls_that_a_damaged_recording_lost_are_left_out() -> None:
    """spec/faults.md j4"""
    assert ids(run_of(3), repeated("cycle", calls=("root/2.1", "root/2.9", "root/9.1")), 3) == ["root/2.1"]
