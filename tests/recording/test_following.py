"""What is appended to a recording comes as whole events; anything else that happens to the file is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.errors import RecordingError
from loopkit.recording.following import Follower
from loopkit.recording.reader import Damage
from tests.recording.story import record, small_run


def test_a_torn_line_waits_for_its_rest_at_every_byte(tmp_path: Path) -> None:
    """spec/faults.md j1: also inside a UTF-8 character"""
    path, growing = tmp_path / "run.jsonl", tmp_path / "growing.jsonl"
    record(path, small_run())
    data = path.read_bytes()
    header = data.index(b"\n") + 1
    growing.write_bytes(data[:header])
    follower = Follower(growing)
    found = []
    for end in range(header, len(data) + 1):
        with growing.open("ab") as file:
            file.write(data[end - 1 : end] if end > header else b"")
        found += follower.take()
        assert len(found) == data[:end].count(b"\n") - 1
    follower.close()
    assert found == small_run()


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, small_run()[:2])
    with path.open("ab") as file:
        file.write(b"{half\n")
    follower = Follower(path)
    assert next(item for item in follower.take() if isinstance(item, Damage)).line == 4
    follower.close()


def test_another_file_or_a_shorter_one_in_its_place_is_said(tmp_path: Path) -> None:
    path, other = tmp_path / "run.jsonl", tmp_path / "other.jsonl"
    record(path, small_run())
    record(other, small_run())
    follower, second = Follower(path), Follower(other)
    second.take()
    other.write_bytes(other.read_bytes()[:300])
    with pytest.raises(RecordingError, match="replaced or cut"):
        second.take()
    other.replace(path)
    with pytest.raises(RecordingError, match="replaced or cut"):
        follower.take()
    path.unlink()
    with pytest.raises(RecordingError, match="can't be followed"):
        follower.take()
    follower.close()
    second.close()
