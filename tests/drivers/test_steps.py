"""What is written when: a step at a time where nobody watches, each event by itself where somebody does (DESIGN §3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit import events as e
from loopkit import tool
from loopkit.providers.protocol import ChatRequest
from loopkit.recording.reader import read_recording
from loopkit.recording.writer import Recorder
from tests.drivers.stage import Stage, agent, ask

pytestmark = pytest.mark.anyio


class CountingRecorder(Recorder):
    """Remembers how far the file was after each write."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.written: list[int] = []

    def flush(self) -> None:
        super().flush()
        self.written.append(self.last_seq)


async def test_a_run_that_nobody_watches_writes_each_step_at_once_before_it_acts(tmp_path: Path) -> None:
    """An input and what follows from it; whatever acts on it finds all of it in the file."""
    recorder = CountingRecorder(tmp_path / "run.jsonl")
    found: list[str] = []

    def last_in_the_file() -> None:
        found.append(read_recording(recorder.path).events[-1].type)

    @tool
    async def work() -> str:
        """Work."""
        last_in_the_file()
        return "worked"

    def answer(_: ChatRequest) -> str:
        last_in_the_file()
        return "done"

    await agent(ask("work"), answer, tools=[work]).run("task", recorder=recorder)
    kinds = [event.type for event in read_recording(recorder.path).events]
    assert found == ["ToolStarted", "ModelRequested"]
    assert [kinds[last - 1] for last in recorder.written] == [
        "LoopStarted",
        "ModelRequested",
        "ToolStarted",
        "ModelRequested",
        "LoopFinished",
    ]


async def test_who_watches_hears_of_each_event_before_the_next_one_happens(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run.jsonl")
    ahead: list[int] = []

    def on_event(event: e.Event) -> None:
        ahead.append(recorder.last_seq - event.seq)

    await Stage(on_event=on_event).run(agent("done"), recorder)
    assert ahead == [0] * recorder.last_seq
