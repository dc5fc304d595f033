"""A person who decides on a call sees why it can't run (spec/loop.md 9.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loopkit import ToolLoopConfig
from loopkit import events as e
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.report import iteration_report
from loopkit.debugger.timeline import Timeline
from loopkit.messages import Message, Problem, ToolCall
from tests.debugger.live_runs import started


def test_a_key_that_stands_twice_is_a_warning_on_the_decision(path: Path) -> None:
    """9.1: it may run; the person and the callback are told, the log keeps it."""
    call = ToolCall("c1", "add", {"a": 1, "b": 2}, duplicate_keys=("b", "x\x1b"))
    seen: list[tuple[str, ...]] = []

    def look(call: ToolCall) -> Any:
        seen.append(call.duplicate_keys)

    with started([call, "done"], path, config=ToolLoopConfig(on_tool_call=look)) as (session, eyes):
        (one,) = eyes.until_pending()
        assert one.problems == ()
        assert one.warnings == (
            "'b' stands there more than once; the last value counts",
            "'x\\x1b' stands there more than once; the last value counts",
        )
        eyes.until(lambda: bool(seen))
        session.approve(one.call, one.version)
        eyes.until_ended()
        report = list(iteration_report(session.timeline.calls[one.call].iteration))
    assert seen == [("b", "x\x1b")]
    assert "  warning: 'b' stands there more than once; the last value counts" in report
    read = open_recording(path)
    assert read.timeline.calls["root/1.1"].duplicate_keys == ("b", "x\x1b")


def test_arguments_that_could_not_be_parsed_are_a_problem_of_the_call() -> None:
    call = ToolCall("c1", "add", raw_arguments="{broken", problem="not JSON: line 1")
    facts = [
        e.LoopStarted("agent", (Message.user("go"),)),
        e.IterationStarted(),
        e.ModelRequested(1, 1, ""),
        e.ModelReplied(Message.assistant("", [call]), verdicts=(e.CallVerdict(),)),
    ]
    timeline = Timeline(e.Event(seq, 0.0, "root", min(seq - 1, 1), fact) for seq, fact in enumerate(facts, 1))
    assert timeline.calls["root/1.1"].problems == (Problem("$", "not JSON: line 1"),)
