"""The stream: what happens as it happens, and a clean end however it is left."""

from __future__ import annotations

import gc
from pathlib import Path

import anyio
import pytest

from loopkit import Cancelled, MaxDepthExceeded, ProviderError, Recorder, ScriptedProvider, ToolCall, tool
from loopkit.core.config import ToolLoopConfig
from loopkit.core.depth import LoopContext
from loopkit.debugger.recorded import open_recording
from loopkit.drivers.background import StreamedDelta
from loopkit.drivers.stream import Done, tool_loop_stream
from loopkit.events import Event, LoopFinished, LoopStarted, ToolReturned, ToolStarted
from loopkit.providers.protocol import ArgumentsDelta, TextDelta
from loopkit.tools.registry import ToolRegistry
from tests.drivers.engine_stories import REGISTRY, add

pytestmark = pytest.mark.anyio


async def test_ends_with_done_and_the_result() -> None:
    """Rule 10.1."""
    items = [item async for item in tool_loop_stream(ScriptedProvider(["hi"]), REGISTRY, "go")]
    assert isinstance(items[-1], Done)
    assert items[-1].result.text == "hi"


async def test_pieces_of_text_and_arguments_come_before_the_answer() -> None:
    """Rule 10.1."""
    provider = ScriptedProvider([ToolCall("c1", "add", {"a": 1, "b": 2}), "three"], chunk=2)
    deltas = [
        item.delta async for item in tool_loop_stream(provider, REGISTRY, "go") if isinstance(item, StreamedDelta)
    ]
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "three"
    assert any(isinstance(d, ArgumentsDelta) for d in deltas)


async def test_a_tools_start_comes_when_it_starts() -> None:
    """Rule 10.1: the start is seen while the handler still runs."""
    may_end = anyio.Event()

    @tool
    async def wait() -> str:
        """Wait for the test."""
        await may_end.wait()
        return "ended"

    seen = []
    async with tool_loop_stream(ScriptedProvider([ToolCall("c1", "wait"), "ok"]), ToolRegistry([wait]), "go") as stream:
        async for item in stream:
            if isinstance(item, Event):
                seen.append(type(item.fact))
                if isinstance(item.fact, ToolStarted):
                    assert ToolReturned not in seen
                    may_end.set()
    assert seen.index(ToolStarted) < seen.index(ToolReturned)


async def test_leaving_early_closes_the_log(tmp_path: Path) -> None:
    """Rule 10.1, fault i1."""
    path = tmp_path / "run.jsonl"
    script = [ToolCall("c1", "add", {"a": 1, "b": 2})] * 5
    async with tool_loop_stream(ScriptedProvider(script), REGISTRY, "go", recorder=Recorder(path)) as stream:
        async for item in stream:
            if isinstance(item, Event) and isinstance(item.fact, LoopStarted):
                break
    with open_recording(path) as run:
        last = run.events[-1].fact
        assert isinstance(last, LoopFinished)
        assert isinstance(last.reason, Cancelled)


async def test_a_stream_that_is_dropped_ends_its_loop() -> None:
    """Rule 10.1: a `break` without `aclose`."""
    ended = anyio.Event()

    @tool
    async def never() -> str:
        """Wait for ever."""
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return ""

    stream = tool_loop_stream(ScriptedProvider([ToolCall("c1", "never")]), ToolRegistry([never]), "go")
    async for item in stream:
        if isinstance(item, Event) and isinstance(item.fact, ToolStarted):
            break
    del stream, item
    gc.collect()
    with anyio.fail_after(5):
        await ended.wait()


async def test_a_providers_error_is_raised_from_the_iteration() -> None:
    """Rule 9.5, fault i3: the plain exception, no group."""
    with pytest.raises(ProviderError, match="down"):
        async for _ in tool_loop_stream(ScriptedProvider([ProviderError("down")]), REGISTRY, "go"):
            pass


async def test_a_depth_error_is_raised_at_the_call() -> None:
    """Rule 3.1."""
    with pytest.raises(MaxDepthExceeded):
        tool_loop_stream(ScriptedProvider(["x"]), REGISTRY, "go", ToolLoopConfig(max_depth=0), LoopContext(None))


async def test_a_child_stream_yields_its_own_events_only() -> None:
    """Rule 7.4: a stream inside a tool call is part of the tree and shows its own subtree."""
    loops: set[str] = set()

    @tool
    async def delegate() -> str:
        """Run a sub-agent as a stream."""
        async for item in tool_loop_stream(
            ScriptedProvider([ToolCall("x", "add", {"a": 1, "b": 1}), "2"]), ToolRegistry([add]), "add"
        ):
            if isinstance(item, Event):
                loops.add(item.loop)
            elif isinstance(item, Done):
                return item.result.text
        return "nothing"

    outer: set[str] = set()
    async for item in tool_loop_stream(
        ScriptedProvider([ToolCall("c1", "delegate"), "done"]), ToolRegistry([delegate]), "go"
    ):
        if isinstance(item, Event):
            outer.add(item.loop)
    assert loops == {"root/1.1#1"}
    assert outer == {"root", "root/1.1#1"}
