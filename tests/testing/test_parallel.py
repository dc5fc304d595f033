"""Many test processes that ask for the same recording: one makes it, the others wait and replay (issue 4, item 7)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loopkit.recording.check import check_recording
from tests.testing.projects import PLUGIN, RECIPE, Project

pytestmark = pytest.mark.timeout(240)

# Each time that the model is asked, a file says so; it answers only when both processes have asked for the recording.
COUNTED = """
import os, time, uuid
from pathlib import Path
from loopkit import Agent, ScriptedProvider, ToolCall
from agent import search

def enter():
    Path("entered", os.environ["PYTEST_XDIST_WORKER"]).touch()

def answer(request):
    Path("asked", uuid.uuid4().hex).touch()
    end = time.monotonic() + 60
    while len(list(Path("entered").iterdir())) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    return "Done." if len(request.messages) > 2 else ToolCall("a", "search", {"query": "x"})

def make():
    return Agent(ScriptedProvider(answer), tools=[search])
"""


@pytest.fixture
def counted(project: Project) -> Project:
    (project.folder / "asked").mkdir()
    project.write("counted.py", COUNTED)
    for place in "ab":
        project.write(
            f"test_part_{place}.py",
            f"""
from counted import enter, make
def test_one(loopkit_replay):
    enter()
    loopkit_replay("recordings/run.jsonl", make, {RECIPE}).called("search", times=1)
def test_two(loopkit_replay):
    enter()
    loopkit_replay("recordings/run.jsonl", make, {RECIPE}).ended("complete")
""",
        )
    return project


def run_in_parallel(folder: Path, option: str) -> str:
    shutil.rmtree(folder / "entered", ignore_errors=True)
    (folder / "entered").mkdir()
    words = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "xdist", "-n", "2", option]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*words, "test_part_a.py", "test_part_b.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert "4 passed" in done.stdout, done.stdout
    return done.stdout


def test_one_process_records_and_the_others_wait_and_replay(counted: Project) -> None:
    told = run_in_parallel(counted.folder, "--loopkit-record=once")
    assert len(list((counted.folder / "asked").iterdir())) == 2
    assert check_recording(counted.recording) == []
    assert [path.name for path in counted.recording.parent.iterdir()] == ["run.jsonl"]
    assert told.count("recordings/run.jsonl: recorded") == 1


def test_all_records_once_in_each_session(counted: Project) -> None:
    """The lock file that stays says which session recorded last."""
    for times in (1, 2):
        run_in_parallel(counted.folder, "--loopkit-record=all")
        assert len(list((counted.folder / "asked").iterdir())) == 2 * times
