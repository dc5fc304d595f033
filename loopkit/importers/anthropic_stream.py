"""The pieces of one streamed Anthropic message, put together to the message that was streamed (formats.md §5)."""

from __future__ import annotations

from typing import Any

from loopkit.importers.blocks import Block, as_object, as_text
from loopkit.importers.source import decode_value

_PIECES = frozenset(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
    ]
)
_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


def is_piece(value: Any) -> bool:
    """Whether a value is an event of a stream."""
    return isinstance(value, dict) and as_text(value.get("type")) in _PIECES


class StreamedMessage:
    """A message whose pieces are still coming.

    Args:
        head: the message as the first piece has it; it may hold blocks already.
    """

    def __init__(self, head: Block) -> None:
        self._head = head
        self._blocks: dict[Any, Block] = {}
        self._arguments: dict[Any, list[str]] = {}

    def take(self, piece: Block) -> None:
        """Take in one piece; one that belongs to nothing changes nothing."""
        place = str(piece.get("index"))
        match piece["type"]:
            case "content_block_start":
                self._blocks[place] = dict(as_object(piece.get("content_block")))
            case "content_block_delta" if place in self._blocks:
                self._grow(place, as_object(piece.get("delta")))
            case "message_delta":
                usage = as_object(self._head.get("usage")) | as_object(piece.get("usage"))
                self._head = self._head | as_object(piece.get("delta")) | {"usage": usage}

    def message(self) -> Block:
        """Return the message as far as it came."""
        for place, pieces in self._arguments.items():
            text = "".join(pieces)
            found = decode_value(text.strip())
            whole = found is not None and found[1] == len(text.strip())
            self._blocks[place]["input"] = found[0] if found is not None and whole else text
        content = self._head.get("content")
        blocks = [*(content if isinstance(content, list) else []), *self._blocks.values()]
        return {**self._head, "role": "assistant", "content": blocks}

    def _grow(self, place: str, delta: Block) -> None:
        block, kind = self._blocks[place], as_text(delta.get("type"))
        if kind in _TEXTS:
            key = _TEXTS[kind]
            block[key] = as_text(block.get(key)) + as_text(delta.get(key))
        elif kind == "input_json_delta" and as_text(delta.get("partial_json")):
            self._arguments.setdefault(place, []).append(delta["partial_json"])
