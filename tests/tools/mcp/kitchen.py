"""Starts the servers of these tests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from loopkit.messages import ToolOutput
from loopkit.tools.mcp import MCPServer, MCPTool

HERE = Path(__file__).parent
COMMAND = [sys.executable, str(HERE / "server.py")]


def odd(*tools: dict[str, Any], **options: Any) -> MCPServer:
    """A server that lists these tools."""
    return MCPServer([sys.executable, str(HERE / "odd_server.py"), json.dumps({"tools": tools})], **options)


def entry(name: str, schema: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"} if schema is None else schema, **more}


def by_name(tools: list[MCPTool]) -> dict[str, MCPTool]:
    return {tool.name: tool for tool in tools}


async def text_of(tool: MCPTool, **arguments: Any) -> str:
    """What a tool answers, when that is no error."""
    output = await tool(**arguments)
    assert isinstance(output, ToolOutput)
    assert not output.is_error
    return str(output.content)


async def until_it_is(so: Callable[[], bool]) -> None:
    """Wait for what a process does, which tells nobody."""
    with anyio.fail_after(10):
        while not so():  # noqa: ASYNC110  # there is no event to wait for
            await anyio.sleep(0.01)


def has_ended(pid: int) -> bool:
    """Say whether a process is gone, or only waits to be buried by whoever adopted it."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip() == "" or state.startswith("Z")
