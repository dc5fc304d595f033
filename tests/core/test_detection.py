"""Loop detection (spec/loop.md 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit import events as e
from loopkit.core.config import LoopAction, LoopDetectionConfig
from loopkit.core.detection import Repetition, batch_signature
from loopkit.messages import Message, ToolCall, ToolDefinition, Usage
from loopkit.outcomes import Deny, LoopDetected
from tests.core.playbook import Playbook, call, invalid, kinds
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


# ── beyond the seed's ────────────────────────────────────────────────────────────────────────────────────────────────


def failing(play: Playbook, *calls: ToolCall) -> list[e.Derived]:
    """A whole turn in which every call fails."""
    news = play.reply(*calls)
    if play.state.finished is None:
        play.approve()
        for position in range(1, len(calls) + 1):
            news = play.fail(position)
    return news


def test_a_warning_carries_its_evidence() -> None:
    """6.5: which detector, what repeats, since which iteration, how often, which calls."""
    play = Playbook(loop_detection=LoopDetectionConfig(2, detectors=("identical batches", "repeated errors")))
    play.turn(call("write"))
    for _ in range(3):
        failing(play, call("look"), call("look", path="b"))
    batches, errors = play.all_of(e.RepetitionDetected)
    assert batches == e.RepetitionDetected("identical batches", "look+look", 2, "warn", 2)
    assert batches.calls == ("root/2.1", "root/2.2", "root/3.1", "root/3.2")
    assert errors == e.RepetitionDetected("repeated errors", "look", 2, "warn", 2)
    assert errors.calls == batches.calls


def test_detectors_that_fire_at_once_are_all_told() -> None:
    """6.5: in the order of the configuration, before any decision; the first that stops names the end."""
    detectors = ("unknown tools", "identical batches")
    play = Playbook(loop_detection=LoopDetectionConfig(2, LoopAction.STOP, detectors))
    play.turn(call("nope"), call("look"))
    news = play.reply(call("nope"), call("look"))
    assert kinds(news) == ["RepetitionDetected", "RepetitionDetected", "LoopFinished"]
    assert [fact.detector for fact in play.all_of(e.RepetitionDetected)] == list(detectors)
    assert play.reason == LoopDetected("nope", 2)


def test_stages_warn_then_tell_then_stop() -> None:
    """6.2, 6.3, 6.4, spec/faults.md g14: never straight to the end of the run."""
    stages = (LoopAction.WARN, LoopAction.INJECT_WARNING, LoopAction.STOP)
    play = Playbook(loop_detection=LoopDetectionConfig(2, stages=stages), max_iterations=20)
    for _ in range(5):
        play.turn(call())
    assert [message.text for message in play.request if message.role == "user"][1:] == [
        message.text for message in play.request if "4 times" in message.text
    ]
    assert kinds(play.reply(call())) == ["RepetitionDetected", "LoopFinished"]
    assert play.reason == LoopDetected("look", 6)


def test_what_the_model_is_told_fits_what_it_did() -> None:
    """6.4"""
    play = Playbook(loop_detection=LoopDetectionConfig(2, LoopAction.INJECT_WARNING, ("repeated errors",)))
    for number in range(3):
        failing(play, call("write", n=number))
    assert play.request[-1].role == "user"
    assert play.request[-1].text.startswith("write has failed 2 times in a row.")


def test_a_polling_tool_may_be_asked_while_its_answer_changes() -> None:
    """6.5, spec/faults.md g1: `ToolDefinition.polling`, with the seed's detector too."""
    poll = ToolDefinition("poll", "", {"type": "object"}, polling=True)
    play = Playbook(tools=[poll], loop_detection=LoopDetectionConfig(), max_iterations=20)
    for progress in ("10%", "20%", "30%", "40%", "40%", "40%"):
        play.reply(call("poll")), play.approve(), play.end(1, progress)
    assert detections(play) == []
    play.reply(call("poll"))
    assert play.all_of(e.RepetitionDetected) == [e.RepetitionDetected("identical batches", "poll", 3, "warn", 4)]


@pytest.mark.parametrize("when", ["between turns", "while tools run"])
def test_a_new_message_of_the_user_starts_counting_again(when: str) -> None:
    """spec/faults.md g12"""
    play = Playbook(loop_detection=LoopDetectionConfig(3))
    play.turn(call())
    play.reply(call()), play.approve()
    if when == "while tools run":
        play.tell(e.MessagesInjected((Message.user("look again"),), "person"))
    play.end(1)
    if when == "between turns":
        play.tell(e.MessagesInjected((Message.user("look again"),), "person"))
    play.turn(call()), play.turn(call())
    assert detections(play) == []
    play.turn(call())
    assert detections(play) == [("look", 3)]


def test_an_injected_warning_is_no_message_of_the_user() -> None:
    """6.2, spec/faults.md g12: what loopkit itself says doesn't start anything again."""
    play = Playbook(loop_detection=LoopDetectionConfig(2, LoopAction.INJECT_WARNING), max_iterations=20)
    for _ in range(6):
        play.turn(call())
    assert detections(play) == [("look", 2), ("look", 4), ("look", 6)]


def test_the_state_says_what_repeats() -> None:
    """spec/faults.md g10: read-only, before anything is reported."""
    play = Playbook(loop_detection=LoopDetectionConfig(3))
    play.turn(call()), play.turn(call())
    before = play.state
    looks = [play.state.repetitions for _ in range(10)]
    assert looks == [(Repetition("identical batches", "look", 2, 3, 1, ("root/1.1", "root/2.1")),)] * 10
    assert play.state == before
    play.turn(call())
    assert detections(play) == [("look", 3)]
    assert Playbook().state.repetitions == ()


def test_denied_calls_are_no_errors_and_invalid_ones_are() -> None:
    """6.5: the core tells detectors how a call ended as the log does."""
    play = Playbook(loop_detection=LoopDetectionConfig(2, detectors=("repeated errors",)), max_iterations=20)
    for number in range(3):
        play.reply(call(n=number)), play.decide(1, Deny("no"))
    assert detections(play) == []
    for number in range(3):
        play.reply(call(n=number), verdicts=(invalid(),)), play.approve()
    assert detections(play) == [("look", 2)]
