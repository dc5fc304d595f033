"""Files: a gardener begins to rename all photos. A person sees where that leads and stops the run."""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

from loopkit import Agent, ScriptedProvider, Stop, ToolCall, tool

TASK = "Give the garden photos proper names."
DECISIONS = {"root/3.1": Stop("Those names say nothing. I'll name them myself.")}

FOLDER = Path(tempfile.mkdtemp(prefix="loopkit-story-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
for photo in ("rose.jpg", "oak.jpg", "pond.jpg"):
    (FOLDER / photo).write_bytes(b"\xff\xd8\xff")

PhotoName = Annotated[str, {"pattern": r"^[a-z0-9-]+\.jpg$"}]


@tool(side_effect="read")
def list_photos() -> list[str]:
    """List the photos."""
    return sorted(path.name for path in FOLDER.iterdir())


@tool(side_effect="irreversible")
def rename_photo(old: PhotoName, new: PhotoName) -> str:
    """Rename a photo.

    Args:
        old: Its name now.
        new: Its name from now on.
    """
    (FOLDER / old).rename(FOLDER / new)
    return new


SCRIPT = [
    ["I'll see what there is.", ToolCall("a", "list_photos")],
    ["Numbers sort well.", ToolCall("b", "rename_photo", {"old": "oak.jpg", "new": "photo-1.jpg"})],
    ["On to the next.", ToolCall("c", "rename_photo", {"old": "pond.jpg", "new": "photo-2.jpg"})],
    "All photos have numbers now.",
]
agent = Agent(
    ScriptedProvider(SCRIPT, chunk=24, delay=0.01, usage="count"),
    tools=[list_photos, rename_photo],
    system="You look after a garden's photos.",
    name="gardener",
)
