"""Each line carries the sum of its bytes: a changed one is named with its line, whatever it changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.debugger.recorded import open_recording
from loopkit.errors import RecordingError
from loopkit.recording.check import Finding, check_recording
from loopkit.recording.reader import CHANGED, read_recording, require_sound
from loopkit.recording.sealing import opened, sealed
from tests.recording.story import HEADER_LINE, line_of, small_run

LINES = [HEADER_LINE, *map(line_of, small_run())]


@given(st.binary(min_size=1))
def test_a_sealed_line_gives_its_content_back(content: bytes) -> None:
    line = b"{" + content.replace(b"\n", b" ").replace(b"\r", b" ") + b"}\n"
    assert opened(sealed(line)) == (line[:-1], True)
    assert opened(sealed(line)[:-1] + b"\r\n") == (line[:-1], True)
    assert opened(b"\xef\xbb\xbf" + sealed(line)) == (b"\xef\xbb\xbf" + line[:-1], True)


@pytest.mark.parametrize("line", [b"", b"}", b"\n", b'{"a":1}\n', b'{"a": 1, "crc": "00000000"}\n'])
def test_a_line_without_a_sum_is_believed(line: bytes) -> None:
    assert opened(line) == (line, True)


def test_a_line_changed_by_hand_is_named_and_read(tmp_path: Path) -> None:
    """spec/faults.md j4: never passed over in silence, and no obstacle to a replay, which says what it changes."""
    path = tmp_path / "run.jsonl"
    lines = list(LINES)
    lines[8] = lines[8].replace("Grüße".encode(), "Grüsse".encode())
    path.write_bytes(b"".join(lines))
    recording = read_recording(path)
    require_sound(recording)
    assert (recording.changed, recording.damage) == ((9,), ())
    assert [event.seq for event in recording.events] == list(range(1, 13))
    assert check_recording(path) == [Finding(9, CHANGED)]
    assert open_recording(path).notices == [f"line 9 {CHANGED}"]


def test_a_line_that_another_program_added_is_no_finding(tmp_path: Path) -> None:
    """spec/faults.md j17"""
    path = tmp_path / "run.jsonl"
    path.write_bytes(
        b"".join(LINES) + b'{"seq":13,"t":1.3,"loop":"root","iteration":2,"type":"x/custom","note":"hi"}\n'
    )
    assert check_recording(path) == []


def test_a_changed_header_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(LINES[0].replace(b"run-1", b"run-2") + b"".join(LINES[1:]))
    assert read_recording(path).changed == (1,)
    assert check_recording(path) == [Finding(1, CHANGED)]


def test_any_flipped_bit_is_reported_and_every_other_event_is_read(tmp_path: Path) -> None:
    """spec/faults.md j4: one bit of every byte; `python -m tests.fuzz` tries all of them."""
    path = tmp_path / "run.jsonl"
    content = b"".join(LINES)
    events = small_run()
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << (place * 5 % 8)
        path.write_bytes(flipped)
        try:
            recording = read_recording(path)
        except RecordingError:
            assert place < len(LINES[0])
            continue
        assert recording.damage or recording.changed or recording.torn, place
        # a line end that was hit takes the next line with it
        assert sum(event in recording.events for event in events) >= len(events) - 2, place
