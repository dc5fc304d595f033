"""The seed's loop detector: equal batches of calls in a row (spec/loop.md 6)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from loopkit.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Repetition:
    """How often the last batch came in a row, and since which iteration."""

    signature: str = ""
    count: int = 0
    since_iteration: int = 0

    def after(self, calls: tuple[ToolCall, ...], iteration: int) -> Repetition:
        """Return the count with one more batch; a different batch starts at 1 (spec/loop.md 6.2)."""
        signature = batch_signature(calls)
        if signature == self.signature:
            return Repetition(signature, self.count + 1, self.since_iteration)
        return Repetition(signature, 1, iteration)


def batch_name(calls: tuple[ToolCall, ...]) -> str:
    """Return the batch's tool names joined with `+` (spec/loop.md 6.2)."""
    return "+".join(call.name for call in calls)


def batch_signature(calls: tuple[ToolCall, ...]) -> str:
    """Return text that is equal for batches of the same names and JSON-equal arguments in the same order (6.1)."""
    return json.dumps(
        [[call.name, call.raw_arguments, _canonical(call.arguments)] for call in calls], sort_keys=True, default=str
    )


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    return value


def warning_for_model(tool_name: str, count: int) -> str:
    """Return the injected warning, which names the tool and the count (spec/loop.md 6.4)."""
    return (
        f"You have made the same tool call {count} times in a row: {tool_name}. "
        "Repeating it will not give another result. Try another approach, or answer with what you have."
    )
