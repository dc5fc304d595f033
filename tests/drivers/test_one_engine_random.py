"""Random agents go the same way through `tool_loop`, the stream and the handle, however they end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit import Completed, Failed, LoopHandle, tool_loop_stream
from loopkit import events as e
from loopkit.drivers.background import StreamedDelta
from loopkit.drivers.parts import parts_of
from loopkit.drivers.stream import Done
from loopkit.drivers.tool_loop import run_parts
from tests.drivers.log_rules import check_log
from tests.drivers.random_agents import SHORT_TIMEOUTS, Plan, binding_of, config_of, plans, tools_of
from tests.drivers.test_properties import thorough

UNSTEADY = ("late", "late_thread", "pair")


def steady(plan: Plan) -> Plan:
    """The same plan without what hangs on the pace of threads and tasks."""
    turns = tuple(
        tuple(
            replace(
                call,
                kind="echo" if call.kind in UNSTEADY else call.kind,
                child=None if call.child is None else steady(call.child),
            )
            for call in turn
        )
        for turn in plan.turns
    )
    timeout = None if plan.timeout in SHORT_TIMEOUTS else plan.timeout
    approvals = tuple(said for said in plan.approvals if said != "raise")
    return replace(plan, turns=turns, timeout=timeout, parallel=False, approvals=approvals)


class Heard:
    def __init__(self) -> None:
        self.events: list[e.Event] = []

    def happened(self, event: e.Event) -> None:
        self.events.append(event)

    def streamed(self, loop: str, iteration: int, delta: object) -> None:
        """Pieces are not compared."""


def end_of(result: Any) -> tuple[Any, ...]:
    return list(result.messages), result.termination_reason, result.total_usage, result.subtree_usage


def end_in(error: BaseException) -> tuple[Any, ...]:
    return type(error), str(error)


async def plainly(plan: Plan) -> tuple[tuple[Any, ...], list[e.Event]]:
    heard = Heard()
    parts = parts_of(binding_of(plan), tools_of(plan), "go", config_of(plan), None)
    try:
        end = end_of(await run_parts(parts, listener=heard))
    except Exception as error:
        end = end_in(error)
    return end, heard.events


async def streamed(plan: Plan) -> tuple[tuple[Any, ...], list[e.Event]]:
    events: list[e.Event] = []
    end: tuple[Any, ...] = ()
    try:
        async for happened in tool_loop_stream(binding_of(plan), tools_of(plan), "go", config_of(plan)):
            if isinstance(happened, Done):
                end = end_of(happened.result)
            elif not isinstance(happened, StreamedDelta):
                events.append(happened)
    except Exception as error:
        end = end_in(error)
    return end, events


async def held(plan: Plan) -> tuple[tuple[Any, ...], list[e.Event]]:
    events: list[e.Event] = []
    async with LoopHandle(binding_of(plan), tools_of(plan), "go", config_of(plan)) as handle:
        while True:
            turn = await handle.next_turn()
            events.extend(turn.events)
            if isinstance(turn, Completed):
                return end_of(turn.result), events
            if isinstance(turn, Failed):
                return end_in(turn.error), events


def story_of(events: Sequence[e.Event]) -> list[tuple[Any, ...]]:
    """The events without times; callbacks that are asked at once answer in the order that the event loop likes."""
    story = [(event.loop, event.iteration, timeless(event.fact)) for event in events]
    for asked, told in groupby(range(len(story)), key=lambda place: isinstance(story[place][2], e.Decided)):
        if asked:
            places = list(told)
            story[places[0] : places[-1] + 1] = sorted((story[place] for place in places), key=str)
    return story


def timeless(fact: e.Fact) -> e.Fact:
    if isinstance(fact, e.ModelReplied):
        return replace(fact, pieces=fact.pieces[1::2])
    return e.ClockRead(0.0) if isinstance(fact, e.ClockRead) else fact


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(plan=plans(depth=1).map(steady))
@thorough
def test_a_random_agent_goes_the_same_way_through_all_three(backend: str, plan: Plan) -> None:
    """10.1, 10.2, 10.3, 9.5, i3: the same transcript, usage, events and numbers, or the same plain exception."""
    (end, events), *others = [anyio.run(way, plan, backend=backend) for way in (plainly, streamed, held)]
    check_log(events)
    assert end[0] is not ExceptionGroup or "several tools" in end[1]
    for other_end, other_events in others:
        assert other_end == end
        assert story_of(other_events) == story_of(events)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(plan=plans(depth=1), place=st.integers(0, 40))
@thorough
def test_a_stream_may_be_left_anywhere(backend: str, plan: Plan, place: int) -> None:
    """10.1, i1: after any item, without an error; what was begun ends, and the events come in order."""
    seen: list[e.Event] = []

    async def leave() -> None:
        async with tool_loop_stream(binding_of(plan), tools_of(plan), "go", config_of(plan)) as stream:
            try:
                async for happened in stream:
                    if isinstance(happened, e.Event):
                        seen.append(happened)
                    if len(seen) > place:
                        break
            except Exception:
                return

    anyio.run(leave, backend=backend)
    check_log(seen, whole=False)
