"""`loopkit fork`: every kind of change, and today's agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.debugger.recorded import open_recording
from loopkit.events import AgentChanged, AnswerEdited, Decided, HistoryEdited, MessagesInjected, ResultEdited
from loopkit.outcomes import Deny
from tests.cli.agents import failure_of, record


@pytest.fixture(autouse=True)
def _recorded() -> None:
    record("run.jsonl", "--approve", "all")


def fork(*words: str) -> list[object]:
    """Fork the recording; return what the fork wrote of its own."""
    Path("f.jsonl").unlink(missing_ok=True)
    assert (
        main(["fork", "run.jsonl", *words, "--agent", "agent.py:agent", "-o", "f.jsonl", "--later-calls", "all"]) == 0
    )
    run = open_recording("f.jsonl")
    assert run.header is not None
    assert run.header.fork_seq is not None
    return [event.fact for event in run.events if event.seq > run.header.fork_seq]


@pytest.mark.parametrize(
    ("words", "kind", "told"),
    [
        (["--at", "1.1", "--tool-result", "nothing there"], ResultEdited, "nothing there"),
        (["--at", "root/2", "--message", "1", "go home"], HistoryEdited, "go home"),
        (["--at", "root/2", "--drop-message", "1"], HistoryEdited, None),
        (["--at", "root/2", "--say", "@words.txt"], MessagesInjected, "from a file"),
        (["--at", "root/2", "--answer", "That is all."], AnswerEdited, "That is all."),
        (["--at", "root/1", "--answer", "", "--calls", '[{"name": "look", "arguments": {"path": "z"}}]'],
         AnswerEdited, '"z"'),
        (["--at", "root/2", "--system", "Be loud."], HistoryEdited, "Be loud."),
        (["--at", "root/2", "--set", "max_iterations=7"], AgentChanged, '"max_iterations":7'),
    ],
)  # fmt: skip
def test_each_change_is_an_event_of_the_fork(
    words: list[str], kind: type, told: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("words.txt").write_text("from a file")
    assert sum(isinstance(fact, kind) for fact in fork(*words)) == 1
    assert told is None or told in Path("f.jsonl").read_text()
    assert main(["replay", "f.jsonl"]) == 0
    assert main(["diff", "run.jsonl", "f.jsonl"]) in (0, 1)


def test_without_a_change_it_goes_on_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    fork("--at", "root/2")
    assert main(["diff", "run.jsonl", "f.jsonl"]) == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--message", "first", "x"], "'first' is no place"),
        (["--message", "99", "x"], "messages 0 to"),
        (["--say", "@gone.txt"], "gone.txt"),
        (["--answer", "x", "--calls", "{}"], "JSON list"),
        (["--calls", "[]"], "--calls goes with --answer"),
        (["--say", "x", "--error"], "--error goes with"),
        (["--set", "max_iterations"], "a setting and its value"),
        (["--set", "max_iterations=-1"], "must not be negative"),
        (["--set", "speed=1"], "the configuration has no 'speed'"),
        (["--model", "nobody:x"], "nobody"),
    ],
)
def test_mistakes_are_one_line(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = failure_of(
        ["fork", "run.jsonl", "--at", "root/2", *words, "--agent", "agent.py:agent", "-o", "f.jsonl"], capsys
    )
    assert told in line


def test_which_later_calls_run_says_nothing_about_the_changed_one() -> None:
    decided = [fact for fact in fork("--at", "1.1", "--deny", "not there") if isinstance(fact, Decided)]
    assert decided[0].decision == Deny("not there")
