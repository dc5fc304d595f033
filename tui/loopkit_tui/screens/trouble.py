"""A recording that can't be written any more: the run stands, and a person chooses how it goes on."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from loopkit.debugger.display import one_line
from loopkit.errors import CommandRefused
from loopkit_tui import decisions
from loopkit_tui.commands import key_of
from loopkit_tui.widgets.bars import Bar, KeyBar
from loopkit_tui.widgets.document import DocumentView, Passage

if TYPE_CHECKING:
    from loopkit.debugger.session import Session

RETRY, STOP, UNRECORDED = "r", "X", "U"
_WORDS = (
    "The run stands where it is and nothing of it is lost. Free some space and try again; or stop the run, the recording "
    "is whole up to here; or let it go on unrecorded: then the recording says where it ends."
)


class TroubleScreen(ModalScreen[None]):
    """Retry, stop, or go on unrecorded; nothing else answers it, nor does a key that was on its way (spec/faults.md c14)."""

    CSS_PATH = "asking.tcss"

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._opened = monotonic()

    def compose(self) -> ComposeResult:
        with Vertical(id="question"):
            yield Bar(id="question-title")
            lines = DocumentView(id="question-lines")
            # words to read: there is nothing to choose among them
            lines.can_focus = False
            yield lines
            yield KeyBar(id="question-keys")

    def on_mount(self) -> None:
        lines = self.query_one(DocumentView)
        lines.show_items([Passage(_WORDS, indent=0)])
        lines.styles.height = 4
        self.query_one(KeyBar).show_keys(
            [(RETRY, "try again"), (STOP, "stop the run"), (UNRECORDED, "go on unrecorded")]
        )
        self._say(self._session.recording_trouble)

    def _say(self, words: str) -> None:
        self.query_one("#question-title", Bar).show([(f" {words}", "bad")])

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if monotonic() - self._opened < decisions.GRACE_SECONDS:
            return
        try:
            self._answer(key_of(event))
        except CommandRefused as refused:
            self._say(one_line(str(refused), 300))

    def _answer(self, key: str) -> None:
        if key == RETRY and not self._session.retry_recording():
            self._say(f"still: {self._session.recording_trouble}")
            return
        if key == UNRECORDED:
            self._session.go_on_unrecorded()
        elif key == STOP:
            self._session.stop()
        elif key != RETRY:
            return
        self.dismiss(None)
