"""A real model behind a real server, for the tests that are marked `real_model`; they run only when asked for.

Either `LOOPKIT_REAL_MODEL` is the base URL of a running server, or `LOOPKIT_LLAMA_PYTHON` (a Python that has
`llama-cpp-python[server]`) and `LOOPKIT_GGUF` (a model's file) say how to start one; docs/real-model.md has the recipe.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from loopkit.providers.openai_chat import OpenAIChat
from tests.providers.aimock import free_port

SECONDS_TO_START = 60.0
HOW = (
    "the real model is nowhere to be found: set LOOPKIT_REAL_MODEL to a server's base URL, or LOOPKIT_LLAMA_PYTHON and "
    "LOOPKIT_GGUF to start one (docs/real-model.md)"
)


@dataclass(frozen=True)
class RealModel:
    """Where a real model answers, and its name."""

    base_url: str
    name: str

    def provider(self) -> OpenAIChat:
        return OpenAIChat(self.name, base_url=self.base_url, api_key="none", null_content=False)


def model_name(base_url: str) -> str | None:
    """Return the name of the first model that a server has, or None while it doesn't answer."""
    with contextlib.suppress(httpx.TransportError):
        answer = httpx.get(f"{base_url}/models", timeout=5, trust_env=False)
        return str(answer.json()["data"][0]["id"])
    return None


def command(port: int) -> list[str]:
    python, weights = os.environ.get("LOOPKIT_LLAMA_PYTHON"), os.environ.get("LOOPKIT_GGUF")
    if not python or not weights:
        pytest.fail(HOW)
    # by default a new request breaks off the one that is being answered
    words = (
        "--model_alias smollm2 --n_ctx 2048 --n_threads 1 --interrupt_requests false --verbose false --host 127.0.0.1"
    )
    return [python, "-m", "llama_cpp.server", "--model", weights, *words.split(), "--port", str(port)]


@pytest.fixture(scope="session")
def real_model() -> Iterator[RealModel]:
    """A real model that answers; without one the test fails, for somebody asked for it."""
    given = os.environ.get("LOOPKIT_REAL_MODEL", "").rstrip("/")
    if given:
        name = model_name(given)
        if name is None:
            pytest.fail(f"LOOPKIT_REAL_MODEL: {given} does not answer")
        yield RealModel(given, name)
        return
    port = free_port()
    address = f"http://127.0.0.1:{port}/v1"
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command(port), stdin=quiet, stdout=quiet, stderr=quiet) as server:
        try:
            yield RealModel(address, _wait_for(address, server))
        finally:
            server.terminate()


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and server.poll() is None:
        name = model_name(address)
        if name is not None:
            return name
        time.sleep(0.1)
    pytest.fail(f"the server did not start on {address}")
