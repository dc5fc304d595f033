"""`loopkit show` and `ls`: what is in a recording, and which there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.debugger.library import bundled_recordings, list_runs
from loopkit.errors import UserError
from tests.cli.agents import failure_of, json_of, record


def test_the_timeline_is_printed_plain(capsys: pytest.CaptureFixture[str]) -> None:
    path = record()
    capsys.readouterr()
    assert main(["show", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("looker · scripted · loopkit · ")
    assert "task" in lines[1]
    assert lines[-1].startswith("2 iterations, 2 calls, ")
    assert not any("\x1b" in line for line in lines)


def test_the_object_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(["show", str(record()), "--json"], capsys)
    assert data["totals"]["iterations"] == len(data["iterations"]) == 2
    assert data["totals"]["tool_calls"] == 2
    assert data["run"]["id"]


def test_one_iteration_is_printed_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(record())
    capsys.readouterr()
    assert main(["show", path, "--iteration", "1"]) == 0
    assert "a.txt says hello" in capsys.readouterr().out
    assert json_of(["show", path, "--iteration", "2", "--json"], capsys)["calls"] == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--iteration", "3"], "has the iterations 1 to 2"),
        (["--iteration", "1", "--loop", "root/9.9#1"], "there is no loop"),
    ],
)
def test_an_iteration_that_is_not_there_is_one_line(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expected in failure_of(["show", str(record()), *words], capsys)


def test_events_are_printed_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(record())
    events = json_of(["show", path, "--events", "--json"], capsys)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert main(["show", path, "--events"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(events)


@pytest.mark.parametrize("content", [None, b"", b"hello\n", b'{"a": 1}\n', b"\x00\xff" * 40])
def test_a_file_that_cannot_be_shown_is_one_line(content: bytes | None, capsys: pytest.CaptureFixture[str]) -> None:
    if content is not None:
        Path("x.jsonl").write_bytes(content)
    assert "x.jsonl" in failure_of(["show", "x.jsonl"], capsys)


def test_a_folder_cannot_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x").mkdir()
    assert "x" in failure_of(["show", "x"], capsys)


def test_a_torn_recording_is_shown_with_a_notice(capsys: pytest.CaptureFixture[str]) -> None:
    """spec/faults.md j4: the torn tail is cut with a notice, the rest is there."""
    path = record()
    path.write_bytes(path.read_bytes()[:-20])
    capsys.readouterr()
    assert main(["show", str(path)]) == 0
    captured = capsys.readouterr()
    assert "never finished" in captured.err
    assert "look" in captured.out


def test_a_recording_damaged_in_the_middle_is_shown_as_far_as_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    """spec/faults.md j4: middle damage is reported with its line, the rest is viewable."""
    whole = record().read_bytes().splitlines(keepends=True)
    for line in range(1, len(whole)):
        damaged = [*whole]
        damaged[line] = b"garbage\n"
        Path("run.jsonl").write_bytes(b"".join(damaged))
        capsys.readouterr()
        assert main(["show", "run.jsonl"]) == 0
        captured = capsys.readouterr()
        assert f"line {line + 1} is damaged" in captured.err
        assert captured.out


def test_runs_are_listed_newest_first(capsys: pytest.CaptureFixture[str]) -> None:
    record("a.jsonl")
    record("b.jsonl")
    runs = json_of(["ls", ".", "--json"], capsys)
    assert [run["path"] for run in runs] == ["b.jsonl", "a.jsonl"]
    assert {run["agent"] for run in runs} == {"looker"}
    assert (runs[0]["iterations"], runs[0]["calls"], runs[0]["tokens"], runs[0]["cost"]) == (2, 2, 30, None)
    assert runs[0]["outcome"] == "complete"


def test_one_bad_file_never_stops_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    """spec/faults.md j5."""
    record("good.jsonl")
    Path("bad.jsonl").write_bytes(b"\xff\xfe garbage")
    Path("empty.jsonl").touch()
    Path("other.json").write_text('{"name": "package"}')
    Path("notes.md").write_text("# notes")
    runs = {run.path.name: run for run in list_runs(".")}
    assert set(runs) == {"good.jsonl", "bad.jsonl", "empty.jsonl"}
    assert runs["good.jsonl"].damaged is None
    assert runs["bad.jsonl"].damaged
    assert runs["empty.jsonl"].damaged
    capsys.readouterr()
    assert main(["ls", "."]) == 0
    out = capsys.readouterr().out
    assert " ".join(out.split()[:10]) == "when file agent model it calls tok $ outcome notes"
    assert "damaged" in out


def test_a_recording_damaged_in_the_middle_is_listed_as_damaged() -> None:
    """spec/faults.md j5."""
    lines = record("run.jsonl").read_bytes().splitlines(keepends=True)
    lines[4] = b"garbage\n"
    Path("run.jsonl").write_bytes(b"".join(lines))
    (run,) = list_runs(".")
    assert run.damaged is not None
    assert "line 5" in run.damaged


def test_an_empty_folder_says_how_to_fill_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("recordings").mkdir()
    assert main(["ls"]) == 0
    out = capsys.readouterr().out
    assert "no recordings in recordings" in out
    assert "loopkit run AGENT --task TEXT" in out


def test_a_folder_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere" in failure_of(["ls", "nowhere"], capsys)
    with pytest.raises(UserError):
        list_runs("nowhere")


def test_a_recording_comes_with_the_package() -> None:
    assert bundled_recordings()
    assert {run.damaged for run in list_runs(bundled_recordings()[0].parent)} == {None}
