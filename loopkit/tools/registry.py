"""The tools of one agent, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from loopkit.errors import AgentBuildError
from loopkit.messages import ToolDefinition
from loopkit.tools.definition import Tool, make_tool


class ToolRegistry(Mapping[str, Tool]):
    """An ordered mapping of names to tools that never changes.

    Args:
        tools: tools or plain functions, which become tools; or another registry.

    Raises:
        AgentBuildError: two tools have one name, a name is none that providers take, or no tool can be made of a function.
    """

    __slots__ = ("_definitions", "_tools")

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] | ToolRegistry = ()) -> None:
        if isinstance(tools, ToolRegistry):
            tools = tools.values()
        if isinstance(tools, str) or not isinstance(tools, Iterable):
            raise AgentBuildError(f"tools are given as a list of functions, not {tools!r}")
        self._tools: dict[str, Tool] = {}
        for given in tools:
            made = given if isinstance(given, Tool) else make_tool(given)
            if made.is_unbound_method:
                raise AgentBuildError(
                    f"{made.__qualname__} is a method without its object; give instance.{made.__name__}"
                )
            if made.name in self._tools:
                raise AgentBuildError(
                    f"two tools are named {made.name!r}; give one another name with @tool(name=…), "
                    "or those of an MCP server a prefix=…"
                )
            self._tools[made.name] = made
        self._definitions = tuple(made.definition for made in self._tools.values())

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What a model is told of the tools, in order."""
        return self._definitions

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __hash__(self) -> int:
        return hash(frozenset(self._tools.values()))

    def __repr__(self) -> str:
        return f"ToolRegistry([{', '.join(self._tools)}])"
