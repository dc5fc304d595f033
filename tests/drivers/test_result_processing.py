"""Callbacks rewrite what the model gets of a result; the log keeps both (spec/loop.md 2, last row)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import (
    Agent,
    LoopAction,
    LoopDetectionConfig,
    Message,
    Recorder,
    ScriptedProvider,
    ToolCall,
    ToolLoopConfig,
    ToolResult,
    tool,
)
from loopkit import events as e
from loopkit.core.context_tools import ExtractionContext, ResultCacher, ResultMasking
from loopkit.drivers.replay import replay
from loopkit.outcomes import Respond, Timeout
from loopkit.providers.protocol import ChatRequest
from tests.drivers.stage import Stage, agent, ask

pytestmark = pytest.mark.anyio


@tool
async def read(name: str) -> str:
    """Read a long text."""
    return f"{name} " * 50


@tool
async def boom(name: str) -> str:
    """Raise."""
    raise ValueError(name)


TOOLS = (read, boom)


def shorten(call: ToolCall, result: ToolResult) -> str:
    return result.content[:4]


def contents(messages: Any) -> list[str]:
    return [result.content for message in messages for result in message.tool_results]


async def test_the_processor_rewrites_what_the_model_gets_and_the_original_stays_in_the_log() -> None:
    """2: result_processor."""
    stage = Stage()
    result = await stage.run(agent(ask("read", name="abc"), "done", tools=TOOLS, result_processor=shorten))
    assert contents(result.messages) == ["abc "]
    assert stage.all_of(e.ToolReturned) == [e.ToolReturned("root/1.1", "abc " * 50)]
    assert stage.all_of(e.ResultProcessed) == [e.ResultProcessed("root/1.1", "abc ", "processor")]


async def test_processor_extractor_and_cacher_follow_each_other() -> None:
    """2: each gets what the one before made of it; the extractor also what was asked and what the model said."""
    told: list[Any] = []

    async def process(call: ToolCall, result: ToolResult) -> ToolResult:
        told.append((call.name, result.content))
        return ToolResult(result.tool_call_id, "processed " * 10)

    async def extract(call: ToolCall, result: ToolResult, context: ExtractionContext) -> str:
        told.append((result.content, context))
        return "extracted " * 10

    async def store(call: ToolCall, content: str) -> str:
        told.append((call.arguments, content))
        return "kept as 1"

    stage = Stage()
    result = await stage.run(
        agent(
            ask("read", name="abc"),
            "done",
            tools=TOOLS,
            result_processor=process,
            result_extractor=extract,
            result_cacher=ResultCacher(store, 25),
        )
    )
    assert told == [
        ("read", "abc " * 50),
        ("processed " * 10, ExtractionContext("go", "")),
        ({"name": "abc"}, "extracted " * 10),
    ]
    assert contents(result.messages) == ["kept as 1"]
    assert [fact.processor for fact in stage.all_of(e.ResultProcessed)] == ["processor", "extractor", "cacher"]


async def test_an_extractor_is_told_the_users_words_and_not_loopkits() -> None:
    """2, 6.4: a warning that loop detection injects has the role of a user and is none's wish; an edit keeps to that."""
    told: list[str] = []

    def extract(call: ToolCall, result: ToolResult, context: ExtractionContext) -> str:
        told.append(context.user_message)
        return "short"

    def change_nothing(event: e.Event) -> None:
        if isinstance(event.fact, e.IterationStarted) and event.iteration == 6:
            stage.root.post(e.HistoryEdited(0, 0, (), "person"))

    stage = Stage(on_event=change_nothing)
    detection = LoopDetectionConfig(2, LoopAction.INJECT_WARNING)
    script = [ask("read", name="abc")] * 6
    result = await stage.run(agent(*script, "done", tools=TOOLS, result_extractor=extract, loop_detection=detection))
    assert sum("same tool call" in message.text for message in result.messages) == 3
    assert len(stage.all_of(e.HistoryEdited)) == 1
    assert told == ["go"] * 6


async def test_an_extractor_is_told_what_the_user_said_last() -> None:
    """2, 3.3: also while it waits behind the results."""
    told: list[str] = []

    def extract(call: ToolCall, result: ToolResult, context: ExtractionContext) -> str:
        told.append(context.user_message)
        return "short"

    def inject(event: e.Event) -> None:
        if isinstance(event.fact, e.ToolStarted) and event.iteration == 2:
            stage.root.post(e.MessagesInjected((Message.user("and fast"),), "person"))

    stage = Stage(on_event=inject)
    await stage.run(agent(*[ask("read", name="abc")] * 3, "done", tools=TOOLS, result_extractor=extract))
    assert told == ["go", "and fast", "and fast"]


async def test_a_result_below_the_cachers_threshold_is_not_stored() -> None:
    """2: a large result only, 4 characters a token."""
    stored: list[str] = []

    def store(call: ToolCall, content: str) -> str:
        stored.append(content)
        return "kept"

    for minimum in (50, 51):
        await Stage().run(
            agent(ask("read", name="abc"), "done", tools=TOOLS, result_cacher=ResultCacher(store, minimum))
        )
    assert stored == ["abc " * 50]


@pytest.mark.parametrize("said", [None, "abc " * 50])
async def test_a_callback_that_changes_nothing_says_so_in_the_log(said: str | None) -> None:
    """2: None leaves the result; the log does not hold it twice."""
    stage = Stage()
    result = await stage.run(
        agent(ask("read", name="abc"), "done", tools=TOOLS, result_processor=lambda call, result: said)
    )
    assert contents(result.messages) == ["abc " * 50]
    assert stage.all_of(e.ResultProcessed) == [e.ResultProcessed("root/1.1", None, "processor")]


@pytest.mark.parametrize("wrong", ["raises", 7])
async def test_a_callback_that_fails_loses_no_result(wrong: object) -> None:
    """9.1 in spirit: what a tool did reaches the model; the failure stands in the log and the loop goes on."""

    def process(call: ToolCall, result: ToolResult) -> Any:
        if wrong == "raises":
            raise KeyError(call.name)
        return wrong

    stage = Stage()
    result = await stage.run(
        agent(
            ask("read", name="abc"),
            "done",
            tools=TOOLS,
            result_processor=process,
            result_cacher=ResultCacher(lambda call, content: "kept", 10),
        )
    )
    assert result.text == "done"
    first, second = stage.all_of(e.ResultProcessed)
    assert (first.content, first.failure.type_name) == (None, "KeyError" if wrong == "raises" else "TypeError")
    assert (second.content, second.failure) == ("kept", None)


async def test_only_what_a_handler_returned_is_processed() -> None:
    """2: not the words of an exception, of a person, or of the loop itself."""
    stage = Stage(answers={"read": Respond("a person's words")})
    script = [[ask("read", name="abc"), ask("boom", name="x"), ask("nope")], "done"]
    await stage.run(agent(*script, tools=TOOLS, result_processor=shorten))
    assert stage.all_of(e.ResultProcessed) == []


async def test_the_gate_after_a_result_comes_after_its_rewriting() -> None:
    """3.13"""
    stage = Stage(gates=["root/1.1.result"])

    script = agent(ask("read", name="abc"), "done", tools=TOOLS, result_processor=shorten)
    async with anyio.create_task_group() as group:
        paused = anyio.Event()
        stage.on_event = lambda event: paused.set() if isinstance(event.fact, e.Paused) else None
        group.start_soon(stage.run, script)
        await paused.wait()
        stage.root.post(e.Resumed("root/1.1.result", "person"))
    assert stage.story(e.ToolReturned, e.ResultProcessed, e.Paused) == [
        ("root", "ToolReturned"),
        ("root", "ResultProcessed"),
        ("root", "Paused"),
    ]


async def test_calls_one_after_another_wait_for_the_rewriting() -> None:
    """2: parallel_tool_execution off."""
    stage = Stage()

    async def process(call: ToolCall, result: ToolResult) -> str:
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        return "short"

    calls = [ask("read", "c1", name="a"), ask("read", "c2", name="b")]
    await stage.run(agent(calls, "done", tools=TOOLS, parallel_tool_execution=False, result_processor=process))
    kinds = [kind for _, kind in stage.story(e.ToolStarted, e.ResultProcessed)]
    assert kinds == ["ToolStarted", "ResultProcessed"] * 2


async def test_a_timeout_interrupts_a_rewriting_and_keeps_the_result() -> None:
    """3.4: a callback that works is loop time; what the tool gave stands in the transcript."""

    async def process(call: ToolCall, result: ToolResult) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    result = await Stage().run(
        agent(ask("read", name="abc"), "done", tools=TOOLS, timeout=0.05, result_processor=process)
    )
    assert result.termination_reason == Timeout(0.05)
    assert contents(result.messages) == ["abc " * 50]


async def test_a_replay_asks_the_processor_again_and_no_model_or_store(tmp_path: Path) -> None:
    """DESIGN §4: extractors may ask models and cachers write, so their recorded words are fed."""
    asked: list[str] = []

    def extract(call: ToolCall, result: ToolResult, context: ExtractionContext) -> str:
        asked.append("extractor")
        return "extracted " * 10

    def store(call: ToolCall, content: str) -> str:
        asked.append("cacher")
        return "kept"

    def build(process: Any) -> Agent:
        return agent(
            ask("read", name="abc"),
            "done",
            tools=TOOLS,
            result_processor=process,
            result_extractor=extract,
            result_cacher=ResultCacher(store, 10),
        )

    path = tmp_path / "run.jsonl"
    with Recorder(path) as recorder:
        await Stage().run(build(shorten), recorder)
    assert replay(path).same
    assert replay(path, build(shorten)).same
    assert replay(path, build(shorten), tools="live").same
    for tools in ("recorded", "live"):
        report = replay(path, build(lambda call, result: "other"), tools=tools)
        assert "result_processor makes something else of the result of root/1.1" in report.text()
    assert asked == ["extractor", "cacher"]


async def test_masking_leaves_old_results_out_of_requests_and_not_out_of_the_transcript() -> None:
    """2: masking never edits what is recorded."""
    requests: list[list[str]] = []
    calls = iter([ask("read", name=f"{name}" * 40) for name in "abcd"])

    def answer(request: ChatRequest) -> Any:
        requests.append([content[:6] for content in contents(request.messages)])
        return next(calls, "done")

    masking = ResultMasking(keep_iterations=1, minimum_tokens=500)
    config = ToolLoopConfig(masking=masking)
    stage = Stage()
    result = await stage.run(Agent(ScriptedProvider(answer), tools=list(TOOLS), config=config))
    left_out = "[An ol"
    assert requests == [
        [],
        ["aaaaaa"],
        [left_out, "bbbbbb"],
        [left_out, left_out, "cccccc"],
        [left_out, left_out, left_out, "dddddd"],
    ]
    assert [content[0] for content in contents(result.messages)] == ["a", "b", "c", "d"]
    assert [fact.calls for fact in stage.all_of(e.ResultsMasked)] == [("root/1.1",), ("root/2.1",), ("root/3.1",)]
