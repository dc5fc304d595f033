"""`loopkit detect`: what repeats in recordings."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit import Agent, Recorder, ScriptedProvider, ToolCall, ToolLoopConfig
from loopkit.cli import main
from tests.cli.agents import failure_of, json_of


def stuck(path: str = "stuck.jsonl", times: int = 4) -> str:
    """Record a run that asks for a tool that isn't there again and again."""
    script: list[ToolCall | str] = [ToolCall("c", "no\x1b[2Jpe", {"at": 1})] * times
    Agent(ScriptedProvider([*script, "done"]), config=ToolLoopConfig(max_iterations=20)).run_sync(
        "go", recorder=Recorder(path)
    )
    return path


def test_it_says_what_repeats_and_where(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1: the answer is no; each line names detector, count, start and calls."""
    assert main(["detect", stuck()]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "stuck.jsonl: 3 found"
    assert lines[1:] == [
        "  agent 3: no␛[2Jpe 3×, same arguments, since iteration 1; calls 1.1, 2.1, 3.1",
        "  agent 3: tools that aren't there 3× in a row, now no␛[2Jpe, since iteration 1; calls 1.1, 2.1, 3.1",
        "  agent 4: no␛[2Jpe 3×, same arguments and same result, since iteration 1; calls 1.1, 2.1, 3.1",
    ]


def test_a_run_in_which_nothing_repeats_is_fine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", stuck(times=2)]) == 0
    assert capsys.readouterr().out == "stuck.jsonl: nothing repeats\n"


def test_thresholds_can_be_tuned(capsys: pytest.CaptureFixture[str]) -> None:
    path = stuck(times=8)
    numbers = []
    for threshold in ("2", "4", "9"):
        (data,) = json_of(
            ["detect", path, "--json", "--detectors", "unknown-tools", "--threshold", threshold],
            capsys,
            code=0 if threshold == "9" else 1,
        )
        numbers.append([found["iteration"] for found in data["found"]])
    assert numbers == [[2, 4, 6, 8], [4, 8], []]


def test_tools_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    path = stuck()
    assert main(["detect", path, "--ignore", "no\x1b[2Jpe"]) == 0
    assert main(["detect", path, "--polling", "no\x1b[2Jpe", "--detectors", "identical-batches"]) == 1
    assert "agent 4:" in capsys.readouterr().out


def test_one_file_that_cannot_be_used_does_not_hide_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, one line for it, and the rest is looked at."""
    path = stuck()
    Path("other.txt").write_text("hello")
    broken, fine = json_of(["detect", "other.txt", path, "--json"], capsys, code=2)
    assert broken["found"] is None
    assert "other.txt" in broken["error"]
    assert len(fine["found"]) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--detectors", "circle"], "'circle' is none of"),
        (["--threshold", "1"], "at least 2"),
    ],
)
def test_what_cannot_be_meant_is_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in failure_of(["detect", stuck(), *words], capsys)
