"""A server written with the `mcp` package: `python server.py` for stdio, `python server.py PORT` for HTTP."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("kitchen", log_level="WARNING")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool(annotations=ToolAnnotations(idempotent_hint=True, destructive_hint=True))
def echo(text: str) -> str:
    return text


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def fail() -> str:
    raise ValueError("the oven is cold")


@server.tool(structured_output=False)
def picture() -> list[object]:
    return ["a dot:", Image(data=b"\x89PNG....", format="png")]


@server.tool()
def spread(items: dict[str, int]) -> dict[str, int]:
    return items


@server.tool()
def process() -> str:
    return f"{os.getpid()} in {Path.cwd()}, {os.environ.get('SPICE', 'no spice')}, {os.environ.get('SECRET', '-')}"


@server.tool()
def die(words: str) -> str:
    os.write(2, words.encode())
    os._exit(3)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def moody(marker: str) -> str:
    """End the server the first time."""
    if Path(marker).exists():
        return "fine"
    Path(marker).touch()
    os._exit(3)


@server.tool()
def babble(text: str) -> str:
    os.write(1, b"this is no MCP\n\xff\xfe{}\n")
    sys.stderr.write("note to self\n" * 20_000)
    sys.stderr.flush()
    return text


@server.tool()
def long(characters: int) -> str:
    return "x" * characters


@server.tool(structured_output=False)
async def wait(marker: str) -> str:
    tell = Path(marker).write_text
    tell("started")
    try:
        await anyio.sleep(600)
    except BaseException:
        tell("cancelled")
        raise
    return "never"


@server.tool()
async def steps(context: Context) -> str:
    await context.report_progress(1, 2, "half of it")
    await context.report_progress(2)
    return "done"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
