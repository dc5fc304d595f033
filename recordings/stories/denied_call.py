"""Files: a janitor wants to delete the largest backup. A person says no and why, and it finds a better way."""

import atexit
import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

from loopkit import Agent, Deny, ScriptedProvider, ToolCall, tool

TASK = "The backup disk is nearly full. Free at least 60 kB."
REASON = "That is the only backup of December. Look for duplicates instead."
DECISIONS = {"root/2.1": Deny(REASON)}

FOLDER = Path(tempfile.mkdtemp(prefix="loopkit-story-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
SIZES = {"december.tar": 96, "january.tar": 64, "january-copy.tar": 64, "february.tar": 48}
for name, size in SIZES.items():
    (FOLDER / name).write_bytes(name.removesuffix("-copy.tar").removesuffix(".tar").encode().ljust(1024, b".") * size)

BackupName = Annotated[str, {"pattern": r"^[a-z-]+\.tar$"}]


@tool(side_effect="read")
def list_backups() -> dict[str, str]:
    """List the backups with their sizes, the largest first."""
    files = sorted(FOLDER.iterdir(), key=lambda path: (-path.stat().st_size, path.name))
    return {path.name: f"{path.stat().st_size // 1024} kB" for path in files}


@tool(side_effect="irreversible")
def delete_backup(name: BackupName) -> str:
    """Delete a backup for good.

    Args:
        name: A file's name.
    """
    size = (FOLDER / name).stat().st_size
    (FOLDER / name).unlink()
    return f"{name} deleted, {size // 1024} kB freed"


@tool(side_effect="read")
def find_duplicates() -> list[list[str]]:
    """Return groups of backups with the same content, by SHA-256."""
    groups: dict[str, list[str]] = {}
    for path in sorted(FOLDER.iterdir()):
        groups.setdefault(hashlib.sha256(path.read_bytes()).hexdigest(), []).append(path.name)
    return [names for names in groups.values() if len(names) > 1]


SCRIPT = [
    ["I'll see what takes the room.", ToolCall("a", "list_backups")],
    [
        "december.tar is the largest and the oldest. Without it the disk has room again.",
        ToolCall("b", "delete_backup", {"name": "december.tar"}),
    ],
    [
        f"Understood: “{REASON}” December stays. I'll compare the contents.",
        ToolCall("c", "find_duplicates"),
    ],
    [
        "January is there twice, byte for byte. One of the two can go.",
        ToolCall("d", "delete_backup", {"name": "january-copy.tar"}),
    ],
    "64 kB are free again: january-copy.tar was the same as january.tar, so it is gone. "
    "december.tar is untouched, as you wanted.",
]
agent = Agent(
    ScriptedProvider(SCRIPT, chunk=24, delay=0.01, usage="count"),
    tools=[list_backups, delete_backup, find_duplicates],
    system="You keep the backup disk tidy. Somebody approves what you delete.",
    name="janitor",
)
