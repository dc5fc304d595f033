"""Older formats open as if written today, in memory only; what can't be upgraded is named with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopkit.debugger.recorded import open_recording
from loopkit.drivers.replay import replay
from loopkit.errors import RecordingError
from loopkit.events import LoopStarted
from loopkit.recording import upgrades
from loopkit.recording.check import Finding, check_recording
from loopkit.recording.header import FORMAT, Header, read_header
from loopkit.recording.reader import read_recording, require_sound
from loopkit.recording.upgrades import Upgrade, upgrade_from
from loopkit.recording.writer import Recorder

SAMPLES = sorted((Path(__file__).parent / "formats").glob("format-*.jsonl"))


def test_each_format_has_a_sample_and_each_older_one_its_step() -> None:
    assert sorted(upgrades.STEPS) == list(range(1, FORMAT))
    assert [path.stem for path in SAMPLES] == [f"format-{number}" for number in range(1, FORMAT + 1)]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_recording_of_any_format_opens_checks_and_replays(path: Path) -> None:
    """A sample is as the first loopkit of its format wrote it, and is never made again."""
    recording = read_recording(path)
    require_sound(recording)
    assert f"format-{recording.header.format}" == path.stem
    assert check_recording(path) == []
    assert replay(path).same
    with open_recording(path) as run:
        assert run.timeline.root is not None


@pytest.fixture
def renamed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A recording from before `agent` was called `name`, before that `who`, and `created` was `at`."""

    def header(data: dict[str, Any]) -> dict[str, Any]:
        at = data.pop("at")
        return {**data, "created": at}

    def named(data: dict[str, Any]) -> dict[str, Any]:
        name = data.pop("who")
        return {**data, "name": name}

    def called_agent(data: dict[str, Any]) -> dict[str, Any]:
        name = data.pop("name")
        return {**data, "agent": name}

    monkeypatch.setattr(upgrades, "STEPS", {1: Upgrade(header, named), 2: Upgrade(event=called_agent)})
    path = tmp_path / "run.jsonl"
    path.write_bytes(
        b'{"loopkit":"0.0.1","format":1,"run":"r","at":"2026"}\n'
        b'{"seq":1,"t":0,"loop":"root","iteration":0,"type":"LoopStarted","who":"me","messages":[]}\n'
    )
    return path


def test_steps_are_taken_one_after_the_other(renamed: Path) -> None:
    recording = read_recording(renamed)
    assert recording.header == Header(loopkit="0.0.1", format=1, run="r", created="2026")
    assert recording.events[0].fact == LoopStarted("me", ())
    assert not recording.damage


def test_an_older_recording_is_not_added_to(renamed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopkit.recording.writer.FORMAT", 3)
    before = renamed.read_bytes()
    with pytest.raises(RecordingError, match="in the older format 1, and this loopkit writes format 3"):
        Recorder.continue_from(renamed)
    assert renamed.read_bytes() == before


def test_a_line_that_is_not_what_its_format_says_is_damage(renamed: Path) -> None:
    assert check_recording(renamed)[1:] == []
    renamed.write_bytes(renamed.read_bytes().replace(b'"who"', b'"whom"'))
    assert check_recording(renamed)[1:] == [Finding(2, "not what its older format says (KeyError: 'who')")]


def test_what_needs_no_change_is_not_changed() -> None:
    assert upgrade_from(FORMAT) is None
    assert upgrade_from(FORMAT + 1) is None
    assert read_header(b'{"loopkit":"0.1","format":1,"run":"r","created":"c"}').format == 1
