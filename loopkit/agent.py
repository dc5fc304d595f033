"""An agent: a model, its tools, its prompt and its settings, ready to be run or debugged."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from loopkit.core.config import ToolLoopConfig
from loopkit.core.depth import LoopDepth
from loopkit.drivers.parts import LoopParts, messages_of
from loopkit.drivers.result import ToolLoopResult
from loopkit.drivers.run import Watcher
from loopkit.drivers.tool_loop import run_parts
from loopkit.errors import AgentBuildError, LoopkitError
from loopkit.messages import Message
from loopkit.providers.binding import ModelSource, bind
from loopkit.providers.protocol import Provider
from loopkit.recording.writer import Recorder
from loopkit.tools.definition import Tool
from loopkit.tools.registry import ToolRegistry


class Agent:
    """A model with tools.

    Args:
        provider: a provider, a `provider:model` string such as `openai:gpt-5-mini`, or a `ModelBinding` of either.
        tools: decorated or plain functions, or a registry.
        system: the system prompt, put before the messages of each run.
        name: how timelines call it.
        config: limits and callbacks; what a binding's `tool_loop` decides is left at its default (spec/loop.md 8.2).
        settings: what the provider's request takes beside messages and tools (temperature, max_tokens, tool_choice
            …); a forced tool choice is automatic again after the first answer.

    Raises:
        AgentBuildError: the parts contradict each other.
    """

    def __init__(
        self,
        provider: ModelSource,
        *,
        tools: ToolRegistry | Sequence[Tool | Callable[..., Any]] = (),
        system: str | None = None,
        name: str = "agent",
        config: ToolLoopConfig | None = None,
        **settings: Any,
    ) -> None:
        self.models, self.config = bind(provider, config, settings)
        self.registry = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
        self.system = system
        self.name = name
        self.settings = settings

    @property
    def provider(self) -> Provider:
        """Who is asked first."""
        return self.models[0].provider

    @property
    def model(self) -> str | None:
        return self.models[0].model

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, model={self.model!r}, tools={list(self.registry.names)})"

    def changed(
        self,
        *,
        provider: ModelSource | None = None,
        system: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Agent:
        """Return an agent that is this one but for what is given.

        Args:
            config: fields of `ToolLoopConfig`, by name.

        Raises:
            AgentBuildError: the configuration has no such field, or one can't be set so.
        """
        other = copy.copy(self)
        if system is not None:
            other.system = system
        if config:
            known = {field.name for field in fields(ToolLoopConfig)}
            strangers = sorted(config.keys() - known)
            if strangers:
                raise AgentBuildError(f"the configuration has no {strangers[0]!r}: it has {', '.join(sorted(known))}")
            try:
                other.config = replace(self.config, **config)
            except (ValueError, TypeError) as error:
                raise AgentBuildError(f"the configuration can't be changed so: {error}") from None
        if provider is not None:
            other.models = bind(provider, None, self.settings).models
        return other

    def parts(self, task: str | Sequence[Message], ctx: LoopDepth | None = None) -> LoopParts:
        """Return what a run of this agent is made of."""
        prompt = () if self.system is None else (Message.system(self.system),)
        return LoopParts(
            self.models,
            self.registry,
            (*prompt, *messages_of(task)),
            self.config,
            ctx,
            self.name,
            self.settings,
            has_prompt=self.system is not None,
        )

    async def run(
        self,
        task: str | Sequence[Message],
        *,
        recorder: Recorder | None = None,
        ctx: LoopDepth | None = None,
        watcher: Watcher | None = None,
    ) -> ToolLoopResult:
        """Run the agent on a task, in the caller's own event loop; see `loopkit.tool_loop`."""
        return await run_parts(self.parts(task, ctx), recorder=recorder, watcher=watcher)

    def run_sync(
        self,
        task: str | Sequence[Message],
        *,
        recorder: Recorder | None = None,
        ctx: LoopDepth | None = None,
        backend: str = "asyncio",
    ) -> ToolLoopResult:
        """Run the agent on a task from code that is not async, also inside a synchronous tool.

        Args:
            backend: `asyncio` or `trio`.

        Raises:
            LoopkitError: an event loop is running in this thread already, as in a notebook's cell.
        """
        import anyio  # noqa: PLC0415  # loaded with the first run

        if _inside_event_loop():
            raise LoopkitError(
                "run_sync can't be used where an event loop is running (a notebook, an async function): "
                "write `await agent.run(...)`"
            )
        return anyio.run(lambda: self.run(task, recorder=recorder, ctx=ctx), backend=backend)


def _inside_event_loop() -> bool:
    if "asyncio" in sys.modules:
        import asyncio  # noqa: PLC0415  # only where it is loaded already

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            return True
    if "trio" in sys.modules:
        import trio  # noqa: PLC0415  # only where it is loaded already

        return trio.lowlevel.in_trio_run()
    return False
