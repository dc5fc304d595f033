"""Work beside the screen: in a thread, so that a large recording doesn't hold the keys; what comes of it, or why not, is a message."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from textual.app import App
from textual.message import Message

from loopkit.debugger.display import one_line
from loopkit.debugger.rows import failure_text
from loopkit.errors import UserError

Made = TypeVar("Made")


class Beside:
    """One piece of work at a time; another one that is wanted meanwhile is not begun."""

    class Done(Message):
        """The work is done; `then` takes what came of it."""

        def __init__(self, then: Callable[[], object]) -> None:
            super().__init__()
            self.then = then

    class Failed(Message):
        """The work can't be done."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._works = False

    def begin(self, make: Callable[[], Made], then: Callable[[Made], object]) -> None:
        """Make something in a thread, and give it to `then` in the app's own."""
        if self._works:
            return
        self._works = True

        def work() -> None:
            try:
                made = make()
                self._app.post_message(self.Done(lambda: then(made)))
            except UserError as error:
                self._app.post_message(self.Failed(one_line(str(error), 400)))
            except Exception as error:  # noqa: BLE001  # whatever an agent's own code raises, the screen says it
                self._app.post_message(self.Failed(failure_text(type(error).__name__, str(error))))

        threading.Thread(target=work, name="beside", daemon=True).start()

    def end(self) -> None:
        """Take in that the work is over."""
        self._works = False
