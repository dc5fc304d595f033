"""Agents written as a user writes them into a file, and a shortcut to the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loopkit.cli import main

AGENT = '''\
from pathlib import Path

from loopkit import Agent, Message, ScriptedProvider, ToolCall, Usage, tool


@tool(side_effect="read")
def look(path: str) -> str:
    """Look at a file."""
    return f"{path} says hello"


@tool
def write(path: str, text: str) -> str:
    """Write a file."""
    Path(path).write_text(text)
    return f"{len(text)} characters"


def answer(request):
    results = [m.tool_results[0].content for m in request.messages if m.role == "tool"]
    if not results:
        return ["Looking.", ToolCall("c1", "look", {"path": "a.txt"}), ToolCall("c2", "write", {"path": "b.txt", "text": "hi"})]
    return "The results: " + " | ".join(results)


agent = Agent(ScriptedProvider(answer, usage=Usage(10, 5)), tools=[look, write], system="Be brief.", name="looker")
'''


SLOW = """\
import sys
import anyio
from loopkit import Agent, ScriptedProvider, ToolCall, tool


@tool(side_effect="read")
async def wait() -> str:
    \"\"\"Wait for a process.\"\"\"
    async with await anyio.open_process(["sleep", "60"], stdout=None, stderr=None) as process:
        print("started", file=sys.stderr, flush=True)
        await process.wait()
    return "never"


agent = Agent(ScriptedProvider([ToolCall("c", "wait", {}), "never"]), tools=[wait])
"""


def write_agent(text: str = AGENT, name: str = "agent.py") -> str:
    """Write an agent's file into the working folder and return how the command line names it."""
    Path(name).write_text(text)
    return f"{name}:agent"


def record(path: str = "run.jsonl", *options: str, agent: str = AGENT) -> Path:
    """Record a run of an agent with `loopkit run`."""
    assert main(["run", write_agent(agent), "--task", "go", "--record", path, *options]) in (0, 1)
    return Path(path)


def json_of(words: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> Any:
    """Run a command and read the JSON that it prints."""
    capsys.readouterr()
    assert main(words) == code
    return json.loads(capsys.readouterr().out)


def failure_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that can't do its work and return the one line that it says."""
    capsys.readouterr()
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("loopkit: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("loopkit: ").rstrip("\n")
