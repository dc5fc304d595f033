"""A session that another process serves, as an interface sees it: the same facade, with a connection behind it."""

from __future__ import annotations

import getpass
import platform
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from loopkit.debugger import wire
from loopkit.debugger.answers import Answers
from loopkit.debugger.display import one_line
from loopkit.debugger.listening import connect
from loopkit.debugger.places import Place, Role
from loopkit.debugger.session import Session
from loopkit.encoding import DecodingError
from loopkit.errors import CommandRefused, UserError
from loopkit.events import Event, ModelAttemptFailed, ModelInterrupted, ModelReplied
from loopkit.recording.lines import read_event

ANSWER_SECONDS = 10.0
MOST_AT_ONCE = 2000
DETACH_SECONDS = 1.0
BETWEEN_TRIES = 1.0
TRYING_SECONDS = 60.0


def attach(place: Place, role: Role = "decide", *, token: str = "") -> Session:
    """Attach to a session that another process serves; its agent goes on when the returned one is closed.

    Args:
        role: `decide` where nobody else does, `take over` from whoever does, or only `watch`.
        token: of a port; see `places.token_for`.

    Raises:
        UserError: it can't be reached or refuses, in one line.
    """
    remote = RemoteRun(place, role, token=token)
    return Session(remote=remote, title=remote.title)


class RemoteRun:
    """A run of another process; implements `under_way.RemoteRunUnderWay`.

    A connection that breaks is made again, and read on from where it was.

    Raises:
        UserError: it can't be reached or refuses, in one line.
    """

    def __init__(self, place: Place, role: Role, *, token: str = "") -> None:
        self.path: Path | None = None
        self.title = ""
        self.connection = ""
        self._place = place
        self._token = token
        self._role: Role = role
        self._run: object = None
        self._number: object = None
        self._seq = 0
        self._history = 0
        self._arrived: list[Event] = []
        self._events: deque[Event] = deque()
        self._partial: dict[str, str] = {}
        self._report: Mapping[str, Any] = {}
        self._began_at = 0.0
        self._wake: Callable[[], None] | None = None
        self._answers = Answers()
        self._sending = threading.Lock()
        self._ended = threading.Event()
        self._over = threading.Event()
        self._closing = threading.Event()
        self._failure = ""
        self._last_sent = time.monotonic()
        self._socket, self._lines = self._greeted()
        self._reader = threading.Thread(target=self._read, name="loopkit attached", daemon=True)
        self._reader.start()

    # ── the connection ───────────────────────────────────────────────────────────────────────────────────────────────

    def _greeted(self) -> tuple[socket.socket, wire.Lines]:
        connection = connect(self._place)
        try:
            hello = {
                "hello": wire.PROTOCOL,
                "version": wire.VERSION,
                "role": self._role,
                "token": self._token,
                "after": self._seq,
                "name": _own_name(),
            }
            connection.sendall(wire.line_of(hello))
            lines = wire.Lines(connection)
            line = lines.next(wire.LONGEST_COMMAND, until=time.monotonic() + ANSWER_SECONDS)
            assert line is not None
            self._take_greeting(wire.read_message(line))
            connection.settimeout(wire.PING_SECONDS)
        except (wire.WireError, wire.ConnectionEnded, OSError, ValueError) as error:
            connection.close()
            raise UserError(
                f"{one_line(str(self._place))}: no session answers there ({one_line(str(error))})"
            ) from None
        except BaseException:
            connection.close()
            raise
        return connection, lines

    def _take_greeting(self, greeting: dict[str, Any]) -> None:
        where = one_line(str(self._place))
        if isinstance(greeting.get("refused"), str):
            raise UserError(f"{where}: refused: {one_line(greeting['refused'], 300)}")
        if greeting.get("hello") != wire.PROTOCOL or greeting.get("version") != wire.VERSION:
            raise UserError(f"{where}: is no session of loopkit, or one of another version")
        if self._run is not None and greeting.get("run") != self._run:
            raise UserError(f"{where}: another run is served there now")
        self._run = greeting.get("run")
        self._number = greeting.get("viewer")
        self.title = str(greeting.get("title", ""))
        recording = greeting.get("recording")
        self.path = Path(recording) if isinstance(recording, str) else None
        events = greeting.get("events")
        self._history = events if isinstance(events, int) else 0
        self._take_report(greeting.get("report"))

    def _read(self) -> None:
        while not self._closing.is_set() and not self._over.is_set():
            try:
                self._read_to_its_end()
            except wire.WireError as error:
                self._fail(str(error))
            except (wire.ConnectionEnded, OSError) as error:
                if not self._over.is_set() and not self._connect_again(str(error)):
                    self._fail(str(error))
        self._hand_out()
        self._over.set()
        self._ended.set()
        self._answers.give_up()
        self._hang_up()
        self._call_wake()

    def _hang_up(self) -> None:
        wire.hang_up(self._socket)
        # not while another thread sends: what is closed under it may be another connection the next moment
        with self._sending:
            self._socket.close()

    def _read_to_its_end(self) -> None:
        silent_since = time.monotonic()
        while True:
            line = self._lines.next(wire.LONGEST_FROM_SESSION)
            now = time.monotonic()
            if line is not None:
                silent_since = now
                self._answers.heard()
                self._take(line)
            elif now - silent_since > wire.SILENT_SECONDS:
                raise wire.ConnectionEnded("nothing came any more")
            if now - self._last_sent >= wire.PING_SECONDS:
                self._send({"id": 0, "do": "ping"})

    def _connect_again(self, reason: str) -> bool:
        """Try for a while to come back to the same run; not when it was left on purpose."""
        self._answers.give_up()
        self._hang_up()
        self._role = "decide" if self._decides else "watch"
        self._partial.clear()
        self.connection = f"the connection was lost ({one_line(reason)}); trying again"
        self._call_wake()
        deadline = time.monotonic() + TRYING_SECONDS
        while time.monotonic() < deadline and not self._closing.wait(BETWEEN_TRIES):
            with suppress(UserError):
                self._socket, self._lines = self._greeted()
                self.connection = ""
                self._call_wake()
                return True
        return False

    def _fail(self, reason: str) -> None:
        if not self._closing.is_set():
            where = one_line(str(self._place))
            self._failure = f"the connection to {where} was lost ({one_line(reason)}); the run may go on"
        self.connection = ""
        self._over.set()

    # ── what comes ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _take(self, line: bytes) -> None:
        if line.startswith(wire.EVENT_START):
            self._take_event(line)
        else:
            message = wire.read_message(line)
            if "answer" in message:
                self._answers.take(message["answer"], message)
            elif "so_far" in message:
                self._hand_out()
            elif "report" in message:
                self._take_report(message["report"])
            elif "loop" in message:
                self._take_words(message)
            elif "bye" in message:
                self._say_goodbye(message["bye"])
        self._call_wake()

    def _take_event(self, line: bytes) -> None:
        try:
            event = read_event(line, lenient=True)
        except DecodingError as error:
            raise wire.WireError(f"an event can't be read: {one_line(str(error))}") from None
        if event.seq != self._seq + 1:
            raise wire.WireError(f"event {event.seq} came where {self._seq + 1} was due")
        self._seq = event.seq
        if isinstance(event.fact, (ModelReplied, ModelInterrupted, ModelAttemptFailed)):
            self._partial.pop(event.loop, None)
        self._arrived.append(event)
        if event.seq <= self._history:
            self._hand_out()

    def _hand_out(self) -> None:
        """Let events be seen; what has just begun is held back until it is whole, so that no call seems to wait."""
        self._events.extend(self._arrived)
        self._arrived.clear()

    def _take_words(self, message: Mapping[str, Any]) -> None:
        loop, words, more = message.get("loop"), message.get("words"), message.get("more")
        if not isinstance(loop, str):
            return
        if isinstance(more, str):
            self._partial[loop] = self._partial.get(loop, "") + more
        elif isinstance(words, str):
            self._partial[loop] = words

    def _take_report(self, report: object) -> None:
        if isinstance(report, dict):
            now = report.get("now")
            self._began_at = time.monotonic() - (now if isinstance(now, (int, float)) else 0.0)
            self._report = report
            if report.get("ended") is True:
                self._ended.set()

    def _say_goodbye(self, why: object) -> None:
        if not self._report.get("ended") and not self._closing.is_set():
            self._failure = f"the session ended before its run: {one_line(str(why), 200)}"
        self._over.set()
        raise wire.ConnectionEnded("it said goodbye")

    def _call_wake(self) -> None:
        wake = self._wake
        if wake is not None:
            try:
                wake()
            except Exception:  # noqa: BLE001  # an interface that is gone must not break the connection
                self._wake = None

    # ── what a session asks ──────────────────────────────────────────────────────────────────────────────────────────

    def ask(self, command: str, arguments: Mapping[str, Any]) -> object:
        """Have a command done there; wait for its answer."""
        number = self._answers.next_number()
        try:
            self._send({"id": number, "do": command, "with": dict(arguments)})
        except (TypeError, ValueError, RecursionError) as error:
            raise CommandRefused(f"{command}: not JSON: {one_line(str(error), 200)}") from None
        except OSError as error:
            raise CommandRefused(f"{command}: not sent: {one_line(error.strerror or str(error))}") from None
        if self._over.is_set():
            raise CommandRefused(f"{command}: the session is over")
        answer = self._answers.wait(number, ANSWER_SECONDS)
        if "refused" in answer:
            raise CommandRefused(one_line(str(answer["refused"]), 600))
        return answer.get("value")

    def _send(self, message: dict[str, Any]) -> None:
        line = wire.line_of(message)
        if len(line) > wire.LONGEST_COMMAND:
            raise ValueError(f"it is larger than {wire.LONGEST_COMMAND >> 20} MiB")
        with self._sending:
            self._socket.sendall(line)
            self._last_sent = time.monotonic()

    def told(self, name: str) -> object:
        """Return what the session last said of itself, or, of the connection, what is known here."""
        if name == "error" and self._failure:
            return self._failure
        if name == "running" and self.ended:
            return False
        return self._report.get(name)

    @property
    def _decides(self) -> bool:
        decider = self._report.get("decides")
        return isinstance(decider, dict) and decider.get("viewer") == self._number

    @property
    def watches(self) -> str:
        """Who decides in the place of this viewer, in safe words; empty when nobody else does."""
        if self.ended or self._decides:
            return ""
        decider = self._report.get("decides")
        return one_line(str(decider.get("name")), 40) if isinstance(decider, dict) else "nobody"

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    @property
    def has_news(self) -> bool:
        return bool(self._events)

    @property
    def now(self) -> float:
        """Seconds since the run started, by this machine's clock since it was last told."""
        return time.monotonic() - self._began_at

    def on_change(self, wake: Callable[[], None]) -> None:
        """Have `wake` called, in the connection's thread, when there is something new."""
        self._wake = wake
        self._call_wake()

    def take(self) -> list[Event]:
        """Return the events since the last call; of very many the first, so that a screen is not held up."""
        taken = [self._events.popleft() for _ in range(min(len(self._events), MOST_AT_ONCE))]
        if self._events:
            self._call_wake()
        return taken

    def partial(self, loop: str) -> str:
        """Return the words of a loop's answer that is coming in."""
        return self._partial.get(loop, "")

    def wait(self, timeout: float | None) -> bool:
        """Wait until the run has ended, or the connection is lost for good."""
        return self._ended.wait(timeout)

    def close(self) -> None:
        """Detach; the run goes on."""
        closing = self._closing.is_set()
        self._closing.set()
        if not closing and not self._over.is_set():
            number = self._answers.next_number()
            with suppress(OSError):
                self._send({"id": number, "do": "detach"})
                # until it is there: what is under way when a connection ends may be lost
                self._answers.wait(number, DETACH_SECONDS)
        wire.hang_up(self._socket)


def _own_name() -> str:
    try:
        return f"{getpass.getuser()}@{platform.node()}"
    except (OSError, KeyError, ImportError):
        return platform.node()
