"""How commands print: plain lines, coloured ones in a terminal, or JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from loopkit.errors import UserError

if TYPE_CHECKING:
    from loopkit.debugger.rows import Tone

USAGE_ERROR = 2
_COLOURS: dict[str, str] = {
    "good": "32",
    "bad": "31",
    "warning": "33",
    "person": "35",
    "waiting": "1;33",
    "muted": "2",
    "agent": "36",
}


def print_json(data: Any) -> None:
    """Print one JSON value, readable and as recorded, in ASCII so that nothing in it acts on a terminal."""
    import json

    print(json.dumps(data, indent=2, default=str))


def print_json_list(items: Iterable[Any]) -> None:
    """Print a JSON array as its items come; the same text as `print_json` of a list."""
    import json

    before = "["
    for item in items:
        print(before + "\n  " + json.dumps(item, indent=2, default=str).replace("\n", "\n  "), end="")
        before = ","
    print("[]" if before == "[" else "\n]")


def print_toned(lines: Iterable[tuple[str, Tone]]) -> None:
    """Print lines; in a terminal with colour and cut to its width, elsewhere plain and whole."""
    if not _in_terminal():
        for text, _ in lines:
            print(text)
        return
    import shutil

    columns = shutil.get_terminal_size().columns
    coloured = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    for text, tone in lines:
        shown = _cut(text, columns)
        colour = _COLOURS.get(tone) if coloured else None
        print(f"\x1b[{colour}m{shown}\x1b[0m" if colour else shown)


def warn(text: str) -> None:
    """Print one safe line on stderr."""
    from loopkit.debugger.display import one_line

    print(f"loopkit: {one_line(text, 600)}", file=sys.stderr)


def error_line(error: Exception) -> str:
    """Return an error as one safe line; one of loopkit's own needs no class name before it."""
    from loopkit.debugger.display import one_line
    from loopkit.debugger.rows import failure_text

    if isinstance(error, OSError):
        told = f"{error.filename}: {error.strerror or error}" if error.filename is not None else str(error)
        return one_line(told or type(error).__name__, 600)
    return failure_text(type(error).__name__, str(error))


def warn_of(error: Exception) -> str:
    """Print an error as one line on stderr, with what points at the spot below it, and return the line."""
    line = error_line(error)
    print(f"loopkit: {line}", file=sys.stderr)
    for pointing in error.pointer if isinstance(error, UserError) else ():
        print(pointing, file=sys.stderr)
    return line


def _in_terminal() -> bool:
    return sys.stdout.isatty()


def _cut(text: str, columns: int) -> str:
    from loopkit.debugger.report import width

    if width(text) <= columns:
        return text
    kept = text[: columns - 1]
    while width(kept) > columns - 1:
        kept = kept[:-1]
    return f"{kept}…"
