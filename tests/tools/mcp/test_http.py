"""Tools of a server that is asked over streamable HTTP, written with the `mcp` package."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio
import pytest

from loopkit.errors import ToolError, ToolServerError
from loopkit.tools.mcp import MCPServer
from tests.tools.mcp.kitchen import COMMAND, by_name, text_of, until_it_is

pytestmark = pytest.mark.anyio


def free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def serving(port: int) -> Iterator[str]:
    """A server in a process of its own; its address."""
    with subprocess.Popen([*COMMAND, str(port)], stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline and process.poll() is None:
                with contextlib.suppress(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(free_port()) as url:
        yield url


async def test_tools_are_listed_and_called(address: str) -> None:
    async with MCPServer(url=address) as tools:
        named = by_name(tools)
        assert named["add"].definition.side_effect == "read"
        assert await text_of(named["add"], a=2, b=3) == "5"
        assert await text_of(named["steps"]) == "done"


async def test_a_cancelled_call_is_cancelled_in_the_server(address: str, tmp_path: Path) -> None:
    """spec/loop.md 9.5."""
    marker = tmp_path / "marker"
    async with MCPServer(url=address) as tools:
        named = by_name(tools)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: named["wait"](marker=str(marker)))
            await until_it_is(lambda: marker.exists() and marker.read_text() == "started")
            tasks.cancel_scope.cancel()
        await until_it_is(lambda: marker.read_text() == "cancelled")
        assert await text_of(named["echo"], text="still here") == "still here"


async def test_a_huge_answer_is_cut(address: str) -> None:
    async with MCPServer(url=address) as tools:
        assert len(await text_of(by_name(tools)["long"], characters=5_000_000)) < 1_000_100


async def test_a_server_that_went_away_is_said_to_and_found_again() -> None:
    port = free_port()
    with serving(port) as url:
        server = MCPServer(url=url)
        named = by_name(server.tools())
        assert await text_of(named["echo"], text="first") == "first"
    for _ in range(2):
        with pytest.raises(ToolError, match=r"nothing answers|broke during the call"):
            await named["echo"](text="nobody home")
    with serving(port):
        assert await text_of(named["echo"], text="second") == "second"
    server.close()


async def test_a_server_that_forgot_the_conversation_begins_a_new_one() -> None:
    port = free_port()
    with serving(port) as url:
        server = MCPServer(url=url)
        named = by_name(server.tools())
        assert await text_of(named["echo"], text="first") == "first"
    with serving(port):
        with contextlib.suppress(ToolError):
            await named["echo"](text="may be lost")
        assert await text_of(named["echo"], text="second") == "second"
    server.close()


def test_an_address_where_nothing_answers_is_named() -> None:
    with pytest.raises(ToolServerError, match=r"the MCP server 127\.0\.0\.1: nothing answers at its address"):
        MCPServer(url=f"http://user:secret@127.0.0.1:{free_port()}/mcp?key=secret").tools()


class _Refusing(BaseHTTPRequestHandler):
    headers_seen: list[str | None] = []  # noqa: RUF012  # what the one server of a test saw

    def do_POST(self) -> None:
        self.headers_seen.append(self.headers["Authorization"])
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(int(self.path[1:]))
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<h1>Go away</h1>")

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("status", [200, 401, 404, 500])
def test_what_is_no_mcp_server_gives_one_line(status: int, capfd: pytest.CaptureFixture[str]) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{web.server_address[1]}/{status}"
        with pytest.raises(ToolServerError) as caught:
            MCPServer(url=url, headers={"Authorization": "Bearer secret"}).tools()
        web.shutdown()
    assert _Refusing.headers_seen[-1] == "Bearer secret"
    assert str(caught.value).isprintable()
    assert "secret" not in str(caught.value)
    assert capfd.readouterr().err == ""
