"""One writer at a time, who is named, and no lock outlives its owner."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loopkit.errors import RecordingError, RecordingInUse
from loopkit.recording import lock as lock_module
from loopkit.recording.lock import Owner, WriteLock, owner_of, owner_record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    path.touch()
    return path


@contextmanager
def _locked(path: Path) -> Iterator[WriteLock]:
    descriptor = os.open(path, os.O_RDWR)
    try:
        lock = WriteLock(path, descriptor)
        try:
            yield lock
        finally:
            lock.release()
    finally:
        os.close(descriptor)


def _leave_record(path: Path, **changes: object) -> None:
    record = {"pid": 1, "host": socket.gethostname(), "since": "2026-01-02T03:04:05+00:00", "birth": None}
    owner_record(path).write_text(json.dumps({**record, **changes}))


def _ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def _lock_with(monkeypatch: pytest.MonkeyPatch, system_lock: Callable[[int], None] | None) -> None:
    monkeypatch.setattr(lock_module, "_system_lock", system_lock)


def test_the_owner_is_recorded_beside_the_file_and_gone_afterwards(path: Path) -> None:
    with _locked(path) as lock:
        owner = owner_of(path)
        assert owner is not None
        assert (owner.pid, owner.host) == (os.getpid(), socket.gethostname())
        assert lock.notice is None
    assert owner_of(path) is None
    assert not owner_record(path).exists()


def test_a_second_writer_is_refused_at_once_with_the_owners_name(path: Path) -> None:
    """spec/faults.md j9."""
    with (
        _locked(path),
        pytest.raises(RecordingInUse, match=f"being written by process {os.getpid()} on "),
        _locked(path),
    ):
        pass
    with _locked(path):
        assert owner_of(path) is not None


def test_a_refused_writer_takes_nothing_from_the_owner(path: Path) -> None:
    with _locked(path):
        for _ in range(2):
            with pytest.raises(RecordingInUse), _locked(path):
                pass
        assert owner_of(path) is not None


def test_another_name_for_the_file_is_no_way_around(path: Path, tmp_path: Path) -> None:
    """spec/faults.md j9."""
    other = tmp_path / "link.jsonl"
    other.symlink_to(path)
    with _locked(path), pytest.raises(RecordingInUse, match="being written by another process"), _locked(other):
        pass


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid":"x"}', '{"pid":1}', "\x00", "[" * 100_000])
def test_a_record_that_says_nothing_is_nobody(path: Path, content: str) -> None:
    owner_record(path).write_text(content)
    assert owner_of(path) is None
    with _locked(path):
        assert owner_of(path) is not None


def test_a_record_of_a_process_that_ended_is_stale(path: Path) -> None:
    """spec/faults.md j9, j13."""
    _leave_record(path, pid=_ended_process())
    assert owner_of(path) is None
    with _locked(path):
        assert owner_of(path) is not None


@pytest.mark.parametrize("pid", [0, -1, 2**80])
def test_a_record_of_no_possible_process_is_stale(path: Path, pid: int) -> None:
    _leave_record(path, pid=pid)
    assert owner_of(path) is None


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system doesn't tell when a process began")
def test_a_reused_process_number_is_told_from_its_owner(path: Path) -> None:
    """spec/faults.md j13."""
    _leave_record(path, pid=os.getppid(), birth="1")
    assert owner_of(path) is None


def test_our_own_number_in_a_record_that_we_did_not_write_is_stale(path: Path) -> None:
    """spec/faults.md j13: a container gives every run the same process number."""
    _leave_record(path, pid=os.getpid())
    with _locked(path):
        assert owner_of(path) is not None


@pytest.mark.parametrize("host", [socket.gethostname(), "another-machine"])
def test_the_record_holds_writers_off_where_locks_always_succeed(
    path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """spec/faults.md j13: a network file system whose locks do nothing."""
    _lock_with(monkeypatch, lambda descriptor: None)
    _leave_record(path, pid=os.getppid(), host=host)
    refusal = rf"process {os.getppid()} on {host} since .*\(if it is gone, delete run\.jsonl\.lock\)"
    with pytest.raises(RecordingInUse, match=refusal), _locked(path):
        pass
    assert owner_of(path) is not None


def test_two_writers_of_one_process_are_told_apart_where_locks_always_succeed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _lock_with(monkeypatch, lambda descriptor: None)
    with _locked(path), pytest.raises(RecordingInUse), _locked(path):
        pass


def test_a_lock_request_that_blocks_is_given_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """spec/faults.md j13."""
    answer = threading.Event()

    def block(descriptor: int) -> None:
        answer.wait()

    _lock_with(monkeypatch, block)
    monkeypatch.setattr(lock_module, "LONGEST_WAIT", 0.01)
    try:
        with pytest.raises(RecordingError, match="did not answer a lock request within"), _locked(path):
            pass
    finally:
        answer.set()
    assert not owner_record(path).exists()


def test_a_file_system_without_locks_says_so_and_the_record_serves(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """spec/faults.md j13."""

    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    _lock_with(monkeypatch, refuse)
    with _locked(path) as lock:
        assert lock.notice is not None
        assert lock.notice.endswith("(No locks available)")
        with pytest.raises(RecordingInUse), _locked(path):
            pass


def test_a_system_without_locks_imports_and_says_that_it_can_not_lock(tmp_path: Path) -> None:
    script = """
import sys
sys.modules["fcntl"] = None
from loopkit.recording.header import Header
from loopkit.recording.writer import Recorder
with Recorder(sys.argv[1]) as recorder:
    recorder.start(Header(run="r", created="c"))
    assert "can't lock files" in recorder.notice, recorder.notice
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "run.jsonl")], check=True)
    assert (tmp_path / "run.jsonl").stat().st_size > 0


def test_an_owner_that_can_not_be_recorded_is_an_error_in_one_line(path: Path) -> None:
    owner_record(path).mkdir()
    with pytest.raises(RecordingError, match=r"its lock can't be written \(File exists\)"), _locked(path):
        pass


def test_of_two_who_find_a_stale_record_at_once_one_gets_the_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """spec/faults.md j13: where locks always succeed, the record decides; the other is told who was faster."""
    _lock_with(monkeypatch, lambda descriptor: None)
    _leave_record(path, pid=_ended_process())
    remove = lock_module._remove

    def remove_and_be_overtaken(record: Path) -> None:
        remove(record)
        _leave_record(path, pid=os.getppid())

    monkeypatch.setattr(lock_module, "_remove", remove_and_be_overtaken)
    with pytest.raises(RecordingInUse, match=f"being written by process {os.getppid()} on "), _locked(path):
        pass
    monkeypatch.setattr(lock_module, "_remove", remove)
    assert owner_of(path) is not None


def test_a_record_that_somebody_else_wrote_meanwhile_is_not_taken_away(path: Path) -> None:
    with _locked(path):
        _leave_record(path, pid=os.getppid(), host="another-machine")
    assert owner_of(path) is not None


def test_an_owner_names_itself() -> None:
    assert str(Owner(7, "here", "2026-01-02T03:04:05+00:00")) == "process 7 on here since 2026-01-02T03:04:05+00:00"
