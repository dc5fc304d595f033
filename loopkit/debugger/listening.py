"""Sockets of served sessions: opened so that nobody else gets in, and reached with one clear line when they can't be."""

from __future__ import annotations

import ipaddress
import os
import socket
import stat
from pathlib import Path

from loopkit.debugger.display import one_line
from loopkit.debugger.places import SOCKET_SUFFIX, Place, PortPlace, SocketPlace, private_folder
from loopkit.errors import UserError

CONNECT_SECONDS = 10.0
# what the system keeps of a socket's path, in bytes; the smallest of today's systems
LONGEST_SOCKET_PATH = 103


def listen(place: Place, *, network: bool = False) -> tuple[socket.socket, Place]:
    """Open a place for viewers; return it with the port that the system chose.

    Args:
        network: whether a port may be open to other machines.

    Raises:
        UserError: it can't be opened, is in use, or is open to others without being asked to.
    """
    try:
        if isinstance(place, SocketPlace):
            return _listen_on_socket(place.path), place
        return _listen_on_port(place, network=network)
    except (OSError, ValueError) as error:
        raise UserError(f"{one_line(str(place))}: can't be served there ({_reason(error)})") from None


def connect(place: Place) -> socket.socket:
    """Reach a place.

    Raises:
        UserError: nobody serves a session there, or it can't be reached.
    """
    try:
        if isinstance(place, SocketPlace):
            return _connected_to_socket(place.path)
        return socket.create_connection((place.host, place.port), timeout=CONNECT_SECONDS)
    except (FileNotFoundError, ConnectionRefusedError):
        raise UserError(f"{one_line(str(place))}: no session is served there") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{one_line(str(place))}: can't be reached ({_reason(error)})") from None


def is_served(path: Path) -> bool:
    """Say whether somebody listens on a Unix socket."""
    try:
        _connected_to_socket(path).close()
    except OSError:
        return False
    return True


def only_place() -> Place:
    """Return where the one session of this person is served that there is.

    Raises:
        UserError: there is none, or more than one; then they are named.
    """
    sockets = sorted(str(path) for path in private_folder().glob(f"*{SOCKET_SUFFIX}") if is_served(path))
    if not sockets:
        raise UserError("no session is served here; start one with `loopkit run AGENT --task TEXT --serve`")
    if len(sockets) > 1:
        raise UserError(f"several sessions are served, name one: {', '.join(map(one_line, sockets))}")
    return SocketPlace(Path(sockets[0]))


def _connected_to_socket(path: Path) -> socket.socket:
    connection = _unix_socket()
    try:
        connection.settimeout(CONNECT_SECONDS)
        connection.connect(str(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _listen_on_socket(path: Path) -> socket.socket:
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        raise ValueError(f"a socket's path has at most {LONGEST_SOCKET_PATH} bytes")
    _make_room(path)
    listener = _unix_socket()
    try:
        listener.bind(str(path))
        # nobody can connect before it listens, so there is no moment in which others may
        path.chmod(0o600)
        listener.listen()
    except BaseException:
        listener.close()
        raise
    return listener


def _make_room(path: Path) -> None:
    """Remove what a process that was killed has left."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ValueError("there is a file that is no socket")
    if is_served(path):
        raise ValueError("a session is served there already")
    path.unlink()


def _listen_on_port(place: PortPlace, *, network: bool) -> tuple[socket.socket, Place]:
    family, kind, protocol, _, address = socket.getaddrinfo(
        place.host, place.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    if not network and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise ValueError("other machines could reach it: forward a port with ssh -L, or say --serve-network")
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except BaseException:
        listener.close()
        raise
    return listener, PortPlace(place.host, listener.getsockname()[1])


def _unix_socket() -> socket.socket:
    family = getattr(socket, "AF_UNIX", None)
    if family is None:
        raise ValueError("there are no Unix sockets on this system: name a port")
    return socket.socket(family, socket.SOCK_STREAM)


def _reason(error: Exception) -> str:
    return one_line((isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__, 200)
