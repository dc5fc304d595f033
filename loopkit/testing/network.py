"""Refuses network connections for the length of a `with` block, in every thread of the process."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

_CONNECTING = ("connect", "connect_ex", "sendto")


class NetworkBlocked(OSError):
    """Something tried to reach the network where a test forbids it."""


@contextmanager
def no_network(*, allow_loopback: bool = False) -> Iterator[None]:
    """Refuse every connection that leaves the process, Unix sockets excepted.

    Args:
        allow_loopback: servers on this machine may be reached.

    Raises:
        NetworkBlocked: in the code that tried to connect.
    """

    def refuses(host: object) -> bool:
        return not (allow_loopback and _is_local(host))

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(sock: socket.socket, *arguments: Any) -> Any:
            address = arguments[-1] if arguments else None
            if isinstance(address, tuple) and address and refuses(address[0]):
                raise NetworkBlocked(f"a connection to {address[0]} was tried; the network is blocked here")
            return original(sock, *arguments)

        return call

    lookup = socket.getaddrinfo

    def resolve(host: Any, *arguments: Any, **options: Any) -> Any:
        if host is not None and refuses(host):
            raise NetworkBlocked(f"the address of {host} was asked for; the network is blocked here")
        return lookup(host, *arguments, **options)

    with ExitStack() as patches:
        for name in _CONNECTING:
            patches.enter_context(patch.object(socket.socket, name, guarded(getattr(socket.socket, name))))
        patches.enter_context(patch.object(socket, "getaddrinfo", resolve))
        yield


def _is_local(host: object) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    if name in ("localhost", ""):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
