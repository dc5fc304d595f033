"""The whole of what a row shows, as text: to copy, to keep in a file, to read in a program of one's own."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from loopkit.debugger.display import visible
from loopkit.debugger.nodes import Row, RowKind
from loopkit.debugger.sent import messages_sent, recorded_line
from loopkit.debugger.timeline import task_text
from loopkit.encoding import encode
from loopkit.errors import UserError
from loopkit.events import Event

if TYPE_CHECKING:
    from loopkit_tui.screens.run import RunScreen

_EDITORS = ("VISUAL", "EDITOR")
_PAGER = "less"


def payload_of(screen: RunScreen) -> tuple[str, str]:
    """Return a name, and all that the detail stands for on the tab that is shown: the row, its request, its events.

    Raises:
        UserError: there is nothing, in one line.
    """
    row = screen.timeline.selected
    if row is None:
        raise UserError("there is nothing yet")
    if screen.detail.tab == 1:
        return _name(row, "request"), _request(screen, row)
    if screen.detail.tab == 2:
        return _name(row, "events"), _events(screen.events_of(row))
    return _name(row, row.kind.value), _row(row)


def _row(row: Row) -> str:
    if row.kind is RowKind.CALL and row.call is not None:
        arguments = row.call.raw_arguments or _json(row.call.effective_arguments)
        return f"{row.call.name}\n{arguments}\n{row.call.content or ''}"
    if row.iteration is not None and row.iteration.message is not None:
        return row.iteration.message.text
    if row.event is not None:
        return _json(encode(row.event.fact))
    return task_text(row.loop.started.messages) if row.kind is RowKind.TASK else row.loop.agent


def _request(screen: RunScreen, row: Row) -> str:
    iteration = row.iteration or (row.call.iteration if row.call is not None else None)
    if iteration is None:
        raise UserError("this line belongs to no request")
    started = iteration.loop.started
    messages = messages_sent(screen.session.events, iteration)
    return _json({
        "model": iteration.model or started.model,
        "settings": started.settings,
        "messages": [encode(message) for message in messages],
        "tools": [encode(tool) for tool in started.tools],
    })  # fmt: skip


def _events(events: Sequence[Event]) -> str:
    if not events:
        raise UserError("no events at hand for this line")
    return "\n".join(recorded_line(event) for event in events)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _name(row: Row, what: str) -> str:
    place = row.call.id if row.kind is RowKind.CALL and row.call is not None else f"{row.loop.path}-{row.seq}"
    return f"{re.sub('[^A-Za-z0-9]+', '-', place).strip('-')[-60:]}-{what}.txt"


# ── a file, and programs of one's own ────────────────────────────────────────────────────────────────────────────────


def keep(folder: Path, name: str, text: str) -> Path:
    """Write a text into a new file and return its path; a file that is there already stays.

    Raises:
        UserError: the folder can't be written, in one line.
    """
    path = folder / name
    ordinal = 2
    while path.exists():
        path = folder / f"{name.removesuffix('.txt')}-{ordinal}.txt"
        ordinal += 1
    try:
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
    except OSError as error:
        raise UserError(f"{path}: can't be written ({error.strerror or error})") from None
    return path


def editor() -> list[str]:
    """Return the person's editor as a command.

    Raises:
        UserError: none is set.
    """
    chosen = next((os.environ[name] for name in _EDITORS if os.environ.get(name)), "")
    if not chosen:
        raise UserError("set EDITOR to open it in a program of your own")
    return shlex.split(chosen)


def pager() -> list[str]:
    """Return the person's pager as a command."""
    return shlex.split(os.environ.get("PAGER") or _PAGER)


def read_in(screen: RunScreen, command: Sequence[str]) -> None:
    """Show what the detail stands for in another program, every character that acts on a terminal as an escape.

    Raises:
        UserError: there is nothing to show, or no such program.
    """
    name, text = payload_of(screen)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(visible(text), encoding="utf-8", errors="replace")
        try:
            with screen.app.suspend():
                subprocess.run([*command, str(path)], check=False)  # noqa: S603  # the person's own program
        except OSError as error:
            raise UserError(f"{command[0]}: can't be started ({error.strerror or error})") from None
