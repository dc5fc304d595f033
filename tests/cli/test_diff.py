"""`loopkit diff`: where two runs part."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.cli import main
from tests.cli.agents import failure_of, json_of, record


def forked() -> tuple[Path, Path]:
    """A recording, and its fork in which a call was denied."""
    parent, child = record("run.jsonl", "--approve", "all"), Path("fork.jsonl")
    words = ["fork", str(parent), "--at", "1.1", "--deny", "not there", "--agent", "agent.py:agent", "-o", str(child)]
    assert main(words) == 0
    return parent, child


def test_a_fork_and_its_parent_part_at_the_decision(capsys: pytest.CaptureFixture[str]) -> None:
    parent, child = forked()
    capsys.readouterr()
    assert main(["diff", str(parent), str(child)]) == 1
    out = capsys.readouterr().out
    assert "B is a fork of A: the first 6 events are A's" in out
    assert "they part at root (looker), iteration 1: decision on call 1" in out
    data = json_of(["diff", str(parent), str(child), "--json"], capsys, code=1)
    assert data["fork_seq"] == 6
    assert data["parted_at"]["what"] == "decision on call 1"


def test_the_same_run_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(record())
    capsys.readouterr()
    assert main(["diff", path, path]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "the same"


def test_a_file_that_cannot_be_used_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(record())
    assert "gone.jsonl" in failure_of(["diff", path, "gone.jsonl"], capsys)


def test_the_list_shows_a_fork_behind_its_parent(capsys: pytest.CaptureFixture[str]) -> None:
    forked()
    record("z.jsonl")
    capsys.readouterr()
    assert main(["ls", "."]) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split("  ")[1].strip() for row in rows] == ["z.jsonl", "run.jsonl", "└ fork.jsonl"]
    assert "⑂ at 6" in rows[-1]
