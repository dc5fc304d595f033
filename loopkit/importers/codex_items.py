"""Codex's response items one by one: what each says, without what surrounds it (formats.md §2)."""

from __future__ import annotations

import re
from typing import Any, Literal

from loopkit.events import Failure
from loopkit.importers.blocks import Block, as_blocks, as_object, as_text, token_count
from loopkit.importers.call_arguments import call_of, compact
from loopkit.messages import Reasoning, ToolCall, Usage
from loopkit.outcomes import Cancelled, Complete

PROGRAM = "codex"
OUTPUTS = frozenset(
    ["function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"]
)

_ASKED_IN_IDE = re.compile(r"^## My request for Codex:\s*", re.MULTILINE)
_BY_PROGRAM = re.compile(r"\s*(?:<[a-zA-Z_]+(?: [a-z_]+)*>|# AGENTS\.md instructions)")
_INTERRUPTED = "<turn_aborted>"
_AGENT_ENDS = frozenset({"errored", "shutdown", "not_found", "interrupted"})
_ABORTS = {"interrupted": "interrupted by the user", "replaced": "replaced by a new task"}


def call_of_item(item: Block) -> ToolCall | None:
    """Return the call that an item asks for, or None when it is no call."""
    identity, name = as_text(item.get("call_id")), as_text(item.get("name"))
    match item.get("type"):
        case "function_call":
            space = as_text(item.get("namespace"))
            return call_of(identity, f"{space}.{name}" if space else name, item.get("arguments"))
        case "custom_tool_call":
            return ToolCall(identity, name, {"input": as_text(item.get("input"))})
        case "local_shell_call":
            return call_of(identity, "local_shell", item.get("action"))
        case "tool_search_call":
            return call_of(identity, "tool_search", item.get("arguments"))
        case "web_search_call":
            return call_of(identity or as_text(item.get("id")), "web_search", item.get("action"))
        case _:
            return None


def reasoning_of(item: Block) -> Reasoning:
    """Return the thinking of an item; where only a summary is open, that."""
    words = [as_text(block.get("text")) for block in [*as_blocks(item.get("summary")), *as_blocks(item.get("content"))]]
    return Reasoning(
        "\n\n".join(word for word in words if word), encrypted=as_text(item.get("encrypted_content")) or None
    )


def usage_of(tokens: Any) -> Usage:
    """Return the tokens of one answer."""
    counted = as_object(tokens)
    return Usage(
        token_count(counted, "input_tokens"),
        token_count(counted, "output_tokens"),
        token_count(counted, "cached_input_tokens"),
        token_count(counted, "cache_write_input_tokens"),
        token_count(counted, "reasoning_output_tokens"),
    )


def prompt_kind(text: str, typed: set[str]) -> tuple[str, Literal["task", "context", "interrupt"]]:
    """Return who wrote a user message, and whether it asks for an answer.

    Args:
        typed: what the file says a person typed.
    """
    if text.strip() in typed:
        return "person", "task"
    if text.lstrip().startswith(_INTERRUPTED):
        return "person", "interrupt"
    if _BY_PROGRAM.match(text):
        return PROGRAM, "context"
    return "person", "task"


def title_of(text: str) -> str:
    """Return the first line of what a person asked for, without what their editor put before it."""
    asked = _ASKED_IN_IDE.split(text, maxsplit=1)[-1].strip()
    return asked.splitlines()[0][:120] if asked else ""


def abort_of(payload: Block) -> Cancelled:
    """Return how an aborted turn ended."""
    word = as_text(payload.get("reason")) or "interrupted"
    return Cancelled(_ABORTS.get(word, word))


def failure_of(error: Block) -> Failure:
    """Return what a turn failed of."""
    info = error.get("codex_error_info")
    name = info if isinstance(info, str) else next(iter(as_object(info)), "")
    return Failure(name or "error", as_text(error.get("message")))


def agent_ending(status: Any) -> Complete | Cancelled | None:
    """Return how a sub-agent ended as a status tells, or None while it runs."""
    word = status if isinstance(status, str) else next(iter(as_object(status)), "")
    if word == "completed":
        return Complete()
    return Cancelled(word.replace("_", " ")) if word in _AGENT_ENDS else None


def is_failed_call(kind: str, event: Block) -> bool:
    """Say whether an event tells that a call failed."""
    match kind:
        case "exec_command_end":
            return event.get("exit_code") not in (0, None)
        case "patch_apply_end" | "dynamic_tool_call_response":
            return event.get("success") is False
        case "mcp_tool_call_end":
            result = as_object(event.get("result"))
            return "Err" in result or as_object(result.get("Ok")).get("isError") is True
        case _:
            return False


def output_of(item: Block) -> Any:
    """Return what the model was given for a call, as it stands in the item."""
    if item.get("type") == "tool_search_output":
        return compact(item.get("tools"))
    output = item.get("output")
    if isinstance(output, dict) and "type" not in output:
        return output.get("content", output.get("content_items"))
    return output
