"""`loopkit stats`: figures over many recordings."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from loopkit.cli import main
from tests.cli.agents import failure_of

RECORDINGS = str(Path(__file__).resolve().parents[2] / "recordings")


def test_it_says_how_runs_went_and_where_the_time_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", f"{RECORDINGS}/denied-call.jsonl", f"{RECORDINGS}/stuck-loop.jsonl"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 runs: 1 complete, 1 loop_detected"
    assert lines[1] == "8 iterations, 7 calls, 1 warning, 2 errors, 1 denied"
    assert lines[2] == "647 tokens in, 182 out, cost unknown"
    assert "waiting for a person 4.0 s (59%)" in lines[3]
    assert any(line.split()[:3] == ["run_build", "3", "2"] for line in lines)
    assert any(line.split() == ["identical", "batches", "run_build", "1", "1"] for line in lines)


def test_machines_get_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", RECORDINGS, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data) == {"totals", "outcomes", "models", "tools", "warnings"}
    assert data["totals"]["runs"] == len(list(Path(RECORDINGS).glob("*.jsonl")))


def test_the_tables_answer_any_question(capsys: pytest.CaptureFixture[str]) -> None:
    question = "SELECT tool FROM calls WHERE decision = 'Deny'"
    assert main(["stats", f"{RECORDINGS}/denied-call.jsonl", "--sql", question]) == 0
    assert capsys.readouterr().out.split() == ["tool", "delete_backup"]
    assert main(["stats", f"{RECORDINGS}/denied-call.jsonl", "--sql", question, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"tool": "delete_backup"}]


def test_what_tools_are_called_cannot_act_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """spec/faults.md e: recorded words are made safe where they are printed."""
    assert main(["stats", f"{RECORDINGS}/denied-call.jsonl", "--sql", "SELECT chr(27) || '[2J' AS x"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_mistake_in_the_query_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert failure_of(["stats", RECORDINGS, "--sql", "SELEC"], capsys).startswith("the query can't be run: ")


@pytest.mark.parametrize("query", ["", "  ", "-- nothing"])
def test_an_empty_query_is_one_line(query: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "the query is empty" in failure_of(["stats", RECORDINGS, "--sql", query], capsys)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_pipe_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    assert "not a recording" in failure_of(["stats", str(pipe)], capsys)
    assert "no recordings" in failure_of(["stats", str(tmp_path)], capsys)


def test_an_empty_folder_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "loopkit run AGENT --task TEXT" in failure_of(["stats", str(tmp_path)], capsys)
