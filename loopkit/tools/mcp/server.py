"""`MCPServer`: a server's tools for an agent, from code that is async or not."""

from __future__ import annotations

import copy
import json
import shlex
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import anyio

from loopkit.errors import AgentBuildError, ToolError, ToolServerError
from loopkit.messages import JSON, JSONObject, Problem, ToolDefinition, ToolOutput
from loopkit.tools.checks import json_problem
from loopkit.tools.definition import Tool, seconds_of
from loopkit.tools.mcp.connection import SECONDS_TO_END, Connection
from loopkit.tools.mcp.endpoint import Endpoint
from loopkit.tools.mcp.listing import ListedTool, Listing, provider_names, read_pin, write_pin
from loopkit.tools.mcp.waiting import outcome_of
from loopkit.tools.progress import current_taker
from loopkit.tools.retrying import ToolRetry
from loopkit.tools.shapes import Model
from loopkit.tools.signature import Signature


class MCPTool(Tool):
    """A tool of an MCP server; made by `MCPServer.tools`.

    Attributes:
        server_name: the server's own name of it.
    """

    def __init__(self, server: MCPServer, listed: ListedTool, definition: ToolDefinition) -> None:
        async def call(**arguments: JSON) -> ToolOutput:
            return await server._call(listed, arguments)

        call.__name__ = call.__qualname__ = definition.name
        call.__doc__ = definition.description
        super().__init__(call, definition, Signature(Model(definition.name, dict), definition.description, None, None))
        self.server_name = listed.name

    def __repr__(self) -> str:
        return f"<MCP tool {self.name}>"

    def problems(self, arguments: JSON) -> tuple[Problem, ...]:
        """Return why arguments don't fit the server's schema, nothing when they do (spec/loop.md 9.1)."""
        return self._check.problems(arguments)

    def arguments(self, arguments: JSONObject, context: object = None) -> dict[str, Any]:
        """Return the arguments, sharing nothing with those that are recorded."""
        return copy.deepcopy(dict(arguments))


class MCPServer:
    """A Model Context Protocol server: a program that is started, or an address (streamable HTTP).

    `tools()` gives its tools; `with` and `async with` give them too, and close the server at the end. Otherwise it is
    closed by `close`, when nobody holds it or its tools any more, or when the interpreter ends. The conversation has a
    thread of its own, so that one server can be used from any event loop and any thread. A server that has ended is
    started again for the next call.

    Args:
        command: program and arguments, as a list or as one line of shell words.
        url: the address of a server that runs already.
        prefix: put before the name of each tool, such as `git_`.
        env: variables for the program, beside `HOME`, `PATH` and the like, which is all that it inherits.
        cwd: the program's working folder.
        headers: sent with each request to the address, such as `Authorization`.
        timeout: seconds, or a `timedelta`, that one call may take, or None.
        start_timeout: seconds that starting and listing the tools may take.
        pin: a file that keeps what the server says of its tools. It is written when it is not there; from then on the
            agent is built from it, and the server is started by the first call only. A tool that the server then
            describes otherwise is not called.
        trust_hints: take the server's word for what its tools do: `readOnlyHint` is `read`, `idempotentHint` is
            `idempotent`, `destructiveHint` is `irreversible`. Nothing checks these claims.
        retry: for its tools that may be run again; `ToolRetry(on=ToolError)` calls again when the connection broke or
            the server refused, but not when a tool says itself that it failed.

    Raises:
        AgentBuildError: command or url is missing, both are given, or one can't be used.
    """

    def __init__(
        self,
        command: str | Sequence[str] = (),
        *,
        url: str = "",
        prefix: str = "",
        env: Mapping[str, str] | None = None,
        cwd: str | PathLike[str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | timedelta | None = 60.0,
        start_timeout: float = 60.0,
        pin: str | PathLike[str] | None = None,
        trust_hints: bool = True,
        retry: ToolRetry | None = None,
    ) -> None:
        words = _words(command)
        if bool(words) == bool(url):
            raise AgentBuildError("an MCP server is given as a command or as url=…, one of them")
        if url and urlsplit(url).scheme not in ("http", "https"):
            raise AgentBuildError(f"{url!r} is no address of an MCP server: it starts with http:// or https://")
        folder = None if cwd is None else Path(cwd)
        self._endpoint = Endpoint(words, url, dict(env or {}), folder, dict(headers or {}))
        self._prefix = prefix
        self._timeout = seconds_of(timeout)
        self._start_timeout = start_timeout
        self._pin = None if pin is None else Path(pin)
        self._trust_hints = trust_hints
        self._retry = retry
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._closed = False
        self._tools: tuple[MCPTool, ...] | None = None
        self.notices: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<MCP server {self._endpoint.label}>"

    def tools(self) -> list[MCPTool]:
        """Return the server's tools, the same each time; starts the server unless a pin knows them.

        What can't be given to an agent (two tools of one name, a schema that is none) is left out; `notices` says so.

        Raises:
            ToolServerError: the server can't be started, reached or understood, or the pin can't be used.
        """
        if self._tools is None:
            pinned = self._pinned()
            self._make_tools(self._connected().listing.result() if pinned is None else pinned)
        return list(self._tools or ())

    def close(self) -> None:
        """End the server and wait for it, a few seconds at most; its tools then fail. A second call does nothing."""
        connection = self._let_go()
        if connection is not None:
            with suppress(TimeoutError):
                connection.ended.result(SECONDS_TO_END)

    def __enter__(self) -> list[MCPTool]:
        try:
            return self.tools()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> list[MCPTool]:
        try:
            if self._tools is None:
                pinned = self._pinned()
                self._make_tools(await outcome_of(self._connected().listing) if pinned is None else pinned)
            return self.tools()
        except BaseException:
            self._let_go()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        connection = self._let_go()
        if connection is not None:
            with anyio.move_on_after(SECONDS_TO_END, shield=True):
                await outcome_of(connection.ended)

    def __del__(self) -> None:
        connection: Connection | None = getattr(self, "_connection", None)
        if connection is not None:
            connection.end()

    def _pinned(self) -> Listing | None:
        return None if self._pin is None else read_pin(self._pin)

    def _make_tools(self, listing: Listing) -> None:
        if self._pin is not None and not self._pin.exists():
            write_pin(self._pin, listing.tools.values())
        names = provider_names(list(listing.tools), self._prefix)
        with self._lock:
            if self._tools is None:
                self.notices = listing.notices
                self._tools = tuple(map(self._tool, names, listing.tools.values()))

    def _tool(self, name: str, listed: ListedTool) -> MCPTool:
        side_effect = listed.side_effect if self._trust_hints else None
        retry = self._retry
        if retry is not None and side_effect not in ("read", "idempotent") and not retry.any_side_effect:
            retry = None
        definition = ToolDefinition(
            name,
            listed.description,
            listed.schema,
            side_effect=side_effect,
            timeout=self._timeout,
            attempts=1 if retry is None else retry.attempts,
        )
        made = MCPTool(self, listed, definition)
        made.retry = retry
        return made

    def _connected(self) -> Connection:
        """The connection as it is, or a new one when there is none or it broke.

        Raises:
            ToolServerError: the server was closed.
        """
        with self._lock:
            if self._closed:
                raise ToolServerError(f"the MCP server {self._endpoint.label} was closed")
            if self._connection is None or not self._connection.usable:
                self._connection = Connection(self._endpoint, self._start_timeout)
            return self._connection

    def _let_go(self) -> Connection | None:
        with self._lock:
            self._closed = True
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.end()
        return connection

    async def _call(self, tool: ListedTool, arguments: dict[str, JSON]) -> ToolOutput:
        _check_sendable(arguments)
        try:
            connection = self._connected()
            today = (await outcome_of(connection.listing)).tools.get(tool.name)
        except ToolServerError as error:
            raise ToolError(str(error)) from None
        if today != tool:
            raise ToolError(self._drift(connection.label, tool, today))
        return await outcome_of(connection.call(tool.name, arguments, current_taker.get()))

    def _drift(self, label: str, tool: ListedTool, today: ListedTool | None) -> str:
        what = "no longer has this tool" if today is None else "now describes this tool otherwise"
        remedy = (
            "build the agent again" if self._pin is None else f"look at {self._pin.name}, delete it to take the new one"
        )
        return f"{label} {what}: {tool.name} was not called; {remedy}"


def _words(command: str | Sequence[str]) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command)) if isinstance(command, str) else tuple(map(str, command))
    except ValueError as error:
        raise AgentBuildError(f"the command of an MCP server can't be read: {error}; give a list of words") from None
    if any("\0" in word for word in words):
        raise AgentBuildError("the command of an MCP server holds a NUL character")
    return words


def _check_sendable(arguments: dict[str, JSON]) -> None:
    """Refuse what would break the connection: half a character has no form in UTF-8.

    Raises:
        ToolError: the arguments can't be sent.
    """
    problem = json_problem(arguments)
    if problem is not None:
        raise ToolError(f"the arguments can't be sent: {problem.path}: {problem.message}")
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ToolError("the arguments can't be sent: their text holds half a character (a lone surrogate)") from None
