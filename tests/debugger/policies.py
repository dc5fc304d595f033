"""Policies written as a user writes them, and agents that they are about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loopkit.debugger.policy_file import RulePolicy, load_policy
from loopkit.debugger.rules import Asked
from loopkit.messages import SideEffect, ToolCall, ToolDefinition


def policy_of(folder: Path, text: str) -> RulePolicy:
    """Write a policy and read it again."""
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return load_policy(path)


def asked(name: str = "write", side_effect: SideEffect | None = None, cost: float | None = 0.0, **others: Any) -> Asked:
    """A call of a tool; `arguments` and what else `Asked` takes by name."""
    arguments = others.pop("arguments", {})
    return Asked(ToolCall("c", name, arguments), ToolDefinition(name, "", {}, side_effect), cost=cost, **others)
