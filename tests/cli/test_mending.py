"""`loopkit replay --accept`, `--re-record` and `--doctor`: what can be done about a run that went another way."""

from __future__ import annotations

import builtins
from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.recording.reader import read_recording
from loopkit.testing import assert_replays
from tests.cli.agents import AGENT, failure_of, record, write_agent


@pytest.fixture
def changed() -> list[str]:
    """Words that replay a recorded run with a changed agent."""
    record("run.jsonl", "--approve", "all")
    return ["replay", "run.jsonl", "--agent", write_agent(AGENT.replace("Be brief.", "Be verbose."), "changed.py")]


def test_todays_run_is_accepted_as_a_new_recording(changed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("run.jsonl").read_bytes()
    capsys.readouterr()
    assert main([*changed, "--accept"]) == 0
    assert capsys.readouterr().out == "run-accepted.jsonl\n"
    assert main([*changed, "--accept"]) == 0
    assert capsys.readouterr().out == "run-accepted-2.jsonl\n"
    assert main(["replay", "run-accepted.jsonl", *changed[2:]]) == 0
    assert Path("run.jsonl").read_bytes() == before
    assert read_recording("run-accepted.jsonl").header.parent == read_recording("run.jsonl").header.run


def test_one_step_is_recorded_anew(changed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.txt").unlink()
    capsys.readouterr()
    assert main([*changed, "--re-record", "1.2", "-o", "new.jsonl"]) == 0
    assert capsys.readouterr().out == "new.jsonl\n"
    assert Path("b.txt").read_text() == "hi"
    assert main(["replay", "new.jsonl", *changed[2:]]) == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--accept", "--tools", "live"], "leave out --tools"),
        (["--accept", "-o", "run.jsonl"], "run.jsonl"),
        (["--re-record", "7.7"], "no call root/7.7"),
        (["-o", "new.jsonl"], "--accept or --re-record"),
        (["--doctor"], "asks on a terminal"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    words: list[str], told: str, changed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("run.jsonl").read_bytes()
    capsys.readouterr()
    assert told in failure_of([*changed, *words], capsys)
    assert Path("run.jsonl").read_bytes() == before


def test_it_needs_an_agent_and_one_recording(changed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "--agent" in failure_of(["replay", "run.jsonl", "--accept"], capsys)
    assert "one recording at a time" in failure_of([*changed[:2], "other.jsonl", *changed[2:], "--accept"], capsys)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a person types, on a terminal."""
    typed: list[str] = []

    def answer(question: str) -> str:
        if not typed:
            raise EOFError
        return typed.pop(0)

    monkeypatch.setattr("loopkit.cli.mending.somebody_is_there", lambda: True)
    monkeypatch.setattr(builtins, "input", answer)
    return typed


@pytest.mark.parametrize(
    ("typed", "code", "new"),
    [
        (["what?", "a"], 0, "run-accepted.jsonl"),
        (["r", "9.9", "r", "1.1"], 0, "run-re-recorded.jsonl"),
        (["f"], 1, None),
        ([], 1, None),
    ],
)
@pytest.mark.usefixtures("capsys")
def test_the_doctor_asks(typed: list[str], code: int, new: str | None, changed: list[str], answers: list[str]) -> None:
    answers += typed
    assert main([*changed, "--doctor"]) == code
    assert answers == []
    written = {path.name for path in Path().glob("run*.jsonl")} - {"run.jsonl"}
    assert written == ({new} if new else set())


def test_a_failing_test_says_what_can_be_done(changed: list[str]) -> None:
    from loopkit.debugger.targets import load_agent

    with pytest.raises(AssertionError) as failed:
        assert_replays("run.jsonl", load_agent(changed[3]))
    text = str(failed.value)
    assert "1. system prompt: that of looker changed" in text
    assert "    - Be brief.\n    + Be verbose.\n" in text
    assert "`loopkit replay run.jsonl --agent AGENT --accept` keeps today's run as a new recording" in text


def test_a_failure_text_is_safe_to_print() -> None:
    """spec/faults.md e6: a prompt may hold terminal escapes."""
    record("run.jsonl", "--approve", "all", agent=AGENT.replace("Be brief.", "Be \\x1b[2J brief."))
    from loopkit.debugger.targets import load_agent

    with pytest.raises(AssertionError) as failed:
        assert_replays("run.jsonl", load_agent(write_agent(AGENT, "changed.py")))
    assert "\x1b" not in str(failed.value)
