"""The frame of every command: one line for an error, an exit code, help that is always there (DESIGN §6)."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit import __version__
from loopkit.cli import main, show
from loopkit.cli.entry import COMMANDS
from loopkit.errors import RecordingDamaged, UserError

Command = Callable[[argparse.Namespace], int]


def raising(error: BaseException) -> Command:
    def run(options: argparse.Namespace) -> int:
        raise error

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: loopkit {command}" in capsys.readouterr().out


def test_no_command_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(f"    {name} " in out for name in COMMANDS)


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"loopkit {__version__}\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["shwo"], "invalid choice: 'shwo'"),
        (["show"], "required: FILE; see `loopkit show --help`"),
        (["show", "a", "--iteration", "x"], "invalid int value: 'x'"),
        (["show", "a", "--iteration", "1", "--events"], "not allowed with"),
        (["run", "agent.py:agent"], "required: --task"),
        (["fork", "a", "--at", "1", "--agent", "b:c", "--approve", "--deny"], "not allowed with"),
        (["replay", "a", "--unknown"], "unrecognized arguments: --unknown"),
    ],
)
def test_a_wrong_command_line_is_one_line(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("loopkit: ")
    assert captured.err.count("\n") == 1
    assert expected in captured.err


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UserError("a.jsonl is empty"), "loopkit: a.jsonl is empty\n"),
        (UserError("two\nlines \x1b[2J"), "loopkit: two lines ␛[2J\n"),
        (
            RecordingDamaged("a.jsonl", 5, "no JSON"),
            "loopkit: a.jsonl: line 5 is damaged (no JSON); `loopkit check` lists all damage\n",
        ),
        (PermissionError(13, "Permission denied", "b.jsonl"), "loopkit: b.jsonl: Permission denied\n"),
    ],
)
def test_an_error_is_one_safe_line_and_exit_code_2(
    error: Exception, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(show, "run", raising(error))
    assert main(["show", "a.jsonl"]) == 2
    assert capsys.readouterr() == ("", line)


@pytest.mark.parametrize("words", [["--debug", "show", "a"], ["show", "--debug", "a"], ["show", "a", "--debug"]])
def test_debug_gives_the_traceback(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "run", raising(UserError("wrong")))
    with pytest.raises(UserError, match="wrong"):
        main(words)


def test_a_bug_is_not_dressed_up_as_a_users_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "run", raising(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["show", "a"])


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(show, "run", raising(KeyboardInterrupt()))
    assert main(["show", "a"]) == 130
    assert capsys.readouterr().err == "loopkit: interrupted\n"


_LONG_SHOW = """
import sys
from loopkit.cli import main, show
def run(options):
    for number in range(100_000):
        print(number)
    return 0
show.run = run
sys.exit(main(["show", "a"]))
"""


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    """`loopkit show FILE | head -1` ends quietly."""
    with subprocess.Popen(
        [sys.executable, "-c", _LONG_SHOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "0\n"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=30) == 0


def test_an_encoding_without_our_marks_still_prints(tmp_path: Path) -> None:
    """A terminal that can't show a character gets its escape instead of a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "loopkit", "show", str(tmp_path / "日.jsonl")],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 2
    assert "\\u65e5" in done.stderr
    assert "Traceback" not in done.stderr
