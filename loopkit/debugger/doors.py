"""A place that is open for viewers, with what they must know to come in; nothing of it is left when it is closed."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path

from loopkit.debugger.listening import listen
from loopkit.debugger.places import Place, PortPlace, token_file, token_given, write_token
from loopkit.errors import UserError


class Door:
    """A place, opened.

    Args:
        place: where.
        network: whether a port may be open to other machines.

    Attributes:
        place: the same, with the port that the system chose.
        listener: accepts viewers.
        token: what they must know, or None at a Unix socket, which only its owner can open.
        token_path: where the token is kept for viewers of the same person, or None.

    Raises:
        UserError: it can't be opened.
    """

    def __init__(self, place: Place, *, network: bool = False) -> None:
        self.token: str | None = None
        self.token_path: Path | None = None
        self.listener: socket.socket
        self.listener, self.place = listen(place, network=network)
        if isinstance(self.place, PortPlace):
            try:
                self.token = token_given() or self._new_token(self.place)
            except BaseException:
                self.close()
                raise

    def _new_token(self, place: PortPlace) -> str:
        token = secrets.token_urlsafe(32)
        path = token_file(place)
        try:
            write_token(path, token)
        except OSError as error:
            raise UserError(f"{path}: the token can't be kept ({error.strerror})") from None
        self.token_path = path
        return token

    def close(self) -> None:
        """Close the place, and remove its socket or token."""
        self.listener.close()
        path = self.token_path if isinstance(self.place, PortPlace) else self.place.path
        if path is not None:
            with suppress(OSError):
                os.unlink(path)
