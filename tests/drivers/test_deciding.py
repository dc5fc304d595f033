"""People and callbacks decide: late, twice, in any order, from any thread (spec/loop.md 3.8, 4; DESIGN §5)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import StopContext, ToolCall, tool
from loopkit import events as e
from loopkit.core.config import ApprovalContext
from loopkit.drivers.replay import replay
from loopkit.errors import DecisionNotAccepted
from loopkit.messages import Problem, ToolResult, Usage
from loopkit.outcomes import Approve, Complete, Continue, Deny, Modify, Respond, Stop, StopCondition
from loopkit.recording.writer import Recorder
from tests.drivers.stage import Stage, agent, ask, in_a_thread

pytestmark = pytest.mark.anyio


@tool
async def look(path: str) -> str:
    """Look at a file."""
    return f"looked at {path}"


LOOKS = [ask("look", word, path=word) for word in "abc"]


def when_asked(stage: Stage, count: int, act: Callable[[], None]) -> None:
    """Act in another thread once so many decisions are pending."""
    acted: list[Any] = []

    def on_event(event: e.Event) -> None:
        if len(stage.all_of(e.DecisionRequested)) == count and not acted:
            acted.append(in_a_thread(act))

    stage.on_event = on_event


# ── people ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_person_decides_in_reverse_order_from_another_thread() -> None:
    """3.12, spec/faults.md c3: each decision is bound to its call."""
    stage = Stage(pending=["look"])

    def decide() -> None:
        stage.decide_as_person("root", "root/1.3", Modify({"path": "z"}))
        stage.decide_as_person("root", "root/1.2", Deny("not b"))
        stage.decide_as_person("root", "root/1.1", Approve())

    when_asked(stage, 3, decide)
    result = await stage.run(agent(LOOKS, "done", tools=[look]))
    assert [message.tool_results[0].content for message in result.messages[2:5]] == [
        "looked at a",
        "not b",
        "looked at z",
    ]
    assert [fact.call for fact in stage.all_of(e.Decided)] == ["root/1.3", "root/1.2", "root/1.1"]
    assert [call.arguments["path"] for call in result.messages[1].tool_calls] == ["a", "b", "z"]


async def test_late_twice_and_stale_decisions_are_refused_and_logged() -> None:
    """DESIGN §5, spec/faults.md c6"""
    stage = Stage(pending=["look"])
    refused: list[str] = []

    def try_to_decide(call: str, version: int = 1) -> None:
        try:
            stage.decide_as_person("root", call, Approve(), version)
        except DecisionNotAccepted as error:
            refused.append(str(error))

    def decide() -> None:
        for call, version in (("root/1.1", 2), ("root/1.1", 1), ("root/1.1", 1), ("root/9.9", 1), ("elsewhere/1.1", 1)):
            try_to_decide(call, version)
        try_to_decide("root/1.2")
        try_to_decide("root/1.3")

    when_asked(stage, 3, decide)
    await stage.run(agent(LOOKS, "done", tools=[look]))
    assert refused == [
        "the call is at version 1, the decision was on 2",
        "this call does not wait for a decision any more",
        "this call does not wait for a decision any more",
        "this call does not wait for a decision any more",
    ]
    assert [fact.reason for fact in stage.all_of(e.DecisionRefused)] == refused
    assert len(stage.all_of(e.Decided)) == 3
    try_to_decide("root/1.1")
    assert "ended" in refused[-1]


async def test_an_edit_that_does_not_fit_is_refused_to_the_person() -> None:
    """DESIGN §5: the call goes on waiting."""
    stage = Stage(pending=["look"])
    refused: list[str] = []

    def decide() -> None:
        try:
            verdict = e.CallVerdict((Problem("$.path", "is required"),))
            stage.root.decide("root/1.1", 1, Modify({}), "person", verdict)
        except DecisionNotAccepted as error:
            refused.append(str(error))
        stage.decide_as_person("root", "root/1.1", Modify({"path": "z"}))

    when_asked(stage, 1, decide)
    result = await stage.run(agent(LOOKS[0], "done", tools=[look]))
    assert refused == ["path: is required"]
    assert result.messages[2].tool_results[0].content == "looked at z"


async def test_a_person_may_decide_before_a_slow_callback() -> None:
    """DESIGN §5: the first decision counts; the callback is not waited for."""
    waiting = anyio.Event()

    async def ponder(_: ToolCall) -> Deny:
        waiting.set()
        await anyio.sleep_forever()
        return Deny("never said")

    stage = Stage()
    async with anyio.create_task_group() as group:

        async def decide() -> None:
            await waiting.wait()
            stage.root.decide("root/1.1", 1, Approve(), "person", e.CallVerdict())

        group.start_soon(decide)
        result = await stage.run(agent(LOOKS[0], "done", tools=[look], on_tool_call=ponder))
    assert result.messages[2].tool_results[0].content == "looked at a"
    assert [fact.by for fact in stage.all_of(e.Decided)] == ["person"]


async def test_the_run_stands_at_a_gate_until_somebody_resumes_it() -> None:
    """DESIGN §5"""
    stage = Stage(gates=["root/1.request", "root/1.1.call", "root/1.1.result", "root/2.response"])

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.Paused):
            gate = event.fact.gate
            in_a_thread(lambda: stage.root.post(e.Resumed(gate, "person")))

    stage.on_event = on_event
    result = await stage.run(agent(LOOKS[0], "done", tools=[look]))
    assert result.termination_reason == Complete()
    assert [fact.gate for fact in stage.all_of(e.Resumed)] == list(stage.gates)


# ── on_tool_call ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _plain(call: ToolCall) -> Deny:
    return Deny(f"not {call.arguments['path']}")


async def _async(call: ToolCall) -> Deny:
    await anyio.lowlevel.checkpoint()
    return _plain(call)


def _with_context(call: ToolCall, context: ApprovalContext) -> Deny:
    assert (context.iteration, context.loop, context.call) == (1, "root", "root/1.1")
    assert context.schema is not None
    assert context.schema["required"] == ["path"]
    assert context.problems == ()
    assert context.messages[0].text == "go"
    assert context.messages[-1].tool_calls == (call,)
    return _plain(call)


async def _async_with_context(call: ToolCall, context: ApprovalContext) -> Deny:
    return _with_context(call, context)


@dataclass
class Unhashable:
    """A callback that Python can't hash."""

    word: str

    def __call__(self, call: ToolCall) -> Deny:
        return _plain(call)


class Method:
    def decide(self, call: ToolCall) -> Deny:
        return _plain(call)


@pytest.mark.parametrize(
    "callback",
    [
        _plain,
        _async,
        _with_context,
        _async_with_context,
        Unhashable("x"),
        Method().decide,
        functools.partial(_with_context),
        lambda *arguments: _plain(arguments[0]),
    ],
    ids=["one", "async", "two", "async two", "unhashable", "method", "partial", "any number"],
)
async def test_a_callback_takes_the_call_and_if_it_likes_the_context(callback: Any) -> None:
    """4.1: sync or async."""
    stage = Stage()
    result = await stage.run(agent(LOOKS[0], "done", tools=[look], on_tool_call=callback))
    assert result.messages[2].tool_results[0] == ToolResult("a", "not a", is_error=True)
    assert [fact.by for fact in stage.all_of(e.Decided)] == ["on_tool_call"]


async def test_a_callback_is_told_what_is_wrong() -> None:
    """3.12, 4.1: unknown tools and invalid arguments are offered too."""
    told: list[tuple[str, object, int]] = []

    def decide(call: ToolCall, context: ApprovalContext) -> Approve:
        told.append((call.name, context.schema is None, len(context.problems)))
        return Approve()

    await agent([ask("nope"), ask("look", path=1)], "done", tools=[look], on_tool_call=decide).run("go")
    assert sorted(told) == [("look", False, 1), ("nope", True, 0)]


async def test_a_callback_that_says_nothing_leaves_it_to_others() -> None:
    """4.1: here, to the policy of whoever watches."""
    stage = Stage(answers={"look": Deny("by policy")})
    await stage.run(agent(LOOKS[0], "done", tools=[look], on_tool_call=lambda _: None))
    assert [(fact.by, fact.decision) for fact in stage.all_of(e.Decided)] == [("policy: test", Deny("by policy"))]


async def test_a_callbacks_edit_is_checked() -> None:
    """4.3: a failure is an error result, not an exception."""
    stage = Stage()
    edits = {"a": Modify({"path": 1}), "b": Modify({"path": "z"}), "c": Respond("c says hello")}
    result = await stage.run(agent(LOOKS, "done", tools=[look], on_tool_call=lambda call: edits[call.id]))
    contents = [message.tool_results[0].content for message in result.messages[2:5]]
    assert "$.path" in contents[0]
    assert contents[1:] == ["looked at z", "c says hello"]


@pytest.mark.parametrize("raising", [True, False], ids=["raises", "says nonsense"])
@pytest.mark.parametrize("kind", ["on_tool_call", "stop_when"])
async def test_a_callback_that_fails_ends_the_loop_with_its_exception(kind: str, raising: bool) -> None:
    """4.4, spec/faults.md i3: plainly; the log says so and is whole."""

    def wrong(_: object) -> Any:
        if raising:
            raise LookupError("no rule")
        return True

    stage, callbacks = Stage(), dict[str, Any]({kind: wrong})
    with pytest.raises(LookupError if raising else TypeError):
        await stage.run(agent(LOOKS, "done", tools=[look], **callbacks))
    (failed,) = stage.all_of(e.CallbackFailed)
    assert failed.callback == kind
    assert stage.all_of(e.LoopFailed)[0].failure == failed.failure
    assert stage.all_of(e.ToolStarted) == []


@pytest.mark.parametrize(
    "said",
    [Deny(None), Respond(5), Modify(None), Modify({"path": float("nan")}), Modify({"path": {1, 2}}), "approve"],  # type: ignore[arg-type]  # what careless callbacks say
    ids=repr,
)
async def test_a_decision_that_no_recording_could_hold_is_the_callbacks_failure(said: Any, tmp_path: Path) -> None:
    """4.4: and the recording stays readable."""
    path = tmp_path / "run.jsonl"
    with pytest.raises((TypeError, ValueError)):
        await agent(LOOKS[0], "done", tools=[look], on_tool_call=lambda _: said).run("go", recorder=Recorder(path))
    assert replay(path).same


async def test_an_edit_is_a_snapshot() -> None:
    """spec/faults.md d15: what the callback does to its dictionary later changes no log."""
    edits = {"path": "z"}
    stage = Stage()
    stage.on_event = lambda event: edits.update(path="later") if isinstance(event.fact, e.Decided) else None
    result = await stage.run(agent(LOOKS[0], "done", tools=[look], on_tool_call=lambda _: Modify(edits)))
    assert result.messages[1].tool_calls[0].arguments == {"path": "z"}
    assert result.messages[2].tool_results[0].content == "looked at z"


async def test_the_exception_raised_is_the_one_in_the_log() -> None:
    """4.4: also when several callbacks fail at the same moment."""
    all_asked = anyio.Event()
    asked: list[str] = []

    async def wrong(call: ToolCall) -> Any:
        asked.append(call.id)
        if len(asked) == 3:
            all_asked.set()
        await all_asked.wait()
        raise LookupError(call.id)

    stage = Stage()
    with pytest.raises(LookupError) as caught:
        await stage.run(agent(LOOKS, "done", tools=[look], on_tool_call=wrong))
    assert stage.all_of(e.LoopFailed)[0].failure == e.Failure("LookupError", str(caught.value))


# ── stop_when ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_a_stop_condition_sees_each_response(is_async: bool) -> None:
    """3.7, 3.8, 5: the usage included, the executions and results of the turns before."""
    seen: list[StopContext] = []

    def stop(context: StopContext) -> Stop | Continue:
        seen.append(context)
        return Stop("twice") if context.iteration == 2 else Continue()

    async def stop_async(context: StopContext) -> Stop | Continue:
        await anyio.lowlevel.checkpoint()
        return stop(context)

    stage = Stage()
    result = await stage.run(
        agent(LOOKS[:2], LOOKS[2], "never", tools=[look], stop_when=stop_async if is_async else stop)
    )
    assert result.termination_reason == StopCondition("twice")
    assert result.response is not None
    assert result.response.tool_calls == (LOOKS[2],)
    assert [(c.iteration, c.total_usage, c.tool_calls_executed, len(c.last_tool_results)) for c in seen] == [
        (1, Usage(3, 2), 0, 0),
        (2, Usage(6, 4), 2, 2),
    ]
    assert seen[0].response.tool_calls == tuple(LOOKS[:2])


async def test_a_stop_condition_may_say_nothing() -> None:
    """5: falling off its end is `Continue`."""
    assert (await agent("done", stop_when=lambda _: None).run("go")).termination_reason == Complete()
