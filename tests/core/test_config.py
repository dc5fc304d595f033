"""Settings of a loop, and how they stand in the log (spec/loop.md 2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from loopkit.core.config import LoopAction, LoopDetectionConfig, LoopRules, ToolLoopConfig
from loopkit.outcomes import Approve, Continue


def test_the_defaults_are_the_seeds() -> None:
    """2"""
    config = ToolLoopConfig()
    assert (config.max_iterations, config.parallel_tool_execution, config.max_depth) == (10, True, 3)
    assert (config.max_runs, config.max_concurrent_runs) == (100, 16)
    unset = ("on_tool_call", "stop_when", "loop_detection", "timeout", "maximum_consecutive_errors")
    assert [getattr(config, name) for name in unset] == [None] * 5
    assert not config.terminate_on_unknown_calls


@pytest.mark.parametrize(
    "name", ["max_iterations", "max_depth", "maximum_consecutive_errors", "max_runs", "max_concurrent_runs", "timeout"]
)
@pytest.mark.parametrize("value", [-1, float("nan")])
def test_a_negative_limit_is_refused_by_name(name: str, value: float) -> None:
    """2"""
    settings: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=name):
        ToolLoopConfig(**settings)


@pytest.mark.parametrize("threshold", [1, 0, -3])
def test_a_threshold_below_two_is_refused(threshold: int) -> None:
    """2"""
    with pytest.raises(ValueError, match="threshold"):
        LoopDetectionConfig(threshold)


def test_a_negative_timedelta_is_refused() -> None:
    """2"""
    with pytest.raises(ValueError, match="timeout"):
        ToolLoopConfig(timeout=timedelta(seconds=-1))


def test_a_timeout_is_seconds_or_a_timedelta() -> None:
    """2"""
    assert ToolLoopConfig(timeout=timedelta(minutes=1)) == ToolLoopConfig(timeout=60.0)
    assert ToolLoopConfig(timeout=timedelta(milliseconds=1)).timeout_seconds == 0.001


def test_an_endless_timeout_is_none() -> None:
    """2: JSON, which the log is written in, knows no infinity."""
    assert ToolLoopConfig(timeout=float("inf")) == ToolLoopConfig()


def test_settings_are_named_and_compared_by_value() -> None:
    """2"""
    with pytest.raises(TypeError):
        ToolLoopConfig(5)  # type: ignore[call-arg]  # what a careless caller may write
    assert ToolLoopConfig(max_iterations=5) == ToolLoopConfig(max_iterations=5)
    assert ToolLoopConfig(max_iterations=5) != ToolLoopConfig(max_iterations=6)
    assert hash(ToolLoopConfig(max_depth=None)) == hash(ToolLoopConfig(max_depth=None))


def test_callbacks_are_shown_as_present() -> None:
    """2: not their addresses."""
    config = ToolLoopConfig(on_tool_call=lambda _: Approve(), stop_when=lambda _: Continue(), max_iterations=3)
    assert repr(config) == "ToolLoopConfig(max_iterations=3, on_tool_call=present, stop_when=present)"
    assert "0x" not in repr(config)


def test_an_action_may_be_given_by_its_word() -> None:
    """6"""
    assert LoopDetectionConfig(2, LoopAction("stop")).action is LoopAction.STOP
    with pytest.raises(ValueError, match="explode"):
        LoopDetectionConfig(2, "explode")  # type: ignore[arg-type]  # what a careless caller may write


def test_rules_are_read_back_from_what_the_log_keeps() -> None:
    """DESIGN §3: a replay decides by the recorded configuration."""
    config = ToolLoopConfig(
        max_iterations=7,
        parallel_tool_execution=False,
        stop_when=lambda _: Continue(),
        loop_detection=LoopDetectionConfig(4, LoopAction.STOP),
        timeout=2,
        maximum_consecutive_errors=1,
        terminate_on_unknown_calls=True,
    )
    assert LoopRules.read(config.description()) == LoopRules(7, False, True, 4, LoopAction.STOP, 2.0, 1, True)
    assert LoopRules.read(ToolLoopConfig().description()) == LoopRules.read({})
