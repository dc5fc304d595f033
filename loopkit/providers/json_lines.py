"""Lines of JSON out of bytes, however the network cuts them, told as the events that an event stream would give."""

from __future__ import annotations

import re

from loopkit.errors import ProviderError
from loopkit.providers.sse import LONGEST_LINE, ServerSentEvent

_SEVERAL_LINES = re.compile(rb"\s*\{[^\n]*\}\s*\n\s*\{")


class JSONLinesReader:
    """Turns bytes into one event per line; any cut of the same bytes gives the same events.

    Only a line feed ends a line (spec/faults.md a23), and a line is decoded whole, so that a character may be split
    over chunks (a25).

    Args:
        longest_line: bytes that one line may hold.
    """

    content_type = "ndjson"

    def __init__(self, longest_line: int = LONGEST_LINE) -> None:
        self._longest = longest_line
        self._pieces: list[bytes] = []
        self._held = 0

    @staticmethod
    def fits(body: bytes) -> bool:
        """Whether a body under another content type is a stream all the same."""
        return _SEVERAL_LINES.match(body) is not None

    @staticmethod
    def resembles(beginning: bytes) -> bool:
        """Whether what a server sends as a stream begins like one."""
        return beginning.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Take the next bytes and return the events that they complete.

        Raises:
            ProviderError: a line is longer than the limit.
        """
        events: list[ServerSentEvent] = []
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._hold(piece)
            events += self.finish()
        self._hold(rest)
        return events

    def finish(self) -> list[ServerSentEvent]:
        """Return the event that the stream ended in without a line feed, if any."""
        line = b"".join(self._pieces).decode("utf-8-sig", "replace").strip(" \t\r\n")
        self._pieces.clear()
        self._held = 0
        return [ServerSentEvent("message", line)] if line else []

    def _hold(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._held += len(piece)
        if self._held > self._longest:
            raise ProviderError(f"the server sent a line of more than {self._longest:,} bytes; is it a stream at all?")


__all__ = ["JSONLinesReader"]
