"""`loopkit resume`: a process that was killed at any event, and what comes after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.debugger.recorded import open_recording
from tests.cli.agents import AGENT, failure_of, json_of, record, write_agent

KILLED = """\
import os, signal, sys
from pathlib import Path
from agent import agent
from loopkit import Recorder

class Mortal(Recorder):
    def flush(self):
        super().flush()
        if self.last_seq >= int(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGKILL)

agent.run_sync("go", recorder=Mortal("run.jsonl"))
"""


def cut(events: int) -> None:
    """Leave what a process would that was killed behind an event."""
    lines = Path("run.jsonl").read_bytes().splitlines(keepends=True)
    Path("run.jsonl").write_bytes(b"".join(lines[: events + 1]))


def test_a_killed_process_is_gone_on_with_from_every_event(capsys: pytest.CaptureFixture[str]) -> None:
    """It really is killed, with its lock in its hand; the answer is that of a run that nobody killed."""
    write_agent(AGENT.replace("@tool\ndef write", '@tool(side_effect="idempotent")\ndef write'))
    Path("killed.py").write_text(KILLED)
    whole = json_of(
        ["run", "agent.py:agent", "--task", "go", "--record", "whole.jsonl", "--approve", "all", "--json"], capsys
    )
    events = len(open_recording("whole.jsonl").events)
    for number in range(1, events, 3):
        Path("run.jsonl").unlink(missing_ok=True)
        died = subprocess.run(
            [sys.executable, "killed.py", str(number)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
        )
        assert died.returncode == -signal.SIGKILL
        outcome = json_of(["resume", "run.jsonl", "--agent", "agent.py:agent", "--approve", "all", "--json"], capsys)
        assert outcome["answer"] == whole["answer"], number
        assert main(["replay", "run.jsonl", "--agent", "agent.py:agent"]) == 0
        assert main(["check", "run.jsonl"]) == 0


def test_a_call_that_had_started_runs_again_only_when_named(capsys: pytest.CaptureFixture[str]) -> None:
    record("run.jsonl", "--approve", "all")
    started = next(
        event.seq
        for event in open_recording("run.jsonl").events
        if event.type == "ToolStarted" and event.fact.call == "root/1.2"  # type: ignore[attr-defined]  # the type says which fact it is
    )
    saved = Path("run.jsonl").read_bytes()
    words = ["resume", "run.jsonl", "--agent", "agent.py:agent", "--approve", "all", "--json"]
    cut(started)
    assert "unknown whether it took effect" in json_of(words, capsys)["answer"]
    Path("run.jsonl").write_bytes(saved)
    cut(started)
    assert "2 characters" in json_of([*words, "--run-again", "root/1.2"], capsys)["answer"]


def test_what_the_policy_refuses_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    record("run.jsonl", "--approve", "all")
    cut(2)
    capsys.readouterr()
    assert main(["resume", "run.jsonl", "--agent", "agent.py:agent"]) == 0
    assert "not run: write" in capsys.readouterr().err


def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    record("run.jsonl", "--approve", "all")
    assert "is finished" in failure_of(["resume", "run.jsonl", "--agent", "agent.py:agent"], capsys)
    cut(4)
    words = ["resume", "run.jsonl", "--agent", "agent.py:agent", "--run-again", "root/7.1"]
    assert "was not running" in failure_of(words, capsys)
    assert "gone.jsonl" in failure_of(["resume", "gone.jsonl", "--agent", "agent.py:agent"], capsys)
