"""When two calls are the same call, and two results the same result (spec/loop.md 6.1)."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

from loopkit.messages import ToolCall


def batch_name(calls: tuple[ToolCall, ...]) -> str:
    """Return the batch's tool names joined with `+` (spec/loop.md 6.2)."""
    return "+".join(call.name for call in calls)


def batch_signature(calls: tuple[ToolCall, ...]) -> str:
    """Return text that is equal for batches of the same names and JSON-equal arguments in the same order (6.1)."""
    return json.dumps(
        [[call.name, call.raw_arguments, _canonical(call.arguments)] for call in calls], sort_keys=True, default=str
    )


def same_json(one: Any, other: Any) -> bool:
    """Say whether two JSON values are equal: 1 is 1.0, `true` is not 1, the order of keys is irrelevant (6.1)."""
    return _text(one) == _text(other)


def _text(value: Any) -> str:
    return json.dumps(_canonical(value), sort_keys=True, default=str)


def digest(text: str) -> str:
    """Return a short text that stands for a long one, so that a window costs the same whatever stands in it."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    return value
