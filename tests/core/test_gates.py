"""Gates, pauses and stops (DESIGN §1, §5, §8; spec/loop.md 3.6, 3.7, 3.13)."""

from __future__ import annotations

from loopkit import events as e
from loopkit.core.state import AskDecision, CallModel, RunTool
from loopkit.messages import Message, ToolCall, ToolResult, Usage
from loopkit.outcomes import Cancelled, Complete, Deny, StopCondition, Timeout
from tests.core.playbook import Playbook, call, kinds


def test_gates_are_passed_in_order() -> None:
    """3.6, 3.7, 3.13: before the request, after the response, before each call, after each result."""
    play = Playbook()
    play.turn(call(), call("write"))
    play.reply(text="done")
    assert play.passed == [
        "root/1.request",
        "root/1.response",
        "root/1.1.call",
        "root/1.2.call",
        "root/1.1.result",
        "root/1.2.result",
        "root/2.request",
        "root/2.response",
    ]


def test_calls_that_do_not_run_have_no_gate() -> None:
    """3.13: a denied or unknown call is decided, there is nothing left to stop before."""
    play = Playbook()
    play.reply(call(), call("nope"), call("write"))
    play.decide(1, Deny("no")), play.decide(2), play.decide(3)
    assert [gate for gate in play.passed if gate.endswith(".call")] == ["root/1.3.call"]


def test_a_gate_sees_what_follows_before_it_stands_in_the_log() -> None:
    """DESIGN §8"""
    play = Playbook(stand_at=["root/1.1.call"])
    play.reply(call())
    play.approve()
    assert play.all_of(e.ToolStarted) == []
    assert play.state.paused == "root/1.1.call"
    assert play.core.wants == frozenset()


def test_a_pause_withholds_what_follows() -> None:
    """DESIGN §5, §8: until somebody resumes."""
    play = Playbook(stand_at=["root/1.request"])
    assert kinds(play.derived) == ["IterationStarted"]
    assert play.core.due() is None
    assert play.core.gates() == ()
    assert play.tell(e.Resumed("root/1.request", "person")) == play.all_of(e.ModelRequested)


def test_a_pause_withdraws_nothing() -> None:
    """DESIGN §8: what runs goes on, its result is taken in."""
    play = Playbook(stand_at=["root/1.2.call"])
    play.reply(call(), call("write"))
    play.approve()
    assert play.core.wants == {RunTool("root/1.1")}
    assert play.end(1) == []
    assert play.core.wants == frozenset()
    assert play.tell(e.Resumed("root/1.2.call", "person")) == [e.ToolStarted("root/1.2")]


def test_decisions_are_taken_while_the_loop_stands() -> None:
    """DESIGN §5"""
    play = Playbook(stand_at=["root/1.response"])
    play.reply(call())
    assert play.core.wants == frozenset()
    play.tell(e.Resumed("root/1.response", "person"))
    assert play.core.wants == {AskDecision("root/1.1", 1)}
    play.tell(e.Paused("root/1.1.call", "person"))
    assert play.decide(1) == []
    assert play.tell(e.Resumed("root/1.1.call", "person")) == [e.ToolStarted("root/1.1")]


def test_an_answer_that_comes_in_a_pause_is_taken_in() -> None:
    """DESIGN §5: a pause lets a running response come to its end."""
    play = Playbook()
    play.tell(e.Paused("root/1.response", "person"))
    assert play.core.wants == {CallModel(1, 1)}
    assert play.reply(text="done") == []
    assert kinds(play.tell(e.Resumed("root/1.response", "person"))) == ["LoopFinished"]
    assert play.reason == Complete()


def test_a_loop_that_ends_stands_at_no_gate() -> None:
    """DESIGN §5: stop interrupts at any moment, also at a gate."""
    play = Playbook(stand_at=["root/1.request"])
    assert kinds(play.stop()) == ["LoopFinished"]
    assert play.state.finished == e.LoopFinished(Cancelled(None), 0, Usage())
    assert play.state.paused is None


def test_stopping_while_the_model_answers() -> None:
    """7.4, 9.5: interrupted, then ended as cancelled, nothing wanted any more."""
    play = Playbook()
    assert kinds(play.stop("enough")) == ["LoopFinished"]
    assert play.reason == Cancelled("enough")
    assert play.core.wants == frozenset()


def test_a_stop_waits_for_what_runs() -> None:
    """DESIGN §5: the call's end comes before the loop's."""
    play = Playbook()
    play.reply(call())
    play.approve()
    assert play.tell(e.RunStopped("person")) == []
    assert kinds(play.tell(e.ToolAbandoned("root/1.1", "stopped"))) == ["LoopFinished"]


def test_stopping_while_decisions_are_pending() -> None:
    """7.4: the calls stay without results; nothing runs."""
    play = Playbook()
    play.reply(call(), call("write"))
    play.decide(2)
    play.stop()
    assert play.reason == Cancelled(None)
    assert play.all_of(e.ToolStarted) == []
    assert play.messages[-1].tool_calls == (call(), call("write"))


def test_stopping_a_stopped_loop_keeps_the_first_reason() -> None:
    """9.5"""
    play = Playbook(timeout=5)
    play.tell(e.ClockRead(0.0))
    play.tell(e.ClockRead(5.0))
    assert play.state.finished is None
    play.tell(e.RunStopped("caller"), e.ModelInterrupted("timeout"))
    assert play.reason == Timeout(5.0)


def test_a_timeout_interrupts_what_runs() -> None:
    """9.3: what was received is kept; a result that came in time too."""
    play = Playbook(timeout=5)
    play.tell(e.ClockRead(0.0))
    play.reply(call("look", "a"), call("write", "b"))
    play.approve()
    play.end(1, "in time")
    play.tell(e.ClockRead(5.1))
    assert play.core.wants == frozenset()
    play.tell(e.ToolAbandoned("root/1.2", "timeout"))
    assert play.reason == Timeout(5.0)
    assert play.messages[-1].tool_results == (ToolResult("a", "in time"),)


def test_the_clock_may_be_read_in_time_without_consequence() -> None:
    """3.4: a reading below the limit ends nothing."""
    play = Playbook(timeout=5)
    play.tell(e.ClockRead(4.999999))
    assert play.state.finished is None
    assert play.core.wants == {CallModel(1, 1)}


def test_a_failing_callback_leaves_the_gate() -> None:
    """4.4: a loop that is about to end stands nowhere."""
    play = Playbook()
    play.reply(call(), call("write"))
    play.tell(e.Paused("root/1.1.call", "person"))
    play.tell(e.CallbackFailed("on_tool_call", e.Failure("KeyError", "x")))
    assert play.failure is not None
    assert play.state.paused is None


def test_a_stop_command_in_a_pause_takes_effect_when_resumed() -> None:
    """3.3"""
    play = Playbook(stand_at=["root/1.1.result"])
    play.turn(call())
    assert play.tell(e.StopCommanded("enough")) == []
    play.tell(e.Resumed("root/1.1.result", "person"))
    assert play.reason == StopCondition("enough")


def test_messages_injected_at_the_request_gate_are_in_that_request() -> None:
    """3.3, DESIGN §5"""
    play = Playbook(stand_at=["root/1.request"])
    play.tell(e.MessagesInjected((Message.user("first this"),), "person"))
    play.tell(e.Resumed("root/1.request", "person"))
    assert play.all_of(e.ModelRequested)[0].message_count == 2
    assert play.request[-1].text == "first this"


def test_a_call_of_another_response_is_refused_loudly() -> None:
    """A log that was changed by hand never changes a state silently."""
    play = Playbook()
    play.reply(ToolCall("c1", "look"))
    for key in ("root/2.1", "root/1.2", "root/1.0", "root/1.x", "elsewhere/1.1", "root/1.1#1/1.1"):
        assert play.state.call_state(key) is None
