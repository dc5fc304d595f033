"""The whole of what is shown: as the model got it, copied, kept in a file, read in a program of one's own."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loopkit.debugger.recorded import open_recording
from loopkit.debugger.runs import run_headless
from loopkit.debugger.sent import messages_sent
from loopkit.debugger.session import Session
from loopkit.errors import UserError
from loopkit.messages import ToolCall
from loopkit_tui.app import LoopkitApp
from loopkit_tui.payloads import keep
from tests.tui.screens import run_screen, text_of, until
from tests.tui.stories import careful_agent, flaky

pytestmark = pytest.mark.anyio


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    script: list[Any] = [ToolCall("a", "run_tests", {"path": "x\x1b[2Jy"}), "All done."]
    run_headless(careful_agent(script), "go", record=tmp_path / "run.jsonl", approve="all")
    return tmp_path / "run.jsonl"


async def on_call(pilot: Any, app: LoopkitApp) -> None:
    await pilot.press("g")
    while run_screen(app).selected_call is None:
        await pilot.press("j")


def files_beside(recording: Path) -> list[Path]:
    return sorted(recording.parent.glob("run-*.txt"))


def test_the_messages_of_a_request_are_those_that_the_model_got(recording: Path) -> None:
    opened = open_recording(recording)
    assert opened.timeline.root is not None
    second = opened.timeline.root.iterations[1]
    assert [message.role for message in messages_sent(opened.events, second)] == ["user", "assistant", "tool"]
    with pytest.raises(UserError, match="the model was not asked"):
        messages_sent(opened.events[:3], second)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_request_unfolds_to_every_message(recording: Path, size: tuple[int, int]) -> None:
    app = LoopkitApp(Session.open(recording))
    async with app.run_test(size=size) as pilot:
        await pilot.press("g", "J", "J", "2")
        assert "▸ every message" in text_of(app, "#detail")
        run_screen(app).detail.set_fold("request/all", folded=False)
        run_screen(app).detail.focus()
        run_screen(app).detail.move(10)
        await pilot.pause()
        await pilot.press("z")
        await pilot.pause()
        shown = text_of(app, "#detail")
        assert "1  user" in shown
        assert "→ run_tests" in shown
        assert "3  tool" in shown
        assert "\x1b" not in shown


async def test_copies_and_files_hold_what_the_tab_stands_for(recording: Path) -> None:
    app = LoopkitApp(Session.open(recording))
    async with app.run_test(size=(120, 40)) as pilot:
        await on_call(pilot, app)
        await pilot.press("y")
        assert "x\\u001b[2Jy" in app.clipboard or "x\x1b[2Jy" in app.clipboard
        assert "passed in 30" in app.clipboard
        assert "copied" in text_of(app, "#keys")
        await pilot.press("2", "Y")
        assert "written to" in text_of(app, "#keys")
        await pilot.press("3", "y", "Y")
        assert json.loads(app.clipboard.splitlines()[0])["type"] == "ModelReplied"
    kept = files_beside(recording)
    assert len(kept) == 2
    request = json.loads(next(path for path in kept if "request" in path.name).read_text())
    assert [message["role"] for message in request["messages"]] == ["user"]
    assert {tool["name"] for tool in request["tools"]} == {"write_file", "run_tests"}


async def test_the_task_belongs_to_no_request_which_is_said(recording: Path) -> None:
    app = LoopkitApp(Session.open(recording))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("g", "2", "y")
        assert "belongs to no request" in text_of(app, "#keys")


async def test_other_programs_get_it_as_safe_text(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    def run(command: list[str], *, check: bool) -> None:
        seen.append((command[0], Path(command[-1]).read_text()))

    @contextlib.contextmanager
    def suspend(_: LoopkitApp) -> Iterator[None]:
        yield

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(LoopkitApp, "suspend", suspend)
    monkeypatch.setenv("PAGER", "more -s")
    monkeypatch.setenv("EDITOR", "ed")
    monkeypatch.delenv("VISUAL", raising=False)
    app = LoopkitApp(Session.open(recording))
    async with app.run_test(size=(120, 40)) as pilot:
        await on_call(pilot, app)
        await pilot.press("V", "E")
        await until(pilot, lambda: len(seen) == 2)
        monkeypatch.delenv("EDITOR")
        await pilot.press("E")
        assert "set EDITOR" in text_of(app, "#keys")
    assert [program for program, _ in seen] == ["more", "ed"]
    assert all("\x1b" not in text and "passed in 30" in text for _, text in seen)


async def test_a_program_that_is_not_there_is_one_line(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def suspend(_: LoopkitApp) -> Iterator[None]:
        yield

    monkeypatch.setattr(LoopkitApp, "suspend", suspend)
    monkeypatch.setenv("PAGER", "no-such-program-anywhere")
    app = LoopkitApp(Session.open(recording))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("V")
        assert "no-such-program-anywhere: can't be started" in text_of(app, "#keys")


def test_a_file_that_is_there_stays_and_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    assert keep(tmp_path, "a.txt", "one").name == "a.txt"
    assert keep(tmp_path, "a.txt", "two").name == "a-2.txt"
    assert (tmp_path / "a.txt").read_text() == "one"
    with pytest.raises(UserError, match="can't be written"):
        keep(tmp_path / "nowhere", "a.txt", "x")


async def test_a_run_in_memory_has_no_folder_to_write_into() -> None:
    session = flaky().session()
    session.path = None
    app = LoopkitApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("Y")
        assert "not recorded" in text_of(app, "#keys")
