"""One viewer of a served session: a thread reads its commands, another one writes what it has not been told yet.

A viewer has its own place in the events, so that a slow one holds up nobody and misses nothing.
"""

from __future__ import annotations

import hmac
import socket
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from loopkit.debugger import wire
from loopkit.debugger.display import one_line
from loopkit.encoding import DecodingError, decode
from loopkit.errors import CommandRefused
from loopkit.events import Event, Unrecognised
from loopkit.recording.lines import event_line

PIECE_BYTES = 1 << 16
PARTING_SECONDS = 1.0
_ROLES = ("decide", "take over", "watch")


@dataclass(frozen=True)
class Hello:
    """A viewer's first line.

    Args:
        hello: names the protocol.
        version: of the protocol.
        role: `decide` where nobody else does, `take over` from whoever does, or `watch`.
        token: what the viewer knows.
        after: number of the last event that it has.
        name: what others are to call it.
    """

    hello: str
    version: int
    role: str = "decide"
    token: str = ""
    after: int = 0
    name: str = ""


class Host(Protocol):
    """The served session, as its viewers use it; all but `events` and `changed` under the lock of `changed`."""

    changed: threading.Condition
    token: str | None

    @property
    def events(self) -> Sequence[Event]:
        """All events so far; it only grows."""
        ...

    @property
    def report(self) -> Mapping[str, Any]:
        """What the session says of itself; replaced by another one when it changes."""
        ...

    @property
    def words(self) -> Mapping[str, str]:
        """Answers that are coming in, by loop; replaced by another one when they change."""
        ...

    def welcome(self, viewer: Viewer, role: str) -> dict[str, Any]:
        """Take a viewer in, and return what greets it."""
        ...

    def do(self, viewer: Viewer, name: object, arguments: object) -> object:
        """Do a viewer's command, and return its plain result.

        Raises:
            CommandRefused: it was not done, in one line.
        """
        ...

    def left(self, viewer: Viewer) -> None:
        """Forget a viewer that has gone; also one that was not welcomed."""
        ...


class Viewer:
    """A connection that was accepted.

    Attributes:
        number: names it.
        name: what it calls itself, as one safe line.
        left_in_order: it said that it goes.
    """

    def __init__(self, host: Host, connection: socket.socket, number: int) -> None:
        self.number = number
        self.name = ""
        self.left_in_order = False
        self.welcomed = False
        self._host = host
        self._connection = connection
        self._gone = False
        self._place = 0
        self._so_far: int | None = None
        self._told: Mapping[str, Any] | None = None
        self._words: dict[str, str] = {}
        self._answers: deque[dict[str, Any]] = deque()
        self._last_words: dict[str, Any] | None = None
        self._teller: threading.Thread | None = None

    def start(self) -> None:
        """Begin with it, in threads of its own."""
        threading.Thread(target=self._serve, name=f"loopkit viewer {self.number}", daemon=True).start()

    def say_goodbye(self, why: str) -> None:
        """Hang up once all is told; under the host's lock."""
        self._last_words = {"bye": why}

    def hang_up(self) -> None:
        """Hang up at once."""
        wire.hang_up(self._connection)

    # ── its commands ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _serve(self) -> None:
        lines = wire.Lines(self._connection)
        try:
            greeting = self._greeting(lines)
            self._connection.settimeout(wire.SILENT_SECONDS)
            self._connection.sendall(greeting)
            self._teller = threading.Thread(target=self._tell, name=f"loopkit viewer {self.number} out", daemon=True)
            self._teller.start()
            while not self.left_in_order and (line := lines.next(wire.LONGEST_COMMAND)) is not None:
                self._take(line)
            if self.left_in_order:
                self._part_with("detached")
        except wire.WireError as error:
            self._refuse(str(error))
        except (wire.ConnectionEnded, OSError):
            # that it is gone is all there is to know; `left` sees to the rest
            pass
        finally:
            self._leave()

    def _greeting(self, lines: wire.Lines) -> bytes:
        line = lines.next(wire.LONGEST_HELLO, until=time.monotonic() + wire.HELLO_SECONDS)
        assert line is not None
        try:
            hello = decode(Hello, wire.read_message(line))
        except DecodingError as error:
            raise wire.WireError(one_line(str(error))) from None
        if hello.hello != wire.PROTOCOL or hello.version != wire.VERSION or hello.role not in _ROLES:
            raise wire.WireError(f"the first line is a hello of {wire.PROTOCOL}, version {wire.VERSION}")
        token = self._host.token
        # the same time for every wrong token, so that none can be found letter by letter
        if token is not None and not hmac.compare_digest(hello.token.encode(errors="replace"), token.encode()):
            raise wire.WireError("the token is not the session's")
        with self._host.changed:
            self.name = one_line(hello.name, 40) or f"viewer {self.number}"
            self._place = max(0, min(hello.after, len(self._host.events)))
            self.welcomed = True
            return wire.line_of(self._host.welcome(self, hello.role))

    def _take(self, line: bytes) -> None:
        message = wire.read_message(line)
        number = message.get("id")
        if not isinstance(number, int):
            raise wire.WireError("a command has a whole number as its id")
        answer: dict[str, Any] = {"answer": number}
        with self._host.changed:
            try:
                answer["value"] = self._host.do(self, message.get("do"), message.get("with", {}))
            except CommandRefused as refused:
                answer["refused"] = str(refused)
            self._answers.append(answer)
            self._host.changed.notify_all()

    def _refuse(self, why: str) -> None:
        if self._teller is not None:
            self._part_with(why)
            return
        with suppress(OSError):
            self._connection.settimeout(PARTING_SECONDS)
            self._connection.sendall(wire.line_of({"refused": why}))

    def _part_with(self, why: str) -> None:
        assert self._teller is not None
        with self._host.changed:
            self.say_goodbye(why)
            self._host.changed.notify_all()
        self._teller.join(PARTING_SECONDS)

    def _leave(self) -> None:
        with self._host.changed:
            self._gone = True
            self._host.left(self)
            self._host.changed.notify_all()
        self.hang_up()
        self._connection.close()

    # ── what it is told ──────────────────────────────────────────────────────────────────────────────────────────────

    def _tell(self) -> None:
        # a viewer that takes nothing for a while is let go: it may come again, and read on where it was
        with suppress(OSError):
            over = False
            while not over:
                with self._host.changed:
                    self._host.changed.wait_for(self._has_news)
                    if self._gone:
                        return
                    end = len(self._host.events)
                    over = self._last_words is not None
                    messages = self._messages()
                self._tell_events(end)
                if end != self._so_far:
                    self._so_far = end
                    messages.insert(0, {"so_far": end})
                self._send(b"".join(map(wire.line_of, messages)))
        self.hang_up()

    def _send(self, data: bytes | bytearray) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            self._connection.sendall(data[start : start + PIECE_BYTES])

    def _has_news(self) -> bool:
        host = self._host
        return (
            self._gone
            or self._place < len(host.events)
            or bool(self._answers)
            or self._told != host.report
            or self._words != host.words
            or self._last_words is not None
        )

    def _messages(self) -> list[dict[str, Any]]:
        """What is told once all events that there are now were."""
        host = self._host
        messages: list[dict[str, Any]] = []
        if self._told != host.report:
            self._told = dict(host.report)
            messages.append({"report": self._told})
        for loop in self._words.keys() | host.words.keys():
            before, now = self._words.get(loop, ""), host.words.get(loop, "")
            if now != before:
                grown = bool(before) and now.startswith(before)
                messages.append({"loop": loop, "more": now[len(before) :]} if grown else {"loop": loop, "words": now})
        self._words = dict(host.words)
        while self._answers:
            messages.append(self._answers.popleft())
        if self._last_words is not None:
            messages.append(self._last_words)
        return messages

    def _tell_events(self, end: int) -> None:
        events = self._host.events
        while self._place < end and not self._gone:
            piece = bytearray()
            while self._place < end and len(piece) < PIECE_BYTES:
                piece += _line(events[self._place])
                self._place += 1
            self._send(piece)


def _line(event: Event) -> bytes:
    try:
        return event_line(event)
    except ValueError as error:
        # what goes on unrecorded may hold what no line can
        fact = Unrecognised(event.type, {"can't be sent": str(error)})
        return event_line(Event(event.seq, event.t, event.loop, event.iteration, fact))
