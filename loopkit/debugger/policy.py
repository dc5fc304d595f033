"""Who decides on calls when no person does: rules with names, so that the log says which one decided."""

from __future__ import annotations

from typing import Protocol

from loopkit.messages import ToolCall, ToolDefinition
from loopkit.outcomes import Approve, Deny, ToolApproval


class Policy(Protocol):
    """Decides on calls, or leaves them to a person."""

    def decide(self, call: ToolCall, tool: ToolDefinition | None) -> tuple[ToolApproval, str] | None:
        """Return a decision and the name of the rule that made it, or None to ask.

        Args:
            call: what the model asked for.
            tool: the tool's definition, or None when there is no such tool.
        """
        ...


class ApproveAll:
    """Runs every call."""

    def decide(self, call: ToolCall, tool: ToolDefinition | None) -> tuple[ToolApproval, str] | None:
        return Approve(), "policy: approve all"


class ApproveReversible:
    """Runs every call but those that can't be undone."""

    def decide(self, call: ToolCall, tool: ToolDefinition | None) -> tuple[ToolApproval, str] | None:
        if tool is None or tool.side_effect != "irreversible":
            return Approve(), "policy: reversible"
        return Deny(f"Not run: {call.name} can't be undone and nobody is here to approve it."), "policy: reversible"


class DenyAll:
    """Runs no call."""

    def decide(self, call: ToolCall, tool: ToolDefinition | None) -> tuple[ToolApproval, str] | None:
        return Deny("Not run: this run approves no tool calls."), "policy: approve none"


class ReadOnly:
    """Runs what is declared to only read, refuses the rest with advice (DESIGN §6)."""

    def decide(self, call: ToolCall, tool: ToolDefinition | None) -> tuple[ToolApproval, str] | None:
        if tool is None or tool.side_effect == "read":
            return Approve(), "policy: read-only"
        return (
            Deny(f"Not run: {call.name} is not declared read-only and nobody is here to approve it."),
            "policy: read-only",
        )


class NobodyToAsk:
    """Runs no call that rules would ask a person about."""

    def decide(self, call: ToolCall, tool: ToolDefinition | None) -> tuple[ToolApproval, str] | None:
        return Deny(f"Not run: nobody is here to decide on {call.name}."), "policy: nobody to ask"


HEADLESS_POLICIES: dict[str, type[ApproveAll | ApproveReversible | DenyAll | ReadOnly]] = {
    "all": ApproveAll,
    "reversible": ApproveReversible,
    "none": DenyAll,
    "read-only": ReadOnly,
}
