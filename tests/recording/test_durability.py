"""What was written reaches the disk: grouped at ends of iterations, or before anything acts on it; nobody's loop waits."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loopkit.errors import RecordingUnwritable
from loopkit.events import Event, IterationStarted, ToolReturned
from loopkit.recording import syncing
from loopkit.recording.reader import read_recording
from loopkit.recording.syncing import Durability
from loopkit.recording.writer import Recorder
from tests.recording.story import HEADER, small_run

PATIENCE = 20.0


class Disk:
    """Stands in for the disk: counts syncs, holds them up, refuses them."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.refuses: OSError | None = None
        self.free = threading.Event()
        self.free.set()
        self._asked = threading.Semaphore(0)

    def sync(self, descriptor: int) -> None:
        self._asked.release()
        assert self.free.wait(PATIENCE)
        if self.refuses is not None:
            raise self.refuses
        self.sizes.append(os.fstat(descriptor).st_size)

    def wait_until_asked(self) -> None:
        assert self._asked.acquire(timeout=PATIENCE)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk()
    monkeypatch.setattr(syncing, "_bring_to_disk", disk.sync)
    monkeypatch.setattr("loopkit.recording.writer.SECONDS_BETWEEN", 0.0)
    yield disk
    disk.free.set()
    for thread in list(syncing._unfinished):
        thread.join(PATIENCE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def started(path: Path, durability: Durability = "iteration") -> Recorder:
    recorder = Recorder(path, durability=durability)
    recorder.start(HEADER)
    return recorder


def until(recorder: Recorder) -> None:
    """Wait until what was recorded is on the disk."""
    known = threading.Event()
    while not recorder.on_disk(known.set):
        assert known.wait(PATIENCE)
        known.clear()


def test_a_slow_disk_holds_nobody_up_and_its_syncs_are_grouped(path: Path, disk: Disk) -> None:
    """spec/performance.md goal 6: a thousand iterations end while one sync is on its way; one more serves them all."""
    disk.free.clear()
    with started(path) as recorder:
        disk.wait_until_asked()
        for seq in range(1, 1001):
            recorder.append(Event(seq, 0.0, "root", seq, IterationStarted()))
        assert disk.sizes == []
    disk.free.set()
    for thread in list(syncing._unfinished):
        thread.join(PATIENCE)
    assert len(disk.sizes) == 2
    assert disk.sizes[-1] == path.stat().st_size


def test_events_within_an_iteration_ask_for_no_sync(path: Path, disk: Disk) -> None:
    with started(path) as recorder:
        disk.wait_until_asked()
        recorder.append(small_run()[0])
        assert recorder._sync is not None
        assert recorder._sync._wanted < recorder.size
        recorder.append(small_run()[1])
        assert recorder._sync._wanted == recorder.size


def test_without_durability_nothing_is_synced(path: Path, disk: Disk) -> None:
    with started(path, "none") as recorder:
        for event in small_run():
            recorder.append(event)
        assert recorder.on_disk(pytest.fail)
    assert disk.sizes == []
    assert list(read_recording(path).events) == small_run()


@pytest.mark.parametrize("durability", ["iteration", "none"])
def test_only_events_that_are_to_be_on_disk_first_are_waited_for(
    path: Path, disk: Disk, durability: Durability
) -> None:
    disk.free.clear()
    with started(path, durability) as recorder:
        recorder.append(small_run()[0])
        assert recorder.on_disk(pytest.fail)
        disk.free.set()


def test_what_is_to_be_acted_on_is_on_the_disk_first(path: Path, disk: Disk) -> None:
    with started(path, "event") as recorder:
        for event in small_run():
            recorder.append(event)
            until(recorder)
            assert disk.sizes[-1] == recorder.size == path.stat().st_size


def test_a_failed_sync_is_the_next_events_error_and_nothing_is_lost(path: Path, disk: Disk) -> None:
    """spec/faults.md j6: the disk is blamed, the event can be tried again."""
    first, second, third, *_ = small_run()
    with started(path) as recorder:
        disk.wait_until_asked()
        recorder.append(first)
        disk.refuses = OSError(errno.EIO, "Input/output error")
        recorder.append(second)
        disk.wait_until_asked()
        assert recorder._sync is not None
        with recorder._sync._changed:
            assert recorder._sync._changed.wait_for(lambda: recorder._sync._failure is not None, PATIENCE)  # type: ignore[union-attr]  # asserted above
        with pytest.raises(RecordingUnwritable, match=r"can't be brought to the disk \(Input/output error\)"):
            recorder.append(third)
        disk.refuses = None
        recorder.append(third)
    assert list(read_recording(path).events) == [first, second, third]


def test_a_disk_that_refuses_is_told_to_whoever_waits_for_it(path: Path, disk: Disk) -> None:
    disk.refuses = OSError(errno.ENOSPC, "No space left on device")
    with started(path, "event") as recorder:
        recorder.append(small_run()[0])
        with pytest.raises(RecordingUnwritable, match="No space left on device"):
            until(recorder)
        disk.refuses = None
        until(recorder)
        assert disk.sizes == [recorder.size]


def test_what_a_failed_sync_left_is_written_again(path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure the system may take for written what it could not write."""
    again: list[bytes] = []
    write = os.pwrite

    def pwrite(descriptor: int, piece: bytes, start: int) -> int:
        again.append(piece)
        return write(descriptor, piece, start)

    monkeypatch.setattr(os, "pwrite", pwrite)
    with started(path, "event") as recorder:
        until(recorder)
        header = recorder.size
        recorder.append(small_run()[0])
        disk.refuses = OSError(errno.EIO, "Input/output error")
        with pytest.raises(RecordingUnwritable):
            until(recorder)
        disk.refuses = None
        recorder.append(small_run()[1])
        until(recorder)
    assert b"".join(again) == path.read_bytes()[header:]
    assert list(read_recording(path).events) == small_run()[:2]


def test_a_file_system_that_knows_no_syncs_is_no_failure(path: Path, disk: Disk) -> None:
    disk.refuses = OSError(errno.EINVAL, "Invalid argument")
    with started(path, "event") as recorder:
        recorder.append(small_run()[0])
        until(recorder)


def test_new_folders_are_brought_to_the_disk_from_the_outside_in(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(syncing, "_sync_folder", synced.append)
    with started(tmp_path / "a" / "b" / "run.jsonl", "event") as recorder:
        until(recorder)
    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]


def test_a_real_disk_takes_it(path: Path) -> None:
    with started(path, "event") as recorder:
        for event in small_run():
            recorder.append(event)
            until(recorder)


def test_the_last_sync_comes_before_the_process_ends(tmp_path: Path) -> None:
    script = """
import os, sys
from loopkit.recording import syncing
from loopkit.recording.header import Header
from loopkit.recording.writer import Recorder
really = syncing._bring_to_disk
def sync(descriptor):
    really(descriptor)
    print("synced", os.fstat(descriptor).st_size, flush=True)
syncing._bring_to_disk = sync
with Recorder(sys.argv[1]) as recorder:
    recorder.start(Header(run="r", created="c"))
"""
    path = tmp_path / "run.jsonl"
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=True, capture_output=True, text=True)
    assert done.stdout == f"synced {path.stat().st_size}\n"


def test_a_lock_does_not_outlive_a_recorder_whose_sync_is_on_its_way(path: Path, disk: Disk) -> None:
    disk.free.clear()
    with started(path) as recorder:
        disk.wait_until_asked()
        recorder.append(small_run()[0])
    with Recorder.continue_from(path) as recorder:
        assert recorder.last_seq == 1
        disk.free.set()


def test_an_unknown_durability_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="one of iteration, event, none, not 'always'"):
        Recorder(path, durability="always")  # type: ignore[arg-type]  # what a caller without types may write


def test_an_early_end_says_so_where_there_is_room(path: Path) -> None:
    """spec/faults.md j6"""
    last = Event(2, 0.0, "root", 1, ToolReturned("c", "the end"))
    recorder = started(path)
    recorder.append(small_run()[0])
    assert recorder.end_early(last)
    assert list(read_recording(path).events) == [small_run()[0], last]


def test_an_early_end_without_room_leaves_whole_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """spec/faults.md j6"""
    recorder = started(path)
    recorder.append(small_run()[0])

    def full(descriptor: int, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    assert not recorder.end_early(small_run()[1])
    recording = read_recording(path)
    assert (list(recording.events), recording.torn, recording.in_use) == ([small_run()[0]], None, None)


def test_a_caller_may_ask_again_from_the_same_place(path: Path, disk: Disk) -> None:
    """However often one place asks, it is called once."""
    calls: list[int] = []
    known = threading.Event()

    def when_known() -> None:
        calls.append(1)
        known.set()

    asking: Callable[[], None] = when_known
    disk.free.clear()
    with started(path, "event") as recorder:
        disk.wait_until_asked()
        assert not recorder.on_disk(asking)
        assert not recorder.on_disk(asking)
        disk.free.set()
        assert known.wait(PATIENCE)
        until(recorder)
    assert calls == [1]
