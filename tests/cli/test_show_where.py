"""`loopkit show --where`: only what a condition holds for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.debugger import recorded
from tests.bench.large_file import write_large
from tests.cli.agents import failure_of

RECORDINGS = Path(__file__).parents[2] / "recordings"
SUB_AGENTS = str(RECORDINGS / "sub-agents.jsonl")


def shown(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> list[str]:
    capsys.readouterr()
    assert main(["show", *words]) == code
    return capsys.readouterr().out.splitlines()


def test_only_rows_that_show_a_match_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = shown(capsys, SUB_AGENTS, "--where", 'depth >= 1 and tool == "read_file"')
    assert [row.split()[:2] for row in rows] == [["✓", "read_file"]] * 2
    (iteration,) = shown(capsys, SUB_AGENTS, "--where", 'kind == "ModelReplied" and iteration == 3 and depth == 0')
    assert "article.txt is corrected" in iteration
    (outcome,) = shown(capsys, SUB_AGENTS, "--where", "kind == 'LoopFinished' and loop == 'root'")
    assert "complete" in outcome


def test_events_are_printed_one_a_line_as_text_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--where", 'by == "person" and kind == "Decided" and depth == 0']
    lines = shown(capsys, SUB_AGENTS, *where, "--events")
    objects = [json.loads(line) for line in shown(capsys, SUB_AGENTS, *where, "--json")]
    assert [int(line.split()[0]) for line in lines] == [data["seq"] for data in objects] == [7, 8, 60]


def test_nothing_found_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--events"], ["--json"], ["--follow"]):
        assert shown(capsys, SUB_AGENTS, "--where", '"no such words"', *words, code=1) == []


def test_a_large_recording_is_filtered_in_the_same_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_large(tmp_path / "run.jsonl", 400)
    large = str(tmp_path / "run.jsonl")
    for words in (["tool and depth > 0"], ["error or warning"], ["iteration == 40", "--events"]):
        monkeypatch.setattr(recorded, "LARGE_BYTES", 10**9)
        whole = shown(capsys, large, "--where", *words)
        monkeypatch.setattr(recorded, "LARGE_BYTES", 1000)
        assert shown(capsys, large, "--where", *words) == whole != []


def test_a_session_of_another_tool_is_filtered_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"word": "lamp"}'}}
    history = [
        {"role": "user", "content": "find it"},
        {"role": "assistant", "content": "I look", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a lamp"},
        {"role": "assistant", "content": "There."},
    ]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(history))
    (row,) = shown(capsys, str(path), "--where", "args.word ~ /^lamp$/")
    assert "grep" in row
    kinds = [json.loads(line)["type"] for line in shown(capsys, str(path), "--where", "/lamp/", "--json")]
    assert kinds == ["ToolStarted", "ToolReturned"]


def test_what_does_not_go_together_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--where goes with" in failure_of(["show", SUB_AGENTS, "--where", "error", "--at", "3"], capsys)
