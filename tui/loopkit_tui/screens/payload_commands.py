"""The commands that take what is shown elsewhere: copy it, keep it in a file, read it in a program of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from loopkit.debugger.display import one_line
from loopkit.errors import UserError
from loopkit_tui.commands import Command
from loopkit_tui.painting import shortened
from loopkit_tui.payloads import editor, keep, pager, payload_of, read_in

if TYPE_CHECKING:
    from loopkit_tui.screens.run import RunScreen


def _told(do: Callable[[RunScreen], None]) -> Callable[[RunScreen], None]:
    """What a command can't do is said in the place of the keys."""

    def command(screen: RunScreen) -> None:
        try:
            do(screen)
        except UserError as error:
            screen.notice(one_line(str(error), 300), "bad")

    return command


def _copy(screen: RunScreen) -> None:
    _, text = payload_of(screen)
    screen.app.copy_to_clipboard(text)
    screen.notice(f"copied {len(text):,} characters, if this terminal lets programs copy; Y writes a file", "good")


def _keep(screen: RunScreen) -> None:
    path = screen.session.path
    name, text = payload_of(screen)
    if path is None:
        raise UserError("this run is not recorded, so there is no folder to write into")
    kept = keep(path.parent, f"{path.stem}-{name}", text)
    screen.notice(f"written to {shortened(one_line(str(kept), 600), screen.size.width - 13)}", "good")


PAYLOAD_COMMANDS: tuple[Command[RunScreen], ...] = (
    Command("row.copy", "copy all that the detail stands for: row, request or events", ("y",), _told(_copy), "screen"),
    Command("row.keep", "write it into a file beside the recording", ("Y",), _told(_keep), "screen"),
    Command("row.editor", "open it in $EDITOR", ("E",), _told(lambda s: read_in(s, editor())), "screen"),
    Command("row.pager", "open it in $PAGER", ("V",), _told(lambda s: read_in(s, pager())), "screen"),
)  # fmt: skip
