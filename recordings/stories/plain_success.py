"""Files: an archivist sorts letters into folders, one per sender. Nothing goes wrong."""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

from loopkit import Agent, ScriptedProvider, ToolCall, tool

TASK = "Sort the letters in the inbox into one folder per sender, and tell me what came."
DECISIONS = {}

FOLDER = Path(tempfile.mkdtemp(prefix="loopkit-story-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
LETTERS = {
    "letter-1.txt": "From: Waterworks\nYour meter will be read on Monday.\n",
    "letter-2.txt": "From: Aunt Mina\nThe apple trees are in bloom. Do come.\n",
    "letter-3.txt": "From: Waterworks\nThe reading of your meter is moved to Tuesday.\n",
}
(FOLDER / "inbox").mkdir()
for name, text in LETTERS.items():
    (FOLDER / "inbox" / name).write_text(text)

LetterName = Annotated[str, {"pattern": r"^letter-\d+\.txt$"}]


@tool(side_effect="read")
def list_inbox() -> list[str]:
    """List the letters in the inbox."""
    return sorted(path.name for path in (FOLDER / "inbox").iterdir())


@tool(side_effect="read")
def read_letter(name: LetterName) -> str:
    """Read a letter of the inbox.

    Args:
        name: A file's name.
    """
    return (FOLDER / "inbox" / name).read_text()


@tool(side_effect="irreversible")
def file_letter(name: LetterName, sender: Annotated[str, {"pattern": "^[A-Za-z ]+$"}]) -> str:
    """Move a letter from the inbox into its sender's folder.

    Args:
        name: A file's name.
        sender: Becomes the folder's name.
    """
    place = FOLDER / sender
    place.mkdir(exist_ok=True)
    (FOLDER / "inbox" / name).rename(place / name)
    return f"{sender}/{name}"


SCRIPT = [
    ["Let me see what is in the inbox.", ToolCall("a", "list_inbox")],
    ["Three letters. I'll read them all at once.", *(ToolCall(n, "read_letter", {"name": n}) for n in LETTERS)],
    [
        "Two are from the waterworks, one is from Aunt Mina.",
        ToolCall("b", "file_letter", {"name": "letter-1.txt", "sender": "Waterworks"}),
        ToolCall("c", "file_letter", {"name": "letter-2.txt", "sender": "Aunt Mina"}),
        ToolCall("d", "file_letter", {"name": "letter-3.txt", "sender": "Waterworks"}),
    ],
    ["Is anything left?", ToolCall("e", "list_inbox")],
    "All three are filed. The waterworks will read your meter on Tuesday, not on Monday as their first letter said. "
    "And Aunt Mina's apple trees are in bloom; she would like you to come.",
]
agent = Agent(
    ScriptedProvider(SCRIPT, chunk=24, delay=0.01, usage="count"),
    tools=[list_inbox, read_letter, file_letter],
    system="You keep the letters of a household in order.",
    name="archivist",
)
