"""Contexts that track depth (spec/loop.md 7)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from loopkit.core.depth import LoopContext, LoopDepth, check_depth, deeper, depth_of
from loopkit.errors import MaxDepthExceeded


@dataclass(frozen=True)
class OwnContext:
    """A class of a user's own."""

    level: int = 0

    def loop_depth(self) -> int:
        return self.level

    def with_depth(self, depth: int) -> OwnContext:
        return OwnContext(depth)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_three_levels_run_by_default(depth: int) -> None:
    """7.2: loops at depth 0, 1 and 2 run."""
    check_depth(LoopContext("state", depth), 3)


@pytest.mark.parametrize(("depth", "limit"), [(3, 3), (4, 3), (0, 0), (1, 1)])
def test_a_loop_at_the_limit_is_refused(depth: int, limit: int) -> None:
    """7.1"""
    with pytest.raises(MaxDepthExceeded) as caught:
        check_depth(LoopContext(None, depth), limit)
    assert (caught.value.current, caught.value.limit) == (depth, limit)


def test_no_limit_refuses_nothing() -> None:
    """2: `None` = no limit."""
    check_depth(LoopContext(None, 10_000), None)


def test_no_context_is_depth_zero_and_never_tracked() -> None:
    """1"""
    assert depth_of(None) == 0
    assert deeper(None) is None
    check_depth(None, 1)


@pytest.mark.parametrize("context", [LoopContext({"user": "ann"}, 1), OwnContext(1)], ids=["ready-made", "own"])
def test_handlers_get_a_new_context_one_level_deeper(context: LoopContext[dict[str, str]] | OwnContext) -> None:
    """7.2: the caller's is unchanged; an own class works the same."""
    below = deeper(context)
    assert isinstance(context, LoopDepth)
    assert below is not None
    assert (below.loop_depth(), context.loop_depth()) == (2, 1)
    assert type(below) is type(context)


def test_the_state_is_passed_on() -> None:
    """7.2: `LoopContext(state)` holds `state`."""
    state = {"user": "ann"}
    below = deeper(LoopContext(state))
    assert isinstance(below, LoopContext)
    assert below.state is state
