"""Two real terminals: a run is served in one, and debugged from the other."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loopkit import events as e
from loopkit.debugger.recorded import open_recording
from loopkit_tui.decisions import GRACE_SECONDS
from tests.tui.test_terminal import Terminal

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: the terminal tests need it"),
]
AGENT = "from tests.tui.stories import careful_agent\nagent = careful_agent()\n"


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[tuple[Terminal, Terminal]]:
    first, second = Terminal(tmp_path), Terminal(tmp_path)
    try:
        yield first, second
    finally:
        first.close()
        second.close()


@pytest.fixture
def socket() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "run.sock")


def serve(terminal: Terminal, folder: Path, socket: str, *options: str) -> Path:
    (folder / "careful.py").write_text(AGENT)
    recording = folder / "run.jsonl"
    words = ["run", f"{folder / 'careful.py'}:agent", "--task", "Check the tests.", "--record", str(recording)]
    terminal.run(sys.executable, "-m", "loopkit", *words, "--serve", socket, *options)
    terminal.shows("served: loopkit attach")
    return recording


def approve(terminal: Terminal, tool: str) -> None:
    terminal.shows(f"your decision: {tool}")
    # keys do nothing in the first moment after a call has come up
    time.sleep(GRACE_SECONDS)
    terminal.type("a")


def test_a_run_is_served_in_one_terminal_and_approved_in_another(
    terminals: tuple[Terminal, Terminal], tmp_path: Path, socket: str
) -> None:
    """DESIGN §5: the same session over a socket; the run ends where it was started."""
    here, there = terminals
    recording = serve(here, tmp_path, socket, "--unattended", "wait")
    there.run(sys.executable, "-m", "loopkit", "attach", socket)
    there.shows("● live")
    approve(there, "run_tests")
    approve(there, "write_file")
    approve(there, "run_tests")
    here.shows("outcome    complete", "left with 0")
    there.shows("complete")
    there.type("q")
    there.shows("left with 0")
    assert there.modes() == "0000"
    decided = [event.fact.by for event in open_recording(recording).events if isinstance(event.fact, e.Decided)]
    assert decided == ["person"] * 3


def test_leaving_the_other_terminal_leaves_the_run_and_one_may_come_back(
    terminals: tuple[Terminal, Terminal], tmp_path: Path, socket: str
) -> None:
    """A debugger that has gone is no stopped run."""
    here, there = terminals
    recording = serve(here, tmp_path, socket, "--unattended", "wait")
    there.run(sys.executable, "-m", "loopkit", "attach", socket)
    there.shows("your decision")
    there.type("C-c")
    there.shows("left with 130")
    assert re.search(r"left with \d", here.screen()) is None
    there.run(sys.executable, "-m", "loopkit", "attach", socket)
    there.shows("your decision", "● live")
    there.type("X")
    there.shows("stop")
    time.sleep(GRACE_SECONDS)
    there.type("Enter")
    here.shows("left with 1")
    assert open_recording(recording).timeline.ended
