"""Server-sent events out of bytes, however the network cuts them (spec/faults.md a23-a26; WHATWG HTML §9.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from loopkit.errors import ProviderError

LONGEST_LINE = 16 * 1024 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", _BYTE_ORDER_MARK)
_LOOKS_STREAMED = re.compile(rb"\s*(data|event|id|retry)?:")


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event of a stream.

    Args:
        event: its type, `message` when the server named none.
        data: its data lines, joined with line feeds.
        id: the last id that the stream gave, or "".
    """

    event: str
    data: str
    id: str = ""


class SSEReader:
    """Turns the bytes of an event stream into events; any cut of the same bytes gives the same events.

    Only CR, LF and CRLF end a line (a23, a24). Bytes are decoded a whole line at a time, so that a character may
    be split over chunks (a25); what is not UTF-8 becomes U+FFFD.

    Args:
        longest_line: bytes that one line, or the data of one event, may hold.
    """

    content_type = "text/event-stream"

    def __init__(self, longest_line: int = LONGEST_LINE) -> None:
        self._longest = longest_line
        self._pieces: list[bytes] = []
        self._held = 0
        self._after_cr = False
        self._at_start = True
        self._event = ""
        self._data: list[str] = []
        self._data_size = 0
        self._id = ""

    @staticmethod
    def fits(body: bytes) -> bool:
        """Whether a body under another content type is a stream all the same."""
        return _LOOKS_STREAMED.match(body) is not None

    @staticmethod
    def resembles(beginning: bytes) -> bool:
        """Whether what a server sends as a stream begins like one, or may do so when more of it comes."""
        start = beginning.removeprefix(_BYTE_ORDER_MARK).lstrip()
        return SSEReader.fits(start) or any(field.startswith(start) for field in _FIELDS)

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Take the next bytes and return the events that they complete.

        Raises:
            ProviderError: a line, or the data of an event, is longer than the limit.
        """
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        events: list[ServerSentEvent] = []
        # of bytes, `splitlines` splits at CR, LF and CRLF only
        for line in chunk.splitlines(keepends=True):
            content = line.rstrip(b"\r\n")
            self._pieces.append(content)
            self._held += len(content)
            self._check_length(self._held)
            if len(content) < len(line):
                self._take_line(events)
        self._after_cr = chunk.endswith(b"\r") or (self._after_cr and not chunk)
        return events

    def finish(self) -> list[ServerSentEvent]:
        """Return the event that the stream ended in without its blank line, if any (a24)."""
        events: list[ServerSentEvent] = []
        self._take_line(events)
        self._dispatch(events)
        return events

    def _take_line(self, events: list[ServerSentEvent]) -> None:
        raw = b"".join(self._pieces)
        self._pieces.clear()
        self._held = 0
        if self._at_start:
            self._at_start = False
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        if not raw:
            self._dispatch(events)
            return
        name, _, value = raw.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._data_size += len(value)
            self._check_length(self._data_size)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value

    def _dispatch(self, events: list[ServerSentEvent]) -> None:
        if self._data:
            events.append(ServerSentEvent(self._event or "message", "\n".join(self._data), self._id))
            self._data.clear()
            self._data_size = 0
        self._event = ""

    def _check_length(self, size: int) -> None:
        if size > self._longest:
            raise ProviderError(
                f"the server sent an event of more than {self._longest:,} bytes; is it an event stream at all?"
            )


__all__ = ["LONGEST_LINE", "SSEReader", "ServerSentEvent"]
