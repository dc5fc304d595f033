"""From what a person names to a session, or to a folder of recordings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

from loopkit.debugger.breakpoint_file import project_breakpoints
from loopkit.debugger.policy_file import load_policy
from loopkit.debugger.session import Session
from loopkit.debugger.targets import find_target, load_agent

Starter: TypeAlias = Callable[[str], Session]
"""Starts an agent with a task."""


def open_target(target: str, task: str | None, policy: str | None = None) -> Session | Path | Starter:
    """Return a session for a recording or an agent, the folder that was named, or what starts an agent without a task.

    Args:
        policy: a file of rules for an agent; None asks the project in the working folder for one.

    Raises:
        UserError: it can't be found or opened.
    """
    found = find_target(target)
    if found.kind == "folder":
        return Path(found.text)
    if found.kind == "recording":
        return open_recorded(Path(found.text))
    agent = load_agent(found.text)
    rules = None if policy is None else load_policy(policy)
    start = partial(Session.start, agent, policy=rules, project=Path(), breakpoints=project_breakpoints())
    return start if task is None else start(task)


def open_recorded(path: Path) -> Session:
    """Return a session for a recording, with the project's breakpoints.

    Raises:
        UserError: it can't be opened.
    """
    return Session.open(path, breakpoints=project_breakpoints())


def agent_spec_of(target: str) -> str:
    """Return how an agent is named by a target; empty for a recording or a folder."""
    found = find_target(target)
    return found.text if found.kind == "agent" else ""


def session_of_demo() -> Session:
    """Start the demo agent live, recorded in the recordings folder.

    Raises:
        UserError: the recordings folder can't be written.
    """
    from loopkit.debugger.demo import DEMO_TASK, demo_agent  # noqa: PLC0415  # only who tries it needs it

    return Session.start(demo_agent(), DEMO_TASK, breakpoints=project_breakpoints())
