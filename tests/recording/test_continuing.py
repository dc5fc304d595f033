"""A writer that dies leaves a whole file, a second one is refused, and a later one goes on where the file ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from loopkit.errors import RecordingDamaged, RecordingError, RecordingInUse, RecordingNewer
from loopkit.events import Event, ToolReturned
from loopkit.recording.header import Header
from loopkit.recording.lock import owner_record
from loopkit.recording.reader import read_recording, require_sound
from loopkit.recording.writer import Recorder
from tests.recording.story import HEADER, HEADER_LINE, line_of, record, small_run

WHOLE = b"".join([HEADER_LINE, *map(line_of, small_run())])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def _unfinished(path: Path) -> bytes:
    record(path, small_run()[:8])
    return path.read_bytes()


_WRITER = """
import sys
from loopkit.events import Event, ToolReturned
from loopkit.recording.header import Header
from loopkit.recording.writer import Recorder

recorder = Recorder(sys.argv[1])
recorder.start(Header(run="run-1", created="2026-01-02T03:04:05+00:00"))
seq = 0
while True:
    seq += 1
    recorder.append(Event(seq, 0.0, "root", 1, ToolReturned("c", "你好" * 5000)))
    if seq == 20:
        sys.stdout.write("going\\n")
        sys.stdout.flush()
        if sys.argv[2] == "then wait":
            sys.stdin.read()
"""


def _start_writer(path: Path, mode: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", _WRITER, str(path), mode]
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"going\n"
    return writer


def test_a_killed_writer_leaves_a_readable_file_that_can_be_taken_up(path: Path) -> None:
    """spec/faults.md j1, j4, j9."""
    with _start_writer(path, "then go on") as writer:
        writer.send_signal(signal.SIGKILL)
    recording = read_recording(path)
    require_sound(recording)
    assert len(recording.events) >= 20
    assert recording.in_use is None
    with Recorder.continue_from(path) as recorder:
        recorder.append(Event(len(recording.events) + 1, 0.0, "root", 1, ToolReturned("c", "after")))
    require_sound(read_recording(path))


def test_a_second_writer_is_refused_and_told_who_writes(path: Path) -> None:
    """spec/faults.md j9: from another process; reading goes on meanwhile."""
    with _start_writer(path, "then wait") as writer:
        try:
            for take in (
                lambda: Recorder.continue_from(path),
                lambda: Recorder(path, if_exists="replace").start(HEADER),
            ):
                with pytest.raises(RecordingInUse, match=f"is being written by process {writer.pid} on "):
                    take()
            recording = read_recording(path)
            assert len(recording.events) >= 20
            assert (recording.torn, recording.damage) == (None, ())
            assert recording.in_use is not None
            assert recording.in_use.pid == writer.pid
        finally:
            writer.kill()


@pytest.mark.parametrize("cut", range(1, len(line_of(small_run()[7])) + 1))
def test_what_is_appended_after_a_torn_tail_stands_on_its_own_line(path: Path, cut: int) -> None:
    """spec/faults.md j1: cut at every byte of the last event, those inside a UTF-8 character among them."""
    content = _unfinished(path)
    path.write_bytes(content[:-cut])
    with Recorder.continue_from(path) as recorder:
        lost = cut > 1
        assert recorder.last_seq == 8 - lost
        torn = lost and cut < len(line_of(small_run()[7]))
        assert (recorder.notice is not None) is torn
        for event in small_run()[8 - lost :]:
            recorder.append(event)
    assert path.read_bytes() == WHOLE


def test_a_cut_tail_is_told(path: Path) -> None:
    """spec/faults.md j4."""
    _unfinished(path)
    with path.open("ab") as file:
        file.write(b'{"seq":9,"t":"tor')
    with Recorder.continue_from(path) as recorder:
        assert recorder.notice == f"{path}: its last line was never finished; 17 bytes of it were cut"


def test_what_can_not_be_relied_on_is_not_continued(path: Path) -> None:
    before = _unfinished(path)
    cases: list[tuple[bytes, type[RecordingError], str]] = [
        (WHOLE, RecordingError, "is finished and never changed; fork it instead"),
        (before.replace(b'{"seq":3', b'{"sq":3'), RecordingDamaged, "line 4 is damaged"),
        (before.replace(b'"format":1', b'"format":2'), RecordingNewer, "format 2"),
        (b"notes", RecordingError, "is not a loopkit recording"),
    ]
    for content, error, says in cases:
        path.write_bytes(content)
        with pytest.raises(error, match=says):
            Recorder.continue_from(path)
        assert path.read_bytes() == content
        assert not owner_record(path).exists()
    path.unlink()
    with pytest.raises(RecordingError, match="there is no such file"):
        Recorder.continue_from(path)
    assert not path.exists()


def test_a_fork_names_its_parent_and_holds_the_prefix_byte_for_byte(path: Path, tmp_path: Path) -> None:
    record(path, small_run())
    parent = read_recording(path)
    header = Header(run="run-2", created="2026-01-02T04:00:00+00:00", parent=parent.header.run, fork_seq=5)
    with Recorder(tmp_path / "fork.jsonl") as recorder:
        recorder.start(header)
        for event in parent.events[:5]:
            recorder.append(event)
    assert (tmp_path / "fork.jsonl").read_bytes().splitlines()[1:] == path.read_bytes().splitlines()[1:6]
    assert read_recording(tmp_path / "fork.jsonl").header == header
