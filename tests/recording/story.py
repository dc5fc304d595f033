"""A small run for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

from loopkit import events as e
from loopkit.messages import Message, ToolCall, Usage
from loopkit.outcomes import Approve, Complete
from loopkit.recording.header import Header, header_line
from loopkit.recording.lines import event_line
from loopkit.recording.sealing import opened, sealed
from loopkit.recording.writer import Recorder

HEADER = Header(run="run-1", created="2026-01-02T03:04:05+00:00")

HEADER_LINE = sealed(header_line(HEADER))


def line_of(event: e.Event) -> bytes:
    """An event's line as it stands in the file."""
    return sealed(event_line(event))


def changed(line: bytes, old: bytes, new: bytes) -> bytes:
    """A line that says something else and whose check sum fits."""
    assert old in line
    return sealed(opened(line)[0].replace(old, new) + b"\n")


def small_run(text: str = "Grüße 你好 😀") -> list[e.Event]:
    """One call and an answer, finished; `text` is the tool's result and the final answer."""
    call = ToolCall("c1", "greet", {"name": "Ann"})
    steps: list[tuple[int, e.Fact]] = [
        (0, e.LoopStarted("agent", (Message.user("say hello"),))),
        (1, e.IterationStarted()),
        (1, e.ModelRequested(1, 1, "f00")),
        (1, e.ModelReplied(Message.assistant("", [call]), Usage(10, 5), verdicts=(e.CallVerdict(),))),
        (1, e.DecisionRequested("root/1.1", 1, "greet")),
        (1, e.Decided("root/1.1", 1, Approve(), "person")),
        (1, e.ToolStarted("root/1.1")),
        (1, e.ToolReturned("root/1.1", text)),
        (2, e.IterationStarted()),
        (2, e.ModelRequested(1, 3, "f01")),
        (2, e.ModelReplied(Message.assistant(text), Usage(20, 5))),
        (2, e.LoopFinished(Complete(), 2, Usage(30, 10))),
    ]
    return [e.Event(seq, seq / 10, e.ROOT, iteration, fact) for seq, (iteration, fact) in enumerate(steps, start=1)]


def record(path: Path, events: list[e.Event]) -> None:
    """Write a recording of `events`."""
    with Recorder(path) as recorder:
        recorder.start(HEADER)
        for event in events:
            recorder.append(event)
