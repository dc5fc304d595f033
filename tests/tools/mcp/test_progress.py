"""What servers say of a call on its way."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit import Agent, ScriptedProvider, ToolCall
from loopkit import events as e
from loopkit.debugger.rows import progress_text
from loopkit.tools.mcp import MCPServer
from tests.drivers.stage import Stage
from tests.tools.mcp.kitchen import COMMAND, entry, odd

pytestmark = pytest.mark.anyio


async def told(tools: list[Any], name: str, **arguments: Any) -> list[e.ToolProgressed]:
    stage = Stage()
    await stage.run(Agent(ScriptedProvider([ToolCall("1", name, arguments), "Done."]), tools=tools))
    assert stage.all_of(e.ToolReturned)
    return stage.all_of(e.ToolProgressed)


async def test_a_servers_progress_is_the_calls() -> None:
    """DESIGN §3: `ToolProgressed`."""
    async with MCPServer(COMMAND) as tools:
        assert await told(tools, "steps") == [
            e.ToolProgressed("root/1.1", "half of it", 1, 2),
            e.ToolProgressed("root/1.1", "", 2),
        ]


async def test_odd_progress_does_not_disturb_a_call() -> None:
    """Amounts that are none are left out, words are cut, a message that is broken is dropped."""
    said = [
        {"progress": 5, "total": -1},
        {"progress": "much"},
        {"progress": 3, "total": 4, "message": "y" * 600},
    ]
    async with odd(entry("a")) as tools:
        facts = await told(tools, "a", progress=said)
    assert [progress_text(fact) for fact in facts] == ["5", f"3/4 · 75 % · {'y' * 499}…"]


async def test_a_flood_of_progress_is_left_out_and_counted() -> None:
    async with odd(entry("a")) as tools:
        facts = await told(tools, "a", progress=[{"progress": number} for number in range(3000)])
    assert len(facts) < 100
    assert facts[-1].done == 2999
    assert len(facts) + sum(fact.left_out for fact in facts) == 3000
