"""From what a person names to a session, or to a folder of recordings."""

from __future__ import annotations

from pathlib import Path

from loopkit.debugger.session import Session
from loopkit.debugger.targets import find_target, load_agent, new_recording_path


def open_target(target: str, task: str | None) -> Session | Path:
    """Return a session for a recording or an agent, or the folder that was named.

    Raises:
        UserError: it can't be found or opened, or the agent has nothing to do.
    """
    found = find_target(target)
    if found.kind == "folder":
        return Path(found.text)
    if found.kind == "recording":
        return Session.open(found.text)
    agent = load_agent(found.text)
    return Session.start(agent, task or "", record=new_recording_path(agent.name))


def session_of_demo() -> Session:
    """Start the demo agent live, recorded in the recordings folder.

    Raises:
        UserError: the recordings folder can't be written.
    """
    from loopkit.debugger.demo import DEMO_TASK, demo_agent  # noqa: PLC0415  # only who tries it needs it

    agent = demo_agent()
    return Session.start(agent, DEMO_TASK, record=new_recording_path(agent.name))
