"""A history that one dialect began, told on in another (spec/loop.md 8.3)."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from loopkit import Agent, ModelBinding, RetryPolicy, ToolLoopSettings, tool
from loopkit.providers.http_model import HTTPModel
from tests.providers.dialects import DIALECTS, Dialect

pytestmark = pytest.mark.anyio


@tool
async def look(thing: str, id: int) -> str:  # noqa: A002  # the dialects' rich answer calls it so
    """Look at something."""
    return f"seen {thing}"


@tool(name="list")
async def listing() -> str:
    """List."""
    return "nothing"


def server(dialect: Dialect, *answers: bytes | int) -> tuple[HTTPModel, list[dict[str, Any]]]:
    """A model behind a server that gives these answers in order; and what it was asked."""
    asked: list[dict[str, Any]] = []
    waiting = iter(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(json.loads(request.content))
        given = next(waiting)
        if isinstance(given, int):
            return httpx.Response(given, json={"error": {"message": "so it is"}})
        return httpx.Response(200, content=given, headers={"content-type": dialect.content_type})

    return dialect.kind("m", api_key="k", transport=httpx.MockTransport(answer)), asked


@pytest.mark.parametrize("second", DIALECTS, ids=str)
@pytest.mark.parametrize("first", DIALECTS, ids=str)
async def test_a_fallback_of_another_dialect_is_told_the_same_history(first: Dialect, second: Dialect) -> None:
    """8.3: its calls and results are in it, another provider's sealed thinking is not."""
    primary, asked_first = server(first, first.rich[0], 503, 503)
    fallback, asked_second = server(second, second.hello)
    binding = ModelBinding(
        primary,
        tool_loop=ToolLoopSettings(),
        fallbacks=(ModelBinding(fallback),),
        retry=RetryPolicy(attempts=2, base_delay=0),
    )
    result = await Agent(binding, tools=[look, listing]).run("go")
    assert (result.text, result.iterations) == ("hi", 2)
    assert (len(asked_first), len(asked_second)) == (3, 1)
    assert asked_first[1] == asked_first[2]
    told = json.dumps(asked_second[0], ensure_ascii=False)
    assert "seen é" in told
    assert "nothing" in told
    if first.kind is second.kind:
        assert asked_second[0] == asked_first[2]
