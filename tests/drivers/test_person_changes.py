"""What a person changed of a running agent stays when its recording is forked or gone on with (decision notes)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from loopkit import Agent, Recorder, ScriptedProvider, ToolCall, fork, open_recording, replay, resume, tool
from loopkit import events as e
from loopkit.core.editing import PERSON
from loopkit.core.state import CallState
from loopkit.drivers.changed_agent import agent_of
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.errors import RecordingUnwritable
from loopkit.events import Event
from loopkit.outcomes import Approve, ToolApproval
from loopkit.providers.protocol import Delta

pytestmark = pytest.mark.anyio
CALLS = [ToolCall(f"c{number}", "say", {}) for number in range(3)]


@tool(side_effect="read")
async def say() -> str:
    """Say a word."""
    return "word"


@tool
async def other() -> str:
    """Say another."""
    return "other"


class Changer:
    """Stands before the second request and chooses another temperature, model and set of tools there."""

    def __init__(self, driver: list[LoopDriver]) -> None:
        self._driver = driver

    def stops_at(self, loop: str, gate: str) -> str | None:
        return PERSON if gate == "root/2.request" else None

    def decide(self, driver: LoopDriver, call: CallState) -> tuple[ToolApproval, str] | None:
        self._driver.append(driver)
        return Approve(), "default"

    def stands_unrecorded(self, error: RecordingUnwritable) -> bool:
        return False

    def happened(self, event: Event) -> None:
        if isinstance(event.fact, e.Paused):
            driver = self._driver[0]
            driver._tasks.wake(lambda: self._change(driver))

    def _change(self, driver: LoopDriver) -> None:
        started = driver.core.state.started
        chosen = replace(started, model="second", tools=started.tools[:1], settings={"temperature": 0.9})
        driver.post(agent_of(chosen, PERSON))
        driver.post(e.Resumed("root/2.request", PERSON))

    def streamed(self, loop: str, iteration: int, delta: Delta) -> None:
        """Nobody looks."""


def agent_with(script: list[ToolCall | str]) -> tuple[Agent, ScriptedProvider]:
    provider = ScriptedProvider(script)
    return Agent(provider, tools=[say, other], temperature=0.1), provider


async def changed_run(path: Path) -> Agent:
    agent, provider = agent_with([*CALLS, "done"])
    await agent.run("go", recorder=Recorder(path), watcher=Changer([]))
    assert [request.settings for request in provider.requests] == [{"temperature": 0.1}] + [{"temperature": 0.9}] * 3
    return agent


async def test_a_fork_keeps_what_a_person_chose(tmp_path: Path) -> None:
    await changed_run(tmp_path / "run.jsonl")
    agent, provider = agent_with([CALLS[2], "end"])
    await fork(tmp_path / "run.jsonl", at="root/3", agent=agent, recorder=Recorder(tmp_path / "fork.jsonl"))
    assert [request.settings for request in provider.requests] == [{"temperature": 0.9}] * 2
    assert [[one.name for one in request.tools] for request in provider.requests] == [["say"]] * 2
    with open_recording(tmp_path / "fork.jsonl") as forked:
        changes = [event.fact.by for event in forked.events if isinstance(event.fact, e.AgentChanged)]
        last = [event.fact.model for event in forked.events if isinstance(event.fact, e.AgentChanged)][-1]
    assert (changes, last) == ([PERSON], "second")


async def test_another_agent_in_a_fork_takes_the_place_of_it_all(tmp_path: Path) -> None:
    """Today's code is another agent then, and the recording says so (decision 0017)."""
    await changed_run(tmp_path / "run.jsonl")
    provider = ScriptedProvider(["end"])
    agent = Agent(provider, tools=[say, other], temperature=0.5)
    await fork(tmp_path / "run.jsonl", at="root/3", agent=agent, recorder=Recorder(tmp_path / "fork.jsonl"))
    assert provider.requests[0].settings == {"temperature": 0.5}
    assert len(provider.requests[0].tools) == 2


async def test_a_resumed_run_keeps_what_a_person_chose(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await changed_run(path)
    lines = path.read_bytes().splitlines(keepends=True)
    last = max(place for place, line in enumerate(lines) if b'"type":"ModelRequested"' in line)
    path.write_bytes(b"".join(lines[: last + 1]))
    agent, provider = agent_with(["end"])
    await resume(path, agent=agent)
    assert provider.requests[0].settings == {"temperature": 0.9}
    assert len(provider.requests[0].tools) == 1


async def test_a_replay_beside_todays_agent_takes_the_persons_choice_as_it_was(tmp_path: Path) -> None:
    agent = await changed_run(tmp_path / "run.jsonl")
    report = replay(tmp_path / "run.jsonl", agent)
    assert report.same, report.text()
    different = Agent(ScriptedProvider([]), tools=[say, other], temperature=0.2)
    assert not replay(tmp_path / "run.jsonl", different).same
