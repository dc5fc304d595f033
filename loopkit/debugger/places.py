"""Where a session is served: a Unix socket that only its owner can open, or a TCP port whose viewers know a token."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from loopkit.debugger.display import one_line
from loopkit.errors import UserError

Role: TypeAlias = Literal["decide", "take over", "watch"]
LOOPBACK = "127.0.0.1"
TOKEN_VARIABLE = "LOOPKIT_TOKEN"  # noqa: S105  # a variable's name
SHORTEST_TOKEN = 16
LONGEST_TOKEN = 512
_HOST_AND_PORT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%a-z]+\]|[\w.-]*):(?P<port>[0-9]{1,5})")
SOCKET_SUFFIX = ".sock"


@dataclass(frozen=True, slots=True)
class SocketPlace:
    """A Unix socket."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class PortPlace:
    """A TCP port; 0 lets the system choose one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


Place: TypeAlias = SocketPlace | PortPlace


def read_place(text: str) -> Place:
    """Return the place that a word on the command line names: a path, HOST:PORT, or a port of this machine.

    Raises:
        UserError: it names none.
    """
    if os.sep in text or text.endswith(SOCKET_SUFFIX):
        return SocketPlace(Path(text).expanduser())
    found = _HOST_AND_PORT.fullmatch(f":{text}" if text.isascii() and text.isdigit() else text)
    if found is None or int(found["port"]) > 0xFFFF:
        raise UserError(f"{one_line(text)!r} is no place for a session: name a socket's path, HOST:PORT, or a port")
    return PortPlace(found["host"].strip("[]") or LOOPBACK, int(found["port"]))


def private_folder() -> Path:
    """Return the folder of sockets and tokens, which nobody but its owner can enter; it is made.

    Raises:
        UserError: it can't be made, or is somebody else's.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    uid = getattr(os, "getuid", lambda: 0)()
    folder = (
        Path(runtime) / "loopkit" if Path(runtime).is_absolute() else Path(tempfile.gettempdir()) / f"loopkit-{uid}"
    )
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise UserError(f"{folder}: can't be made ({error.strerror}); name a socket's path, or a port") from None
    # a link that somebody else planted in a shared folder would lead elsewhere
    if not stat.S_ISDIR(found.st_mode) or (os.name == "posix" and (found.st_uid != uid or found.st_mode & 0o077)):
        raise UserError(f"{folder}: is not a folder that only you can enter; remove it, or name a socket's path")
    return folder


def new_socket_place() -> SocketPlace:
    """Return where this process serves its session when nothing else is said."""
    folder = private_folder()
    paths = (
        folder / f"{os.getpid()}{'' if ordinal == 1 else f'-{ordinal}'}{SOCKET_SUFFIX}" for ordinal in range(1, 1000)
    )
    return SocketPlace(next(path for path in paths if not path.exists()))


# ── tokens of ports ──────────────────────────────────────────────────────────────────────────────────────────────────


def token_file(place: PortPlace) -> Path:
    """Return where the token of a port is kept for viewers of the same person on the same machine.

    Raises:
        UserError: there is no private folder for it.
    """
    return private_folder() / f"{place.port}.token"


def write_token(path: Path, token: str) -> None:
    """Keep a token where only its owner can read it.

    Raises:
        OSError: it can't be written.
    """
    path.unlink(missing_ok=True)
    # made with its mode, so that there is no moment in which others may open it
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(token + "\n")


def token_given() -> str | None:
    """Return the token that the environment names, or None.

    Raises:
        UserError: it is too short to keep anybody out, or nothing that a line can hold.
    """
    token = os.environ.get(TOKEN_VARIABLE)
    if not token:
        return None
    return require_token(token, TOKEN_VARIABLE)


def token_for(place: PortPlace, file: Path | None = None) -> str:
    """Return the token that a viewer says at a port: a file's, the environment's, or the one that this person keeps.

    Raises:
        UserError: there is none.
    """
    kept = token_file(place) if file is None else file
    given = None if file is not None else token_given()
    if given is not None:
        return given
    try:
        with kept.open(encoding="ascii") as opened:
            return require_token(opened.read(LONGEST_TOKEN + 2).strip(), str(kept))
    except FileNotFoundError:
        advice = f"set {TOKEN_VARIABLE}, or name the file with --token-file"
        raise UserError(f"{one_line(str(kept))}: there is no token for {place}; {advice}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{one_line(str(kept))}: no token can be read ({error})") from None


def require_token(token: str, source: str) -> str:
    """Return a token that can be used.

    Raises:
        UserError: it can't.
    """
    if not (SHORTEST_TOKEN <= len(token) <= LONGEST_TOKEN and token.isascii() and token.isprintable()):
        raise UserError(
            f"{one_line(source)}: a token has {SHORTEST_TOKEN} to {LONGEST_TOKEN} ASCII characters in one line"
        )
    return token
