"""A recording as a test: it replays, or the test fails with the first event that differs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from loopkit.agent import Agent
from loopkit.debugger.display import visible
from loopkit.debugger.runs import replay_file
from loopkit.testing.network import no_network


def assert_replays(
    path: str | Path, agent: Agent | None = None, *, tools: Literal["recorded", "live"] = "recorded"
) -> None:
    """Replay a recording with the network blocked; model answers and people's decisions come from the file.

    Args:
        path: the recording.
        agent: today's agent, whose prompts, tools, callbacks and configuration are compared with those of the
            recording; without it, the recording is checked against today's loop alone.
        tools: `live` runs the agent's own tools instead of feeding their recorded results.

    Raises:
        AssertionError: the replay diverged; the message says where, what was recorded and what came.
        RecordingError: the file can't be replayed.
    """
    __tracebackhide__ = True
    with no_network():
        report = replay_file(path, agent=agent, tools=tools)
    if not report.same:
        raise AssertionError(visible(report.text()))
