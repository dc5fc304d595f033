"""What a loop is made of, before it has a place in a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loopkit import events as e
from loopkit.core.config import ToolLoopConfig
from loopkit.core.depth import LoopDepth, depth_of
from loopkit.messages import Message
from loopkit.providers.binding import BoundModel, ModelSource, bind
from loopkit.tools.definition import Tool
from loopkit.tools.registry import ToolRegistry


@dataclass(frozen=True)
class LoopParts:
    """Everything that a loop runs with.

    Args:
        models: who may be asked: the primary, then its fallbacks in order.
        agent: the agent's name.
        settings: what the provider's request takes beside messages and tools.
        has_prompt: the first message is the agent's own prompt.
    """

    models: tuple[BoundModel, ...]
    registry: ToolRegistry
    messages: tuple[Message, ...]
    config: ToolLoopConfig = field(default_factory=ToolLoopConfig)
    context: LoopDepth | None = None
    agent: str = "agent"
    settings: Mapping[str, Any] = field(default_factory=dict)
    has_prompt: bool = False

    def started(self, parent_call: str | None) -> e.LoopStarted:
        """Return the loop's first fact."""
        primary = self.models[0]
        return e.LoopStarted(
            agent=self.agent,
            messages=self.messages,
            tools=self.registry.definitions,
            configuration=self.config.description(),
            model=primary.model,
            settings={**self.settings, **primary.settings},
            depth=depth_of(self.context),
            parent_call=parent_call,
            fallbacks=tuple(model.model for model in self.models[1:]),
            own_prompt=self.has_prompt or not (self.messages and self.messages[0].role == "system"),
        )


def parts_of(
    source: ModelSource,
    tools: ToolRegistry | Sequence[Tool | Callable[..., Any]],
    messages: str | Sequence[Message],
    config: ToolLoopConfig | None,
    context: LoopDepth | None,
) -> LoopParts:
    """Return what a loop without an agent is made of.

    Raises:
        AgentBuildError: the parts contradict each other.
    """
    registry = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
    bound = bind(source, config)
    return LoopParts(bound.models, registry, messages_of(messages), bound.config, context)


def messages_of(task: str | Sequence[Message]) -> tuple[Message, ...]:
    """Return a history from a task: a string is one user message."""
    return (Message.user(task),) if isinstance(task, str) else tuple(task)
