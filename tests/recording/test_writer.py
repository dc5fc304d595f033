"""Each event is in the file as a whole line, or not at all; what is there already is never lost."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit.errors import RecordingError, UserError
from loopkit.events import Event, ModelReplied, ToolReturned, Unrecognised
from loopkit.messages import Message, ToolCall
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


def test_a_recorder_touches_nothing_before_it_starts(tmp_path: Path) -> None:
    Recorder(tmp_path / "a" / "run.jsonl").close()
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_a_header_and_a_line_for_each_event(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "run.jsonl"
    record(path, small_run())
    assert path.read_bytes() == WHOLE
    assert [entry.name for entry in path.parent.iterdir()] == ["run.jsonl"]


def test_an_event_is_on_disk_when_append_returns(path: Path) -> None:
    recorder = Recorder(path)
    recorder.start(HEADER)
    for count, event in enumerate(small_run(), start=1):
        recorder.append(event)
        assert len(read_recording(path).events) == count
        assert recorder.size == path.stat().st_size
        assert recorder.last_seq == count
    recorder.close()
    recorder.close()


def test_each_event_is_one_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """spec/faults.md j10."""
    writes: list[bytes] = []
    write = os.write

    def count(fd: int, data: memoryview) -> int:
        writes.append(bytes(data))
        return write(fd, data)

    monkeypatch.setattr(os, "write", count)
    record(path, small_run())
    assert writes == [HEADER_LINE, *map(line_of, small_run())]


def test_what_is_recorded_is_what_it_was_at_that_time(path: Path) -> None:
    """spec/faults.md d15, d16: the file keeps a copy, and writing changes nothing in the event."""
    arguments = {"items": [1], "odd": "\ud800"}
    event = Event(1, 0.0, "root", 1, ModelReplied(Message.assistant("", [ToolCall("c", "f", arguments)])))
    with Recorder(path) as recorder:
        recorder.start(HEADER)
        recorder.append(event)
        assert arguments == {"items": [1], "odd": "\ud800"}
        arguments["items"] = "changed"
    (read,) = read_recording(path).events
    assert isinstance(read.fact, ModelReplied)
    assert read.fact.message.tool_calls[0].arguments == {"items": [1], "odd": "\ud800"}


# ── what stands at the path already ──────────────────────────────────────────────────────────────────────────────────


def test_a_recording_is_never_overwritten_unasked(path: Path) -> None:
    before = _unfinished(path)
    with pytest.raises(RecordingError, match="already holds a recording; name another file or remove it"):
        Recorder(path).start(HEADER)
    assert path.read_bytes() == before
    assert not owner_record(path).exists()


def test_a_recording_is_replaced_on_request(path: Path) -> None:
    _unfinished(path)
    with Recorder(path, if_exists="replace") as recorder:
        recorder.start(HEADER)
    assert path.read_bytes() == HEADER_LINE


@pytest.mark.parametrize("if_exists", ["fail", "replace"])
def test_what_is_not_a_recording_is_not_overwritten_even_on_request(path: Path, if_exists: str) -> None:
    path.write_text("my notes")
    with pytest.raises(RecordingError, match="holds something that is not a recording"):
        Recorder(path, if_exists=if_exists).start(HEADER)  # type: ignore[arg-type]  # parametrize gives plain text
    assert path.read_text() == "my notes"


def test_an_empty_file_is_free(path: Path) -> None:
    path.touch()
    record(path, small_run())
    assert path.read_bytes() == WHOLE


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.mkdir(), "is a folder"),
        (os.mkfifo, "is not a regular file"),
        (lambda path: path.symlink_to(path), "can't be written"),
    ],
)
def test_a_path_that_can_hold_no_file_is_refused_in_one_line(
    path: Path, make: Callable[[Path], object], says: str
) -> None:
    make(path)
    with pytest.raises(RecordingError, match=says) as caught:
        Recorder(path).start(HEADER)
    assert isinstance(caught.value, UserError)
    assert "\n" not in str(caught.value)


def test_a_folder_that_can_not_be_made_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "run.jsonl", tmp_path / "a\x00b"):
        with pytest.raises(RecordingError, match="can't be written"):
            Recorder(path).start(HEADER)


def test_a_recorder_serves_one_run(path: Path) -> None:
    recorder = Recorder(path)
    with pytest.raises(RecordingError, match="not open"):
        recorder.append(small_run()[0])
    recorder.start(HEADER)
    with pytest.raises(RecordingError, match="started before"):
        recorder.start(HEADER)
    recorder.close()
    with pytest.raises(RecordingError, match="not open"):
        recorder.append(small_run()[0])


# ── order and content ────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_the_next_event_can_be_written(path: Path) -> None:
    """spec/faults.md j9, j18."""
    first, second, third, *_ = small_run()
    with Recorder(path) as recorder:
        recorder.start(HEADER)
        recorder.append(first)
        for wrong in (first, third):
            with pytest.raises(ValueError, match="can't follow event 1"):
                recorder.append(wrong)
        recorder.append(second)
    assert [event.seq for event in read_recording(path).events] == [1, 2]


def test_an_event_that_json_can_not_hold_leaves_no_trace(path: Path) -> None:
    with Recorder(path) as recorder:
        recorder.start(HEADER)
        with pytest.raises(RecordingError, match=r"event 1 \(x\) can't be written: Out of range float"):
            recorder.append(Event(1, 0.0, "root", 0, Unrecognised("x", {"nan": float("nan")})))
        recorder.append(small_run()[0])
    assert list(read_recording(path).events) == small_run()[:1]


def test_threads_may_share_a_recorder(path: Path) -> None:
    """spec/faults.md j10: 300 KB records, each whole."""
    total, workers = 40, 4
    next_one = threading.Lock()
    numbers = iter(range(1, total + 1))
    with Recorder(path) as recorder:
        recorder.start(HEADER)

        def work() -> None:
            while True:
                with next_one:
                    seq = next(numbers, None)
                    if seq is None:
                        return
                    recorder.append(Event(seq, 0.0, "root", 1, ToolReturned("c", "x" * 300_000)))

        threads = [threading.Thread(target=work) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    recording = read_recording(path)
    require_sound(recording)
    assert len(recording.events) == total


def test_staged_events_are_written_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third, *_ = small_run()
    writes: list[bytes] = []
    write = os.write
    with Recorder(path) as recorder:
        recorder.start(HEADER)

        def noted(descriptor: int, data: bytes) -> int:
            writes.append(data)
            return write(descriptor, data)

        monkeypatch.setattr(os, "write", noted)
        recorder.stage(first)
        recorder.stage(second)
        with pytest.raises(ValueError, match="can't follow event 2"):
            recorder.stage(second)
        assert (writes, recorder.last_seq) == ([], 0)
        recorder.flush()
        recorder.flush()
        recorder.append(third)
        assert writes == [line_of(first) + line_of(second), line_of(third)]
        assert recorder.last_seq == 3


# ── a disk that fails ────────────────────────────────────────────────────────────────────────────────────────────────


def test_short_writes_are_completed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data[:7])))
    record(path, small_run())
    assert path.read_bytes() == WHOLE


def _fill_up(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """Let the disk take `room` more bytes."""
    write = os.write
    left = room

    def write_while_room(fd: int, data: memoryview) -> int:
        nonlocal left
        if left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(fd, bytes(data[:left]))
        left -= written
        return written

    monkeypatch.setattr(os, "write", write_while_room)


@pytest.mark.parametrize("room", [0, 1, 40, 103])
def test_a_full_disk_leaves_whole_lines_and_the_event_can_be_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """spec/faults.md j6."""
    *before, late = small_run()[:8]
    with Recorder(path) as recorder:
        recorder.start(HEADER)
        for event in before:
            recorder.append(event)
        size = path.stat().st_size
        with monkeypatch.context() as full:
            _fill_up(full, room)
            with pytest.raises(RecordingError, match="event 8 was not recorded") as caught:
                recorder.append(late)
        assert "No space left on device" in str(caught.value)
        assert "free space and try again" in str(caught.value)
        assert (path.stat().st_size, recorder.size, recorder.last_seq) == (size, size, 7)
        require_sound(read_recording(path))
        recorder.append(late)
    assert list(read_recording(path).events) == [*before, late]


@pytest.mark.parametrize("room", [0, 40, 300])
def test_a_full_disk_takes_nothing_of_what_was_staged_and_it_can_be_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """spec/faults.md j6."""
    with Recorder(path) as recorder:
        recorder.start(HEADER)
        for event in small_run()[:4]:
            recorder.stage(event)
        with monkeypatch.context() as full:
            _fill_up(full, room)
            with pytest.raises(RecordingError, match="event 1 was not recorded"):
                recorder.flush()
        assert path.read_bytes() == HEADER_LINE
        recorder.flush()
    assert list(read_recording(path).events) == small_run()[:4]


def test_a_disk_that_takes_nothing_is_no_endless_loop(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Recorder(path) as recorder:
        recorder.start(HEADER)
        monkeypatch.setattr(os, "write", lambda fd, data: 0)
        with pytest.raises(RecordingError, match="took none of it"):
            recorder.append(small_run()[0])


def test_a_full_disk_at_the_start_gives_the_lock_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """spec/faults.md j6."""
    with monkeypatch.context() as full:
        _fill_up(full, 0)
        with pytest.raises(RecordingError, match="nothing was recorded"):
            Recorder(path).start(HEADER)
    assert not owner_record(path).exists()
    record(path, small_run())
    assert path.read_bytes() == WHOLE


def test_a_piece_that_can_not_be_rolled_back_is_sealed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """spec/faults.md j1, j6: the next line stands on its own, and the reader names the piece."""
    first, second, *_ = small_run()

    def fail(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with Recorder(path) as recorder:
        recorder.start(HEADER)
        recorder.append(first)
        with monkeypatch.context() as broken:
            _fill_up(broken, 10)
            broken.setattr(os, "ftruncate", fail)
            with pytest.raises(RecordingError):
                recorder.append(second)
        recorder.append(second)
        assert recorder.size == path.stat().st_size
    recording = read_recording(path)
    assert list(recording.events) == [first, second]
    assert [damage.line for damage in recording.damage] == [3]


def test_ctrl_c_during_a_write_leaves_whole_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def interrupted(fd: int, data: memoryview) -> int:
        write(fd, bytes(data[:9]))
        raise KeyboardInterrupt

    with Recorder(path) as recorder:
        recorder.start(HEADER)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                recorder.append(small_run()[0])
        recorder.append(small_run()[0])
    assert list(read_recording(path).events) == small_run()[:1]
