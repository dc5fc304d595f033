"""Declared side effects stand in the definition and in the log, and decide what may be run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopkit import Agent, Recorder, ScriptedProvider, tool
from loopkit import events as e
from loopkit.recording.reader import read_recording
from loopkit.tools.mcp import MCPServer
from tests.tools.mcp.kitchen import COMMAND

pytestmark = pytest.mark.anyio


def _act() -> None:
    """Act."""


async def definitions(tmp_path: Path, *tools: Any) -> dict[str, str | None]:
    path = tmp_path / "run.jsonl"
    await Agent(ScriptedProvider(["done"]), tools=tools).run("go", recorder=Recorder(path))
    started = read_recording(path).events[0].fact
    assert isinstance(started, e.LoopStarted)
    return {definition.name: definition.side_effect for definition in started.tools}


@pytest.mark.parametrize("side_effect", ["read", "idempotent", "irreversible", None])
async def test_what_is_declared_is_recorded(tmp_path: Path, side_effect: Any) -> None:
    """Issue: kept in the definition and the log."""
    act = tool(name="act", side_effect=side_effect)(_act)
    assert act.definition.side_effect == side_effect
    assert await definitions(tmp_path, act) == {"act": side_effect}


async def test_what_a_server_declares_is_recorded(tmp_path: Path) -> None:
    """A server's hints are its word for the same (docs/mcp.md)."""
    async with MCPServer(COMMAND) as tools:
        recorded = await definitions(tmp_path, *tools)
    assert (recorded["add"], recorded["echo"], recorded["fail"]) == ("read", "idempotent", "irreversible")
    assert recorded["die"] is None
