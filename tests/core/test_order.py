"""The order of things within an iteration (spec/loop.md 3)."""

from __future__ import annotations

import pytest

from loopkit import events as e
from loopkit.core.config import LoopAction, LoopDetectionConfig
from loopkit.core.state import AskDecision, AskStopCondition, CallModel, ReadClock, RunTool
from loopkit.messages import Message, StopReason, ToolCall, Usage
from loopkit.outcomes import Approve, Complete, Continue, Deny, MaxIterations, StopCondition, Timeout, UnknownTool
from tests.core.playbook import Playbook, call, invalid, kinds


def test_a_loop_begins_by_asking_the_model() -> None:
    """3.6: the iteration starts, then the request goes out."""
    play = Playbook()
    assert kinds(play.derived) == ["IterationStarted", "ModelRequested"]
    assert play.core.wants == {CallModel(1, 1)}
    assert [event.iteration for event in play.events] == [0, 1, 1]


def test_an_answer_without_calls_completes_the_loop() -> None:
    """3.9"""
    play = Playbook()
    play.reply(text="hello", usage=Usage(10, 5))
    assert play.reason == Complete()
    assert play.state.finished == e.LoopFinished(Complete(), 1, Usage(10, 5))
    assert play.messages == [Message.user("go"), Message.assistant("hello")]
    assert play.core.wants == frozenset()


def test_calls_decide_whatever_the_finish_reason_says() -> None:
    """3.9, spec/faults.md a18"""
    play = Playbook()
    play.reply(call(), call("write"), stop_reason=StopReason.END_TURN)
    assert kinds(play.derived)[-2:] == ["DecisionRequested", "DecisionRequested"]


def test_a_finish_reason_without_calls_ends_the_turn() -> None:
    """3.9, spec/faults.md a19"""
    play = Playbook()
    play.reply(stop_reason=StopReason.TOOL_CALLS)
    assert play.reason == Complete()
    assert play.state.requests == 1


def test_no_iterations_allowed_makes_no_model_call() -> None:
    """3.5"""
    play = Playbook(max_iterations=0)
    assert play.reason == MaxIterations(0)
    assert play.state.finished == e.LoopFinished(MaxIterations(0), 0, Usage())


def test_the_limit_makes_no_phantom_iteration() -> None:
    """3.5: `iterations` is the number of model calls made."""
    play = Playbook(max_iterations=2)
    play.turn(call())
    news = play.turn(call(path="b"))
    assert news == [e.LoopFinished(MaxIterations(2), 2, Usage(unreported=2))]
    assert play.state.iteration == 2
    assert play.messages[-1].role == "tool"


def test_a_limit_is_no_matter_for_a_final_answer() -> None:
    """3.5, 3.9"""
    play = Playbook(max_iterations=1)
    play.reply(text="done")
    assert play.reason == Complete()


def test_a_timeout_of_zero_ends_at_once() -> None:
    """3.4: no model call, no iteration, no clock."""
    play = Playbook(timeout=0)
    assert kinds(play.derived) == ["LoopFinished"]
    assert play.reason == Timeout(0.0)
    assert play.state.iteration == play.state.requests == 0


def test_the_clock_is_read_only_when_a_timeout_is_set() -> None:
    """3.4"""
    assert Playbook().core.wants == {CallModel(1, 1)}
    play = Playbook(timeout=10)
    assert play.derived == []
    assert play.core.wants == {ReadClock(1)}
    assert kinds(play.tell(e.ClockRead(0.0))) == ["IterationStarted", "ModelRequested"]


def test_time_over_before_a_turn_ends_without_a_model_call() -> None:
    """3.4: at the limit is over the limit."""
    play = Playbook(timeout=10)
    play.tell(e.ClockRead(0.0))
    play.turn(call())
    assert play.core.wants == {ReadClock(2)}
    play.tell(e.ClockRead(10.0))
    assert play.reason == Timeout(10.0)
    assert play.state.requests == 1


def test_the_timeout_outranks_the_iteration_limit() -> None:
    """3.4 stands before 3.5."""
    play = Playbook(timeout=10, max_iterations=0)
    play.tell(e.ClockRead(11.0))
    assert play.reason == Timeout(10.0)


def test_a_stop_command_outranks_the_timeout() -> None:
    """3.3 stands before 3.4: the clock isn't read any more."""
    play = Playbook(timeout=10)
    play.tell(e.StopCommanded("enough"))
    assert play.reason == StopCondition("enough")
    assert play.core.wants == frozenset()


def test_a_stop_command_lets_the_turn_end_first() -> None:
    """3.3: a command is looked at before the next turn."""
    play = Playbook()
    play.reply(call())
    play.tell(e.StopCommanded("enough"))
    assert play.state.finished is None
    play.approve()
    assert kinds(play.end(1)) == ["LoopFinished"]
    assert play.reason == StopCondition("enough")
    assert play.messages[-1].tool_results[0].content == "done"


def test_a_stop_command_without_reason() -> None:
    """3.3"""
    play = Playbook()
    play.tell(e.StopCommanded())
    play.turn(call())
    assert play.reason == StopCondition(None)


def test_injected_messages_reach_the_next_request() -> None:
    """3.3: behind the results, so that the history stays valid."""
    play = Playbook()
    play.reply(call())
    play.tell(e.MessagesInjected((Message.user("also this"),), "person"))
    play.approve()
    play.end(1)
    assert [message.role for message in play.request] == ["user", "assistant", "tool", "user"]
    assert play.request[-1].text == "also this"


def test_messages_injected_while_the_model_answers_wait_for_the_answer() -> None:
    """3.3: the request that is on its way does not change."""
    play = Playbook()
    (request,) = play.all_of(e.ModelRequested)
    play.tell(e.MessagesInjected((Message.user("late"),), "person"))
    assert len(play.state.sendable) == request.message_count
    play.turn(call())
    assert [message.text for message in play.request if message.role == "user"] == ["go", "late"]


def test_usage_is_added_before_anybody_is_asked() -> None:
    """3.7: so that `stop_when` sees it."""
    play = Playbook(stop_when=lambda _: Continue())
    play.reply(text="hi", usage=Usage(7, 3))
    assert play.state.usage == Usage(7, 3)
    assert play.core.wants == {AskStopCondition(1)}


def test_unreported_usage_is_marked() -> None:
    """3.7, DESIGN §5: unknown usage is marked unknown."""
    play = Playbook()
    play.turn(call())
    play.reply(text="done", usage=Usage(1, 1))
    assert play.state.usage == Usage(1, 1, unreported=1)


def test_a_stop_condition_keeps_the_response_and_runs_nothing() -> None:
    """3.8: the response intact, its calls not executed."""
    play = Playbook(stop_when=lambda _: Continue())
    play.reply(call(), text="I will look")
    assert play.tell(e.StopAnswered(True, "seen enough")) == [
        e.LoopFinished(StopCondition("seen enough"), 1, Usage(unreported=1))
    ]
    assert play.messages[-1] == Message.assistant("I will look", [call()])


def test_the_stop_condition_sees_a_final_answer_too() -> None:
    """3.8"""
    play = Playbook(stop_when=lambda _: Continue())
    play.reply(text="done")
    assert play.state.finished is None
    play.tell(e.StopAnswered(True, "why not"))
    assert play.reason == StopCondition("why not")


def test_the_stop_condition_comes_before_everything_else() -> None:
    """3.8 stands before 3.9, 3.10 and 3.11."""
    play = Playbook(
        stop_when=lambda _: Continue(),
        terminate_on_unknown_calls=True,
        loop_detection=LoopDetectionConfig(2, LoopAction.STOP),
    )
    assert play.reply(call("nope")) == []
    play.tell(e.StopAnswered(True))
    assert play.reason == StopCondition(None)
    assert play.all_of(e.RepetitionDetected) == []


def test_unknown_calls_end_the_loop_before_detection_and_approval() -> None:
    """3.10, 8.7: no call of that response runs, known ones neither."""
    play = Playbook(terminate_on_unknown_calls=True, loop_detection=LoopDetectionConfig(2, LoopAction.WARN))
    play.turn(call())
    assert kinds(play.reply(call(), call("nope"), call("neither"))) == ["LoopFinished"]
    assert play.reason == UnknownTool("nope")
    play = Playbook(terminate_on_unknown_calls=True)
    assert kinds(play.reply(call())) == ["DecisionRequested"]


def test_detection_comes_before_decisions() -> None:
    """3.11 stands before 3.12."""
    play = Playbook(loop_detection=LoopDetectionConfig(2))
    play.turn(call())
    assert kinds(play.reply(call())) == ["RepetitionDetected", "DecisionRequested"]


def test_all_decisions_are_pending_before_anything_runs() -> None:
    """3.12: in call order, unknown tools and invalid arguments too; spec/faults.md c4."""
    play = Playbook()
    news = play.reply(
        call(), call("nope"), call("write"), verdicts=(e.CallVerdict(), e.CallVerdict(), invalid("is required"))
    )
    assert news == [
        e.DecisionRequested("root/1.1", 1, "look"),
        e.DecisionRequested("root/1.2", 1, "nope"),
        e.DecisionRequested("root/1.3", 1, "write"),
    ]
    assert play.core.wants == {AskDecision(f"root/1.{place}", 1) for place in (1, 2, 3)}


def test_nothing_runs_until_all_are_decided() -> None:
    """3.12, spec/faults.md c3: also when answered in reverse order."""
    play = Playbook()
    play.reply(call(), call("write"), call("ask"))
    assert play.decide(3) == []
    assert play.decide(2, Deny("no")) == []
    assert kinds(play.decide(1)) == ["ToolStarted", "ToolSkipped", "ToolStarted"]


def test_approved_calls_run_at_once_in_parallel() -> None:
    """3.13"""
    play = Playbook()
    play.reply(call(), call("write"))
    play.approve()
    assert play.core.wants == {RunTool("root/1.1"), RunTool("root/1.2")}


def test_approved_calls_run_one_by_one_when_asked() -> None:
    """2: `parallel_tool_execution=False`"""
    play = Playbook(parallel_tool_execution=False)
    play.reply(call(), call("nope"), call("write"))
    assert play.approve() == [e.ToolStarted("root/1.1"), play.all_of(e.ToolSkipped)[0]]
    assert play.core.wants == {RunTool("root/1.1")}
    assert play.end(1) == [e.ToolStarted("root/1.3")]
    assert kinds(play.end(3)) == ["IterationStarted", "ModelRequested"]


def test_results_enter_the_history_in_call_order() -> None:
    """3.14, spec/faults.md d9: the log keeps completion order; exactly one result per call, denied ones in place (b4)."""
    play = Playbook()
    play.reply(call("look", "a"), call("write", "b"), call("ask", "c"))
    play.decide(1), play.decide(2, Deny("not that")), play.decide(3)
    play.end(3, "third")
    play.end(1, "first")
    assert [fact.call for fact in play.all_of(e.ToolReturned)] == ["root/1.3", "root/1.1"]
    results = [message.tool_results[0] for message in play.messages if message.role == "tool"]
    assert [(result.tool_call_id, result.content) for result in results] == [
        ("a", "first"),
        ("b", "not that"),
        ("c", "third"),
    ]


def test_the_next_iteration_follows() -> None:
    """3.15"""
    play = Playbook()
    news = play.turn(call())
    assert kinds(news) == ["IterationStarted", "ModelRequested"]
    assert play.events[-1].iteration == 2
    assert play.core.wants == {CallModel(2, 1)}


@pytest.mark.parametrize(
    ("calls", "stop_reason"),
    [
        ([ToolCall("c1", "look", cut_off=True)], StopReason.TOOL_CALLS),
        ([ToolCall("c1", "look", {"path": "x"})], StopReason.MAX_TOKENS),
    ],
    ids=["by the stream", "by the output limit"],
)
def test_a_call_that_was_cut_off_never_runs(calls: list[ToolCall], stop_reason: StopReason) -> None:
    """3.9, spec/faults.md a20: its result says so, and nobody is asked about it."""
    play = Playbook()
    news = play.reply(*calls, stop_reason=stop_reason)
    assert kinds(news) == ["ToolSkipped", "IterationStarted", "ModelRequested"]
    assert play.all_of(e.ToolSkipped)[0].cause == "cut off"
    result = play.messages[-1].tool_results[0]
    assert result.is_error
    assert "cut off" in result.content


def test_calls_before_the_one_cut_off_run() -> None:
    """3.9: only the last of a response can be cut by the output limit."""
    play = Playbook()
    play.reply(call("look", "a"), call("write", "b"), stop_reason=StopReason.MAX_TOKENS)
    assert play.core.wants == {AskDecision("root/1.1", 1)}
    assert play.approve(1) == [e.ToolStarted("root/1.1")]
    play.end(1, "fine")
    assert [message.tool_results[0].is_error for message in play.messages if message.role == "tool"] == [False, True]


def test_an_iteration_of_calls_cut_off_only_goes_on() -> None:
    """3.9"""
    play = Playbook()
    play.reply(ToolCall("a", "look", cut_off=True), ToolCall("b", "look", cut_off=True))
    assert len([message for message in play.messages if message.role == "tool"]) == 2
    assert play.state.iteration == 2


def test_a_provider_error_ends_the_loop_with_it() -> None:
    """9.2"""
    play = Playbook()
    failure = e.Failure("ProviderError", "bad request", 400, None, "req-1")
    assert play.tell(e.ModelAttemptFailed(1, failure)) == [e.LoopFailed(failure, 1, Usage())]
    assert play.failure == failure


def test_a_failed_attempt_may_be_tried_again() -> None:
    """9.2: every attempt is recorded; it is still one model call."""
    play = Playbook()
    assert kinds(play.tell(e.ModelAttemptFailed(1, e.Failure("ProviderError", "busy", 429), retry=True))) == [
        "ModelRequested"
    ]
    assert play.core.wants == {CallModel(1, 2)}
    play.reply(text="done")
    assert play.state.finished == e.LoopFinished(Complete(), 1, Usage(unreported=1))


def test_a_finished_loop_derives_nothing_more() -> None:
    """3.2"""
    play = Playbook()
    play.reply(text="done")
    for fact in (e.StopCommanded(), e.RunStopped("person"), e.ToolEndedLate("root/1.1", "returned"), e.ClockRead(9.0)):
        assert play.tell(fact) == []
    assert play.reason == Complete()
    assert play.core.gates() == ()


def test_deciding_reads_and_changes_nothing() -> None:
    """DESIGN §8, spec/faults.md g10: asking twice gives the same."""
    play = Playbook(stand_at=["root/1.request"], loop_detection=LoopDetectionConfig(2))
    before = play.state
    for _ in range(3):
        assert play.core.due() is None
        play.core.gates()
    assert play.state is before
    play.tell(e.Resumed("root/1.request", "person"))
    play.reply(call())
    assert play.core.due() is play.core.due() is None


def test_approving_by_default_is_a_decision_too() -> None:
    """3.12: who decided stands in the log."""
    play = Playbook()
    play.reply(call())
    play.tell(e.Decided("root/1.1", 1, Approve(), "default"))
    assert play.core.wants == {RunTool("root/1.1")}
