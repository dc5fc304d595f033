"""`ToolLoopSettings`: a value, and how it takes a configuration's place (spec/loop.md 8)."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from loopkit import AgentBuildError, ToolLoopConfig, ToolLoopSettings


def test_settings_are_a_value() -> None:
    """8.1: immutable, compared and hashed by value."""
    one = ToolLoopSettings(allow_concurrent_tool_calls=True, maximum_consecutive_errors=2)
    same = ToolLoopSettings(True, 2, None)
    assert one == same
    assert len({one, same, ToolLoopSettings()}) == 2
    assert one != ToolLoopSettings(True, 2, False)
    with pytest.raises(FrozenInstanceError):
        one.maximum_consecutive_errors = 3  # type: ignore[misc]  # what must not work


def test_unset_members_have_the_loops_own_defaults() -> None:
    """8, table: one after another, 3, go on."""
    config = ToolLoopSettings().applied_to(ToolLoopConfig())
    assert config == ToolLoopConfig(parallel_tool_execution=False, maximum_consecutive_errors=3)


def test_set_members_decide_alone_and_leave_the_rest_as_it_is() -> None:
    """8.2"""
    config = ToolLoopSettings(True, 0, True).applied_to(ToolLoopConfig(max_iterations=4, timeout=9.0))
    assert config == ToolLoopConfig(
        max_iterations=4, timeout=9.0, maximum_consecutive_errors=0, terminate_on_unknown_calls=True
    )


@pytest.mark.parametrize(
    "twice",
    [{"parallel_tool_execution": False}, {"maximum_consecutive_errors": 3}, {"terminate_on_unknown_calls": True}],
)
def test_one_thing_set_in_two_places_is_refused(twice: dict[str, Any]) -> None:
    """8.2: even when both say the same; the message names both."""
    (name,) = twice
    with pytest.raises(AgentBuildError, match=f"ToolLoopConfig.{name}=.* in one place"):
        ToolLoopSettings().applied_to(ToolLoopConfig(**twice))


def test_a_negative_error_limit_is_refused_when_the_agent_is_built() -> None:
    """8.2: not before."""
    settings = ToolLoopSettings(maximum_consecutive_errors=-1)
    with pytest.raises(AgentBuildError, match="must not be negative, it is -1"):
        settings.applied_to(ToolLoopConfig())
    assert issubclass(AgentBuildError, ValueError)
