"""`loopkit replay` over folders: in several processes, with a summary and JUnit's XML."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from loopkit.cli import main
from tests.cli.agents import AGENT, failure_of, json_of, record, write_agent

DIES = AGENT.replace(
    '    return f"{path} says hello"',
    '    import os\n    os._exit(3) if path == "die" else None\n    return f"{path} says hello"',
)


def folder_of_runs() -> Path:
    """Two recordings of the same run, one of them in a subfolder, and a note."""
    run = record()
    folder = Path("runs")
    (folder / "old").mkdir(parents=True)
    shutil.copy(run, folder / "a.jsonl")
    shutil.copy(run, folder / "old" / "b.jsonl")
    (folder / "notes.txt").write_text("not a run")
    return folder


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_folder_is_replayed_whole(workers: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of_runs()
    capsys.readouterr()
    assert main(["replay", str(folder), "--agent", "agent.py:agent", "-n", workers]) == 0
    assert capsys.readouterr().out == "2 recordings: 2 same\n"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_each_outcome_stands_in_the_reports(workers: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A divergence is a failure, a file that can't be used an error, also for a machine that reads JUnit's XML."""
    folder = folder_of_runs()
    text = (folder / "old" / "b.jsonl").read_text()
    (folder / "old" / "b.jsonl").write_text(text.replace("Be brief.", "Be \\u001b[2J brief."))
    capsys.readouterr()
    places = [str(folder), "gone.jsonl"]
    words = ["replay", *places, "--agent", "agent.py:agent", "-n", workers, "--junit", "out.xml"]
    outcomes = json_of([*words, "--json"], capsys, code=2)
    assert [(Path(one["file"]).name, one["same"]) for one in outcomes] == [
        ("a.jsonl", True),
        ("b.jsonl", False),
        ("gone.jsonl", None),
    ]
    suite = Xml.parse("out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    cases = {case.get("name"): case for case in suite}
    assert list(cases["a.jsonl"]) == []
    assert "first difference at event 1" in (cases["b.jsonl"].findtext("failure") or "")
    assert "gone.jsonl" in (cases["gone.jsonl"].find("error").get("message") or "")  # type: ignore[union-attr]  # a missing one fails the test


def test_only_what_differs_is_told_of_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of_runs()
    spec = write_agent(AGENT.replace("Be brief.", "Be verbose."), "changed.py")
    capsys.readouterr()
    assert main(["replay", str(folder), "--agent", spec, "-n", "2"]) == 1
    out = capsys.readouterr().out
    assert out.count("diverged (") == 2
    assert out.endswith("2 recordings: 0 same, 2 diverged\n")


def test_an_agent_that_ends_its_process_is_blamed_for_its_own_file_only(capsys: pytest.CaptureFixture[str]) -> None:
    """One bad file costs that file only (the kind of spec/faults.md j5)."""
    folder = folder_of_runs()
    record("runs/die.jsonl", agent=AGENT.replace('{"path": "a.txt"}', '{"path": "die"}'))
    spec = write_agent(DIES, "dies.py")
    capsys.readouterr()
    outcomes = json_of(["replay", str(folder), "--agent", spec, "--tools", "live", "-n", "2", "--json"], capsys, code=2)
    by_name = {Path(one["file"]).name: one for one in outcomes}
    assert by_name["a.jsonl"]["same"] is True
    assert by_name["b.jsonl"]["same"] is True
    assert "ended by itself" in by_name["die.jsonl"]["error"]


def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert "no recordings in this folder" in failure_of(["replay", "empty"], capsys)
    with pytest.raises(SystemExit):
        main(["replay", "empty", "-n", "0"])
    assert "no number of processes" in capsys.readouterr().err


def test_a_damaged_recording_is_an_error_of_its_own_in_another_process_too(capsys: pytest.CaptureFixture[str]) -> None:
    """j4, j5: its line is named, and the others are replayed."""
    folder = folder_of_runs()
    lines = (folder / "a.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "damaged.jsonl").write_bytes(b"".join([*lines[:3], b"{broken\n", *lines[4:]]))
    outcomes = json_of(["replay", str(folder), "-n", "2", "--json"], capsys, code=2)
    assert [one["same"] for one in outcomes] == [True, None, True]
    assert "line 4" in outcomes[1]["error"]
