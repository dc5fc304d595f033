"""What docs/stepping.md says of sessions is there."""

from __future__ import annotations

import re
from pathlib import Path

from loopkit.debugger.breakpoint_file import project_breakpoints
from loopkit.debugger.breakpoints import Breakpoint
from loopkit.debugger.condition_text import read_condition
from loopkit.debugger.session import Session

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "stepping.md").read_text(encoding="utf-8")


def test_every_command_is_one_of_a_session() -> None:
    commands = set(re.findall(r"`([a-z_]+)\(", TEXT)) - {"project_breakpoints"}
    assert {name for name in commands if not callable(getattr(Session, name, None))} == set()
    assert commands >= {"step", "into", "over", "out", "back", "reverse_continue", "add_breakpoint", "look_live"}


def test_the_conditions_can_be_read() -> None:
    for condition in ('tool == "pay"', "error", "iteration == 5", "cost > 0.50"):
        assert f"`{condition}`" in TEXT
        read_condition(condition)


def test_the_file_can_be_read(tmp_path: Path) -> None:
    (shown,) = re.findall(r"((?:^    .*\n?)+)\Z", TEXT, re.MULTILINE)
    path = tmp_path / "breakpoints.toml"
    path.write_text(re.sub(r"^    ", "", shown, flags=re.MULTILINE))
    assert project_breakpoints(path).all == (Breakpoint(1, 'tool == "pay" and args.amount > 100', ignore=2),)
