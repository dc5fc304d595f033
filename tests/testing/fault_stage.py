"""An agent with two tools, a fallback model and a recording, for faults to happen to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loopkit import (
    Agent,
    ModelBinding,
    Recorder,
    RetryPolicy,
    ScriptedProvider,
    ToolCall,
    ToolLoopConfig,
    ToolRetry,
    tool,
)
from loopkit.testing import Fault, Trajectory, observe_sync, replay_with_faults


@tool(side_effect="read", timeout=30)
async def search(query: str) -> str:
    """Search for something."""
    return f"found {query}"


@tool(side_effect="read", retry=ToolRetry(attempts=3, on=ConnectionError))
def fetch(url: str) -> str:
    """Fetch a page."""
    if url == "gone":
        raise FileNotFoundError(url)
    return f"page {url}"


def call(_tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(_tool, _tool, arguments)


SCRIPT = (
    [call("search", query="x"), call("search", query="y"), call("fetch", url="u")],
    call("search", query="z"),
    "Done.",
)


def agent(*script: Any, prompt: str = "Be careful.", **config: Any) -> Agent:
    """The agent; its models refuse to be asked when there is no script."""
    binding = ModelBinding(
        ScriptedProvider(list(script), model="first"),
        retry=RetryPolicy(attempts=3, base_delay=60, longest_delay=600),
        fallbacks=(ScriptedProvider([], model="second"),),
    )
    return Agent(binding, tools=[search, fetch], system=prompt, config=ToolLoopConfig(**config))


class Stage:
    """Records one run and replays it with faults."""

    def __init__(self, path: Path, backend: str) -> None:
        self.path = path
        self.backend = backend
        self._config: dict[str, Any] = {}

    def record(self, script: Sequence[Any] = SCRIPT, **config: Any) -> Trajectory:
        self._config = config
        return observe_sync(agent(*script, **config), "go", recorder=Recorder(self.path), backend=self.backend)

    def replay(self, *faults: Fault, **changes: Any) -> Trajectory:
        return replay_with_faults(self.path, agent(**{**self._config, **changes}), faults, backend=self.backend)
