"""Starts aimock, a model server that nobody here wrote, on a free port of this machine.

`LOOPKIT_AIMOCK` names the folder of the installed package; `.ci/install-aimock` installs it and prints the folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

FIXTURES = Path(__file__).with_name("fixtures") / "chat.json"
SECONDS_TO_START = 20.0


def unavailable(reason: str) -> None:
    """Skip where a person runs the tests, fail where a machine does: there, nothing may go untested unseen."""
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command(port: int) -> list[str]:
    node = shutil.which("node")
    package = os.environ.get("LOOPKIT_AIMOCK", "")
    script = Path(package) / "dist" / "cli.js"
    if not package or not script.is_file() or node is None:
        unavailable("the wire tests need aimock: export LOOPKIT_AIMOCK=$(.ci/install-aimock), with node installed")
    options = ["-p", str(port), "-f", str(FIXTURES), "--validate-on-load", "--strict", "--log-level", "warn"]
    return [str(node), str(script), *options]


def wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(f"{address}/health", timeout=1).close()
            return
        time.sleep(0.05)
    pytest.fail(f"aimock did not start on {address}")


@pytest.fixture(scope="session")
def aimock() -> Iterator[str]:
    """The base URL of a running server; its answers stand in `fixtures/chat.json`."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command(port), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as server:
        try:
            wait_for(address, server)
            yield f"{address}/v1"
        finally:
            server.terminate()
