"""The lines that a served session and its viewers send each other, as docs/attach.md lays them down."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from typing import Any, NoReturn

PROTOCOL = "loopkit-attach"
VERSION = 1
LONGEST_HELLO = 4096
LONGEST_COMMAND = 16 << 20
LONGEST_FROM_SESSION = 256 << 20
HELLO_SECONDS = 5.0
SILENT_SECONDS = 30.0
PING_SECONDS = 10.0
EVENT_START = b'{"seq":'
_PIECE = 1 << 16


class WireError(Exception):
    """What came is no line of the protocol; the message is one line."""


class ConnectionEnded(Exception):
    """The other side is gone, or nothing came for too long."""


class Lines:
    """Lines of a connection, none longer than allowed, whatever is sent.

    Args:
        connection: read from by nobody else.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._read = bytearray()
        self._looked_at = 0

    def next(self, longest: int, *, until: float | None = None) -> bytes | None:
        """Return the next line without its end, or None when the socket's timeout passed without a byte.

        Args:
            longest: most bytes of a line.
            until: monotonic seconds at which it must have come; drops of single bytes don't put it off.

        Raises:
            WireError: it is longer, or did not come in time.
            ConnectionEnded: none will come.
        """
        while True:
            end = self._read.find(b"\n", self._looked_at)
            if end > longest or (end < 0 and len(self._read) > longest):
                raise WireError(f"a line has at most {longest:,} bytes")
            if end >= 0:
                line = bytes(self._read[:end])
                del self._read[: end + 1]
                self._looked_at = 0
                return line
            self._looked_at = len(self._read)
            if until is not None:
                left = until - time.monotonic()
                if left <= 0:
                    raise WireError("the first line did not come in time")
                self._connection.settimeout(left)
            try:
                piece = self._connection.recv(_PIECE)
            except TimeoutError:
                if until is None:
                    return None
                continue
            except OSError as error:
                raise ConnectionEnded(error.strerror or str(error)) from None
            if not piece:
                raise ConnectionEnded("the other side closed the connection")
            self._read += piece


def line_of(message: dict[str, Any]) -> bytes:
    """Return a message as its line, in ASCII, so that no text in it can end it or be no UTF-8."""
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def read_message(line: bytes) -> dict[str, Any]:
    """Return the JSON object that a line holds.

    Raises:
        WireError: it holds none.
    """
    try:
        message = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise WireError("a line is one JSON object") from None
    if not isinstance(message, dict):
        raise WireError("a line is one JSON object")
    return message


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def hang_up(connection: socket.socket) -> None:
    """End a connection for every thread that reads from it or writes to it; whoever made it closes it then."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
