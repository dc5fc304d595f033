"""Decisions on calls, and what the model is told of those that don't run (spec/loop.md 4, 9.1)."""

from __future__ import annotations

import pytest

from loopkit import events as e
from loopkit.core.config import LoopDetectionConfig
from loopkit.core.state import AskDecision, RunTool
from loopkit.messages import Message, ToolCall, ToolResult, Usage
from loopkit.outcomes import Approve, Deny, Modify, Respond
from tests.core.playbook import Playbook, call, invalid, kinds


def skipped(play: Playbook) -> e.ToolSkipped:
    (fact,) = play.all_of(e.ToolSkipped)
    return fact  # type: ignore[no-any-return]  # all_of gives facts of the class asked for


def test_a_denial_reaches_the_model_verbatim() -> None:
    """4.2, spec/faults.md c21"""
    play = Playbook()
    play.reply(call())
    play.decide(1, Deny("wrong file\n  – use b.txt "))
    assert skipped(play) == e.ToolSkipped("root/1.1", "denied", "wrong file\n  – use b.txt ")
    assert play.messages[-1].tool_results == (ToolResult("look", "wrong file\n  – use b.txt ", is_error=True),)


def test_a_denial_without_words_says_who_denied() -> None:
    """4.2: an empty result would say nothing to the model (spec/faults.md b14)."""
    play = Playbook()
    play.reply(call())
    play.decide(1, Deny(""))
    assert skipped(play).content == Deny().reason


def test_all_denied_goes_on() -> None:
    """4.2"""
    play = Playbook()
    play.reply(call(), call("write"))
    play.decide(1, Deny("no"))
    assert kinds(play.decide(2, Deny("nor that"))) == [
        "ToolSkipped",
        "ToolSkipped",
        "IterationStarted",
        "ModelRequested",
    ]
    assert [message.tool_results[0].content for message in play.request[-2:]] == ["no", "nor that"]


def test_a_denied_call_is_asked_about_again_when_it_comes_again() -> None:
    """spec/faults.md c6: a decision covers one call."""
    play = Playbook()
    play.reply(call())
    play.decide(1, Deny("no"))
    assert play.reply(call()) == [e.DecisionRequested("root/2.1", 1, "look")]


def test_an_edited_call_shows_in_the_history_as_it_ran() -> None:
    """4.3, spec/faults.md c1: id and name stay; call and result agree."""
    play = Playbook()
    play.reply(call("look", "c1", path="a"), text="looking")
    assert play.decide(1, Modify({"path": "b"})) == [e.ToolStarted("root/1.1")]
    assert play.call(1).arguments == {"path": "b"}
    play.end(1, "b's content")
    assert play.messages[1:] == [
        Message.assistant("looking", [ToolCall("c1", "look", {"path": "b"})]),
        Message.tool(ToolResult("c1", "b's content")),
    ]


def test_the_log_keeps_both_versions_of_an_edited_call() -> None:
    """4.3: and who changed it."""
    play = Playbook()
    play.reply(call(path="a"))
    play.decide(1, Modify({"path": "b"}))
    (reply,) = play.all_of(e.ModelReplied)
    (decided,) = play.all_of(e.Decided)
    assert reply.message.tool_calls[0].arguments == {"path": "a"}
    assert (decided.decision, decided.by) == (Modify({"path": "b"}), "person")


def test_only_the_edited_call_of_a_batch_changes() -> None:
    """4.3"""
    play = Playbook()
    play.reply(call("look", path="a"), call("write", path="a"))
    play.decide(1), play.decide(2, Modify({"path": "b"}))
    play.end(1), play.end(2)
    assert [asked.arguments for asked in play.messages[1].tool_calls] == [{"path": "a"}, {"path": "b"}]


def test_an_edit_that_does_not_fit_is_an_error_result() -> None:
    """4.3: not an exception; it never ran, so the history shows the model's own."""
    play = Playbook()
    play.reply(call("look", "c1", path="a"))
    play.decide(1, Modify({}), verdict=invalid("is required", "$.path"))
    assert skipped(play).cause == "invalid arguments"
    assert "$.path: is required" in skipped(play).content
    assert play.messages[1].tool_calls == (ToolCall("c1", "look", {"path": "a"}),)


def test_an_edit_repairs_invalid_arguments() -> None:
    """4.3: the edited arguments are what is checked."""
    play = Playbook()
    play.reply(call(), verdicts=(invalid(),))
    assert play.decide(1, Modify({"path": "b"})) == [e.ToolStarted("root/1.1")]


def test_an_edit_repairs_arguments_that_were_no_json() -> None:
    """4.3, 9.1"""
    play = Playbook()
    play.reply(ToolCall("c1", "look", raw_arguments="{path: a}", problem="invalid JSON"))
    assert play.decide(1, Modify({"path": "a"})) == [e.ToolStarted("root/1.1")]
    play.end(1)
    assert play.messages[1].tool_calls == (ToolCall("c1", "look", {"path": "a"}),)


def test_an_edit_makes_no_tool_of_an_unknown_one() -> None:
    """4.3: the name stays."""
    play = Playbook()
    play.reply(call("nope"))
    play.decide(1, Modify({"a": 1}))
    assert skipped(play).cause == "unknown tool"
    assert play.messages[1].tool_calls[0].arguments == {}


def test_detection_sees_the_models_own_arguments() -> None:
    """4.3: an edit hides no repetition, and makes none."""
    play = Playbook(loop_detection=LoopDetectionConfig(2))
    play.reply(call(path="a"))
    play.decide(1, Modify({"path": "b"}))
    play.end(1)
    play.reply(call(path="b"))
    assert play.all_of(e.RepetitionDetected) == []
    play.decide(1, Modify({"path": "c"}))
    play.end(1)
    assert kinds(play.reply(call(path="b"))) == ["RepetitionDetected", "DecisionRequested"]


@pytest.mark.parametrize("is_error", [False, True])
def test_an_answer_in_the_tools_place_is_the_result(is_error: bool) -> None:
    """1: `Respond`; its handler does not run."""
    play = Playbook()
    play.reply(call("nope", "c1"))
    play.decide(1, Respond("42", is_error))
    assert skipped(play) == e.ToolSkipped("root/1.1", "responded", "42", is_error)
    assert play.messages[-1].tool_results == (ToolResult("c1", "42", is_error),)


def test_a_decision_that_nobody_made_in_time_is_no_denial() -> None:
    """spec/faults.md c10, c19"""
    play = Playbook()
    play.reply(call(), call("write"))
    play.tell(e.DecisionExpired("root/1.1", 1))
    play.decide(2)
    assert skipped(play).cause == "expired"
    assert "Not performed" in skipped(play).content
    assert play.core.wants == {RunTool("root/1.2")}


def test_a_failing_callback_ends_the_loop_with_its_exception() -> None:
    """4.4: the log stays valid, nothing runs, the response is in the transcript."""
    play = Playbook()
    play.reply(call(), call("write"))
    play.decide(1)
    failure = e.Failure("KeyError", "'path'")
    assert play.tell(e.CallbackFailed("on_tool_call", failure)) == [e.LoopFailed(failure, 1, Usage(unreported=1))]
    assert play.all_of(e.ToolStarted) == []
    assert play.messages[-1].role == "assistant"
    assert play.core.wants == frozenset()


def test_a_failing_stop_condition_ends_the_loop_with_its_exception() -> None:
    """4.4"""
    play = Playbook(stop_when=lambda _: None)
    play.reply(call())
    play.tell(e.CallbackFailed("stop_when", e.Failure("ZeroDivisionError", "")))
    assert play.failure == e.Failure("ZeroDivisionError", "")


def test_an_unknown_tool_is_a_result_for_the_model() -> None:
    """9.1, spec/faults.md a35: it names the known tools."""
    play = Playbook(tools=["look", "write"])
    play.reply(call("nope"))
    play.approve()
    assert skipped(play) == e.ToolSkipped("root/1.1", "unknown tool", "Unknown tool: nope. Known tools: look, write.")
    assert play.messages[-1].tool_results[0].is_error
    assert play.state.iteration == 2


def test_an_unknown_tool_where_there_is_none() -> None:
    """9.1"""
    play = Playbook(tools=[])
    play.turn(call("nope"))
    assert skipped(play).content == "Unknown tool: nope. Known tools: none."


def test_invalid_arguments_are_a_result_for_the_model() -> None:
    """9.1: JSON path and reason."""
    play = Playbook()
    play.reply(call(), verdicts=(invalid("5 is not a string", "$.path"),))
    play.approve()
    assert skipped(play).cause == "invalid arguments"
    assert "$.path: 5 is not a string" in skipped(play).content


def test_arguments_that_are_no_json_never_run() -> None:
    """9.1: whoever made the call, with or without a word on why."""
    for wrong in (
        ToolCall("c1", "look", raw_arguments="{", problem="the text ends too early"),
        ToolCall("c1", "look", raw_arguments="{"),
        ToolCall("c1", "look", {"n": 1}, problem="NaN is no JSON"),
    ):
        play = Playbook()
        play.reply(wrong)
        play.approve()
        assert skipped(play).cause == "invalid arguments", wrong
        assert play.all_of(e.ToolStarted) == []


def test_a_handlers_exception_is_a_result_for_the_model() -> None:
    """9.1"""
    play = Playbook()
    play.reply(call())
    play.approve()
    play.fail(1, "ValueError")
    assert play.messages[-1].tool_results == (ToolResult("look", "ValueError: no", is_error=True),)
    assert play.state.iteration == 2


def test_two_failing_handlers_give_two_results() -> None:
    """9.1, spec/faults.md i4: a tool's error cancels no sibling."""
    play = Playbook()
    play.reply(call(), call("write"))
    play.approve()
    play.fail(1, "ValueError")
    assert play.core.wants == {RunTool("root/1.2")}
    play.fail(2, "KeyError")
    assert [message.tool_results[0].content for message in play.messages[-2:]] == ["ValueError: no", "KeyError: no"]


def test_a_decision_is_asked_for_one_version_of_a_call() -> None:
    """DESIGN §5: what is wanted names call and version."""
    play = Playbook()
    play.reply(call())
    assert AskDecision("root/1.1", 1) in play.core.wants
    play.tell(e.DecisionRefused("root/1.1", 2, "person", "the call is at version 1"))
    assert play.core.wants == {AskDecision("root/1.1", 1)}
    play.tell(e.Decided("root/1.1", 1, Approve(), "person"))
    assert play.core.wants == {RunTool("root/1.1")}


def test_a_late_refusal_changes_nothing() -> None:
    """spec/faults.md c6: it stands in the log, no more."""
    play = Playbook()
    play.reply(call())
    play.approve()
    before = play.state
    play.tell(e.DecisionRefused("root/1.1", 1, "person", "decided already"))
    assert play.state == before


def test_a_tool_that_is_no_longer_waited_for_has_a_result() -> None:
    """9.3: a per-tool timeout is a result, the loop goes on."""
    play = Playbook()
    play.reply(call())
    play.approve()
    news = play.tell(e.ToolAbandoned("root/1.1", "tool timeout", "It took too long."))
    assert kinds(news) == ["IterationStarted", "ModelRequested"]
    assert play.messages[-1].tool_results == (ToolResult("look", "It took too long.", is_error=True),)


def test_a_late_end_changes_nothing() -> None:
    """9.3"""
    play = Playbook()
    play.reply(call())
    play.approve()
    play.tell(e.ToolAbandoned("root/1.1", "tool timeout", "It took too long."))
    before = play.state
    play.tell(e.ToolEndedLate("root/1.1", "returned"))
    assert play.state == before
