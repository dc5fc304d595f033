"""Which agent a person named last for the recordings of a folder; kept in the user's state folder, never in a recording."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

_MOST_FOLDERS = 200


def remembered_agent(folder: Path) -> str:
    """Return the agent that was named last for a folder, as path.py:name or package.module:name; empty when none was."""
    return _read().get(_key(folder), "")


def remember_agent(folder: Path, agent: str) -> None:
    """Keep which agent was named for a folder; where that can't be written, it is named again the next time."""
    place, colon, name = agent.rpartition(":")
    if colon and place.endswith(".py"):
        agent = f"{Path(place).expanduser().resolve()}:{name}"
    agents = _read()
    agents.pop(_key(folder), None)
    kept = dict([*agents.items(), (_key(folder), agent)][-_MOST_FOLDERS:])
    file = _file()
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(kept, indent=1), encoding="utf-8")


def _key(folder: Path) -> str:
    return str(folder.resolve())


def _file() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    base = Path(state) if state and Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "loopkit" / "agents.json"


def _read() -> dict[str, str]:
    try:
        found = json.loads(_file().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}
