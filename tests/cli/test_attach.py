"""`loopkit run --serve` and `loopkit attach`: a run of another process, in its options, its words and its exit codes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.debugger.listening import only_place
from loopkit.debugger.places import PortPlace, read_place, token_for
from loopkit.debugger.remote import attach
from tests.cli.agents import failure_of, write_agent
from tests.debugger.live_runs import PATIENCE, Eyes

LONG = 40.0


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime folder of its own, with a name as short as a socket's path must be."""
    monkeypatch.delenv("LOOPKIT_TOKEN", raising=False)
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


def serving(*options: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "loopkit", "run", write_agent(), "--task", "go", "--record", "out.jsonl", "--json"]
    return subprocess.Popen([*words, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def first_word(process: subprocess.Popen[str]) -> str:
    """What it says on stderr when it is served: how to attach."""
    assert process.stderr is not None
    found = re.fullmatch(
        r"loopkit: served: loopkit attach (\S+)(?: \(its token is in (\S+)\))?\n", process.stderr.readline()
    )
    assert found is not None
    return found[1]


def approve_everything(where: str) -> None:
    place = read_place(where)
    token = token_for(place) if isinstance(place, PortPlace) else ""
    with closing(attach(place, token=token)) as session:
        Eyes(session).approve_all_to_the_end()


@pytest.mark.parametrize("place", [[], ["127.0.0.1:0"], ["0"]])
def test_a_run_of_another_process_is_decided_on_and_ends_there(place: list[str]) -> None:
    with serving("--serve", *place, "--unattended", "wait") as process:
        approve_everything(first_word(process))
        assert process.stdout is not None
        assert json.loads(process.stdout.read())["answer"] == "The results: a.txt says hello | 2 characters"
        assert process.wait(LONG) == 0
    assert Path("b.txt").read_text() == "hi"


def test_a_run_that_nobody_attaches_to_goes_by_its_policy(runtime: Path) -> None:
    with serving("--serve") as process:
        first_word(process)
        assert process.stdout is not None
        assert json.loads(process.stdout.read())["refused"] == ["write"]
        assert process.wait(LONG) == 0
    assert list((runtime / "loopkit").iterdir()) == []


def test_a_run_that_waits_ends_with_a_signal_and_leaves_nothing(runtime: Path) -> None:
    with serving("--serve", "--unattended", "wait") as process:
        where = first_word(process)
        with closing(attach(read_place(where))) as session:
            Eyes(session).until_pending()
            process.send_signal(signal.SIGTERM)
            assert process.wait(LONG) == 143
            assert session.wait(PATIENCE)
            session.poll()
            assert session.status().state == "stopped"
    assert main(["check", "out.jsonl"]) == 0
    assert list((runtime / "loopkit").iterdir()) == []


def test_the_one_session_is_found_without_being_named() -> None:
    with serving("--serve", "--unattended", "wait") as process:
        where = first_word(process)
        assert str(only_place()) == where
        approve_everything(where)
        assert process.wait(LONG) == 0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["attach"], "no session is served here; start one with"),
        (["attach", "none.sock"], "none.sock: no session is served there"),
        (["attach", "nonsense"], "is no place for a session"),
        (["attach", "127.0.0.1:1"], "there is no token for 127.0.0.1:1; set LOOPKIT_TOKEN, or name the file"),
        (["run", "agent.py:agent", "--task", "go", "--unattended", "wait"], "need --serve"),
        (["run", "agent.py:agent", "--task", "go", "--serve", "0.0.0.0:0"], "other machines could reach it"),
        (["run", "agent.py:agent", "--task", "go", "--serve", "agent.py"], "is no place for a session"),
    ],
)
def test_what_can_not_be_done_is_one_line(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_agent()
    assert line in failure_of(words, capsys)


def test_attaching_without_a_terminal_takes_nothing_from_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    with serving("--serve", "--unattended", "wait") as process:
        where = first_word(process)
        assert "needs a terminal" in failure_of(["attach", where], capsys)
        approve_everything(where)
        assert process.wait(LONG) == 0
