"""The handle: one turn at a time, commands and edits between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit import (
    Completed,
    Continue,
    Failed,
    InjectMessages,
    LoopHandle,
    Message,
    ProviderError,
    Recorder,
    ScriptedProvider,
    Stop,
    StopCondition,
    ToolCall,
    Yielded,
    replay,
)
from loopkit.core.config import ToolLoopConfig
from loopkit.debugger.recorded import open_recording
from loopkit.errors import LoopkitError
from loopkit.events import HistoryEdited, MessagesInjected
from tests.drivers.engine_stories import REGISTRY

pytestmark = pytest.mark.anyio

ADD = ToolCall("c1", "add", {"a": 1, "b": 2})


async def test_a_turn_gives_calls_results_and_what_happened() -> None:
    """Rule 10.2."""
    async with LoopHandle(ScriptedProvider([["let me see", ADD], "3"]), REGISTRY, "go") as handle:
        turn = await handle.next_turn()
        assert isinstance(turn, Yielded)
        assert turn.calls == (ADD,)
        assert [result.content for result in turn.results] == ["3"]
        assert turn.assistant_content == "let me see"
        assert turn.iteration == 1
        assert turn.events[0].type == "LoopStarted"
        assert turn.events[-1].type == "ToolReturned"
        assert isinstance(await handle.next_turn(), Completed)


async def test_nothing_happens_between_turns() -> None:
    """Rule 10.2: the next request is only sent when it is asked for."""
    provider = ScriptedProvider([ADD, ADD, "done"])
    async with LoopHandle(provider, REGISTRY, "go") as handle:
        await handle.next_turn()
        assert len(provider.requests) == 1
        await handle.next_turn()
        assert len(provider.requests) == 2


async def test_a_loop_that_ended_gives_its_same_terminal_again() -> None:
    """Rule 3.2."""
    async with LoopHandle(ScriptedProvider(["done"]), REGISTRY, "go") as handle:
        first = await handle.next_turn()
        assert isinstance(first, Completed)
        assert await handle.next_turn() is first


async def test_an_error_is_given_again_too() -> None:
    """Rule 3.2."""
    async with LoopHandle(ScriptedProvider([ProviderError("down")]), REGISTRY, "go") as handle:
        first = await handle.next_turn()
        assert isinstance(first, Failed)
        assert isinstance(first.error, ProviderError)
        assert await handle.next_turn() is first


async def test_stop_ends_before_the_next_request() -> None:
    """Rule 3.3."""
    provider = ScriptedProvider([ADD, "never"])
    async with LoopHandle(provider, REGISTRY, "go") as handle:
        await handle.next_turn()
        handle.resume(Stop("enough"))
        turn = await handle.next_turn()
    assert isinstance(turn, Completed)
    assert turn.result.termination_reason == StopCondition("enough")
    assert len(provider.requests) == 1


async def test_stop_outranks_a_timeout() -> None:
    """Rules 3.3 before 3.4."""
    async with LoopHandle(ScriptedProvider(["x"]), REGISTRY, "go", ToolLoopConfig(timeout=0)) as handle:
        handle.resume(Stop("first"))
        turn = await handle.next_turn()
    assert isinstance(turn, Completed)
    assert turn.result.termination_reason == StopCondition("first")


async def test_continue_changes_nothing() -> None:
    """Rule 10.2."""
    async with LoopHandle(ScriptedProvider([ADD, "3"]), REGISTRY, "go") as handle:
        await handle.next_turn()
        handle.resume(Continue())
        assert isinstance(await handle.next_turn(), Completed)


async def test_injected_messages_reach_the_next_request_and_the_log(tmp_path: Path) -> None:
    """Rules 3.3, 10.2."""
    provider = ScriptedProvider([ADD, "ok"])
    path = tmp_path / "run.jsonl"
    async with LoopHandle(provider, REGISTRY, "go", recorder=Recorder(path)) as handle:
        await handle.next_turn()
        handle.resume(InjectMessages([Message.user("and hurry")]))
        await handle.next_turn()
    assert provider.requests[1].messages[-1] == Message.user("and hurry")
    assert any(isinstance(event.fact, MessagesInjected) for event in open_recording(path).events)
    assert replay(path).same


async def test_edits_of_the_history_are_recorded_and_sent(tmp_path: Path) -> None:
    """Rule 10.2: `messages` is a sequence that records its edits."""
    provider = ScriptedProvider([ADD, "ok"])
    path = tmp_path / "run.jsonl"
    async with LoopHandle(provider, REGISTRY, "go", recorder=Recorder(path)) as handle:
        await handle.next_turn()
        handle.messages[0] = Message.user("gone")
        handle.messages.append(Message.user("more"))
        del handle.messages[-1]
        assert len(handle.messages) == 3
        await handle.next_turn()
    assert provider.requests[1].messages[0] == Message.user("gone")
    edits = [event for event in open_recording(path).events if isinstance(event.fact, HistoryEdited)]
    assert len(edits) == 3
    assert replay(path).same


async def test_a_call_whose_result_was_cut_out_gets_a_synthetic_one_in_the_request() -> None:
    """Rule 3, last part; fault b12."""
    provider = ScriptedProvider([ADD, "ok"])
    async with LoopHandle(provider, REGISTRY, "go") as handle:
        await handle.next_turn()
        del handle.messages[2]
        turn = await handle.next_turn()
    results = [result for message in provider.requests[1].messages for result in message.tool_results]
    assert [result.is_error for result in results] == [True]
    assert isinstance(turn, Completed)
    assert not [message for message in turn.result.messages if message.role == "tool"]


async def test_edits_before_the_first_turn_change_the_start() -> None:
    """Rule 10.2."""
    provider = ScriptedProvider(["ok"])
    async with LoopHandle(provider, REGISTRY, "go") as handle:
        handle.messages.insert(0, Message.system("be brief"))
        await handle.next_turn()
    assert provider.requests[0].messages[0] == Message.system("be brief")


async def test_edits_after_the_end_are_refused() -> None:
    """Rule 10.2."""
    async with LoopHandle(ScriptedProvider(["ok"]), REGISTRY, "go") as handle:
        await handle.next_turn()
        with pytest.raises(LoopkitError, match="between two turns"):
            handle.messages[0] = Message.user("late")
