"""The run screen on a session of another process: it decides, watches, takes over, and leaves without stopping anything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from loopkit import ToolCall
from loopkit import events as e
from loopkit.debugger.session import Session
from loopkit_tui.app import LoopkitApp
from tests.debugger.attached import served
from tests.debugger.live_runs import facts_of
from tests.tui.screens import run_screen, text_of, until

pytestmark = pytest.mark.anyio
SUM = ToolCall("c1", "add", {"a": 1, "b": 2})


@asynccontextmanager
async def showing(session: Session) -> AsyncIterator[tuple[LoopkitApp, Pilot[Any]]]:
    app = LoopkitApp(session)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("loopkit_tui.decisions.GRACE_SECONDS", 0.0)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: run_screen(app).decisions.pending, "a call that waits")
            yield app, pilot


async def test_a_call_is_decided_and_the_run_followed_to_its_end(tmp_path: Path) -> None:
    with served([SUM, "all done"], tmp_path / "run.jsonl") as run:
        session, _ = run.attach()
        async with showing(session) as (app, pilot):
            await pilot.press("a")
            await until(pilot, lambda: "complete" in text_of(app, "#now"), "the end")
        assert [type(fact.decision).__name__ for fact in facts_of(session, e.Decided)] == ["Approve"]


async def test_who_watches_is_told_who_decides_and_takes_over_with_a_key(tmp_path: Path) -> None:
    with served([SUM, "done"], tmp_path / "run.jsonl") as run:
        other, _ = run.attach()
        session, _ = run.attach()
        async with showing(session) as (app, pilot):
            assert "you watch:" in text_of(app, "#now")
            assert "the run waits for a decision on agent › add" in text_of(app, "#now")
            for key in ("a", "s", "c", "p"):
                await pilot.press(key)
                assert "decides here: T takes over" in text_of(app, "#keys")
            await pilot.press("T")
            await until(pilot, lambda: "your decision" in text_of(app, "#now"), "the decision")
            await pilot.press("a")
            await until(pilot, lambda: "complete" in text_of(app, "#now"), "the end")
        assert other.watches == ""
        assert facts_of(session, e.DecisionRefused) == []


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_leaving_detaches_at_once_and_stops_nothing(key: str, tmp_path: Path) -> None:
    with served([SUM, "done"], tmp_path / "run.jsonl") as run:
        session, _ = run.attach()
        async with showing(session) as (app, pilot):
            await pilot.press(key)
            await until(pilot, lambda: not app.is_running or app.return_code is not None, "the app's end")
        assert app.close_sessions() == []
        assert not app.interrupted
        again, eyes = run.attach()
        eyes.until_pending()
        assert again.watches == ""
        again.approve("root/1.1", 1)
        eyes.until_ended()


async def test_a_connection_that_is_lost_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopkit.debugger.remote.BETWEEN_TRIES", 0.3)
    with served([SUM, "done"], tmp_path / "run.jsonl") as run:
        session, _ = run.attach()
        async with showing(session) as (app, pilot):
            for viewer in list(run.server._viewers.values()):
                viewer.hang_up()
            await until(pilot, lambda: "the connection was lost" in text_of(app, "#now"), "the loss")
            await until(pilot, lambda: "your decision" in text_of(app, "#now"), "the connection")
            await pilot.press("a")
            await until(pilot, lambda: "complete" in text_of(app, "#now"), "the end")
