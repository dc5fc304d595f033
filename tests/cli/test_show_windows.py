"""`loopkit show` on parts of a recording, and on large ones while they are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.cli import show as show_module
from loopkit.debugger import large as large_module
from loopkit.debugger import recorded, rows_as_read
from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.report import toned_report
from tests.bench.large_file import write_large
from tests.cli.agents import failure_of


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A recording that counts as large, and of which opening reads nothing yet."""
    write_large(tmp_path / "run.jsonl", 2000)
    monkeypatch.setenv("LOOPKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(large_module, "_FIRST_SLICE", 0.0)
    monkeypatch.setattr(rows_as_read, "_SLICE_SECONDS", 0.0005)
    monkeypatch.setattr(large_module, "_BETWEEN_LOOKS", 0.0)
    return str(tmp_path / "run.jsonl")


def test_rows_come_while_the_rest_is_not_read_yet_and_say_the_same(large: str) -> None:
    """issue: first rows at once, whatever the file's size."""
    whole = list(toned_report(open_recording(large).timeline))
    with LargeTimeline(Path(large)) as timeline:
        lines = toned_report(timeline)
        first = next(lines)
        assert not timeline.complete
        assert [first, *lines] == whole
        assert timeline.complete


def test_all_of_it_is_printed_in_the_same_words(
    large: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in ([], ["--events", "--json"], ["--iteration", "7", "--json"]):
        monkeypatch.setattr(recorded, "LARGE_BYTES", 1 << 40)
        whole = main(["show", large, *words]), capsys.readouterr()
        monkeypatch.setattr(recorded, "LARGE_BYTES", 1000)
        assert (main(["show", large, *words]), capsys.readouterr()) == whole


@pytest.mark.parametrize(("words", "first", "last"), [(["--from", "1990"], 1990, None), (["--last", "5"], None, 5)])
def test_events_are_shown_from_a_number_on_or_the_last_ones(
    large: str, words: list[str], first: int | None, last: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["show", large, "--events"])
    lines = capsys.readouterr().out.splitlines()
    assert main(["show", large, "--events", *words]) == 0
    expected = lines[first - 1 :] if first is not None else lines[-(last or 0) :]
    assert capsys.readouterr().out.splitlines() == expected
    assert main(["show", large, "--events", "--json", *words]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["seq"] == int(expected[0].split()[0])


def test_an_object_that_would_not_fit_in_memory_is_refused_in_one_line(
    large: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show_module, "_MOST_IN_MEMORY", 1000)
    assert "--events --json" in failure_of(["show", large, "--json"], capsys)
    assert main(["show", large, "--json", "--iteration", "3"]) == 0


def test_a_window_without_events_is_one_line(large: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "go with --events" in failure_of(["show", large, "--last", "3"], capsys)
    assert "from 1 on" in failure_of(["show", large, "--events", "--from", "0"], capsys)
