"""Tools of a server that is a program, written with the `mcp` package."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from loopkit.errors import ToolError, ToolServerError
from loopkit.messages import ToolOutput
from loopkit.tools.mcp import MCPServer, MCPTool
from tests.tools.mcp.kitchen import COMMAND, by_name, has_ended, text_of, until_it_is

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def server() -> Iterator[MCPServer]:
    made = MCPServer(COMMAND)
    yield made
    made.close()


@pytest.fixture
def tools(server: MCPServer) -> dict[str, MCPTool]:
    return by_name(server.tools())


def test_a_definition_is_what_the_server_says(tools: dict[str, MCPTool]) -> None:
    definition = tools["add"].definition
    assert definition.description == "Add two numbers."
    assert definition.parameters["properties"]["a"] == {"title": "A", "type": "integer"}
    assert definition.parameters["required"] == ["a"]
    assert definition.timeout == 60


def test_hints_become_side_effects(tools: dict[str, MCPTool]) -> None:
    effects = {name: tools[name].definition.side_effect for name in ("add", "echo", "fail", "picture")}
    assert effects == {"add": "read", "echo": "idempotent", "fail": "irreversible", "picture": None}


def test_hints_may_be_distrusted() -> None:
    with MCPServer(COMMAND, trust_hints=False, timeout=None) as tools:
        assert {tool.definition.side_effect for tool in tools} == {None}
        assert {tool.definition.timeout for tool in tools} == {None}


def test_arguments_are_checked_against_the_servers_schema(tools: dict[str, MCPTool]) -> None:
    """spec/loop.md 9.1."""
    assert tools["add"].problems({"a": 1}) == ()
    (problem,) = tools["add"].problems({"a": "one"})
    assert (problem.path, problem.message) == ("$.a", "an integer is expected, not 'one'")


def test_arguments_share_nothing_with_those_recorded(tools: dict[str, MCPTool]) -> None:
    """spec/faults.md d15."""
    recorded = {"items": {"a": 1}}
    given = tools["spread"].arguments(recorded)
    assert given == recorded
    assert given["items"] is not recorded["items"]


async def test_text_comes_back(tools: dict[str, MCPTool]) -> None:
    assert await text_of(tools["echo"], text="ça \0 va\n\U0001f980") == "ça \0 va\n\U0001f980"


async def test_structured_content_is_not_told_twice(tools: dict[str, MCPTool]) -> None:
    assert await text_of(tools["add"], a=2, b=3) == "5"


async def test_a_pictures_place_is_marked(tools: dict[str, MCPTool]) -> None:
    assert await text_of(tools["picture"]) == "a dot:\n[image 1, image/png, 8 bytes]"


async def test_a_tools_own_error_is_an_error_for_the_model(tools: dict[str, MCPTool]) -> None:
    output = await tools["fail"]()
    assert isinstance(output, ToolOutput)
    assert output.is_error
    assert "Error executing tool fail" in str(output.content)


async def test_progress_does_not_disturb_a_call(tools: dict[str, MCPTool]) -> None:
    assert await text_of(tools["steps"]) == "done"


async def test_calls_run_beside_each_other(tools: dict[str, MCPTool], tmp_path: Path) -> None:
    answers: list[str] = []

    async def call(number: int) -> None:
        answers.append(await text_of(tools["echo"], text=str(number)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: tools["wait"](marker=str(tmp_path / "marker")))
        async with anyio.create_task_group() as echoes:
            for number in range(20):
                echoes.start_soon(call, number)
        tasks.cancel_scope.cancel()
    assert sorted(answers, key=int) == [str(number) for number in range(20)]


async def test_a_cancelled_call_is_cancelled_in_the_server(tools: dict[str, MCPTool], tmp_path: Path) -> None:
    """spec/loop.md 9.5."""
    marker = tmp_path / "marker"

    def says(words: str) -> bool:
        return marker.exists() and marker.read_text() == words

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: tools["wait"](marker=str(marker)))
        await until_it_is(lambda: says("started"))
        tasks.cancel_scope.cancel()
    await until_it_is(lambda: says("cancelled"))
    assert await text_of(tools["echo"], text="still here") == "still here"


def test_one_server_serves_several_threads_and_event_loops(tools: dict[str, MCPTool]) -> None:
    answers: list[str] = []

    def run(backend: str) -> None:
        async def call() -> None:
            answers.append(await text_of(tools["echo"], text=backend))

        anyio.run(call, backend=backend)

    threads = [threading.Thread(target=run, args=(backend,)) for backend in ("asyncio", "trio") * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["asyncio"] * 3 + ["trio"] * 3


async def test_async_with_gives_the_tools_and_ends_the_server() -> None:
    async with MCPServer(COMMAND, prefix="kitchen_") as tools:
        named = by_name(tools)
        assert await text_of(named["kitchen_echo"], text="hi") == "hi"
        assert named["kitchen_echo"].server_name == "echo"
    with pytest.raises(ToolError, match="was closed"):
        await named["kitchen_echo"](text="hi")


async def test_closing_ends_a_call_with_a_clear_error(tmp_path: Path) -> None:
    server = MCPServer(COMMAND)
    marker = tmp_path / "marker"
    wait = by_name(server.tools())["wait"]
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                with pytest.raises(ToolError, match="connection"):
                    await wait(marker=str(marker))

            tasks.start_soon(call)
            await until_it_is(marker.exists)
            await anyio.to_thread.run_sync(server.close)


def test_closing_twice_is_the_same_as_once() -> None:
    server = MCPServer(COMMAND)
    server.tools()
    server.close()
    server.close()
    assert [tool.name for tool in server.tools()][:2] == ["add", "echo"]


def test_a_server_that_was_closed_at_once_is_not_started() -> None:
    server = MCPServer(COMMAND)
    server.close()
    with pytest.raises(ToolServerError, match="was closed"):
        server.tools()


async def test_a_server_that_nobody_holds_any_more_is_ended() -> None:
    process = by_name(MCPServer(COMMAND).tools())["process"]
    pid = int((await text_of(process)).split()[0])
    assert not has_ended(pid)
    del process
    gc.collect()
    await until_it_is(lambda: has_ended(pid))


async def test_a_program_gets_its_folder_and_only_the_variables_that_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "sk-1")
    async with MCPServer(COMMAND, cwd=tmp_path, env={"SPICE": "pepper"}) as tools:
        words = await text_of(by_name(tools)["process"])
    assert words.partition(" ")[2] == f"in {tmp_path}, pepper, -"


async def test_a_command_may_be_one_line() -> None:
    line = f"{sys.executable} '{COMMAND[1]}'"
    async with MCPServer(line) as tools:
        assert "add" in by_name(tools)


@pytest.mark.parametrize("ending", ["", "raise KeyError('x')"])
def test_the_interpreter_ends_and_ends_the_server(ending: str, tmp_path: Path) -> None:
    """Nobody closes anything, and nothing is left or written to the terminal."""
    code = f"""
import sys
from loopkit import MCPServer
server = MCPServer({COMMAND!r})
process = {{tool.name: tool for tool in server.tools()}}["process"]
import anyio
print(anyio.run(process).content.split()[0])
{ending}
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert has_ended(int(done.stdout))
    assert done.returncode == (1 if ending else 0)
    assert done.stderr.splitlines()[-1:] == (["KeyError: 'x'"] if ending else [])
