"""Decisions of a person on a live run: each call waits, is decided once, as it was seen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopkit import Agent, ScriptedProvider, ToolCall, tool, tool_loop
from loopkit import events as e
from loopkit.debugger.nodes import CallStatus
from loopkit.debugger.rows import row_text
from loopkit.debugger.session import Session
from loopkit.debugger.status import PendingDecision
from loopkit.errors import DecisionNotAccepted
from loopkit.messages import ChatResponse, Problem, ToolDefinition
from loopkit.outcomes import Approve, Deny, Modify, Respond, ToolApproval
from loopkit.providers.protocol import ChatRequest, Emit
from loopkit.tools.registry import ToolRegistry
from tests.debugger.live_runs import Held, add, assert_sound, facts_of, shout, started

SUM = ToolCall("c1", "add", {"a": 1, "b": 2})


def test_a_run_stops_before_a_call_and_goes_on_when_it_is_approved(backend: str, path: Path) -> None:
    with started([SUM, "three"], path, backend=backend) as (session, eyes):
        (one,) = eyes.until_pending()
        assert (one.name, one.arguments, one.agents, one.loop) == ("add", {"a": 1, "b": 2}, ("agent",), "root")
        assert (one.description, one.side_effect, one.problems) == ("Add two numbers.", "read", ())
        assert one.schema["properties"].keys() == {"a", "b"}
        assert session.status().state == "waiting"
        assert session.status().waits_for == "your decision on agent › add"
        assert not facts_of(session, e.ToolStarted)
        session.approve(one.call, one.version)
        eyes.until_ended()
        assert session.timeline.calls[one.call].content == "3"
        assert session.pending() == []
    assert_sound(session)


@pytest.mark.parametrize(
    ("decide", "decision", "content", "status"),
    [
        (lambda s, c: s.deny(c, 1, "wrong file"), Deny("wrong file"), "wrong file", CallStatus.DENIED),
        (lambda s, c: s.deny(c, 1), Deny(), "Denied by the user.", CallStatus.DENIED),
        (lambda s, c: s.edit(c, 1, {"a": 40, "b": 2}), Modify({"a": 40, "b": 2}), "42", CallStatus.DONE),
        (lambda s, c: s.respond(c, 1, "about 3"), Respond("about 3"), "about 3", CallStatus.ANSWERED),
        (lambda s, c: s.respond(c, 1, "", True), Respond("", True), "", CallStatus.ANSWERED),
    ],
)
def test_each_decision_reaches_the_model_and_the_log(
    decide: Callable[[Session, str], None], decision: ToolApproval, content: str, status: CallStatus, path: Path
) -> None:
    """Who decided and why stands in the log, and the model gets it verbatim (spec/loop.md 4, spec/faults.md c21)."""
    provider = ScriptedProvider([SUM, "done"])
    with started(provider, path, add) as (session, eyes):
        (one,) = eyes.until_pending()
        decide(session, one.call)
        eyes.until_ended()
        call = session.timeline.calls[one.call]
        assert (call.decision, call.decided_by, call.content, call.status) == (decision, "person", content, status)
        assert provider.requests[1].messages[-1].tool_results[0].content == content
    assert_sound(session)


def test_parallel_calls_wait_together_and_are_answered_in_any_order(backend: str, path: Path) -> None:
    """All are pending at once, none runs before all are decided, answers go by id (spec/faults.md c3, c4)."""
    calls = [ToolCall("same", "add", {"a": place, "b": 0}) for place in (1, 2, 3)]
    with started([calls, "done"], path, backend=backend) as (session, eyes):
        first, second, third = eyes.until_pending(3)
        assert [one.call for one in (first, second, third)] == ["root/1.1", "root/1.2", "root/1.3"]
        assert session.status().waits_for == "your decision on agent › add (+2)"
        session.deny(third.call, third.version, "not three")
        session.approve(second.call, second.version)
        session.poll()
        assert [one.call for one in session.pending()] == ["root/1.1"]
        assert not facts_of(session, e.ToolStarted)
        session.edit(first.call, first.version, {"a": 10, "b": 0})
        eyes.until_ended()
        contents = [session.timeline.calls[one.call].content for one in (first, second, third)]
        assert contents == ["10", "2", "not three"]
    assert_sound(session)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"a": "x", "b": 1}, {"a": 1, "b": float("nan")}, {"a": 1, "b": object()}, {"a": 1, 2: 3}, [1], None, "x"],
)
def test_arguments_that_do_not_fit_are_refused_and_the_call_waits_on(arguments: Any, path: Path) -> None:
    """The refusal is one line, the call can be decided again (spec/loop.md 4.3)."""
    with started([SUM, "done"], path) as (session, eyes):
        (one,) = eyes.until_pending()
        with pytest.raises(DecisionNotAccepted) as refusal:
            session.edit(one.call, one.version, arguments)
        assert "\n" not in str(refusal.value)
        session.poll()
        assert [waiting.call for waiting in session.pending()] == [one.call]
        session.approve(one.call, one.version)
        eyes.until_ended()
    assert_sound(session)


@pytest.mark.parametrize("arguments", [{"x": float("inf")}, {"x": {1}}, {1: 1}, "x"])
def test_a_call_of_an_unknown_tool_takes_nothing_but_json(arguments: Any, path: Path) -> None:
    """There is no schema to fail, but the recording must not break over it (spec/loop.md 9.1)."""
    with started([ToolCall("c", "nope", {"x": 1}), "done"], path) as (session, eyes):
        (one,) = eyes.until_pending()
        assert (one.schema, one.description) == ({}, "")
        with pytest.raises(DecisionNotAccepted):
            session.edit(one.call, one.version, arguments)
        session.edit(one.call, one.version, {"x": 2})
        eyes.until_ended()
        assert session.timeline.calls[one.call].status is CallStatus.REFUSED
    assert_sound(session)


@pytest.mark.parametrize(
    ("decide", "words"),
    [
        (lambda s, c: s.respond(c, 1, None), "is text, not NoneType"),
        (lambda s, c: s.respond(c, 1, {"x": 1}), "is text, not dict"),
        (lambda s, c: s.deny(c, 1, 5), "a reason is text, not int"),
        (lambda s, c: s.approve(c, "1"), "a whole number, not str"),
        (lambda s, c: s.approve(c, True), "a whole number, not bool"),
    ],
)
def test_what_no_recording_could_hold_is_refused(decide: Any, words: str, path: Path) -> None:
    """Decisions come from editors, browsers and notebooks; a file that can't be read again helps nobody."""
    with started([SUM, "done"], path) as (session, eyes):
        (one,) = eyes.until_pending()
        with pytest.raises(DecisionNotAccepted, match=words):
            decide(session, one.call)
        session.respond(one.call, one.version, "\ud800 odd")
        eyes.until_ended()
    assert_sound(session)


def test_what_was_decided_on_stays_when_its_parts_are_changed(path: Path) -> None:
    """Neither side shares its lists with the other (spec/faults.md d15, d16)."""

    @tool
    async def total(numbers: list[int]) -> int:
        """Add them up."""
        return sum(numbers)

    with started([ToolCall("c", "total", {"numbers": [1]}), "done"], path, total) as (session, eyes):
        (one,) = eyes.until_pending()
        one.arguments["numbers"].append(99)
        assert session.pending()[0].arguments == {"numbers": [1]}
        mine = {"numbers": [1, 2]}
        session.edit(one.call, one.version, mine)
        mine["numbers"].append(1000)
        eyes.until_ended()
        call = session.timeline.calls[one.call]
        assert (call.content, call.edited_arguments, call.arguments) == ("3", {"numbers": [1, 2]}, {"numbers": [1]})
    assert_sound(session)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_arguments_as_deep_as_json_can_be_are_shown_and_refused(path: Path) -> None:
    """The model is told, the person sees it coming, nothing breaks (spec/loop.md 9.1)."""
    call = ToolCall("c", "add", {"a": nested(900), "b": 1})
    with started([call, "done"], path) as (session, eyes):
        (one,) = eyes.until_pending()
        assert "nested deeper than 100 levels" in one.problems[0].message
        assert session.validate(one.call, one.arguments) == one.problems
        for depth in (500, 100_000):
            with pytest.raises(DecisionNotAccepted):
                session.edit(one.call, one.version, {"a": nested(depth), "b": 1})
        with pytest.raises(DecisionNotAccepted, match="must be a JSON object"):
            session.edit(one.call, one.version, {"a": (n for n in [1]), "b": 1})
        session.approve(one.call, one.version)
        eyes.until_ended()
        assert session.timeline.calls[one.call].status is CallStatus.REFUSED
        assert row_text(session.timeline.rows[2]).state == "invalid arguments"
    assert_sound(session)


def test_late_second_and_stale_decisions_are_refused_and_logged(path: Path) -> None:
    """A decision is bound to its call and to the version that was seen (DESIGN §5)."""
    with started([[SUM, SUM], "done"], path) as (session, eyes):
        one, two = eyes.until_pending(2)
        with pytest.raises(DecisionNotAccepted, match="at version 1, the decision was on 7"):
            session.approve(one.call, 7)
        session.approve(one.call, one.version)
        with pytest.raises(DecisionNotAccepted, match="does not wait for a decision any more"):
            session.deny(one.call, one.version)
        session.poll()
        assert len(session.timeline.calls[one.call].refused_decisions) == 2
        with pytest.raises(DecisionNotAccepted, match=r"no call root/9\.9"):
            session.approve("root/9.9", 1)
        session.approve(two.call, two.version)
        eyes.until_ended()
        with pytest.raises(DecisionNotAccepted, match="ended"):
            session.approve(two.call, two.version)
        assert len(facts_of(session, e.Decided)) == 2
    assert_sound(session)
    recorded = Session.open(path)
    with pytest.raises(DecisionNotAccepted, match="recording"):
        recorded.approve(one.call, 1)


def test_arguments_are_checked_while_they_are_typed(path: Path) -> None:
    with started([SUM, "done"], path) as (session, eyes):
        (one,) = eyes.until_pending()
        assert session.parse_arguments(one.call, '{"a": 1, "b": 2}') == ({"a": 1, "b": 2}, ())
        parsed, problems = session.parse_arguments(one.call, '{"a": "x", "b": 2}')
        assert parsed == {"a": "x", "b": 2}
        assert [problem.path for problem in problems] == ["$.a"]
        assert session.parse_arguments(one.call, '{"a": 1,\n"b": 2')[1][0].path == "line 2, column 7"
        assert session.validate(one.call, [1]) == (Problem("$", "the arguments must be a JSON object"),)
        assert session.validate(one.call, {"a": 1}) != ()
        assert session.validate("root/9.9", {"a": 1}) == ()
        deep: Any = 0
        for _ in range(500):
            deep = [deep]
        assert "nested deeper" in session.validate(one.call, {"a": deep, "b": 1})[0].message
        session.approve(one.call, one.version)
        eyes.until_ended()
    # the same on the recording, from the recorded schema
    recorded = Session.open(path)
    assert recorded.parse_arguments(one.call, '{"a": "x", "b": 2}')[1][0].path == "$.a"
    assert recorded.validate(one.call, {"a": 1, "b": 2}) == ()


def test_a_sub_agents_call_waits_at_the_root_with_its_path(backend: str, path: Path) -> None:
    """Whoever looks at the root sees which agent asks, and the answer reaches it (spec/faults.md h13, h15)."""

    @tool
    async def delegate(question: str) -> str:
        """Ask a helper."""
        if question == "deep":
            helper = Agent(ScriptedProvider([SUM, "3"]), tools=[add], name="inner")
        else:
            helper = Agent(
                ScriptedProvider([ToolCall("d", "delegate", {"question": "deep"}), "inner says 3"]),
                tools=[delegate],
                name="middle",
            )
        return (await helper.run(question)).text

    script = [[ToolCall("d", "delegate", {"question": "x"}), ToolCall("d", "delegate", {"question": "y"})], "done"]
    with started(script, path, delegate, backend=backend) as (session, eyes):
        for one in eyes.until_pending(2):
            session.approve(one.call, one.version)
        for one in eyes.until_pending(2):
            assert one.agents == ("agent", "middle")
            session.approve(one.call, one.version)
        deepest = eyes.until_pending(2)
        assert [one.agents for one in deepest] == [("agent", "middle", "inner")] * 2
        assert {one.loop for one in deepest} == {"root/1.1#1/1.1#1", "root/1.2#1/1.1#1"}
        assert "agent › middle › inner › add" in session.status().waits_for
        assert session.status().agents == 5
        session.respond(deepest[1].call, deepest[1].version, "three")
        session.edit(deepest[0].call, deepest[0].version, {"a": 5, "b": 5})
        eyes.until_ended()
        assert session.timeline.depth == 2
    assert_sound(session)


class Rules:
    """Data as a user's policy would have it."""

    def decide(self, call: ToolCall, definition: ToolDefinition | None) -> tuple[ToolApproval, str] | None:
        if definition is not None and definition.side_effect == "read":
            return Approve(), "policy: reads run"
        return (Deny("no shouting"), "policy: quiet") if call.arguments.get("text") == "loud" else None


def test_a_policy_decides_before_a_person_and_is_named(path: Path) -> None:
    """Automatic approvals name their rule (spec/faults.md c21)."""
    calls = [SUM, ToolCall("c2", "shout", {"text": "loud"}), ToolCall("c3", "shout", {"text": "soft"})]
    with started([calls, "done"], path, policy=Rules()) as (session, eyes):
        (one,) = eyes.until_pending()
        assert one.call == "root/1.3"
        session.approve(one.call, one.version)
        eyes.until_ended()
        assert [fact.by for fact in facts_of(session, e.Decided)] == ["policy: reads run", "policy: quiet", "person"]
    assert_sound(session)


def test_a_call_that_a_policy_decides_never_seems_to_wait(path: Path) -> None:
    """A dialog that flashes up would be answered by keys meant for something else (spec/faults.md c14)."""
    held = Held()
    looked: list[list[PendingDecision]] = []

    class Watched:
        def decide(self, call: ToolCall, definition: ToolDefinition | None) -> tuple[ToolApproval, str] | None:
            def look() -> None:
                session.poll()
                looked.append(session.pending())

            looking = threading.Thread(target=look)
            looking.start()
            looking.join(0.02)
            lookers.append(looking)
            return Approve(), "policy: watched"

    class Asking:
        model: str | None = "asking"

        async def respond(self, request: ChatRequest, emit: Emit) -> ChatResponse:
            await held.respond(request, emit)
            return ChatResponse(
                "done" if len(request.messages) > 1 else "", [] if len(request.messages) > 1 else [SUM, SUM]
            )

    lookers: list[threading.Thread] = []
    with started(Asking(), path, add, policy=Watched()) as (session, _):
        held.release.set()
        assert session.wait(10)
        for looking in lookers:
            looking.join(10)
        assert looked == [[], []]
    assert_sound(session)


class Broken:
    """Rules that can't be used."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def decide(self, call: ToolCall, definition: ToolDefinition | None) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.mark.parametrize(
    "answer",
    [ValueError("bad rule"), "yes", (True, "rule"), (Approve(), None), Approve(), (Modify({"a": "x"}), "rule")],
)
def test_a_broken_rule_asks(answer: Any, path: Path) -> None:
    """It neither approves nor ends the run (DESIGN §5)."""
    with started([SUM, "done"], path, policy=Broken(answer)) as (session, eyes):
        (one,) = eyes.until_pending()
        session.approve(one.call, one.version)
        eyes.until_ended()
    assert_sound(session)


def test_a_denied_call_is_asked_again_when_it_comes_again(path: Path) -> None:
    """A decision covers one call (spec/faults.md c6)."""
    with started([SUM, SUM, "done"], path) as (session, eyes):
        (one,) = eyes.until_pending()
        session.deny(one.call, one.version)
        eyes.until(lambda: session.pending() and session.pending()[0].call == "root/2.1")
        session.approve("root/2.1", 1)
        eyes.until_ended()
        assert [call.status for call in session.timeline.calls.values()] == [CallStatus.DENIED, CallStatus.DONE]


def test_a_loop_that_a_tool_starts_by_itself_is_asked_about_too(path: Path) -> None:
    @tool
    async def helper() -> str:
        """Run a bare loop."""
        return (
            await tool_loop(ScriptedProvider([ToolCall("x", "shout", {"text": "a"}), "A"]), ToolRegistry([shout]), "x")
        ).text

    with started([ToolCall("c", "helper"), "done"], path, helper) as (session, eyes):
        eyes.approve_all_to_the_end()
        session.poll()
        assert [fact.by for fact in facts_of(session, e.Decided)] == ["person", "person"]
