"""Which calls a test means, and how often it expects them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from loopkit.debugger.display import one_line
from loopkit.debugger.nodes import CallNode, LoopNode
from loopkit.testing.arguments import (
    ArgumentPattern,
    NamePattern,
    argument_differences,
    name_matches,
    pattern_words,
)

_NEAREST = 3


@dataclass(frozen=True)
class Call:
    """Which calls a test means.

    Args:
        name: the tool's name, or a pattern of the whole name.
        arguments: what is expected of the arguments with which it ran, edits included; see
            `arguments.argument_differences`.
        exactly: no other arguments may be there.
        agent: name of the agent that asked for it; None means any.
        depth: levels of agents above the one that asked, from the run's own; None means any.
    """

    name: NamePattern
    arguments: ArgumentPattern | None = None
    exactly: bool = False
    agent: NamePattern | None = None
    depth: int | None = None

    def differences(self, call: CallNode) -> list[str]:
        """Return why the arguments of a call are not these."""
        if self.arguments is None:
            return []
        return argument_differences(self.arguments, call.effective_arguments, exactly=self.exactly)

    def is_named_by(self, call: CallNode, top: LoopNode) -> bool:
        """Say whether a call is to this tool, by this agent, at this depth."""
        return (
            name_matches(self.name, call.name)
            and (self.agent is None or name_matches(self.agent, call.loop.agent))
            and (self.depth is None or self.depth == call.loop.level - top.level)
        )

    def __str__(self) -> str:
        words = one_line(self.name) if isinstance(self.name, str) else pattern_words(self.name)
        words += "" if self.arguments is None else f" with {'exactly ' * self.exactly}{pattern_words(self.arguments)}"
        words += "" if self.agent is None else f" by agent {pattern_words(self.agent)}"
        return words if self.depth is None else f"{words} at depth {self.depth}"


CallLike: TypeAlias = NamePattern | Call


@dataclass(frozen=True)
class Times:
    """How often something is expected; no `most` is any number."""

    least: int
    most: int | None

    @classmethod
    def of(cls, times: int | None, at_least: int | None = None, at_most: int | None = None) -> Times:
        """Return what a test said; nothing said is once or more."""
        if times is not None:
            return cls(times, times)
        return cls(1 if at_least is None and at_most is None else at_least or 0, at_most)

    def holds(self, count: int) -> bool:
        """Say whether this is as often as is expected."""
        return self.least <= count and (self.most is None or count <= self.most)

    def __str__(self) -> str:
        if self.most == self.least:
            return f"{self.least}×"
        if self.most is None:
            return f"{self.least}× or more"
        return f"at most {self.most}×" if not self.least else f"{self.least}× to {self.most}×"


def call_of(expected: CallLike) -> Call:
    """Return the calls that a bare name means."""
    return expected if isinstance(expected, Call) else Call(expected)


def near_misses(wanted: Call, named: Sequence[CallNode]) -> list[str]:
    """Return why the nearest calls of the same tool are not meant."""
    misses = [(call, wanted.differences(call)) for call in named]
    nearest = sorted((miss for miss in misses if miss[1]), key=lambda miss: len(miss[1]))[:_NEAREST]
    return [f"  {call.id}: {'; '.join(differences)}" for call, differences in nearest]
