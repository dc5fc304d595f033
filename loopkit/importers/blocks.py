"""Content as providers write it (a string, or a list of typed blocks) → parts of our messages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from loopkit.messages import Image, Part, Reasoning, Refusal, Text, Usage

Block = dict[str, Any]


def as_text(value: Any) -> str:
    """Return a string as it is and anything else as nothing."""
    return value if isinstance(value, str) else ""


def as_object(value: Any) -> Block:
    """Return an object as it is and anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def as_blocks(content: Any) -> list[Block]:
    """Return content as a list of blocks, whichever way it was written; what is no block becomes one of its own."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if content is None:
        return []
    items = content if isinstance(content, list) else [content]
    return [item if isinstance(item, dict) else {"type": "text", "text": _plain(item)} for item in items]


def part_of(block: Block) -> Part | None:
    """Return the part that a block of words, thinking or pictures stands for, or None for any other block."""
    match block.get("type"):
        case "text" | "input_text" | "output_text" if isinstance(block.get("text"), str):
            return Text(block["text"])
        case "thinking":
            return Reasoning(as_text(block.get("thinking")), as_text(block.get("signature")) or None)
        case "redacted_thinking":
            return Reasoning(encrypted=as_text(block.get("data")) or None)
        case "refusal":
            return Refusal(as_text(block.get("refusal")))
        case "image":
            return _image(as_object(block.get("source")))
        case "image_url" | "input_image":
            return _linked_image(block.get("image_url"))
        case _:
            return None


def content_text(content: Any) -> tuple[str, list[Block]]:
    """Return what a tool's result says as text, and the blocks that text can't hold."""
    if isinstance(content, str):
        return content, []
    words: list[str] = []
    left_out: list[Block] = []
    for block in as_blocks(content):
        part = part_of(block)
        if isinstance(part, Text):
            words.append(part.text)
        elif block.get("type") == "tool_reference":
            words.append(f"[tool {as_text(block.get('tool_name'))}]")
        else:
            kind = part.media_type if isinstance(part, Image) else as_text(block.get("type")) or "block"
            words.append(f"[{kind}]")
            left_out.append(block)
    return "\n".join(words), left_out


def token_count(usage: Mapping[str, Any], name: str) -> int:
    """Return a token figure, 0 where none is given."""
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def larger_usage(first: Usage | None, second: Usage) -> Usage:
    """Return the larger of each figure: reports of one answer grow, they don't add up."""
    if first is None:
        return second
    return Usage(
        max(first.input_tokens, second.input_tokens),
        max(first.output_tokens, second.output_tokens),
        max(first.cache_read_tokens, second.cache_read_tokens),
        max(first.cache_write_tokens, second.cache_write_tokens),
        max(first.reasoning_tokens, second.reasoning_tokens),
    )


def moment(value: Any) -> float | None:
    """Return seconds since the epoch of an ISO 8601 time or an epoch number, or None."""
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value)
            return (read if read.tzinfo is not None else read.replace(tzinfo=UTC)).timestamp()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e14:
            return value / 1000 if value > 1e11 else float(value)
    except (ValueError, OverflowError):
        return None
    return None


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _image(source: Block) -> Image | None:
    data, url = as_text(source.get("data")), as_text(source.get("url"))
    if not data and not url:
        return None
    return Image(as_text(source.get("media_type")) or "image", data or None, url or None)


def _linked_image(value: Any) -> Image | None:
    url = value if isinstance(value, str) else as_text(as_object(value).get("url"))
    head, comma, data = url.partition(";base64,")
    if comma and head.startswith("data:"):
        return Image(head.removeprefix("data:") or "image", data)
    return Image("image", url=url) if url else None
