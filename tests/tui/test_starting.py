"""How the interface starts and ends as a command: what it needs, what it prints, which code it leaves."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loopkit.debugger.session import Session
from loopkit.errors import ProviderError, UserError
from loopkit_tui.app import LoopkitApp, main
from tests.tui.stories import careful_agent


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> tuple[Screen, Screen]:
    """Have the app end at once without drawing; returns what takes the place of stdout and stderr."""
    out, err = Screen(), Screen()
    for name, stream in (("stdin", Screen()), ("stdout", out), ("stderr", err)):
        monkeypatch.setattr(sys, name, stream)

    def run(app: LoopkitApp) -> None:
        assert app._session is not None
        app.sessions.append(app._session)

    monkeypatch.setattr(LoopkitApp, "run", run)
    return out, err


def started(tmp_path: Path, *answers: Any) -> Session:
    session = Session.start(careful_agent(list(answers)), "go", record=tmp_path / "run.jsonl")
    assert session.wait(10)
    return session


def test_a_run_that_broke_is_one_line_on_stderr_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The issue: a server that refuses is one clear line, exit 2."""
    broken = ProviderError("no such model: name another one")
    out, err = on_a_terminal(monkeypatch)
    assert main(session=started(tmp_path, broken)) == 2
    assert out.getvalue() == f"recorded in {tmp_path / 'run.jsonl'}\n"
    assert err.getvalue() == "loopkit: no such model: name another one\n"


def test_a_run_that_went_well_is_exit_code_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = on_a_terminal(monkeypatch)
    assert main(session=started(tmp_path, "Done.")) == 0
    assert (out.getvalue(), err.getvalue()) == (f"recorded in {tmp_path / 'run.jsonl'}\n", "")


@pytest.mark.parametrize("missing", ["stdin", "stdout", "stderr"])
def test_without_a_terminal_it_says_so_before_anything_starts(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    on_a_terminal(monkeypatch)
    monkeypatch.setattr(sys, missing, io.StringIO())
    with pytest.raises(UserError, match="the screen needs a terminal; `loopkit show FILE`"):
        main("nowhere/at_all.py:agent", "a task")


def test_the_command_without_a_terminal_is_one_line_and_exit_code_2() -> None:
    command = [sys.executable, "-m", "loopkit", "tui"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=30)
    assert ended.returncode == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert "needs a terminal" in line
