"""Files and sub-agents: an editor has two reviewers read an article at the same time; one of them asks a librarian."""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

from loopkit import Agent, ScriptedProvider, ToolCall, tool

TASK = "Have article.txt checked for language and for facts, then correct it."
DECISIONS = {}

FOLDER = Path(tempfile.mkdtemp(prefix="loopkit-story-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ARTICLE = "The lighthouse of Westhaven was build in 1871. Its light reaches 12 miles.\n"
CORRECTED = "The lighthouse of Westhaven was built in 1874. Its light reaches 12 miles.\n"
(FOLDER / "article.txt").write_text(ARTICLE)
(FOLDER / "chronicle.txt").write_text("1869 harbour wall\n1874 lighthouse\n1902 railway\n")

FileName = Annotated[str, {"pattern": r"^[a-z]+\.txt$"}]


@tool(side_effect="read")
def read_file(path: FileName) -> str:
    """Read a text file.

    Args:
        path: A file's name.
    """
    return (FOLDER / path).read_text()


@tool(side_effect="read")
def search(path: FileName, word: Annotated[str, {"minLength": 3}]) -> list[str]:
    """Return the lines of a file that hold a word.

    Args:
        path: A file's name.
        word: What to look for.
    """
    return [line for line in (FOLDER / path).read_text().splitlines() if word in line]


@tool(side_effect="idempotent")
def write_file(path: FileName, content: str) -> str:
    """Write a text file.

    Args:
        path: A file's name.
        content: The whole text.
    """
    (FOLDER / path).write_text(content)
    return f"{len(content)} characters written"


def helper(name, tools, *script):
    """An agent that others ask."""
    provider = ScriptedProvider(list(script), chunk=24, delay=0.01, usage="count")
    return Agent(provider, tools=tools, system=f"You are the {name}.", name=name)


librarian = helper(
    "librarian",
    [search],
    ["The town chronicle has that.", ToolCall("a", "search", {"path": "chronicle.txt", "word": "lighthouse"})],
    "The chronicle says 1874.",
)


@tool(side_effect="read")
async def ask_librarian(question: str) -> str:
    """Ask the librarian."""
    return (await librarian.run(question)).response.text


READ = ToolCall("a", "read_file", {"path": "article.txt"})
reviewers = {
    "language": helper("language reviewer", [read_file], READ, "One slip: “was build” should be “was built”."),
    "facts": helper(
        "fact checker",
        [read_file, ask_librarian],
        READ,
        ["1871? I'd rather ask.", ToolCall("b", "ask_librarian", {"question": "When was the lighthouse built?"})],
        "The year is wrong: the lighthouse dates from 1874, not 1871.",
    ),
}


@tool(side_effect="read")
async def review_language(path: FileName) -> str:
    """Have the language of a file reviewed."""
    return (await reviewers["language"].run(f"Review {path}.")).response.text


@tool(side_effect="read")
async def review_facts(path: FileName) -> str:
    """Have the facts of a file checked."""
    return (await reviewers["facts"].run(f"Check {path}.")).response.text


agent = helper(
    "editor",
    [review_language, review_facts, write_file],
    [
        "Both reviews can go on at the same time.",
        ToolCall("a", "review_language", {"path": "article.txt"}),
        ToolCall("b", "review_facts", {"path": "article.txt"}),
    ],
    ["Two corrections, then.", ToolCall("c", "write_file", {"path": "article.txt", "content": CORRECTED})],
    "article.txt is corrected: it was “built”, not “build”, and that was in 1874, not in 1871.",
)
