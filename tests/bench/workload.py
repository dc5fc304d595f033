"""One tool call a turn for N turns, by a model that never reads its history: what is measured is the loop's own cost."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from loopkit import ChatResponse, Recorder, ToolCall, ToolLoopConfig, Usage, tool, tool_loop
from loopkit.providers.protocol import ChatRequest, Emit
from loopkit.recording.redaction.settings import Redaction
from loopkit.recording.syncing import Durability
from loopkit.tools.registry import ToolRegistry

RESULT = "x" * 200
EVENTS = 7  # of an iteration with one call


@tool
async def lookup(key: str) -> str:
    """Look a key up."""
    return RESULT


@tool
def lookup_in_thread(key: str) -> str:
    """Look a key up, synchronously."""
    return RESULT


class AsksForCalls:
    """Asks for one call of a tool `turns` times, then answers."""

    model: str | None = "fake"

    def __init__(self, turns: int, name: str) -> None:
        self.left = turns
        self.name = name

    async def respond(self, request: ChatRequest, emit: Emit) -> ChatResponse:
        self.left -= 1
        if self.left < 0:
            return ChatResponse("done", usage=Usage(1, 1))
        return ChatResponse(
            tool_calls=[ToolCall(f"c{self.left % 1000:03}", self.name, {"key": "k"})], usage=Usage(1, 1)
        )


@dataclass(frozen=True)
class Measured:
    """Per iteration: CPU in microseconds, bytes in the recording."""

    cpu: float
    size: float


def measure_loop(
    turns: int,
    path: Path,
    *,
    recorded: bool = True,
    threaded: bool = False,
    durability: Durability = "iteration",
    redaction: Redaction | None = None,
) -> Measured:
    """Run the loop once.

    Args:
        threaded: the tool is synchronous, so each call hops to a worker thread.
        redaction: off unless given, since the floor hides nothing either.
    """
    path.unlink(missing_ok=True)
    handler: Any = lookup_in_thread if threaded else lookup
    registry = ToolRegistry([handler])
    config = ToolLoopConfig(max_iterations=turns + 1)
    recorder = Recorder(path, durability=durability, redaction=redaction) if recorded else None

    def run() -> None:
        anyio.run(tool_loop, AsksForCalls(turns, handler.name), registry, "go", config, None, recorder)

    cpu = _cpu(run)
    return Measured(cpu / turns * 1e6, path.stat().st_size / turns if recorded else 0.0)


def measure_floor(turns: int, path: Path) -> float:
    """Run the shortest loop there is, with JSON and a flush per event; CPU microseconds per iteration."""

    async def loop() -> None:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
        with path.open("wb") as file:

            def emit(kind: str, data: dict[str, Any]) -> None:
                file.write((json.dumps({"t": time.time(), "kind": kind, **data}) + "\n").encode())
                file.flush()

            for turn in range(turns):
                call = {"id": f"c{turn}", "name": "lookup", "arguments": '{"key": "k"}'}
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
                emit("model.reply", {"message": messages[-1]})
                arguments = json.loads(call["arguments"])
                emit("tool.call", {"id": call["id"], "name": call["name"], "args": arguments})
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": await lookup(**arguments)})
                emit("tool.result", {"message": messages[-1]})

    return _cpu(lambda: asyncio.run(loop())) / turns * 1e6


def _cpu(function: Callable[[], None]) -> float:
    gc.collect()
    before = time.process_time()
    function()
    return time.process_time() - before
