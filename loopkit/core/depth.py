"""Contexts that know how deep their loop is (spec/loop.md 7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeVar, runtime_checkable

from loopkit.errors import MaxDepthExceeded

T = TypeVar("T")


@runtime_checkable
class LoopDepth(Protocol):
    """A context that tracks depth: handlers get a new one, one level deeper than their loop's."""

    def loop_depth(self) -> int:
        """Return the nesting depth, 0 = top level."""
        ...

    def with_depth(self, depth: int) -> LoopDepth:
        """Return a copy at another depth; the caller's context stays as it is."""
        ...


@dataclass(frozen=True, slots=True)
class LoopContext(Generic[T]):
    """A ready-made context around any state.

    Args:
        state: whatever handlers need.
        depth: 0 = top level.
    """

    state: T
    depth: int = 0

    def loop_depth(self) -> int:
        return self.depth

    def with_depth(self, depth: int) -> Self:
        return replace(self, depth=depth)


def depth_of(context: LoopDepth | None) -> int:
    """Return a context's depth; None is the seed's unit context, always 0."""
    return 0 if context is None else context.loop_depth()


def check_depth(context: LoopDepth | None, limit: int | None) -> None:
    """Refuse a loop that is too deep (spec/loop.md 7.1).

    Raises:
        MaxDepthExceeded: the depth reaches the limit.
    """
    depth = depth_of(context)
    if limit is not None and depth >= limit:
        raise MaxDepthExceeded(depth, limit)


def deeper(context: LoopDepth | None) -> LoopDepth | None:
    """Return the context for a loop's handlers (spec/loop.md 7.2)."""
    return None if context is None else context.with_depth(context.loop_depth() + 1)
