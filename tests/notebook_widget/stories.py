"""Runs for the widget's tests: events written by hand, and a session that plays them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from loopkit import events as e
from loopkit.debugger.status import Mode, PendingDecision, RunState, Status
from loopkit.debugger.timeline import Timeline
from loopkit.errors import DecisionNotAccepted
from loopkit.messages import Message, Problem, ToolCall, ToolDefinition, Usage
from loopkit.outcomes import Approve, Complete, Deny, Modify, ToolApproval

HOSTILE = "<img src=x onerror=alert(1)>"
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


class Story:
    """Writes the events of one loop, in order.

    Args:
        tool: the tool's name; its only argument is `path`.
    """

    def __init__(self, tool: str = "read_file", task: str = "look around") -> None:
        self.events: list[e.Event] = []
        self.iteration = 0
        self.tool = tool
        definition = ToolDefinition(tool, "Read a text file.", SCHEMA, side_effect="read")
        self.add(e.LoopStarted("fixer", (Message.system("Be careful."), Message.user(task)), (definition,)))

    def add(self, fact: e.Fact, loop: str = e.ROOT, iteration: int | None = None) -> Story:
        seq = len(self.events) + 1
        where = self.iteration if iteration is None else iteration
        self.events.append(e.Event(seq, seq * 0.5, loop, where, fact))
        return self

    def ask(self, text: str, *arguments: dict[str, Any]) -> Story:
        """Start an iteration whose answer asks for one call per `arguments`, all waiting."""
        self.iteration += 1
        calls = [ToolCall(f"p{at}", self.tool, given) for at, given in enumerate(arguments, 1)]
        self.add(e.IterationStarted()).add(e.ModelRequested(1, 2, "f"))
        self.add(e.ModelReplied(Message.assistant(text, calls), Usage(10, 5)))
        for position in range(1, len(arguments) + 1):
            self.add(e.DecisionRequested(self.call(position), 1, self.tool))
        return self

    def call(self, position: int = 1) -> str:
        return e.call_key(e.ROOT, self.iteration, position)

    def decide(self, decision: ToolApproval, position: int = 1) -> Story:
        return self.add(e.Decided(self.call(position), 1, decision, "person"))

    def run(self, content: str, position: int = 1) -> Story:
        return self.add(e.ToolStarted(self.call(position))).add(e.ToolReturned(self.call(position), content))

    def finish(self, text: str = "Done.") -> Story:
        self.ask(text)
        return self.add(e.LoopFinished(Complete(), self.iteration, Usage(20, 10)))


def finished_story(**names: str) -> Story:
    """One call that was approved, one that was denied, then the answer."""
    story = Story(**names).ask("I look.", {"path": "a.txt"}, {"path": "b.txt"})
    story.decide(Approve(), 1).decide(Deny("not that one"), 2).run("hello", 1)
    story.add(e.ToolSkipped(story.call(2), "denied", "not that one"))
    return story.finish()


def long_story(iterations: int) -> Story:
    story = Story()
    for _ in range(iterations):
        story.ask("again", {"path": "a.txt"}).decide(Approve()).run("x")
    return story


class PlayedSession:
    """Has the face of a session; `play` brings new events, commands are kept in `commands`."""

    def __init__(self, events: Iterable[e.Event] = (), *, live: bool = True, title: str = "fixer") -> None:
        self.timeline = Timeline()
        self.live = live
        self.title = title
        self.path = Path("run.jsonl")
        self.notices: list[str] = []
        self.error = ""
        self.commands: list[tuple[Any, ...]] = []
        self.closed = 0
        self.stream = ""
        self._fresh: list[e.Event] = list(events)
        self._wake: Callable[[], None] = lambda: None

    def play(self, events: Iterable[e.Event]) -> None:
        """Bring news, as the run's own thread does."""
        self._fresh.extend(events)
        self._wake()

    def on_change(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def poll(self) -> list[e.Event]:
        events, self._fresh = self._fresh, []
        for event in events:
            self.timeline.apply(event)
        return events

    def status(self) -> Status:
        timeline = self.timeline
        state: RunState = "finished" if timeline.ended else "waiting" if timeline.waiting else "running"
        iteration = len(timeline.root.iterations) if timeline.root else 0
        mode: Mode = "live" if self.live else "recorded"
        waits = "a decision" if timeline.waiting else ""
        return Status(
            mode, state, waits, iteration, 10, len(timeline.loops), timeline.usage, timeline.t, 0.0, "run.jsonl"
        )

    def pending(self) -> list[PendingDecision]:
        return [
            PendingDecision(
                call.id,
                call.version,
                call.loop.path,
                ("fixer",),
                call.iteration.number,
                call.name,
                dict(call.arguments),
                call.raw_arguments,
                "Read a text file.",
                SCHEMA,
                "read",
                call.problems,
                call.requested_at or 0.0,
            )
            for call in self.timeline.waiting.values()
        ]

    def partial(self, loop: str = e.ROOT) -> str:
        return self.stream

    def parse_arguments(self, call: str, text: str) -> tuple[dict[str, Any] | None, tuple[Problem, ...]]:
        try:
            arguments = json.loads(text)
        except json.JSONDecodeError as error:
            return None, (Problem("$", f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})"),)
        if not isinstance(arguments.get("path"), str):
            return None, (Problem("$.path", "a string is needed"),)
        return arguments, ()

    def approve(self, call: str, version: int) -> None:
        if call not in self.timeline.waiting:
            raise DecisionNotAccepted(f"{call} is decided already")
        self.commands.append(("approve", call, version))

    def deny(self, call: str, version: int, reason: str = "") -> None:
        self.commands.append(("deny", call, version, reason))

    def edit(self, call: str, version: int, arguments: dict[str, Any]) -> None:
        self.commands.append(("edit", call, version, arguments))

    def respond(self, call: str, version: int, output: str, is_error: bool = False) -> None:
        self.commands.append(("respond", call, version, output, is_error))

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name not in ("pause", "step", "next_iteration", "resume", "stop"):
            raise AttributeError(name)
        return lambda: self.commands.append((name,))

    def close(self) -> None:
        self.closed += 1


def edited_story() -> Story:
    story = Story().ask("I look.", {"path": "a.txt"})
    return story.decide(Modify({"path": "c.txt"})).run("other").finish()
