"""Servers that break, lie or talk nonsense: one clear message, never a crash, nothing on the terminal."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit.errors import AgentBuildError, ToolError, ToolServerError
from loopkit.messages import ToolOutput
from loopkit.tools.mcp import MCPServer, MCPTool
from loopkit.tools.registry import ToolRegistry
from tests.tools.mcp.kitchen import COMMAND, by_name, entry, has_ended, odd, text_of, until_it_is

pytestmark = pytest.mark.anyio

BAD = {"type": "object", "properties": {"a": {"type": "text"}}}


@pytest.fixture(scope="module")
def server() -> Iterator[MCPServer]:
    with_tools = MCPServer(COMMAND)
    yield with_tools
    with_tools.close()


@pytest.fixture
def tools(server: MCPServer) -> dict[str, MCPTool]:
    return by_name(server.tools())


# ── what does not start ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["no-such-program"], "the MCP server no-such-program: the program no-such-program was not found"),
        ([os.devnull], "null: it can't be started: Permission denied"),
        (["true"], "true: it ended before it had listed its tools"),
        (["sh", "-c", "echo key missing >&2; exit 1"], "its tools; its stderr ends with: key missing"),
        (["sh", "-c", "echo Welcome!"], "its output is not only MCP, it wrote: 'Welcome!'"),
        (["sh", "-c", r"printf '\033[2J\n' >&2"], "its tools; its stderr ends with: [2J"),
    ],
)
def test_a_program_that_is_no_server_gives_one_line(command: list[str], words: str) -> None:
    with pytest.raises(ToolServerError, match=re.escape(words)) as caught:
        MCPServer(command).tools()
    assert str(caught.value).isprintable()


def test_a_working_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolServerError, match=r"its working folder .*missing does not exist"):
        MCPServer(COMMAND, cwd=tmp_path / "missing").tools()


def test_a_server_that_says_nothing_is_given_up() -> None:
    began = time.monotonic()
    with pytest.raises(ToolServerError, match=r"it did not list its tools within 0\.2 s"):
        MCPServer([sys.executable, "-c", "import sys; sys.stdin.read()"], start_timeout=0.2).tools()
    assert time.monotonic() - began < 10


async def test_a_start_may_be_cancelled() -> None:
    silent = MCPServer([sys.executable, "-c", "import sys; sys.stdin.read()"])
    with anyio.move_on_after(0.2) as scope:
        async with silent:
            pytest.fail("it has no tools")
    assert scope.cancelled_caught


def test_without_the_extra_the_command_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(ToolServerError, match=r"pip install 'loopkit\[mcp\]'"):
        MCPServer(COMMAND).tools()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "a command or as url"),
        ({"command": "x", "url": "http://localhost/mcp"}, "one of them"),
        ({"url": "localhost:8000/mcp"}, "it starts with http:// or https://"),
        ({"command": "it's"}, "can't be read: No closing quotation"),
        ({"command": ["a\0b"]}, "NUL"),
        ({"command": "x", "timeout": -1}, "timeout is a number of seconds above 0"),
    ],
)
def test_a_server_that_is_described_wrongly_is_refused_at_once(options: dict[str, Any], words: str) -> None:
    with pytest.raises(AgentBuildError, match=re.escape(words)):
        MCPServer(**options)


def test_a_program_that_will_not_end_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loopkit.tools.mcp.program.SECONDS_TO_TAKE_A_HINT", 0.2)
    line = f"trap '' TERM; sleep 600 & echo $! > '{tmp_path}/child'; {shlex.join(COMMAND)}; wait"
    server = MCPServer(["sh", "-c", line])
    assert server.tools() != []
    server.close()
    assert has_ended(int(tmp_path.joinpath("child").read_text()))


# ── what it lists ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "array"}, "its schema does not describe an object"),
        ({"type": "object", "required": "a"}, "its schema is no JSON Schema"),
        (BAD, "its schema is no JSON Schema"),
        ({"type": "object", "default": "x" * 10_000_001}, "its schema is no usable JSON"),
    ],
)
def test_a_tool_whose_schema_is_none_is_left_out(schema: dict[str, Any], words: str, tmp_path: Path) -> None:
    listing = {"tools": [{"name": "bad", "description": "", "inputSchema": schema, "annotations": {}}]}
    pin = tmp_path / "pin.json"
    pin.write_text(json.dumps(listing))
    server = MCPServer(COMMAND, pin=pin)
    assert server.tools() == []
    (notice,) = server.notices
    assert notice.startswith("the tool 'bad' is left out: ")
    assert words in notice


def test_the_others_stay_and_a_name_that_is_there_twice_counts_once() -> None:
    server = odd(entry("read", description="first"), entry("bad", BAD), entry("read"), entry("write"))
    with server as tools:
        assert [(tool.name, tool.definition.description) for tool in tools] == [("read", "first"), ("write", "")]
        assert tools[1].definition.parameters == {"type": "object"}
        assert len(server.notices) == 2


async def test_names_become_what_providers_take_and_the_server_hears_its_own() -> None:
    """spec/faults.md g: a name that a provider refuses would end every run."""
    listed = ["files/read", "files.read", "größe", "", "x" * 200, "x" * 201]
    async with odd(*map(entry, listed), prefix="my ") as tools:
        names = [tool.name for tool in tools]
        assert names[:4] == ["my_files_read", "my_files_read_2", "my_gr__e", "my_"]
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
        assert len(set(names)) == len(listed)
        assert [tool.server_name for tool in tools] == listed
        assert await text_of(tools[1]) == "files.read was called"
        assert ToolRegistry(tools).names == tuple(names)


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ({"name": "b"}, "tools.1.inputSchema: Field required"),
        ({"name": 7, "inputSchema": {"type": "object"}}, "tools.1.name: Input should be a valid string"),
        ("b", "tools.1: Input should be a valid dictionary"),
        (entry("b", {"type": "array"}), "tools.1.inputSchema.type: Input should be 'object'"),
    ],
)
def test_a_list_that_is_no_mcp_is_refused_in_one_line(tool: Any, words: str) -> None:
    with pytest.raises(ToolServerError, match=re.escape(f"what it answers is not MCP ({words}")) as caught:
        odd(entry("a"), tool).tools()
    assert str(caught.value).isprintable()


def test_an_endless_description_is_cut() -> None:
    with odd(entry("a", description="x" * 100_000)) as (tool,):
        assert len(tool.definition.description) == 20_001


def test_a_reference_to_an_address_is_never_fetched() -> None:
    """A schema that can't be used makes each call's arguments a problem."""
    schema = {"type": "object", "properties": {"a": {"$ref": "http://203.0.113.1/schema"}}}
    with odd(entry("a", schema)) as (tool,):
        (problem,) = tool.problems({"a": 1})
    assert "the tool's schema can't be used" in problem.message


# ── what it answers ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_server_that_dies_during_a_call_says_why_and_is_started_again(
    tools: dict[str, MCPTool], capfd: pytest.CaptureFixture[str]
) -> None:
    before = await text_of(tools["process"])
    with pytest.raises(ToolError, match="whether it took effect is not known; its stderr ends with: out of gas"):
        await tools["die"](words="out of gas")
    after = await text_of(tools["process"])
    assert before.split()[0] != after.split()[0]
    assert capfd.readouterr() == ("", "")


async def test_a_server_that_died_between_calls_is_started_again_for_the_next(
    server: MCPServer, tools: dict[str, MCPTool]
) -> None:
    process = int((await text_of(tools["process"])).split()[0])
    # threads of servers that earlier tests closed may still be about to end; the newest is this one's
    connection = [thread for thread in threading.enumerate() if thread.name.startswith("loopkit mcp server")][-1]
    os.kill(process, 9)
    await until_it_is(lambda: not connection.is_alive())
    assert await text_of(tools["echo"], text="back") == "back"


async def test_garbage_on_stdout_and_a_flood_on_stderr_are_passed_over(
    tools: dict[str, MCPTool], capfd: pytest.CaptureFixture[str]
) -> None:
    assert await text_of(tools["babble"], text="fine") == "fine"
    assert capfd.readouterr() == ("", "")


async def test_a_huge_answer_is_cut_and_says_so(tools: dict[str, MCPTool]) -> None:
    answer = await text_of(tools["long"], characters=3_000_000)
    assert len(answer) < 1_000_100
    assert answer.endswith("[the answer was 3000000 characters long; the last 2000000 are left out]")


async def test_a_line_without_end_breaks_the_connection_not_the_memory(tools: dict[str, MCPTool]) -> None:
    with pytest.raises(ToolError, match="it wrote a line of more than 33554432 bytes"):
        await tools["long"](characters=100_000_000)
    assert await text_of(tools["echo"], text="fine") == "fine"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            {"result": {"contents": 7}},
            "odd: the answer can't be used: what it answers is not MCP (content: Field required)",
        ),
        ({"result": {"content": [{"type": "smell"}]}}, "odd: the answer can't be used: what it answers is not MCP ("),
        ({"result": {"content": [], "structuredContent": {"b": 1}}}, "'a' is a required property"),
        ({"error": {"code": -32602, "message": "no\nsuch\u001b[2J tool" + "x" * 5000}}, "odd: no such [2J tool"),
    ],
)
async def test_an_answer_that_breaks_the_protocol_is_one_short_line(answer: dict[str, Any], words: str) -> None:
    shape = {"outputSchema": {"type": "object", "required": ["a"]}} if "structuredContent" in str(answer) else {}
    async with odd(entry(json.dumps(answer), **shape)) as (tool,):
        with pytest.raises(ToolError, match=re.escape(words)) as caught:
            await tool()
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 2_100


async def test_half_a_character_is_refused_before_it_breaks_the_connection(tools: dict[str, MCPTool]) -> None:
    """spec/faults.md e20: pydantic can't write a lone surrogate."""
    with pytest.raises(ToolError, match="half a character"):
        await tools["echo"](text="\ud83d")
    assert await text_of(tools["echo"], text="fine") == "fine"


async def test_an_unknown_argument_type_comes_back_as_words(tools: dict[str, MCPTool]) -> None:
    output = await tools["add"](a="one")
    assert isinstance(output, ToolOutput)
    assert output.is_error
