"""A registry of tools."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit.errors import AgentBuildError
from loopkit.tools.definition import tool
from loopkit.tools.registry import ToolRegistry


@tool
def read(path: str) -> str:
    return path


def write(path: str, text: str) -> None: ...


def test_tools_and_plain_functions_are_kept_in_order() -> None:
    registry = ToolRegistry([write, read])
    assert registry.names == ("write", "read")
    assert list(registry) == ["write", "read"]
    assert [definition.name for definition in registry.definitions] == ["write", "read"]
    assert len(registry) == 2
    assert registry["read"] is read
    assert registry.get("read") is read
    assert registry.get("rm") is None
    assert "write" in registry
    assert "rm" not in registry
    assert repr(registry) == "ToolRegistry([write, read])"


def test_registry_of_a_registry_holds_the_same_tools() -> None:
    registry = ToolRegistry([read, write])
    again = ToolRegistry(registry)
    assert again == registry
    assert hash(again) == hash(registry)


def test_empty_registry_is_false_and_has_no_definitions() -> None:
    assert not ToolRegistry()
    assert ToolRegistry().definitions == ()


def test_changing_the_list_later_changes_nothing() -> None:
    """spec/faults.md d15."""
    given: list[Any] = [read]
    registry = ToolRegistry(given)
    given.append(write)
    assert registry.names == ("read",)


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([read, tool(name="read")(write)], "two tools are named 'read'"),
        ([lambda: None], "no name for a tool"),
        (read, "a list of functions"),
        ("read", "a list of functions"),
        (["read"], "can't be a tool"),
    ],
)
def test_what_cannot_be_a_registry_is_refused(tools: Any, words: str) -> None:
    with pytest.raises(AgentBuildError, match=words):
        ToolRegistry(tools)


def test_names_of_the_registry_itself_are_not_taken_for_those_of_a_hint() -> None:
    def act(what: Any) -> None: ...

    act.__annotations__["what"] = "given"
    with pytest.raises(AgentBuildError, match="'given' is not defined"):
        ToolRegistry([act])
