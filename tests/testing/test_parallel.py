"""Many test processes that ask for the same recording: one makes it, the others wait and replay (issue 4, item 7)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loopkit.recording.check import check_recording
from tests.testing.projects import PLUGIN, RECIPE, Project

# each time that the model is asked, a file says so
COUNTED = """
import os, time, uuid
from pathlib import Path
from loopkit import Agent, ScriptedProvider, ToolCall, tool
from agent import search

def answer(request):
    Path("asked", uuid.uuid4().hex).touch()
    # the first one to record is still at it while the others come
    time.sleep(0.05)
    return "Done." if len(request.messages) > 2 else ToolCall("a", "search", {"query": "x"})

def make():
    return Agent(ScriptedProvider(answer), tools=[search])
"""


@pytest.fixture
def counted(project: Project) -> Project:
    (project.folder / "asked").mkdir()
    project.write("counted.py", COUNTED)
    for place in range(4):
        project.write(
            f"test_part_{place}.py",
            f"""
from counted import make
def test_one(loopkit_replay):
    loopkit_replay("recordings/run.jsonl", make, {RECIPE}).called("search", times=1)
def test_two(loopkit_replay):
    loopkit_replay("recordings/run.jsonl", make, {RECIPE}).ended("complete")
""",
        )
    return project


def run_in_parallel(folder: Path, option: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "xdist", "-n", "2", option]
    words += [f"test_part_{place}.py" for place in range(4)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.parametrize("mode", ["once", "all"])
def test_one_process_records_and_the_others_replay(counted: Project, mode: str) -> None:
    done = run_in_parallel(counted.folder, f"--loopkit-record={mode}")
    assert "8 passed" in done.stdout, done.stdout
    assert len(list((counted.folder / "asked").iterdir())) == 2
    assert check_recording(counted.recording) == []
    assert [path.name for path in counted.recording.parent.iterdir()] == ["run.jsonl"]
    assert "recordings/run.jsonl: recorded" in done.stdout


def test_all_records_once_more_in_each_session(counted: Project) -> None:
    """The lock file that stays says which session recorded last."""
    for times in (1, 2):
        done = run_in_parallel(counted.folder, "--loopkit-record=all")
        assert "8 passed" in done.stdout, done.stdout
        assert len(list((counted.folder / "asked").iterdir())) == 2 * times
