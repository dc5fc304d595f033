"""What a loop is made of, before it has a place in a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loopkit import events as e
from loopkit.core.config import ToolLoopConfig
from loopkit.core.depth import LoopDepth, depth_of
from loopkit.messages import Message
from loopkit.providers.protocol import Provider
from loopkit.tools.registry import ToolRegistry


@dataclass(frozen=True)
class LoopParts:
    """Everything that a loop runs with.

    Args:
        agent: the agent's name.
        settings: what the provider's request takes beside messages and tools.
    """

    provider: Provider
    registry: ToolRegistry
    messages: tuple[Message, ...]
    config: ToolLoopConfig = field(default_factory=ToolLoopConfig)
    context: LoopDepth | None = None
    agent: str = "agent"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def started(self, parent_call: str | None) -> e.LoopStarted:
        """Return the loop's first fact."""
        return e.LoopStarted(
            agent=self.agent,
            messages=self.messages,
            tools=self.registry.definitions,
            configuration=self.config.description(),
            model=self.provider.model,
            settings=dict(self.settings),
            depth=depth_of(self.context),
            parent_call=parent_call,
        )


def messages_of(task: str | Sequence[Message]) -> tuple[Message, ...]:
    """Return a history from a task: a string is one user message."""
    return (Message.user(task),) if isinstance(task, str) else tuple(task)
