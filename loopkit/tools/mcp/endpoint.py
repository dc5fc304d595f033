"""Where a server is: a program that is started, or an address that is asked; and what its failures mean."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from loopkit.errors import ToolServerError
from loopkit.known_secrets import redact_named
from loopkit.tools.mcp.program import running
from loopkit.tools.mcp.stderr import KeptStderr, one_line

# what the `mcp` package receives from and sends to
Streams: TypeAlias = tuple[Any, Any]
# the `mcp` package's code for it
CONNECTION_CLOSED = -32000
LARGEST_EVENT_BYTES = 16 * 1024 * 1024
SECONDS_TO_CONNECT = 30.0
_LONGEST_WORDS = 300


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A program or an address.

    Args:
        command: program and arguments, or empty.
        url: the address for streamable HTTP, or empty.
        env: variables for the program beside `HOME`, `PATH` and the like.
        cwd: the program's working folder, or None for ours.
        headers: sent with each request, such as `Authorization`.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        redact_named(self.headers)
        redact_named(self.env)

    @property
    def label(self) -> str:
        """A short name without arguments and queries, which may hold secrets."""
        if self.command:
            module = self.command[2] if self.command[1:2] == ("-m",) and len(self.command) > 2 else ""
            return module or PurePath(self.command[0]).name
        return urlsplit(self.url).hostname or self.url

    @asynccontextmanager
    async def streams(self, stderr: KeptStderr) -> AsyncIterator[Streams]:
        """Start the program, or get ready to ask the address.

        Raises:
            OSError: the program can't be started.
        """
        if self.command:
            async with running(self.command, self.env, self.cwd, stderr) as streams:
                yield streams
        else:
            stderr.let_go()
            async with self._addressed() as streams:
                yield streams

    @asynccontextmanager
    async def _addressed(self) -> AsyncIterator[Streams]:
        import httpx2  # noqa: PLC0415  # comes with the extra
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415  # the extra, at its first use

        # how long an answer may take is the call's own timeout
        timeout = httpx2.Timeout(SECONDS_TO_CONNECT, read=None)
        async with (
            httpx2.AsyncClient(headers=dict(self.headers), timeout=timeout) as client,
            streamable_http_client(self.url, http_client=client, max_sse_event_size=LARGEST_EVENT_BYTES) as streams,
        ):
            yield streams

    def failure(self, error: BaseException) -> str:
        """Return why the server could not be reached, in a few words."""
        error = innermost(error)
        if isinstance(error, ToolServerError):
            return str(error)
        if isinstance(error, OSError) and self.command:
            return self._start_failure(error)
        if getattr(error, "code", None) == CONNECTION_CLOSED:
            return "it ended before it had listed its tools"
        if type(error).__name__ == "ConnectError":
            return "nothing answers at its address"
        return failure_words(error)

    def _start_failure(self, error: OSError) -> str:
        if self.cwd is not None and not os.path.isdir(self.cwd):
            return f"its working folder {self.cwd} does not exist"
        if isinstance(error, FileNotFoundError):
            return f"the program {self.command[0]} was not found"
        return f"it can't be started: {error.strerror or type(error).__name__}"


def innermost(error: BaseException) -> BaseException:
    """Return the first exception that is no group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def failure_words(error: BaseException) -> str:
    """Return an exception of the `mcp` package on one line; its first says enough."""
    if type(error).__name__ == "ValidationError":
        return f"what it answers is not MCP ({_first_problem(error)})"
    first, _, _ = str(error).strip().partition("\n")
    words = one_line(first, _LONGEST_WORDS)
    if isinstance(getattr(error, "code", None), int) or (words and isinstance(error, RuntimeError)):
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _first_problem(error: Any) -> str:
    """Say where pydantic found something else than the protocol asks for."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"])) or "all of it"
    return one_line(f"{place}: {first['msg']}", _LONGEST_WORDS)
