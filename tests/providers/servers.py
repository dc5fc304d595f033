"""Servers that say given bytes, on a free port of this machine."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

TLS_HELLO = b"\x16"


def read_request(connection: socket.socket) -> None:
    received = b""
    while b"\r\n\r\n" not in received and not received.startswith(TLS_HELLO):
        received += connection.recv(65536) or b"\r\n\r\n"
    head, _, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    while length and len(body) < int(length[1]):
        body += connection.recv(65536)


@contextmanager
def server(*connections: bytes | tuple[bytes, ...], hold: bool = False) -> Iterator[str]:
    """Serve each connection its answers, byte for byte; with `hold`, keep it open until the test ends."""
    over = threading.Event()
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            for answers in connections:
                with listener.accept()[0] as connection:
                    for answer in [answers] if isinstance(answers, bytes) else answers:
                        read_request(connection)
                        connection.sendall(answer)
                    if hold:
                        over.wait(10)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            over.set()
            thread.join(10)


ENDING = b"0\r\n\r\n"


def head(content_type: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"content-type: {content_type}", "transfer-encoding: chunked", "", ""]
    return "\r\n".join(lines).encode()


HEAD = head("text/event-stream")


def http_chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)
