"""Runs a server's program and exchanges messages with it, one a line.

The `mcp` package does this too, but without a limit, and in time that grows with the square of a line's length.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from loopkit.tools.mcp.stderr import KeptStderr

LONGEST_LINE_BYTES = 32 * 1024 * 1024
SECONDS_TO_TAKE_A_HINT = 2.0


class LineTooLong(Exception):
    """A server wrote more on one line than is taken."""


@asynccontextmanager
async def running(
    command: Sequence[str], env: Mapping[str, str], cwd: Path | None, stderr: KeptStderr
) -> AsyncIterator[tuple[Any, Any]]:
    """Run a program and give the two streams that the `mcp` package wants; at the end the program is ended.

    Args:
        command: program and arguments.
        env: variables beside those that every server gets.
        cwd: the working folder, or None for ours.
        stderr: where its stderr is kept.

    Raises:
        OSError: the program can't be started.
    """
    from mcp.client.stdio import get_default_environment  # noqa: PLC0415  # the extra, at its first use

    environment = {**get_default_environment(), **env}
    # where Windows keeps a script such as npx, only the full name can be started
    program = shutil.which(command[0], path=environment.get("PATH")) or command[0]
    with anyio.CancelScope(shield=True):
        process = await asyncio.create_subprocess_exec(
            program,
            *command[1:],
            stdin=PIPE,
            stdout=PIPE,
            stderr=stderr.writing,
            env=environment,
            cwd=cwd,
            limit=LONGEST_LINE_BYTES,
            start_new_session=True,
        )
    stderr.let_go()
    try:
        incoming, received = anyio.create_memory_object_stream[Any](0)
        sent, outgoing = anyio.create_memory_object_stream[Any](0)
        async with incoming, received, sent, outgoing, anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process, incoming)
            tasks.start_soon(_write, process, outgoing, incoming)
            yield received, sent
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


async def _read(process: Process, incoming: MemoryObjectSendStream[Any]) -> None:
    """Pass messages on, and what is none as the exception that says so."""
    from mcp.shared.message import SessionMessage  # noqa: PLC0415  # the extra, at its first use
    from mcp.types import jsonrpc_message_adapter  # noqa: PLC0415  # the same

    assert process.stdout is not None
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with incoming:
            while line := await _line(process.stdout, incoming):
                try:
                    await incoming.send(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))
                except ValueError as error:
                    await incoming.send(error)


async def _line(stdout: asyncio.StreamReader, incoming: MemoryObjectSendStream[Any]) -> str:
    """Return the next line, empty at the end; after one that is too long nothing can be understood."""
    try:
        return (await stdout.readline()).decode(errors="replace")
    except ValueError:
        await incoming.send(LineTooLong(f"a line of more than {LONGEST_LINE_BYTES} bytes"))
        return ""


async def _write(
    process: Process, outgoing: MemoryObjectReceiveStream[Any], incoming: MemoryObjectSendStream[Any]
) -> None:
    assert process.stdin is not None
    try:
        async for item in outgoing:
            line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(f"{line}\n".encode())
            await process.stdin.drain()
    except ConnectionError:
        # nobody reads any more, so that nothing will be answered either
        await incoming.aclose()


async def _end(process: Process) -> None:
    """Ask the program to end by closing its stdin, then by signals to it and its children."""
    assert process.stdin is not None
    process.stdin.close()
    async with anyio.create_task_group() as tasks:
        # a program that can't write does not notice that it should end
        tasks.start_soon(_pass_over, process.stdout)
        for stop in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM), None):
            with anyio.move_on_after(SECONDS_TO_TAKE_A_HINT):
                await process.wait()
                break
            if stop is not None:
                _signal(process, stop)
        tasks.cancel_scope.cancel()


async def _pass_over(stdout: asyncio.StreamReader | None) -> None:
    assert stdout is not None
    while await stdout.read(65_536):
        pass


def _signal(process: Process, stop: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.send_signal(stop)
        else:
            os.killpg(process.pid, stop)
