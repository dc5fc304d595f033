"""Serves a session to viewers in other processes (docs/attach.md): all of them see it, one of them decides.

Nothing here runs in the agent's threads: they only set a flag. A policy stands in while nobody decides, if one is named.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from loopkit import __version__
from loopkit.debugger import wire
from loopkit.debugger.commanding import QUESTIONS, do_command, report_of, signatures
from loopkit.debugger.doors import Door
from loopkit.debugger.live import LiveRun
from loopkit.debugger.policy import Policy
from loopkit.debugger.rows import failure_text
from loopkit.debugger.session import Session
from loopkit.debugger.viewers import Viewer
from loopkit.errors import CommandRefused, LoopkitError
from loopkit.events import Event

MOST_VIEWERS = 16
MOST_CONNECTIONS = 48
RETURN_SECONDS = 5.0
GOODBYE_SECONDS = 5.0
BATCH_SECONDS = 0.02
WORDS_SECONDS = 0.1


class SessionServer:
    """Serves one live session until it is closed; implements `viewers.Host`.

    Args:
        session: looked at by nobody else in this process: the server polls it.
        live: its run.
        door: where viewers come in; closed with the server.
        stand_in: decides while nobody does; None lets the run wait.
        heard: called with each event, in a thread of the server.
        return_seconds: how long a viewer whose connection broke is waited for before the policy stands in.
    """

    def __init__(
        self,
        session: Session,
        live: LiveRun,
        door: Door,
        *,
        stand_in: Policy | None = None,
        heard: Callable[[Event], None] = lambda _: None,
        return_seconds: float = RETURN_SECONDS,
    ) -> None:
        self.session = session
        self.changed = threading.Condition(threading.RLock())
        self.events: list[Event] = []
        self.words: dict[str, str] = {}
        self.report: dict[str, Any] = {}
        self._live = live
        self._stand_in = stand_in
        self._heard = heard
        self._return_seconds = return_seconds
        self._viewers: dict[int, Viewer] = {}
        self._decider: Viewer | None = None
        self._leave_at: float | None = None
        self._connections = 0
        self._news = threading.Event()
        self._closing = False
        self._next_words = 0.0
        self._words_at: float | None = None
        self.token = door.token
        self._door = door
        self._waker, self._woken = socket.socketpair()
        session.on_change(self._news.set)
        self._threads = [
            threading.Thread(target=work, name=f"loopkit {name}", daemon=True)
            for work, name in ((self._accept, "serving"), (self._follow, "served events"))
        ]
        for thread in self._threads:
            thread.start()

    # ── viewers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _accept(self) -> None:
        number = 0
        while True:
            ready, _, _ = select.select([self._door.listener, self._woken], [], [])
            if self._woken in ready:
                return
            try:
                connection, _ = self._door.listener.accept()
            except OSError:
                # gone before it was accepted, or there are too many open files: the next one may do better
                time.sleep(BATCH_SECONDS)
                continue
            number += 1
            with self.changed:
                full = self._connections >= MOST_CONNECTIONS
                self._connections += not full
            if full:
                connection.close()
                continue
            Viewer(self, connection, number).start()

    def welcome(self, viewer: Viewer, role: str) -> dict[str, Any]:
        """Take a viewer in, and return what greets it; it decides if it wants to and nobody else does."""
        if self._closing:
            raise wire.WireError("this session is over")
        if len(self._viewers) >= MOST_VIEWERS:
            raise wire.WireError(f"{MOST_VIEWERS} viewers are attached, which is the most")
        self._viewers[viewer.number] = viewer
        # words are kept for viewers only
        self._news.set()
        if role == "take over" or (role == "decide" and self._decider is None):
            self._let_decide(viewer)
        self._tell()
        return {
            "hello": wire.PROTOCOL,
            "version": wire.VERSION,
            "loopkit": __version__,
            "run": self._live.run_id,
            "title": self.session.title,
            "recording": None if self.session.path is None else str(self.session.path.absolute()),
            "viewer": viewer.number,
            "alone": "wait" if self._stand_in is None else "policy",
            "events": len(self.events),
            "commands": {**signatures(), "take_over": [], "detach": [], "ping": []},
            "report": self.report,
        }

    def left(self, viewer: Viewer) -> None:
        """Forget a viewer; when it was the one that decides, the policy stands in, after a moment if it did not say so."""
        self._connections -= 1
        if self._viewers.pop(viewer.number, None) is None:
            return
        self._step_down(viewer, self._return_seconds)
        self._tell()

    def _step_down(self, viewer: Viewer, seconds: float) -> None:
        """Let nobody decide, if this viewer did, and the policy stand in after a moment."""
        if self._decider is not viewer:
            return
        self._decider = None
        if self._stand_in is not None and not self._closing:
            self._leave_at = time.monotonic() + seconds
            self._news.set()

    def _let_decide(self, viewer: Viewer) -> None:
        self._decider = viewer
        self._leave_at = None
        self._live.leave_to(None)

    def do(self, viewer: Viewer, name: object, arguments: object) -> object:
        """Do a viewer's command; what it caused is told before its answer.

        Raises:
            CommandRefused: another viewer decides, or the session refuses.
        """
        if name == "ping":
            return None
        if name == "detach":
            viewer.left_in_order = True
            self._step_down(viewer, 0.0)
            self._tell()
            return None
        if name == "take_over":
            self._let_decide(viewer)
            self._tell()
            return None
        if viewer is not self._decider and name not in QUESTIONS:
            decides = "nobody decides" if self._decider is None else f"{self._decider.name} decides"
            raise CommandRefused(f"{decides} here: take over first")
        self._take_in()
        try:
            return do_command(self.session, name, arguments)
        except CommandRefused:
            raise
        except Exception as error:  # noqa: BLE001  # whatever a command does, the viewer hears of it and nobody else
            raise CommandRefused(failure_text(type(error).__name__, str(error))) from None
        finally:
            self._take_in()
            self._tell()

    # ── what happens in the session ──────────────────────────────────────────────────────────────────────────────────

    def _follow(self) -> None:
        over = False
        while not over:
            self._news.wait(self._until_due())
            self._news.clear()
            with self.changed:
                taken = self._take_in()
                # asked after that: whatever ends later wakes again
                over = self._over
                self._stand_in_when_due()
                self._tell()
            for event in taken:
                self._heard(event)
            # a moment in which events gather; a viewer's own commands don't wait for it
            time.sleep(BATCH_SECONDS)

    def _until_due(self) -> float | None:
        due = [at for at in (self._leave_at, self._words_at) if at is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    @property
    def _over(self) -> bool:
        return self._live.ended and not self._live.has_news

    def _take_in(self) -> list[Event]:
        taken = self.session.poll()
        self.events += taken
        now = time.monotonic()
        if not self._viewers:
            self.words, self._words_at = {}, None
        elif taken or now >= self._next_words:
            self.words, self._words_at = self._live.partials(), None
            self._next_words = now + WORDS_SECONDS
        else:
            self._words_at = self._next_words
        return taken

    def _stand_in_when_due(self) -> None:
        if self._leave_at is not None and time.monotonic() >= self._leave_at:
            self._leave_at = None
            with suppress(LoopkitError):
                self._live.leave_to(self._stand_in)

    def _tell(self) -> None:
        decider = self._decider
        try:
            said = report_of(self.session)
        except Exception as error:  # noqa: BLE001  # a property that fails must not keep a policy from standing in
            said = {"error": failure_text(type(error).__name__, str(error))}
        report = {
            **said,
            "ended": self._over,
            "decides": None if decider is None else {"viewer": decider.number, "name": decider.name},
            "viewers": len(self._viewers),
        }
        if report != {key: value for key, value in self.report.items() if key != "now"}:
            self.report = {**report, "now": round(self._live.now, 3)}
        self.changed.notify_all()

    # ── its end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self, *, why: str = "the run has ended", seconds: float = GOODBYE_SECONDS) -> None:
        """Tell viewers all that happened, hang up, and leave nothing of the place; calling it again does nothing.

        Args:
            seconds: how long slow viewers may take; those that take longer miss the end.
        """
        with self.changed:
            if self._closing:
                return
            self._take_in()
            self._tell()
            self._closing = True
            viewers = list(self._viewers.values())
            for viewer in viewers:
                viewer.say_goodbye(why)
            self.changed.notify_all()
            self.changed.wait_for(lambda: not self._viewers, seconds)
        for viewer in viewers:
            viewer.hang_up()
        self._waker.send(b".")
        self._threads[0].join()
        for each in (self._door, self._waker, self._woken):
            each.close()
