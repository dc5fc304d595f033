"""The interface in a real terminal: it draws, takes keys, and gives the terminal back at every end."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loopkit import events as e
from loopkit.debugger.recorded import open_recording
from loopkit_tui.decisions import GRACE_SECONDS

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: the terminal tests need it"),
]
ROOT = Path(__file__).resolve().parents[2]
LIVE = """
import sys
from pathlib import Path
from loopkit.debugger.session import Session
from loopkit_tui.app import main
from tests.tui.stories import careful_agent
sys.exit(main(session=Session.start(careful_agent(), "Check the tests.", record=Path(sys.argv[1]))))
"""


class Terminal:
    """A shell in tmux; what it shows is what a person would see."""

    def __init__(self, folder: Path) -> None:
        self._socket = f"loopkit-{uuid.uuid4().hex[:8]}"
        self._folder = folder
        self._tmux("new-session", "-d", "-x", "100", "-y", "30", "env", "PS1=shell> ", "sh")

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-L", self._socket, "-f", "/dev/null", *words]
        paths = os.pathsep.join([str(ROOT), str(ROOT / "tui")])
        environment = {**os.environ, "PYTHONPATH": paths, "TERM": "xterm-256color"}
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout

    def type(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def run(self, *words: str) -> None:
        """Start a program; its exit code is printed when it ends."""
        self.type("-l", f'{shlex.join(words)}; echo "left with $?"')
        self.type("Enter")

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def modes(self) -> str:
        """Alternate screen and mouse modes, as the terminal has them now."""
        return self._tmux(
            "display-message", "-p", "#{alternate_on}#{mouse_any_flag}#{mouse_all_flag}#{mouse_sgr_flag}"
        ).strip()

    def child(self) -> int:
        """Process id of the program that the shell runs."""
        shell = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(
            subprocess.run(
                ["ps", "-o", "pid=", "--ppid", shell], capture_output=True, text=True, check=True
            ).stdout.split()[0]
        )

    def until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < deadline, f"{what} did not come:\n{self.screen()}"
            time.sleep(0.05)

    def shows(self, *words: str) -> None:
        self.until(lambda: all(word in self.screen() for word in words), str(words))

    def close(self) -> None:
        self._tmux("kill-server")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    shell = Terminal(tmp_path)
    try:
        yield shell
    finally:
        shell.close()


def start(terminal: Terminal, tmp_path: Path) -> Path:
    script, recording = tmp_path / "live.py", tmp_path / "run.jsonl"
    script.write_text(LIVE)
    terminal.run(sys.executable, str(script), str(recording))
    terminal.shows("your decision", "a approve")
    return recording


def test_it_draws_takes_keys_and_gives_the_terminal_back(terminal: Terminal, tmp_path: Path) -> None:
    """spec/faults.md e13"""
    recording = start(terminal, tmp_path)
    assert terminal.modes().startswith("1")
    terminal.type("d")
    terminal.until(lambda: any(words in terminal.screen() for words in ("deny it", "press it again")), "an answer to d")
    if "press it again" in terminal.screen():
        time.sleep(GRACE_SECONDS)
        terminal.type("d")
    terminal.shows("deny it")
    terminal.type("-l", "not now")
    terminal.type("Enter")
    terminal.shows("⊘ run_tests", "denied")
    time.sleep(GRACE_SECONDS)
    terminal.type("a")
    terminal.shows("✓ write_file", "your decision")
    terminal.type("q")
    terminal.shows("stop and leave")
    terminal.type("y")
    terminal.shows("left with 0", f"recorded in {tmp_path}")
    assert terminal.modes() == "0000"
    assert open_recording(recording).timeline.denied == 1


@pytest.mark.parametrize(("signal", "code"), [("TERM", 143), ("HUP", 129), ("INT", 130)])
def test_a_signal_gives_the_terminal_back_and_closes_the_recording(
    terminal: Terminal, tmp_path: Path, signal: str, code: int
) -> None:
    """spec/faults.md e14"""
    recording = start(terminal, tmp_path)
    subprocess.run(["kill", f"-{signal}", str(terminal.child())], check=True)
    terminal.shows(f"left with {code}")
    assert terminal.modes() == "0000"
    run = open_recording(recording)
    assert run.timeline.ended
    assert [event.fact.by for event in run.events if isinstance(event.fact, e.RunStopped)] == ["caller"]


def test_ctrl_c_gives_the_terminal_back_and_closes_the_recording(terminal: Terminal, tmp_path: Path) -> None:
    recording = start(terminal, tmp_path)
    terminal.type("C-c")
    terminal.shows("left with 130")
    assert terminal.modes() == "0000"
    assert open_recording(recording).timeline.ended


def test_a_model_that_can_not_be_used_is_one_line_after_the_screen(terminal: Terminal, tmp_path: Path) -> None:
    """The issue: a server that refuses is one clear line with what to do, exit 2."""
    script = tmp_path / "live.py"
    refused = 'careful_agent([ProviderError("no such model: name another one")])'
    imports = "from loopkit.errors import ProviderError\n"
    script.write_text(imports + LIVE.replace("careful_agent()", refused))
    terminal.run(sys.executable, str(script), str(tmp_path / "run.jsonl"))
    terminal.shows("failed: no such model: name another one")
    terminal.type("q")
    terminal.shows("loopkit: no such model: name another one", "left with 2")
    assert terminal.modes() == "0000"


def test_a_closed_terminal_ends_the_process_with_a_whole_recording(tmp_path: Path) -> None:
    """spec/faults.md e14"""
    terminal = Terminal(tmp_path)
    recording = start(terminal, tmp_path)
    process = terminal.child()
    terminal.close()
    deadline = time.monotonic() + 15
    while Path(f"/proc/{process}").exists():
        assert time.monotonic() < deadline, "the process outlived its terminal"
        time.sleep(0.05)
    assert open_recording(recording).timeline.ended


def test_an_exception_in_the_interface_gives_the_terminal_back(terminal: Terminal, tmp_path: Path) -> None:
    """spec/faults.md e14"""
    script, recording = tmp_path / "live.py", tmp_path / "run.jsonl"
    broken = "import loopkit_tui.screens.keys as keys\ndef broken(self): raise RuntimeError('drawn to death')\n"
    script.write_text(broken + "keys.KeysScreen.compose = broken\n" + LIVE)
    terminal.run(sys.executable, str(script), str(recording))
    terminal.shows("your decision")
    terminal.type("?")
    terminal.shows("left with 1")
    assert terminal.modes() == "0000"
    assert open_recording(recording).timeline.ended


SLEEPS = """
import subprocess, sys
from pathlib import Path
from loopkit import Agent, ScriptedProvider, ToolCall, tool
from loopkit.debugger.session import Session
from loopkit_tui.app import main

@tool
def wait_for_process() -> str:
    "Run a process that takes long."
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"])
    Path(sys.argv[2]).write_text(str(child.pid))
    child.wait()
    return "done"

agent = Agent(ScriptedProvider([ToolCall("c1", "wait_for_process")]), tools=[wait_for_process])
sys.exit(main(session=Session.start(agent, "Wait.", record=Path(sys.argv[1]))))
"""


def _runs_a_process(terminal: Terminal, tmp_path: Path) -> Path:
    script, number = tmp_path / "live.py", tmp_path / "pid"
    script.write_text(SLEEPS)
    terminal.run(sys.executable, str(script), str(tmp_path / "run.jsonl"), str(number))
    terminal.shows("your decision")
    # keys do nothing in the first moment after a call has come up
    time.sleep(GRACE_SECONDS)
    terminal.type("a")
    terminal.until(lambda: number.exists() and bool(number.read_text()), "the tool's process")
    return number


def _its_process_ends(terminal: Terminal, tmp_path: Path, number: Path) -> None:
    terminal.shows("left with")
    terminal.until(lambda: not Path(f"/proc/{number.read_text()}").exists(), "the end of the tool's process")
    assert open_recording(tmp_path / "run.jsonl").timeline.ended


@pytest.mark.parametrize("signal_name", ["TERM", "HUP"])
def test_processes_that_a_tool_started_end_with_a_killed_interface(
    terminal: Terminal, tmp_path: Path, signal_name: str
) -> None:
    """A thread can't be interrupted, but what it waits for can be ended."""
    number = _runs_a_process(terminal, tmp_path)
    os.kill(terminal.child(), getattr(signal, f"SIG{signal_name}"))
    _its_process_ends(terminal, tmp_path, number)


@pytest.mark.parametrize("keys", [("C-c",), ("q", "y")])
def test_processes_that_a_tool_started_end_when_a_person_leaves(
    terminal: Terminal, tmp_path: Path, keys: tuple[str, ...]
) -> None:
    """Leaving stops the run before the interface ends."""
    number = _runs_a_process(terminal, tmp_path)
    terminal.type(keys[0])
    if keys[1:]:
        terminal.shows("Stop it and leave?")
        time.sleep(GRACE_SECONDS)
        terminal.type(*keys[1:])
    _its_process_ends(terminal, tmp_path, number)
