"""Reads on in a recording that is large or still written, a little at a time between keys and frames."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from textual.timer import Timer

from loopkit_tui.painting import Span

if TYPE_CHECKING:
    from loopkit_tui.screens.run import RunScreen

SLICE_SECONDS = 0.005
PAUSE_SECONDS = 0.01
LOOK_SECONDS = 0.25
REDRAW_SECONDS = 0.5


class ReadingOn:
    """Keeps a run screen's session reading; redraws now and then, and when everything was read."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen
        self._timer: Timer | None = None
        self._changed = False
        self._drawn = 0.0

    def begin(self) -> None:
        """Start if there is anything to read, now or later."""
        session = self._screen.session
        if session.large:
            self._go_on(PAUSE_SECONDS if session.reading is not None else LOOK_SECONDS)

    def spans(self) -> list[Span]:
        """How far it is, for the title of the timeline."""
        done = self._screen.session.reading
        return [] if done is None else [(f" reading, {done:.0%} ", "waiting")]

    def _go_on(self, seconds: float) -> None:
        self._timer = self._screen.set_timer(seconds, self._read)

    def _read(self) -> None:
        session = self._screen.session
        self._changed |= session.read_on(SLICE_SECONDS)
        done = session.reading is None
        if self._changed and (done or monotonic() - self._drawn > REDRAW_SECONDS):
            self._changed = False
            self._screen.take_in()
            self._drawn = monotonic()
        if session.unsettled:
            self._go_on(LOOK_SECONDS if done and session.followed else PAUSE_SECONDS)
