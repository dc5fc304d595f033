"""Keeps the end of what a server writes to its stderr, which must never reach the terminal."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

KEPT_BYTES = 4_000
_LONGEST_WORDS = 400


class KeptStderr:
    """A pipe that a thread of its own empties, so that a server which writes much never stands still.

    Attributes:
        writing: the file that a child process gets as its stderr.
    """

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.writing = os.fdopen(writing, "w", encoding="utf-8")
        self._kept = b""
        self._thread = threading.Thread(target=self._read, args=(reading,), name="loopkit mcp stderr", daemon=True)
        self._thread.start()

    def _read(self, reading: int) -> None:
        with suppress(OSError):
            while piece := os.read(reading, 65_536):
                self._kept = (self._kept + piece)[-KEPT_BYTES:]
        os.close(reading)

    def let_go(self) -> None:
        """Close our end: the child has its own, and reading ends with the last process that holds one."""
        with suppress(OSError):
            self.writing.close()

    def words(self, wait: float = 0.5) -> str:
        """Return the last lines as one, without control characters; empty when nothing was written.

        Args:
            wait: seconds that the last bytes of a server which has ended may take to arrive.
        """
        self._thread.join(wait)
        lines = [line.strip() for line in self._kept.decode(errors="replace").splitlines()]
        return one_line(" | ".join(line for line in lines if line), _LONGEST_WORDS, end=True)


def one_line(text: str, longest: int, *, end: bool = False) -> str:
    """Return text on one line, without control characters and cut to a length.

    Args:
        longest: characters.
        end: keep the end, not the beginning.
    """
    words = "".join(char if char.isprintable() else " " for char in text).strip()
    if len(words) <= longest:
        return words
    return f"…{words[-longest:]}" if end else f"{words[:longest]}…"
