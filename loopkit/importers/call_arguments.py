"""A call whose arguments stand as text in a file → our call, with what is wrong with the text."""

from __future__ import annotations

import json
from typing import Any

from loopkit.importers.source import decode_value
from loopkit.messages import ToolCall


def call_of_text(identity: str, name: str, text: str) -> ToolCall:
    """Return the call that arguments in text ask for; what is no JSON object stays as text, with the problem named."""
    stripped = text.strip()
    if not stripped:
        return ToolCall(identity, name)
    found = decode_value(stripped)
    if found is None or found[1] != len(stripped):
        return ToolCall(identity, name, {}, text, "the arguments are not valid JSON")
    if not isinstance(found[0], dict):
        return ToolCall(identity, name, {}, text, "the arguments are not a JSON object")
    return ToolCall(identity, name, found[0], duplicate_keys=_duplicate_keys(stripped))


def call_of(identity: str, name: str, arguments: Any) -> ToolCall:
    """Return the call of arguments that a file holds as an object, as text, or not at all."""
    if isinstance(arguments, dict):
        return ToolCall(identity, name, arguments)
    if arguments is None:
        return ToolCall(identity, name)
    return call_of_text(identity, name, arguments if isinstance(arguments, str) else compact(arguments))


def compact(value: Any) -> str:
    """Return a JSON value as text on one line."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "(nested too deeply to show)"


def _duplicate_keys(text: str) -> tuple[str, ...]:
    repeated: dict[str, None] = {}

    def note(pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys):
            repeated.update(dict.fromkeys(key for key in keys if keys.count(key) > 1))

    try:
        json.loads(text, object_pairs_hook=note)
    except (ValueError, RecursionError):
        return ()
    return tuple(repeated)
