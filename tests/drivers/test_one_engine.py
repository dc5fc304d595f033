"""`tool_loop`, the stream and the handle are one engine: the same script gives the same run through each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from loopkit import Completed, LoopHandle, ToolLoopResult, tool_loop, tool_loop_stream
from loopkit.drivers.background import StreamedDelta
from loopkit.drivers.parts import parts_of
from loopkit.drivers.stream import Done
from loopkit.drivers.tool_loop import run_parts
from loopkit.events import Event, Fact, ModelReplied
from tests.drivers.engine_stories import REGISTRY, STORIES, Story

pytestmark = pytest.mark.anyio


class _Heard:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def happened(self, event: Event) -> None:
        self.events.append(event)

    def streamed(self, loop: str, iteration: int, delta: object) -> None:
        """Pieces are not compared."""


def _facts(events: list[Event]) -> list[tuple[str, int, Fact]]:
    """Per loop, since parallel loops interleave freely; without streaming times."""
    facts = [(event.loop, event.iteration, _timeless(event.fact)) for event in events]
    return sorted(facts, key=lambda item: item[0])


def _timeless(fact: Fact) -> Fact:
    return replace(fact, pieces=fact.pieces[1::2]) if isinstance(fact, ModelReplied) else fact


async def _plain(story: Story) -> tuple[ToolLoopResult, list[Event]]:
    heard = _Heard()
    parts = parts_of(story.provider(), REGISTRY, "go", story.config, None)
    return await run_parts(parts, listener=heard), heard.events


async def _streamed(story: Story) -> tuple[ToolLoopResult, list[Event]]:
    events, result = [], None
    async for item in tool_loop_stream(story.provider(), REGISTRY, "go", story.config):
        if isinstance(item, Done):
            result = item.result
        elif not isinstance(item, StreamedDelta):
            events.append(item)
    assert result is not None
    return result, events


async def _handled(story: Story) -> tuple[ToolLoopResult, list[Event]]:
    events: list[Event] = []
    async with LoopHandle(story.provider(), REGISTRY, "go", story.config) as handle:
        while True:
            turn = await handle.next_turn()
            events.extend(turn.events)
            if isinstance(turn, Completed):
                return turn.result, events


@pytest.mark.parametrize("name", STORIES)
async def test_every_story_goes_the_same_way_through_all_three(name: str) -> None:
    """Rule 10.3."""
    story = STORIES[name]
    runs = [await _plain(story()), await _streamed(story()), await _handled(story())]
    expected, expected_events = runs[0]
    for result, events in runs[1:]:
        assert list(result.messages) == list(expected.messages)
        assert result.termination_reason == expected.termination_reason
        assert result.total_usage == expected.total_usage
        assert _facts(events) == _facts(expected_events)


async def test_tool_loop_is_the_same_engine() -> None:
    """Rule 10.3: the public function runs the parts that the others run."""
    story = STORIES["a sub-agent"]()
    result = await tool_loop(story.provider(), REGISTRY, "go", story.config)
    assert result.text == "done"
