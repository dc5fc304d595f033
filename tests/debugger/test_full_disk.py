"""A disk that fills up under a live session: it stands, says so, and takes a person's choice (DESIGN §3, j6)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from loopkit import events as e
from loopkit.debugger.policy import ApproveAll
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.runs import check_file, replay_file
from loopkit.debugger.session import Session
from loopkit.messages import ToolCall
from tests.debugger.live_runs import PATIENCE, Eyes, add, assert_sound, facts_of, shout, started
from tests.recording.full_disk import SmallDisk, small_disk

SCRIPT = [ToolCall("a", "add", {"a": 1, "b": 2}), ToolCall("b", "add", {"a": 3, "b": 4}), "x" * 9000]
TROUBLE = "the recording can't be written (No space left on device)"


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", monkeypatch) as disk:
        yield disk


def until_it_stands(session: Session, eyes: Eyes, disk: SmallDisk) -> None:
    """Fill the disk while the first call waits, and approve that."""
    (pending,) = eyes.until_pending()
    disk.fill()
    session.approve(pending.call, pending.version)
    while not session.recording_trouble:
        # the room that the file's last block has left takes an event or two
        eyes.until(lambda: session.recording_trouble or session.pending())
        for pending in session.pending():
            session.approve(pending.call, pending.version)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_freed_space_and_a_retry_lose_nothing(disk: SmallDisk, backend: str) -> None:
    """spec/faults.md j6, on a real disk of 256 KB where one can be mounted."""
    with started(list(SCRIPT), disk.folder / "run.jsonl", add, backend=backend) as (session, eyes):
        until_it_stands(session, eyes, disk)
        assert session.recording_trouble == TROUBLE
        status = session.status()
        assert (status.state, status.waits_for) == ("waiting", f"you: {TROUBLE}")
        assert session.path is not None
        whole = list(open_recording(session.path).events)
        assert whole == list(session.events)
        assert not session.retry_recording()
        assert session.recording_trouble == TROUBLE
        disk.free()
        assert session.retry_recording()
        assert session.recording_trouble == ""
        eyes.approve_all_to_the_end()
        assert_sound(session)
        assert list(open_recording(session.path).events) == list(session.events)


def test_a_run_goes_on_unrecorded_and_its_recording_says_so(disk: SmallDisk) -> None:
    """On a disk without a free byte: the lock's own block makes room for the last words."""
    with started(list(SCRIPT), disk.folder / "run.jsonl", add) as (session, eyes):
        until_it_stands(session, eyes, disk)
        session.go_on_unrecorded()
        eyes.approve_all_to_the_end()
        assert session.status().state == "finished"
        assert session.notices == [f"what followed is not recorded: {TROUBLE}"]
        assert session.path is not None
        assert check_file(session.path) == []
        run = open_recording(session.path)
        *recorded, last = run.events
        assert last.fact == e.RecordingEnded("No space left on device")
        assert recorded == list(session.events)[: len(recorded)]
        assert run.timeline.root is not None
        assert not run.timeline.root.ended
        report = replay_file(session.path)
        assert (report.same, report.finished) == (True, False)


def test_a_run_that_stands_can_be_stopped(disk: SmallDisk) -> None:
    with started(list(SCRIPT), disk.folder / "run.jsonl", add) as (session, eyes):
        until_it_stands(session, eyes, disk)
        session.stop("no room")
        assert session.wait(PATIENCE)
        session.poll()
        assert session.status().state == "failed"
        assert "No space left on device" in session.error
        assert session.path is not None
        assert check_file(session.path) == []


def test_a_stop_is_recorded_if_there_is_room_again(disk: SmallDisk) -> None:
    loud = [SCRIPT[0], ToolCall("b", "shout", {"text": "x" * 9000}), "done"]
    with started(loud, disk.folder / "run.jsonl", add, shout) as (session, eyes):
        until_it_stands(session, eyes, disk)
        disk.free()
        session.stop("enough")
        eyes.until_ended()
        assert facts_of(session, e.RunStopped) == [e.RunStopped("person", "enough")]
        assert_sound(session)


def test_a_session_that_is_closed_while_it_stands_leaves_a_whole_file(disk: SmallDisk) -> None:
    with started(list(SCRIPT), disk.folder / "run.jsonl", add) as (session, eyes):
        until_it_stands(session, eyes, disk)
    assert session.path is not None
    assert check_file(session.path) == []
    assert not session.path.with_name("run.jsonl.lock").exists()


def test_choices_without_a_trouble_change_nothing(tmp_path: Path) -> None:
    with started(["done"], tmp_path / "run.jsonl", add, policy=ApproveAll()) as (session, eyes):
        session.go_on_unrecorded()
        assert session.retry_recording()
        eyes.until_ended()
        assert session.notices == []
        assert_sound(session)
    recorded = Session.open(tmp_path / "run.jsonl")
    recorded.go_on_unrecorded()
    assert recorded.retry_recording()
    assert recorded.recording_trouble == ""
