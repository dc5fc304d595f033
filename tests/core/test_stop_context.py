"""What a stop condition is told of the turns before (spec/loop.md 5)."""

from __future__ import annotations

from loopkit import events as e
from loopkit.messages import ToolResult
from loopkit.outcomes import Continue, Deny, Respond
from tests.core.playbook import Playbook, call, invalid


def test_nothing_ran_before_the_first_response() -> None:
    """5"""
    play = Playbook(stop_when=lambda _: Continue())
    play.reply(call())
    assert (play.state.iteration, play.state.tool_calls_executed, play.state.last_tool_results) == (1, 0, ())


def test_only_handlers_that_ran_are_executions() -> None:
    """5: denied, unknown, invalid and answered calls are not; failed and abandoned ones are."""
    play = Playbook()
    names = ["look", "write", "nope", "look", "ask", "look", "write"]
    verdicts = tuple(invalid() if place == 3 else e.CallVerdict() for place in range(7))
    play.reply(*(call(name, f"c{place}") for place, name in enumerate(names)), verdicts=verdicts)
    play.decide(1), play.decide(2, Deny("no")), play.decide(3), play.decide(4), play.decide(5, Respond("yes"))
    play.decide(6), play.decide(7)
    play.end(1), play.fail(6), play.tell(e.ToolAbandoned(play.key(7), "tool timeout", "too long"))
    assert play.state.tool_calls_executed == 3
    assert len(play.state.last_tool_results) == 7
    assert play.state.last_tool_results[1] == ToolResult("c1", "no", is_error=True)


def test_executions_add_up_and_results_are_of_the_turn_before() -> None:
    """5"""
    play = Playbook()
    play.turn(call(), call("write"))
    play.turn(call("ask"))
    assert play.state.tool_calls_executed == 3
    assert play.state.last_tool_results == (ToolResult("ask", "done"),)
