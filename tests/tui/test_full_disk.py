"""A disk that fills up under a run on the screen: three choices, each does what its key says (DESIGN §3, j6)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from loopkit import events as e
from loopkit.agent import Agent
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.session import Session
from loopkit.messages import ToolCall
from loopkit_tui.app import LoopkitApp
from loopkit_tui.screens.run import RunScreen
from loopkit_tui.screens.trouble import TroubleScreen
from tests.recording.full_disk import SmallDisk, small_disk
from tests.tui.screens import text_of, until
from tests.tui.stories import careful_agent
from tests.tui.test_live_run import debugging, waits

pytestmark = pytest.mark.anyio


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", monkeypatch) as disk:
        yield disk


def talker() -> Agent:
    """Its last answer is larger than what the last block of a file has left."""
    call = ToolCall("a", "run_tests", {"path": "tests"})
    return careful_agent([call, "x" * 9000])


async def fill_and_approve(app: LoopkitApp, pilot: Pilot[Any], session: Session, disk: SmallDisk) -> None:
    await waits(app, pilot)
    disk.fill()
    (pending,) = session.pending()
    session.approve(pending.call, pending.version)
    await until(pilot, lambda: isinstance(app.screen, TroubleScreen), "the question")
    await pilot.pause(0.01)


async def test_trying_again_goes_on_once_there_is_room(disk: SmallDisk) -> None:
    async with debugging(disk.folder, talker()) as (app, pilot, session):
        await fill_and_approve(app, pilot, session, disk)
        assert "the recording can't be written (No space left on device)" in text_of(app, "#question-title")
        assert "r try again" in text_of(app, "#question-keys")
        await pilot.press("r")
        assert "still: the recording can't be written" in text_of(app, "#question-title")
        await pilot.press("y", "enter", "escape", "a", "x", "u")
        assert isinstance(app.screen, TroubleScreen)
        disk.free()
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        assert session.recording_trouble == ""
        events = open_recording(disk.folder / "run.jsonl").events
        await until(pilot, lambda: list(session.events)[: len(events)] == list(events))


async def test_going_on_unrecorded_ends_the_recording_and_not_the_run(disk: SmallDisk) -> None:
    async with debugging(disk.folder, talker()) as (app, pilot, session):
        await fill_and_approve(app, pilot, session, disk)
        await pilot.press("U")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        await until(pilot, lambda: session.status().state == "finished")
        assert session.notices
    assert isinstance(open_recording(disk.folder / "run.jsonl").events[-1].fact, e.RecordingEnded)


async def test_stopping_ends_the_run_with_the_disks_words(disk: SmallDisk) -> None:
    async with debugging(disk.folder, talker()) as (app, pilot, session):
        await fill_and_approve(app, pilot, session, disk)
        await pilot.press("X")
        await until(pilot, lambda: isinstance(app.screen, RunScreen) and not session.running)
        await until(pilot, lambda: "can't be written" in text_of(app, "#now"))


async def test_keys_on_their_way_answer_nothing(disk: SmallDisk) -> None:
    """spec/faults.md c14"""
    async with debugging(disk.folder, talker(), grace=60.0) as (app, pilot, session):
        await fill_and_approve(app, pilot, session, disk)
        await pilot.press("r", "X", "U")
        assert isinstance(app.screen, TroubleScreen)
        assert session.recording_trouble
