"""Agents whose runs are forked, and what holds for every fork."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from loopkit import Agent, ScriptedProvider, ToolLoopConfig, Usage, tool
from loopkit import events as e
from loopkit.drivers.fork import fork
from loopkit.drivers.replay import replay
from loopkit.drivers.result import ToolLoopResult
from loopkit.outcomes import ForkEdit
from loopkit.providers.protocol import ChatRequest
from loopkit.recording.reader import read_recording
from loopkit.recording.writer import Recorder
from tests.drivers.log_rules import check_log
from tests.drivers.stage import Stage, ask

ran: list[str] = []


@tool
async def look(path: str) -> str:
    """Look at a file."""
    ran.append(f"look {path}")
    return f"looked at {path}"


@tool(side_effect="read")
async def read(path: str) -> str:
    """Look, and change nothing."""
    ran.append(f"read {path}")
    return f"read {path}"


def model(*turns: Any) -> ScriptedProvider:
    """A model that says the same in a fork: which turn it is depends on the request alone."""

    def answer(request: ChatRequest) -> Any:
        turn = sum(message.role == "assistant" for message in request.messages)
        if turn < len(turns):
            return turns[turn]
        return "results: " + ", ".join(
            result.content for message in request.messages for result in message.tool_results
        )

    return ScriptedProvider(answer, usage=Usage(3, 2))


def agent(*turns: Any, tools: Sequence[Any] = (look, read), **config: Any) -> Agent:
    return Agent(model(*turns), tools=tools, config=ToolLoopConfig(**config))


@tool
async def middle() -> str:
    """Ask a sub-agent that looks twice."""
    ran.append("middle")
    return (await agent(ask("look", path="m1"), ask("look", path="m2")).run("task")).text


@tool
async def upper() -> str:
    """Ask a sub-agent that asks one itself."""
    ran.append("upper")
    return (await agent(ask("middle"), tools=[middle]).run("task")).text


def parent_of(agent: Agent, path: Path, stage: Stage | None = None) -> Path:
    """Record a run."""
    anyio.run((stage or Stage()).run, agent, Recorder(path))
    ran.clear()
    return path


def forked(
    parent: Path, at: int | str, edit: ForkEdit | None, agent: Agent, stage: Stage | None = None
) -> tuple[ToolLoopResult, list[e.Event]]:
    """Fork a run; check what holds for every fork."""
    before = parent.read_bytes()
    path = parent.with_name("fork.jsonl")
    path.unlink(missing_ok=True)

    async def main() -> ToolLoopResult:
        return await fork(parent, at=at, edit=edit, agent=agent, recorder=Recorder(path), watcher=stage)

    result = anyio.run(main)
    assert parent.read_bytes() == before
    recording = read_recording(path)
    events = list(recording.events)
    assert recording.header.parent == read_recording(parent).header.run
    assert recording.header.fork_seq is not None
    assert events[: recording.header.fork_seq] == list(read_recording(parent).events[: recording.header.fork_seq])
    check_log(events)
    report = replay(path)
    assert report.same, report.text()
    return result, events


def kept(parent: Path) -> int:
    """How many events the fork copied."""
    seq = read_recording(parent.with_name("fork.jsonl")).header.fork_seq
    assert seq is not None
    return seq


def facts(events: Sequence[e.Event], kind: type[e.Fact]) -> list[Any]:
    return [event.fact for event in events if isinstance(event.fact, kind)]
