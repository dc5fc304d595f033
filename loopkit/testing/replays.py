"""A recording as a test: it replays, or the test fails with what changed and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loopkit.agent import Agent
from loopkit.debugger.display import visible
from loopkit.debugger.runs import replay_file
from loopkit.drivers.findings import Drift
from loopkit.drivers.replay import Source
from loopkit.drivers.replay_report import Match, ReplayReport
from loopkit.testing.failures import ReplayFailed
from loopkit.testing.network import no_network


def assert_replays(
    path: str | Path,
    agent: Agent | None = None,
    *,
    tools: Source = "recorded",
    match: Match = "strict",
    backend: str | None = None,
) -> None:
    """Replay a recording with the network blocked; model answers and people's decisions come from the file.

    Args:
        path: the recording.
        agent: today's agent, whose prompts, tools, callbacks and configuration are compared with those of the
            recording; without it, the recording is checked against today's loop alone.
        tools: `live` runs the agent's own tools instead of feeding their recorded results.
        match: `content` passes over prompts, descriptions, settings and the model's name.
        backend: `asyncio` or `trio`.

    Raises:
        AssertionError: the replay diverged; the message says what changed, where, and what follows.
        RecordingError: the file can't be replayed.
    """
    __tracebackhide__ = True
    with no_network():
        report = replay_file(path, agent=agent, tools=tools, match=match, backend=backend)
    if not report.same:
        raise ReplayFailed(explain(report))


def explain(report: ReplayReport, ways_out: Sequence[str] = ()) -> str:
    """Return a divergence as a test's failure text: what changed, what follows, what can be done; safe to print.

    Args:
        ways_out: what can be done, one line each; by default the commands of `loopkit replay`.
    """
    words = [report.text()]
    if report.diagnosis is not None and not report.same:
        ways_out = ways_out or _commands(report)
        words += ["what can be done:", *(f"  {way}" for way in ways_out), "  it is not meant: change the agent back"]
    return visible("\n".join(words))


def changed_step(report: ReplayReport) -> str | None:
    """Return the id of the first call whose result alone is out of date, or None."""
    findings = () if report.diagnosis is None else report.diagnosis.findings
    return next((finding.call for finding in findings if finding.drift is Drift.RESULT and finding.call), None)


def _commands(report: ReplayReport) -> list[str]:
    command = f"loopkit replay {report.path} --agent AGENT"
    return [
        f"it is meant: `{command} --accept` keeps today's run as a new recording; this one stays",
        f"one step is out of date: `{command} --re-record {changed_step(report) or 'CALL'}` runs that one live",
    ]
