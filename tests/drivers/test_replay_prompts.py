"""Whose system message stands at the start of a recorded task: the agent's prompt of today replaces only its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from loopkit import Agent, Message, Recorder, ScriptedProvider, replay, tool_loop
from loopkit import events as e
from loopkit.recording.reader import read_recording
from loopkit.tools.registry import ToolRegistry

pytestmark = pytest.mark.anyio

TASK = (Message.system("Answer in verse."), Message.user("go"))


def agent(system: str | None) -> Agent:
    return Agent(ScriptedProvider(["done"]), system=system, name="agent")


async def recorded(path: Path, system: str | None, task: str | Sequence[Message]) -> Path:
    await agent(system).run(task, recorder=Recorder(path))
    return path


@pytest.mark.parametrize("system", [None, "Be careful."])
@pytest.mark.parametrize("task", ["go", TASK, (), TASK[:1]], ids=["words", "system and user", "nothing", "system only"])
async def test_the_same_agent_replays_the_same(
    tmp_path: Path, system: str | None, task: str | Sequence[Message]
) -> None:
    """DESIGN §4: a system message that the task brought stays where it is."""
    report = replay(await recorded(tmp_path / "run.jsonl", system, task), agent(system))
    assert report.same, report.text()


@pytest.mark.parametrize("task", ["go", TASK], ids=["words", "system and user"])
@pytest.mark.parametrize(("then", "now"), [("Be careful.", None), (None, "Be quick."), ("Be careful.", "Be quick.")])
async def test_another_prompt_is_found(
    tmp_path: Path, then: str | None, now: str | None, task: str | Sequence[Message]
) -> None:
    """DESIGN §4: also one that was taken away, or is new."""
    assert not replay(await recorded(tmp_path / "run.jsonl", then, task), agent(now)).same


async def test_a_loop_without_an_agent_has_no_prompt_of_its_own(tmp_path: Path) -> None:
    """DESIGN §4"""
    path = tmp_path / "run.jsonl"
    await tool_loop(ScriptedProvider(["done"]), ToolRegistry(), list(TASK), recorder=Recorder(path))
    assert replay(path, agent(None)).same
    started = read_recording(path).events[0].fact
    assert isinstance(started, e.LoopStarted)
    assert started.task == TASK


async def test_an_older_recordings_first_system_message_counts_as_the_agents(tmp_path: Path) -> None:
    """DESIGN §3, versions: it does not say whose it is."""
    path = await recorded(tmp_path / "run.jsonl", "Be careful.", "go")
    assert "own_prompt" not in path.read_text(encoding="utf-8")
    assert replay(path, agent("Be careful.")).same
