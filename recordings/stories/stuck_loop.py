"""A subprocess: a builder runs the same failing build again and again, until loop detection ends the run."""

import atexit
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

from loopkit import Agent, LoopAction, LoopDetectionConfig, ScriptedProvider, ToolCall, ToolLoopConfig, ToolOutput, tool

TASK = "Build the handbook."
DECISIONS = {}

FOLDER = Path(tempfile.mkdtemp(prefix="loopkit-story-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
(FOLDER / "build.py").write_text(
    """import sys
from pathlib import Path

chapters = Path("chapters.txt")
if not chapters.exists():
    sys.exit("build: chapters.txt is missing")
print("build: handbook.html written")
"""
)


@tool(side_effect="idempotent", timeout=20)
def run_build(target: Literal["handbook", "leaflet"] = "handbook") -> ToolOutput:
    """Run the build in a process of its own.

    Args:
        target: What to build.
    """
    command = [sys.executable, "-I", "-S", "build.py", target]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    return ToolOutput((done.stdout + done.stderr).strip(), is_error=done.returncode != 0)


@tool(side_effect="idempotent")
def write_chapters(names: list[str]) -> str:
    """Write chapters.txt, which names the chapters of the handbook.

    Args:
        names: The chapters, in order.
    """
    (FOLDER / "chapters.txt").write_text("\n".join(names))
    return f"{len(names)} chapters"


BUILD = {"target": "handbook"}
SCRIPT = [
    ["I'll run the build.", ToolCall("a", "run_build", BUILD)],
    ["That may have been a hiccup. Once more.", ToolCall("b", "run_build", BUILD)],
    ["Strange. Perhaps the third time is the charm.", ToolCall("c", "run_build", BUILD)],
]
agent = Agent(
    ScriptedProvider(SCRIPT, chunk=24, delay=0.01, usage="count"),
    tools=[run_build, write_chapters],
    system="You build documents.",
    name="builder",
    config=ToolLoopConfig(loop_detection=LoopDetectionConfig(threshold=3, action=LoopAction.STOP)),
)
