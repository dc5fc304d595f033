"""Served sessions, viewers that are ours, and peers that send whatever they like."""

from __future__ import annotations

import json
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from loopkit import Agent, ScriptedProvider, ToolLoopConfig
from loopkit.debugger.doors import Door
from loopkit.debugger.listening import connect
from loopkit.debugger.live import LiveRun
from loopkit.debugger.places import Place, Role, SocketPlace
from loopkit.debugger.policy import Policy
from loopkit.debugger.remote import attach
from loopkit.debugger.serving import SessionServer
from loopkit.debugger.session import Session
from tests.debugger.live_runs import PATIENCE, Eyes, add, shout


class Served:
    """A run that others may attach to.

    Attributes:
        place: where it is served.
        live: the run itself.
    """

    def __init__(self, door: Door, live: LiveRun, server: SessionServer, stack: ExitStack) -> None:
        self.place: Place = door.place
        self.token = door.token or ""
        self.live = live
        self.server = server
        self._stack = stack
        self._peers: list[Peer] = []

    def attach(self, role: Role = "decide") -> tuple[Session, Eyes]:
        """Attach a viewer; it is detached at the end."""
        session = self._stack.enter_context(closing(attach(self.place, role, token=self.token)))
        return session, Eyes(session)

    def peer(self) -> Peer:
        """Connect somebody who has not said a word yet."""
        peer = self._stack.enter_context(closing(Peer(self.place)))
        self._peers.append(peer)
        return peer

    def close_peers(self) -> None:
        """Have all of them go."""
        for peer in self._peers:
            peer.close()

    def wait(self) -> None:
        assert self.live.wait(PATIENCE)


class Peer:
    """A connection that says what it is told to."""

    def __init__(self, place: Place) -> None:
        self.connection: socket.socket = connect(place)
        self.connection.settimeout(PATIENCE)
        self._file = self.connection.makefile("rb")

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        for message in messages:
            self.connection.sendall(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    def hello(self, role: str = "decide", **more: Any) -> dict[str, Any]:
        self.send({"hello": "loopkit-attach", "version": 1, "role": role, **more})
        return self.next()

    def next(self) -> dict[str, Any]:
        """The next line; nothing when the connection ended."""
        line = self._file.readline()
        return {} if not line else json.loads(line)

    def rest(self) -> list[dict[str, Any]]:
        """Every line up to the end of the connection."""
        return list(iter(self.next, {}))

    def answer(self, number: int) -> dict[str, Any]:
        """Skip to an answer."""
        return next(message for message in iter(self.next, {}) if message.get("answer") == number)

    def close(self) -> None:
        self._file.close()
        self.connection.close()


@contextmanager
def served(
    script: Any,
    path: Path,
    *tools: Any,
    place: Place | None = None,
    backend: str = "asyncio",
    stand_in: Policy | None = None,
    return_seconds: float = 0.0,
    config: ToolLoopConfig | None = None,
    task: str = "go",
) -> Iterator[Served]:
    """A served run of a scripted agent; at the end it is stopped, and its viewers are told."""
    provider = ScriptedProvider(script) if isinstance(script, list) or callable(script) else script
    agent = Agent(provider, tools=tools or (add, shout), config=config)
    with ExitStack() as stack:
        # a socket's path is short, and a test's folder may not be
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        door = stack.enter_context(closing(Door(place or SocketPlace(Path(folder) / "run.sock"))))
        live = LiveRun(agent, task, path, None, backend=backend, durability="none", stand_in=stand_in)
        session = Session(live=live, title=live.title)
        server = SessionServer(session, live, door, stand_in=stand_in, return_seconds=return_seconds)
        viewers = stack.enter_context(ExitStack())
        stack.enter_context(closing(server))
        stack.enter_context(closing(live))
        yield Served(door, live, server, viewers)
