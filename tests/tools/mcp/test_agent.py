"""Agents with the tools of a server: run, recorded, replayed, stopped."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest

from loopkit import Agent, Image, Recorder, ScriptedProvider, ToolCall, ToolError, ToolRetry, replay
from loopkit import events as e
from loopkit.errors import AgentBuildError
from loopkit.tools.mcp import MCPServer
from tests.drivers.stage import Stage
from tests.tools.mcp.kitchen import COMMAND, until_it_is

pytestmark = pytest.mark.anyio


def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


def script() -> ScriptedProvider:
    return ScriptedProvider(
        [
            [ToolCall("1", "k_add", {"a": 2, "b": 3}), ToolCall("2", "shout", {"text": "hi"})],
            [ToolCall("3", "k_add", {"a": "two"}), ToolCall("4", "k_fail", {})],
            ToolCall("5", "k_die", {"words": "out of gas"}),
            "Done.",
        ]
    )


async def test_a_run_with_a_servers_tools_is_recorded_and_replays_without_the_server(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """DESIGN §4; a server that dies is a result for the model (spec/loop.md 9.1)."""
    recording, pin = tmp_path / "run.jsonl", tmp_path / "pin.json"
    async with MCPServer(COMMAND, prefix="k_", pin=pin) as tools:
        result = await Agent(script(), tools=[*tools, shout]).run("cook", recorder=Recorder(recording))
    told = [answer for message in result.messages for answer in message.tool_results]
    assert [answer.is_error for answer in told] == [False, False, True, True, True]
    assert [answer.content for answer in told][:2] == ["5", "HI"]
    assert "an integer is expected" in told[2].content
    assert "out of gas" in told[4].content
    assert capfd.readouterr() == ("", "")

    assert replay(recording).same
    mark = tmp_path / "started"
    silent = MCPServer([sys.executable, "-c", f"open({str(mark)!r}, 'w')"], prefix="k_", pin=pin)
    report = replay(recording, Agent(script(), tools=[*silent.tools(), shout]))
    assert report.same, report.text()
    other = replay(recording, Agent(script(), tools=[*silent.tools()]))
    assert not other.same
    assert not mark.exists()


async def test_a_call_that_takes_too_long_is_given_up_and_cancelled_in_the_server(tmp_path: Path) -> None:
    """spec/loop.md 9.5; the run goes on."""
    marker = tmp_path / "marker"
    provider = ScriptedProvider([ToolCall("1", "wait", {"marker": str(marker)}), "Done."])
    async with MCPServer(COMMAND, timeout=0.3) as tools:
        result = await Agent(provider, tools=tools).run("wait")
        assert result.text == "Done."
        assert "did not end within 0.3 s" in result.messages[-2].tool_results[0].content
        await until_it_is(lambda: marker.read_text() == "cancelled")


async def test_a_stopped_run_leaves_no_call_in_the_server(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    provider = ScriptedProvider([ToolCall("1", "wait", {"marker": str(marker)})])
    async with MCPServer(COMMAND) as tools, anyio.create_task_group() as tasks:
        tasks.start_soon(Agent(provider, tools=tools).run, "wait")
        await until_it_is(lambda: marker.exists() and marker.read_text() == "started")
        tasks.cancel_scope.cancel()
    assert marker.read_text() == "cancelled"


def test_two_servers_with_a_tool_of_one_name_need_a_prefix(tmp_path: Path) -> None:
    pin = tmp_path / "pin.json"
    with MCPServer(COMMAND, pin=pin) as tools, pytest.raises(AgentBuildError, match="prefix=…"):
        Agent(script(), tools=[*tools, *MCPServer(COMMAND, pin=pin).tools()])


async def test_a_servers_picture_reaches_the_model_and_the_log(tmp_path: Path) -> None:
    recording = tmp_path / "run.jsonl"
    provider = ScriptedProvider([ToolCall("1", "picture", {}), "Done."])
    async with MCPServer(COMMAND) as tools:
        result = await Agent(provider, tools=tools).run("look", recorder=Recorder(recording))
    (told,) = result.messages[-2].tool_results
    assert told.content == "a dot:\n[image 1, image/png, 8 bytes]"
    assert told.images == (Image.from_bytes(b"\x89PNG...."),)
    assert replay(recording).same


async def test_a_reading_tool_is_called_again_when_its_server_died(tmp_path: Path) -> None:
    """Issue: per-tool retry; only of what may be repeated."""
    stage = Stage()
    provider = ScriptedProvider([ToolCall("1", "moody", {"marker": str(tmp_path / "been")}), "Done."])
    async with MCPServer(COMMAND, retry=ToolRetry(on=ToolError, base_delay=0.0)) as tools:
        attempts = {made.name: made.definition.attempts for made in tools}
        await stage.run(Agent(provider, tools=tools))
    assert (attempts["moody"], attempts["echo"], attempts["die"], attempts["fail"]) == (3, 3, 1, 1)
    (failed,) = stage.all_of(e.ToolAttemptFailed)
    assert "the connection broke during the call" in failed.failure.message
    assert stage.all_of(e.ToolReturned)[0].content == "fine"
