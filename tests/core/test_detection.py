"""Loop detection (spec/loop.md 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit import events as e
from loopkit.core.config import LoopAction, LoopDetectionConfig
from loopkit.core.detection import batch_signature
from loopkit.messages import ToolCall, Usage
from loopkit.outcomes import LoopDetected
from tests.core.playbook import Playbook, call, kinds
from tests.strategies import json_objects


def detections(play: Playbook) -> list[tuple[str, int]]:
    return [(fact.tool_name, fact.count) for fact in play.all_of(e.RepetitionDetected)]


def same(one: Sequence[ToolCall], other: Sequence[ToolCall]) -> bool:
    return batch_signature(tuple(one)) == batch_signature(tuple(other))


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": {"b": [1, {"c": 2, "d": 3}]}}, {"a": {"b": [1.0, {"d": 3, "c": 2.0}]}}, True),
        ({"a": True}, {"a": 1}, False),
        ({"a": False}, {"a": 0}, False),
        ({"a": [True]}, {"a": [1.0]}, False),
        ({"a": None}, {}, False),
        ({"a": "1"}, {"a": 1}, False),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": 2**63 + 1}, {"a": 2**63}, False),
        ({"a": -0.0}, {"a": 0}, True),
        ({"a": 1e30}, {"a": 10**30}, False),
        ({"a": "\ud800"}, {"a": "\ud801"}, False),
    ],
)
def test_batches_are_equal_when_their_arguments_are_equal_json(
    one: dict[str, Any], other: dict[str, Any], equal: bool
) -> None:
    """6.1, spec/faults.md g5: key order is irrelevant, 1 equals 1.0, `true` does not equal 1."""
    assert same([ToolCall("a", "look", one)], [ToolCall("b", "look", other)]) is equal


def test_ids_are_ignored_and_names_and_order_are_not() -> None:
    """6.1"""
    one, other = ToolCall("1", "look", {"p": 1}), ToolCall("2", "write", {"p": 1})
    assert same([one, other], [ToolCall("3", "look", {"p": 1}), ToolCall("3", "write", {"p": 1})])
    assert not same([one, other], [other, one])
    assert not same([one], [one, one])
    assert not same([one], [ToolCall("1", "write", {"p": 1})])


def test_arguments_that_are_no_json_are_compared_as_text() -> None:
    """6.1, spec/faults.md g5"""
    broken = ToolCall("1", "look", raw_arguments="{a", problem="invalid JSON")
    assert same([broken], [ToolCall("2", "look", raw_arguments="{a", problem="another word on it")])
    assert not same([broken], [ToolCall("1", "look", raw_arguments="{b", problem="invalid JSON")])
    assert not same([broken], [ToolCall("1", "look")])


@given(json_objects())
def test_any_arguments_equal_themselves(arguments: dict[str, Any]) -> None:
    """6.1"""
    turned = dict(reversed(list(arguments.items())))
    assert same([ToolCall("1", "look", arguments)], [ToolCall("2", "look", turned)])


@given(st.integers(-(2**60), 2**60), st.booleans())
def test_a_number_never_equals_a_truth_value(number: int, truth: bool) -> None:
    """6.1"""
    assert not same([ToolCall("1", "look", {"a": number})], [ToolCall("1", "look", {"a": truth})])


@pytest.mark.parametrize("action", list(LoopAction))
def test_it_fires_at_every_multiple_of_the_threshold(action: LoopAction) -> None:
    """6.2: 3, 6, 9 … for all three actions; a stop ends the loop at the first."""
    play = Playbook(loop_detection=LoopDetectionConfig(3, action), max_iterations=20)
    for _ in range(9):
        if play.state.finished is None:
            play.turn(call())
    fired = [("look", 3)] if action is LoopAction.STOP else [("look", 3), ("look", 6), ("look", 9)]
    assert detections(play) == fired


def test_a_different_batch_starts_again_at_one() -> None:
    """6.2, spec/faults.md g12"""
    play = Playbook(loop_detection=LoopDetectionConfig(3))
    for path in ("a", "a", "b", "a", "a"):
        play.turn(call(path=path))
    assert detections(play) == []
    play.turn(call(path="a"))
    (fact,) = play.all_of(e.RepetitionDetected)
    assert fact == e.RepetitionDetected("identical batches", "look", 3, "warn", 4)


def test_the_name_of_a_batch_is_joined() -> None:
    """6.2"""
    play = Playbook(loop_detection=LoopDetectionConfig(2))
    for _ in range(2):
        play.turn(call("look"), call("write"), call("look"))
    assert detections(play) == [("look+write+look", 2)]


def test_it_is_off_unless_asked_for() -> None:
    """2"""
    play = Playbook(max_iterations=50)
    for _ in range(20):
        play.turn(call())
    assert play.all_of(e.RepetitionDetected) == []


def test_given_bare_it_warns_at_three() -> None:
    """2"""
    assert LoopDetectionConfig() == LoopDetectionConfig(threshold=3, action=LoopAction.WARN)


def test_a_warning_is_an_event_only() -> None:
    """6.3"""
    play = Playbook(loop_detection=LoopDetectionConfig(2, LoopAction.WARN))
    play.turn(call()), play.turn(call())
    assert [message.role for message in play.request] == ["user", "assistant", "tool", "assistant", "tool"]


def test_a_stop_is_a_result_with_the_response_intact() -> None:
    """6.3: calls not executed; not an exception."""
    play = Playbook(loop_detection=LoopDetectionConfig(2, LoopAction.STOP))
    play.turn(call())
    news = play.reply(call(), text="again")
    assert kinds(news) == ["RepetitionDetected", "LoopFinished"]
    assert play.state.finished == e.LoopFinished(LoopDetected("look", 2), 2, Usage(unreported=2))
    assert play.messages[-1].text == "again"
    assert play.messages[-1].tool_calls == (call(),)
    assert len(play.all_of(e.ToolStarted)) == 1


def test_an_injected_warning_comes_behind_the_results() -> None:
    """6.4: the calls still run; it names tool and count, and is no system message, which would never reach Anthropic."""
    play = Playbook(loop_detection=LoopDetectionConfig(2, LoopAction.INJECT_WARNING))
    play.turn(call("look", "a"), call("write", "b"))
    play.turn(call("look", "a"), call("write", "b"))
    assert [message.role for message in play.request[-4:]] == ["assistant", "tool", "tool", "user"]
    assert "look+write" in play.request[-1].text
    assert "2 times" in play.request[-1].text
    assert len(play.all_of(e.ToolStarted)) == 4


def test_each_firing_injects_one_warning() -> None:
    """6.2, 6.4"""
    play = Playbook(loop_detection=LoopDetectionConfig(2, LoopAction.INJECT_WARNING))
    for _ in range(5):
        play.turn(call())
    warnings = [message for message in play.request[1:] if message.role == "user"]
    assert [("2 times" in m.text, "4 times" in m.text) for m in warnings] == [(True, False), (False, True)]


def test_denied_and_unknown_calls_repeat_too() -> None:
    """6.1: the unit is what the model asks for."""
    play = Playbook(loop_detection=LoopDetectionConfig(2))
    play.turn(call("nope")), play.turn(call("nope"))
    assert detections(play) == [("nope", 2)]
