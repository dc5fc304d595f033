"""Which iterations count against the error limit, and when a loop ends at it (spec/loop.md 8.5, 8.6)."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit import events as e
from loopkit.messages import ToolCall
from loopkit.outcomes import Deny, Modify, Respond
from tests.core.playbook import Playbook, call, invalid, kinds


def failed_once(limit: int = 9, **config: Any) -> Playbook:
    """A loop behind one iteration that failed."""
    play = Playbook(maximum_consecutive_errors=limit, **config)
    play.reply(call("look"))
    play.approve()
    play.fail(1)
    assert play.state.consecutive_errors == 1
    return play


def test_an_iteration_counts_once_however_many_of_its_handlers_failed() -> None:
    """8.5"""
    play = Playbook(maximum_consecutive_errors=9)
    play.reply(call("look"), call("write"), call("ask"))
    play.approve()
    play.fail(1)
    play.end(2, is_error=True)
    play.end(3)
    assert play.state.consecutive_errors == 1


def test_a_result_that_says_it_is_an_error_counts_as_one_that_was_raised() -> None:
    """8.5: `ToolOutput(is_error=True)`."""
    play = failed_once()
    play.reply(call("look"))
    play.approve()
    play.end(1, is_error=True)
    assert play.state.consecutive_errors == 2


def test_a_tool_that_was_abandoned_at_its_time_limit_failed() -> None:
    """8.5, 9.3"""
    play = failed_once()
    play.reply(call("look"))
    play.approve()
    play.tell(e.ToolAbandoned(play.key(1), "tool timeout", "too slow"))
    assert play.state.consecutive_errors == 2


def test_an_iteration_without_a_failure_resets_the_count() -> None:
    """8.5"""
    play = failed_once()
    play.turn(call("look"))
    assert play.state.consecutive_errors == 0


def test_an_iteration_of_unknown_calls_only_resets_the_count() -> None:
    """8.5"""
    play = failed_once()
    play.reply(call("nope"), call("nor this"))
    play.approve()
    assert play.state.consecutive_errors == 0


def test_invalid_arguments_are_no_failure() -> None:
    """8.5: nothing was executed, so that nothing failed and the count is reset."""
    play = failed_once()
    play.reply(call("look"), verdicts=(invalid(),))
    play.approve()
    assert play.state.consecutive_errors == 0


def test_an_edit_that_the_schema_refuses_is_no_failure() -> None:
    """8.5, 4.3"""
    play = failed_once()
    play.reply(call("look"))
    play.decide(1, Modify({"path": 1}), verdict=invalid())
    assert play.state.consecutive_errors == 0


def test_an_iteration_whose_calls_were_all_denied_neither_counts_nor_resets() -> None:
    """8.5: denied unknown calls and calls that nobody decided on included."""
    play = failed_once()
    play.reply(call("look"), call("nope"), call("write"))
    play.decide(1, Deny("no"))
    play.decide(2, Deny())
    play.tell(e.DecisionExpired(play.key(3), 1))
    assert play.state.consecutive_errors == 1
    play.reply(call("look"))
    play.approve()
    play.fail(1)
    assert play.state.consecutive_errors == 2


@pytest.mark.parametrize("other", ["look", "nope"])
def test_one_call_beside_denied_ones_that_is_not_denied_resets_the_count(other: str) -> None:
    """8.5"""
    play = failed_once()
    play.reply(call("write"), call(other))
    play.decide(1, Deny("no"))
    play.decide(2)
    if other == "look":
        play.end(2)
    assert play.state.consecutive_errors == 0


@pytest.mark.parametrize("is_error", [False, True])
def test_an_answer_in_the_tools_place_is_no_failure_of_a_handler(is_error: bool) -> None:
    """8.5: only executed handlers fail."""
    play = failed_once()
    play.reply(call("look"))
    play.decide(1, Respond("made up", is_error))
    assert play.state.consecutive_errors == 0


def test_a_cut_off_call_is_no_failure() -> None:
    """8.5, 3.9"""
    play = failed_once()
    play.reply(ToolCall("a", "look", cut_off=True))
    assert play.state.consecutive_errors == 0


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_the_limit_is_how_many_iterations_in_a_row_may_fail(limit: int) -> None:
    """8.5: 0 re-raises the first failure."""
    play = Playbook(maximum_consecutive_errors=limit)
    for _ in range(limit):
        play.reply(call("look"))
        play.approve()
        play.fail(1)
        assert play.failure is None
    play.reply(call("look"))
    play.approve()
    play.fail(1)
    assert play.failure == e.Failure("ValueError", "no")
    assert play.state.iteration == limit + 1


def test_without_a_limit_failures_never_end_the_loop() -> None:
    """2"""
    play = Playbook(max_iterations=50)
    for _ in range(20):
        play.reply(call("look"))
        play.approve()
        play.fail(1)
    assert play.failure is None
    assert play.state.consecutive_errors == 20


def test_sequential_calls_without_error_budget_end_at_the_first_failure() -> None:
    """8.6: the calls behind it never start."""
    play = Playbook(maximum_consecutive_errors=0, parallel_tool_execution=False)
    play.reply(call("look"), call("write"), call("ask"))
    play.approve()
    play.end(1)
    assert kinds(play.fail(2)) == ["LoopFailed"]
    assert [started.call for started in play.all_of(e.ToolStarted)] == ["root/1.1", "root/1.2"]
    assert play.failure == e.Failure("ValueError", "no")


def test_sequential_calls_with_error_budget_left_run_to_the_end_of_their_batch() -> None:
    """8.6"""
    play = Playbook(maximum_consecutive_errors=1, parallel_tool_execution=False)
    play.reply(call("look"), call("write"))
    play.approve()
    assert kinds(play.fail(1)) == ["ToolStarted"]
    play.fail(2)
    assert play.failure is None
    assert play.state.consecutive_errors == 1


def test_a_concurrent_batch_runs_to_its_end_before_the_loop_fails() -> None:
    """8.6"""
    play = Playbook(maximum_consecutive_errors=0)
    play.reply(call("look"), call("write"), call("ask"))
    play.approve()
    assert play.fail(3) == []
    assert play.end(2) == []
    assert kinds(play.fail(1)) == ["LoopFailed"]
    assert play.failure == e.Failure("ExceptionGroup", "2 tools failed: look, ask")
    assert len(play.all_of(e.ToolReturned)) + len(play.all_of(e.ToolFailed)) == 3
