"""A small project with an agent and a test of it, for the plugin to be used in."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import anyio._backends._asyncio
import anyio._backends._trio
import jsonschema.validators
import pytest
import trio.testing

import loopkit

PLUGIN = "loopkit.testing.plugin"
LEFT_OUT = ("loopkit.__main__", "loopkit.cli", "loopkit.demo", "loopkit.recording.schema")

# A run inside this process forgets all modules that it loaded first, and a class must not be there twice.
for found in pkgutil.walk_packages(loopkit.__path__, "loopkit."):
    if not found.name.startswith(LEFT_OUT) and found.name != PLUGIN:
        importlib.import_module(found.name)
LOADED = (anyio._backends._asyncio, anyio._backends._trio, jsonschema.validators, trio.testing)

AGENT = '''
from loopkit import Agent, ScriptedProvider, ToolCall, tool

@tool(side_effect="read")
def search(query: str) -> str:
    """Search for something."""
    RAN.append(query)
    return f"found {query}"

@tool
def delete(path: str) -> str:
    """Delete a file."""
    RAN.append(path)
    return f"deleted {path}"

RAN = []

def make(prompt="Be careful.", last="All done."):
    script = [
        [ToolCall("a", "search", {"query": "rust"}), ToolCall("b", "search", {"query": "python"})],
        ToolCall("c", "delete", {"path": "old.txt"}),
        last,
    ]
    return Agent(ScriptedProvider(script), tools=[search, delete], system=prompt, name="cleaner")

agent = make()
'''
RECIPE = 'task="Clean up.", approve="read-only"'
TEST = f"""
from agent import make

def test_it(loopkit_replay):
    run = loopkit_replay("recordings/run.jsonl", make, {RECIPE})
    run.called("search", times=2)
    run.denied("delete")
"""


class Project:
    """A folder with an agent, in which pytest runs with the plugin."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        monkeypatch.syspath_prepend(str(pytester.path))
        self.folder = pytester.path
        self.pytester = pytester
        self.recording = pytester.path / "recordings" / "run.jsonl"
        self.write("agent.py", AGENT)
        self.write("test_agent.py", TEST)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def change(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def run(self, *options: str) -> pytest.RunResult:
        """Run its tests inside this process."""
        return self.pytester.runpytest_inprocess("-p", PLUGIN, "-p", "anyio", *options)

    def record(self) -> bytes:
        """Make its recording and return what it holds."""
        self.run("--loopkit-record=once").assert_outcomes(passed=1)
        return self.recording.read_bytes()


def text_of(result: pytest.RunResult) -> str:
    return "\n".join(result.outlines)
