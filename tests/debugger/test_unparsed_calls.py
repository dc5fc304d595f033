"""A person who decides on a call sees why it can't run (spec/loop.md 9.1)."""

from __future__ import annotations

from loopkit import events as e
from loopkit.debugger.timeline import Timeline
from loopkit.messages import Message, Problem, ToolCall


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
