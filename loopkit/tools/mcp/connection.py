"""One conversation with a server, in a thread and an event loop of its own, so that any event loop can take part."""

from __future__ import annotations

import asyncio
import atexit
import functools
import logging
import math
import threading
import time
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from loopkit import __version__
from loopkit.errors import ToolError, ToolServerError
from loopkit.messages import JSON, ToolOutput
from loopkit.tools.mcp.endpoint import CONNECTION_CLOSED, Endpoint, Streams, failure_words
from loopkit.tools.mcp.listing import ListedTool, Listing, listed
from loopkit.tools.mcp.program import LineTooLong
from loopkit.tools.mcp.results import output_of
from loopkit.tools.mcp.stderr import KeptStderr, one_line
from loopkit.tools.progress import Progress, ProgressTaker, shortened

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream
    from mcp import Client

T = TypeVar("T")

SECONDS_TO_END = 8.0
MOST_PAGES = 100
# the `mcp` package logs what a server does wrong; without a handler that would reach the terminal
_LOGGERS = ("mcp", "client", "httpx2", "httpcore2")

_open: set[Connection] = set()


class Connection:
    """A server that was started or reached; over when the server ends, fails, or nobody wants it any more.

    Args:
        endpoint: where the server is.
        seconds_to_start: how long starting and listing its tools may take.

    Attributes:
        listing: the server's tools, once they are known; fails with a `ToolServerError`.
        ended: done when the server's program is gone.
    """

    def __init__(self, endpoint: Endpoint, seconds_to_start: float) -> None:
        self.listing: Future[Listing] = Future()
        self.listing.set_running_or_notify_cancel()
        self.ended: Future[None] = Future()
        self.ended.set_running_or_notify_cancel()
        self.label = endpoint.label
        self._endpoint = endpoint
        self._seconds_to_start = seconds_to_start
        self._stderr = KeptStderr()
        self._strange = ""
        self._wanted = True
        self._lost = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._starting: anyio.CancelScope | None = None
        self._client: Client | None = None
        _open.add(self)
        threading.Thread(
            target=Context().run, args=(self._run,), name=f"loopkit mcp server {self.label}", daemon=True
        ).start()

    @property
    def usable(self) -> bool:
        """Whether the server is there, or on its way."""
        return self._wanted and not self._lost

    def call(self, name: str, arguments: dict[str, JSON], taker: ProgressTaker | None = None) -> Future[ToolOutput]:
        """Call a tool of a server whose `listing` is known; cancelling the future tells the server.

        Args:
            taker: hears of the server's progress notifications; without it the server is not asked for any.

        Raises:
            ToolError: in the future, or here when the connection is over.
        """
        return self._submit(self._call(name, arguments, taker))

    def end(self) -> None:
        """Let go of the server, without waiting for its end."""
        self._wanted = False
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._let_go)

    # ── in the connection's own thread ───────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        failure = "it was closed"
        try:
            asyncio.run(self._keep())
        except BaseException as error:  # noqa: BLE001  # told to whoever waits for the tools
            failure = self._endpoint.failure(error)
        self._lost = True
        self._stderr.let_go()
        if not self.listing.done():
            self.listing.set_exception(ToolServerError(self._with_evidence(f"the MCP server {self.label}: {failure}")))
        _open.discard(self)
        self.ended.set_result(None)

    async def _keep(self) -> None:
        client_type, implementation = _client_of_the_extra()
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        # what a broken conversation leaves behind is told by its calls, not by the loop
        self._loop.set_exception_handler(lambda _loop, _context: None)
        with anyio.CancelScope(deadline=anyio.current_time() + self._seconds_to_start) as starting:
            self._starting = starting
            if not self._wanted:
                starting.cancel()
            client = client_type(
                self._streams(), cache=None, client_info=implementation(name="loopkit", version=__version__)
            )
            async with client:
                listing = Listing.of(await _all_tools(client))
                starting.deadline = math.inf
                self._client = client
                if client.server_info is not None:
                    self.label = one_line(client.server_info.name, 60) or self.label
                self.listing.set_result(listing)
                await self._stop.wait()
        if self._wanted and starting.cancelled_caught:
            raise ToolServerError(f"it did not list its tools within {self._seconds_to_start:g} s")

    def _let_go(self) -> None:
        assert self._stop is not None
        self._stop.set()
        if not self.listing.done() and self._starting is not None:
            self._starting.cancel()

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[Streams]:
        """The transport's streams, with an eye on what comes: its end, and lines that are no messages."""
        async with self._endpoint.streams(self._stderr) as (received, sent):
            seen, shown = anyio.create_memory_object_stream[Any](0)
            async with seen, shown, anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch, received, seen)
                yield shown, sent
                tasks.cancel_scope.cancel()

    async def _watch(self, received: Any, seen: MemoryObjectSendStream[Any]) -> None:
        async with seen:
            async for item in received:
                if isinstance(item, Exception):
                    self._strange = _strangeness(item)
                    continue
                with suppress(anyio.BrokenResourceError):
                    await seen.send(item)
        self._lost = True
        assert self._stop is not None
        self._stop.set()

    async def _call(self, name: str, arguments: dict[str, JSON], taker: ProgressTaker | None) -> ToolOutput:
        from mcp import MCPError  # noqa: PLC0415  # the extra, at its first use

        assert self._client is not None
        try:
            heard = None if taker is None else functools.partial(_progressed, taker)
            return output_of(await self._client.call_tool(name, arguments, progress_callback=heard))
        except MCPError as error:
            if error.code == CONNECTION_CLOSED or self._lost:
                raise self._broken() from None
            raise ToolError(f"{self.label}: {one_line(error.message, 2_000)}") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise self._broken() from None
        except Exception as error:  # noqa: BLE001  # whatever a server makes the `mcp` package raise
            raise ToolError(f"{self.label}: the answer can't be used: {failure_words(error)}") from None

    def _broken(self) -> ToolError:
        self._lost = True
        self._let_go()
        words = f"{self.label}: the connection broke during the call; whether it took effect is not known"
        return ToolError(self._with_evidence(words))

    def _with_evidence(self, words: str) -> str:
        stderr = self._stderr.words()
        parts = [words]
        if self._strange:
            parts.append(self._strange)
        if stderr:
            parts.append(f"its stderr ends with: {stderr}")
        return "; ".join(parts)

    # ── from other threads ───────────────────────────────────────────────────────────────────────────────────────────

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        assert self._loop is not None
        try:
            # not in the caller's context, which may say that trio is running
            return Context().run(asyncio.run_coroutine_threadsafe, work, self._loop)
        except RuntimeError:
            work.close()
            raise ToolError(f"{self.label}: the connection is closed") from None


def _client_of_the_extra() -> tuple[Any, Any]:
    """Import the `mcp` package and keep what it logs off the terminal.

    Raises:
        ToolServerError: it is not installed, or too old.
    """
    for logger in map(logging.getLogger, _LOGGERS):
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
    try:
        from mcp import Client  # noqa: PLC0415  # the extra, at its first use
        from mcp.types import Implementation  # noqa: PLC0415  # the same
    except ImportError:
        raise ToolServerError("the mcp package (2 or later) is missing: pip install 'loopkit[mcp]'") from None
    return Client, Implementation


async def _progressed(taker: ProgressTaker, done: float, total: float | None, words: str | None) -> None:
    """Pass on what a server says of a call; amounts that are none are left out."""
    amounts = [amount if amount is not None and math.isfinite(amount) else None for amount in (done, total)]
    taker.progressed(Progress(shortened(words or ""), *amounts))


async def _all_tools(client: Client) -> list[ListedTool]:
    tools: list[ListedTool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools.extend(map(listed, page.tools))
        cursor = page.next_cursor
        if cursor is None:
            return tools
    raise ToolServerError(f"its list of tools has no end ({len(tools)} so far)")


def _strangeness(error: Any) -> str:
    """Say what a server wrote that could not be read as a message."""
    if isinstance(error, LineTooLong):
        return f"it wrote {error}"
    errors: Any = getattr(error, "errors", list)()
    line = errors[0].get("input") if errors else None
    words = repr(one_line(line, 80)) if isinstance(line, str) else type(error).__name__
    return f"its output is not only MCP, it wrote: {words}"


def _end_all() -> None:
    """At interpreter exit: let go of all servers, then give them a moment."""
    connections = tuple(_open)
    for connection in connections:
        connection.end()
    deadline = time.monotonic() + SECONDS_TO_END
    for connection in connections:
        with suppress(TimeoutError):
            connection.ended.result(max(0.0, deadline - time.monotonic()))


atexit.register(_end_all)

__all__ = ["SECONDS_TO_END", "Connection"]
