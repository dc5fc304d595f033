"""A run written out event by event: two iterations, a denied, an edited and a failed call, a sub-agent, a warning."""

from __future__ import annotations

from loopkit import events as e
from loopkit.debugger.timeline import Timeline
from loopkit.messages import Message, StopReason, ToolCall, Usage
from loopkit.outcomes import Approve, Complete, Deny, Modify

ESCAPE = "\x1b[2J"
CHILD = "root/1.3#1"


def story_events() -> list[e.Event]:
    """The events of the story."""
    calls = (
        ToolCall("c1", "read_file", {"path": f"a{ESCAPE}.txt"}),
        ToolCall("c2", "delete_file", {"path": "b.txt"}),
        ToolCall("c3", "ask_helper", {"question": "why?"}),
    )
    usage = Usage(input_tokens=100, output_tokens=20)
    facts: list[tuple[str, int, e.Fact]] = [
        ("root", 0, e.LoopStarted("main", (Message.system("Be careful."), Message.user("Tidy up.")), model="m-1")),
        ("root", 1, e.IterationStarted()),
        ("root", 1, e.ModelRequested(1, 2, "f0")),
        (
            "root",
            1,
            e.ModelReplied(
                Message.assistant(f"I will{ESCAPE} look.", calls),
                usage,
                StopReason.TOOL_CALLS,
                verdicts=(e.CallVerdict(),) * 3,
            ),
        ),
        ("root", 1, e.RepetitionDetected("identical batches", "read_file", 3, "warn", 1)),
        *(("root", 1, e.DecisionRequested(f"root/1.{n}", 1, calls[n - 1].name)) for n in (1, 2, 3)),
        ("root", 1, e.Decided("root/1.1", 1, Modify({"path": "c.txt"}), "person")),
        ("root", 1, e.Decided("root/1.2", 1, Deny("keep it"), "person")),
        ("root", 1, e.Decided("root/1.3", 1, Approve(), "person")),
        ("root", 1, e.ToolSkipped("root/1.2", "denied", "keep it")),
        ("root", 1, e.ToolStarted("root/1.1")),
        ("root", 1, e.ToolFailed("root/1.1", e.Failure("OSError", "gone"), "OSError: gone")),
        ("root", 1, e.ToolStarted("root/1.3")),
        (CHILD, 0, e.LoopStarted("helper", (Message.user("why?"),), model="m-2", depth=1, parent_call="root/1.3")),
        (CHILD, 1, e.IterationStarted()),
        (CHILD, 1, e.ModelRequested(1, 1, "f1")),
        (CHILD, 1, e.ModelReplied(Message.assistant("Because."), Usage(input_tokens=7, output_tokens=3))),
        (CHILD, 1, e.LoopFinished(Complete(), 1, Usage(input_tokens=7, output_tokens=3))),
        ("root", 1, e.ToolReturned("root/1.3", "Because.")),
        ("root", 2, e.IterationStarted()),
        ("root", 2, e.ModelRequested(1, 6, "f2")),
        ("root", 2, e.ModelReplied(Message.assistant("Done."), usage)),
        ("root", 2, e.LoopFinished(Complete(), 2, usage + usage)),
    ]
    return [e.Event(seq, seq / 10, loop, iteration, fact) for seq, (loop, iteration, fact) in enumerate(facts, 1)]


def story_timeline() -> Timeline:
    """The timeline of the story."""
    return Timeline(story_events())
