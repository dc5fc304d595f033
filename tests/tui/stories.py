"""Runs to look at: recorded ones as event lists, live ones as scripted agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loopkit import events as e
from loopkit.agent import Agent
from loopkit.core.config import ToolLoopConfig
from loopkit.debugger.recorded import OpenedRun
from loopkit.debugger.session import Session
from loopkit.messages import Message, Text, ToolCall, ToolDefinition, Usage
from loopkit.outcomes import Approve, Complete, Deny, Modify
from loopkit.providers.scripted import ScriptedProvider
from loopkit.tools.definition import tool

RUN_TESTS = ToolDefinition(
    "run_tests",
    "Run the tests of a file and say what failed.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Which tests."},
            "timeout": {"type": "integer", "maximum": 600, "description": "Seconds that they may take."},
            "verbose": {"type": "boolean", "default": False},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
    "idempotent",
)
WRITE_FILE = ToolDefinition(
    "write_file",
    "Write a text file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
    "irreversible",
)
READ_FILE = ToolDefinition(
    "read_file", "Read a text file.", {"type": "object", "properties": {"path": {"type": "string"}}}, "read"
)
FIX = ToolDefinition(
    "fix", "Let the fixer look into it.", {"type": "object", "properties": {"what": {"type": "string"}}}
)


class Story:
    """Events of a run, appended by what happens."""

    def __init__(self) -> None:
        self.events: list[e.Event] = []
        self.t = 0.0
        self._iterations: dict[str, int] = {}

    def add(self, loop: str, fact: e.Fact, seconds: float = 0.01) -> None:
        self.t += seconds
        self.events.append(e.Event(len(self.events) + 1, self.t, loop, self._iterations.get(loop, 0), fact))

    def start(self, task: str, *, loop: str = e.ROOT, agent: str = "fix-flaky-test", parent: str | None = None) -> None:
        messages = (Message.system("You are careful."), Message.user(task))
        tools = (RUN_TESTS, WRITE_FILE, READ_FILE, FIX)
        depth = loop.count("#")
        config = {"max_iterations": 20, "max_depth": 3}
        self.add(loop, e.LoopStarted(agent, messages, tools, config, "gpt-5-mini", {}, depth, parent))

    def reply(self, text: str, *calls: tuple[str, dict[str, Any]], loop: str = e.ROOT, tokens: int = 1200) -> list[str]:
        """One iteration up to its answer; returns the ids of its calls."""
        number = self._iterations.get(loop, 0) + 1
        self._iterations[loop] = number
        self.add(loop, e.IterationStarted())
        self.add(loop, e.ModelRequested(1, 2 * number, f"f{number:07x}"))
        asked = [ToolCall(f"call_{position}", name, arguments) for position, (name, arguments) in enumerate(calls)]
        parts = ((Text(text),) if text else ()) + tuple(asked)
        verdicts = tuple(e.CallVerdict() for _ in asked)
        replied = e.ModelReplied(Message("assistant", parts), Usage(tokens, tokens // 8), verdicts=verdicts)
        self.add(loop, replied, 1.4)
        return [e.call_key(loop, number, position) for position in range(1, len(asked) + 1)]

    def ask(self, call: str, name: str, *, loop: str = e.ROOT) -> None:
        self.add(loop, e.DecisionRequested(call, 1, name))

    def run(self, call: str, name: str, content: str, *, loop: str = e.ROOT, seconds: float = 0.02, bad: bool = False,
            decision: Any = None, by: str = "person") -> None:  # fmt: skip
        self.ask(call, name, loop=loop)
        self.add(loop, e.Decided(call, 1, decision or Approve(), by), 2.0 if by == "person" else 0.0)
        if isinstance(decision, Deny):
            self.add(loop, e.ToolSkipped(call, "denied", decision.reason))
            return
        self.add(loop, e.ToolStarted(call))
        self.add(loop, e.ToolReturned(call, content, bad), seconds)

    def finish(self, loop: str = e.ROOT) -> None:
        self.add(loop, e.LoopFinished(Complete(), self._iterations.get(loop, 0), Usage(9000, 800)))

    def session(self, title: str = "fix the flaky test") -> Session:
        return Session(recorded=OpenedRun(Path("flaky.jsonl"), None, self.events), title=title)


def flaky(*, end: bool = True) -> Story:
    """A run with an edit, a denial, a sub-agent that repeats itself, and an error."""
    story = Story()
    story.start("The test tests/test_clock.py fails now and then. Find out why and mend it.")
    (call,) = story.reply("I'll read the clock first.", ("read_file", {"path": "src/clock.py"}))
    story.run(call, "read_file", "import time\n\n\ndef now():\n    return time.time()\n", by="default")
    (call,) = story.reply(
        "", ("write_file", {"path": "src/clock.py", "content": "import time\n\ndef now():\n    ...\n"})
    )
    edited = {"path": "src/clock.py", "content": "import time\n\ndef now() -> float:\n    return time.monotonic()\n"}
    story.run(call, "write_file", "wrote 61 bytes", decision=Modify(edited))
    (call,) = story.reply("Now somebody should look at the test itself.", ("fix", {"what": "tests/test_clock.py"}))
    story.ask(call, "fix")
    story.add(e.ROOT, e.Decided(call, 1, Approve(), "person"), 1.0)
    story.add(e.ROOT, e.ToolStarted(call))
    child = e.child_path(call, 1)
    story.start("Make tests/test_clock.py steady.", loop=child, agent="fixer", parent=call)
    for number in range(3):
        (inner,) = story.reply(
            "" if number else "Let me see.", ("run_tests", {"path": "tests/test_clock.py"}), loop=child
        )
        if number == 2:
            repeated = e.RepetitionDetected("identical batches", "run_tests", 3, "warn", 1)
            story.add(child, repeated)
        failed = '{"exit": 1, "failed": ["test_tick"], "seconds": 2.10}'
        story.run(inner, "run_tests", failed, loop=child, seconds=2.1, bad=True, by="default")
    story.reply("It fails every time: the assertion compares wall clock times.", loop=child)
    story.finish(child)
    story.add(e.ROOT, e.ToolReturned(call, "The assertion compares wall clock times."))
    calls = story.reply(
        "The patch is in. I'll clean up.",
        ("write_file", {"path": "NOTES.md", "content": "done"}),
        ("run_tests", {"path": "tests", "timeout": 60}),
    )
    story.run(calls[0], "write_file", "", decision=Deny("no notes please"))
    story.run(calls[1], "run_tests", "12 passed", seconds=3.2)
    if end:
        story.reply("The test is steady now: it uses a monotonic clock.")
        story.finish()
    return story


def long_run(iterations: int) -> Story:
    """Many iterations with one call each."""
    story = Story()
    story.start("go on and on")
    for number in range(iterations):
        (call,) = story.reply(f"step {number}", ("read_file", {"path": f"{number}.txt"}))
        story.run(call, "read_file", "x", by="default")
    story.finish()
    return story


def odd(text: str) -> Story:
    """A run in which everything that a model and a tool say is `text`."""
    story = Story()
    story.start(text, agent=text)
    (call,) = story.reply(text, (text, {text: text, "list": [text]}))
    story.run(call, text, text, by=text)
    story.reply(text)
    story.finish()
    return story


# ── live ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def careful_agent(script: list[Any] | None = None, **settings: Any) -> Agent:
    """An agent with a file tool and a test tool that need no files."""

    @tool(side_effect="irreversible")
    def write_file(path: str, content: str) -> str:
        """Write a text file."""
        return f"wrote {len(content)} characters to {path}"

    @tool
    def run_tests(path: str, timeout: int = 30) -> str:
        """Run the tests of a file.

        Args:
            path: Which tests.
            timeout: Seconds that they may take.
        """
        return f"{path}: passed in {timeout}"

    answers = script or [
        [
            ToolCall("a", "run_tests", {"path": "tests/test_a.py"}),
            ToolCall("b", "write_file", {"path": "n", "content": "x"}),
        ],
        ToolCall("c", "run_tests", {"path": "tests", "timeout": 5}),
        "All done.",
    ]
    provider = ScriptedProvider(answers, usage="count")
    return Agent(provider, tools=[write_file, run_tests], name="careful", config=ToolLoopConfig(**settings))
