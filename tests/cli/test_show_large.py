"""`loopkit show` on recordings that are not loaded: the same words, found, picked out and followed."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.debugger import recorded
from loopkit.recording.writer import Recorder
from tests.bench.large_file import write_large
from tests.cli.agents import failure_of
from tests.recording.story import HEADER, record, small_run


@pytest.fixture
def large(tmp_path: Path) -> str:
    write_large(tmp_path / "run.jsonl", 800)
    return str(tmp_path / "run.jsonl")


@pytest.mark.parametrize(
    "words",
    [[], ["--iteration", "40"], ["--iteration", "3", "--loop", "root/40.1#1"], ["--events"], ["--iteration", "999"]],
)
def test_a_large_recording_is_shown_in_the_same_words(
    large: str, words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = main(["show", large, *words]), capsys.readouterr()
    monkeypatch.setattr(recorded, "LARGE_BYTES", 1000)
    assert (main(["show", large, *words]), capsys.readouterr()) == whole


def test_search_prints_where_words_stand(large: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", large, "--search", "ITEM 77"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert "ToolReturned.content: " in line
    assert line.endswith("item 77")
    seq = line.split()[0]
    assert main(["show", large, "--at", seq]) == 0
    assert json.loads(capsys.readouterr().out)["content"].endswith("item 77")
    assert main(["show", large, "--search", "ITEM 77", "--case"]) == 1
    assert main(["show", large, "--search", r"item 7[78]$", "--regex", "--json"]) == 0
    assert [json.loads(line)["found"] for line in capsys.readouterr().out.splitlines()] == ["item 77", "item 78"]


def test_what_is_not_there_is_one_line(large: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no event 99999" in failure_of(["show", large, "--at", "99999"], capsys)
    assert "can't be understood" in failure_of(["show", large, "--search", "(", "--regex"], capsys)
    assert "there is no such file" in failure_of(["show", "nowhere.jsonl", "--search", "x"], capsys)


def test_following_prints_what_comes_until_the_run_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """issue: tail a growing file"""
    path, events = tmp_path / "run.jsonl", small_run()
    recorder = Recorder(path)
    recorder.start(HEADER)
    recorder.append(events[0])

    def go_on() -> None:
        for event in events[1:]:
            recorder.append(event)
        recorder.close()

    writer = threading.Timer(0.05, go_on)
    writer.start()
    assert main(["show", str(path), "--follow"]) == 0
    writer.join()
    assert len(capsys.readouterr().out.splitlines()) == len(events)


def test_following_an_unfinished_run_that_nobody_writes_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    record(path, small_run()[:4])
    assert main(["show", str(path), "--follow", "--json"]) == 0
    assert [json.loads(line)["seq"] for line in capsys.readouterr().out.splitlines()] == [1, 2, 3, 4]
