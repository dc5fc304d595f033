"""Parts of messages as all dialects write them: never empty, never unparsable (spec/faults.md b14, d16)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from loopkit.messages import Image, JSONObject, Message, Refusal, Text, ToolCall, ToolDefinition, ToolResult

EMPTY = "(empty)"
# what all of them take
PICTURE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_DATA_ADDRESS = re.compile(r"data:([^;,]*)(?:;[^;,]*)*;base64,(.*)", re.DOTALL)


def to_json(value: Any) -> bytes:
    """Return compact JSON; lone surrogates, which UTF-8 can't hold, become U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text).encode()


def filled(text: str) -> str:
    """Return a text that no server takes for a missing one (b14)."""
    return text if text.strip() else EMPTY


def blocks_of(
    message: Message, *, words: Callable[[str], dict[str, Any]], picture: Callable[[Image], dict[str, Any]]
) -> str | list[dict[str, Any]]:
    """Return a person's message as one text, or as blocks when there are pictures.

    Args:
        words: makes the block of a text.
        picture: makes the block of a picture.
    """
    if not has_pictures(message):
        return filled(message.text)
    blocks: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, Image):
            blocks.append(picture(part))
        elif isinstance(part, Text) and part.text.strip():
            blocks.append(words(part.text))
    return blocks


def words_of(message: Message) -> str:
    """Return an answer's words; a refusal goes back as words, since not every server knows the field (a37)."""
    return "".join(part.text for part in message.parts if isinstance(part, (Text, Refusal)))


def has_words(message: Message) -> bool:
    """Whether a message says something beside its tool results."""
    return bool(message.text) or has_pictures(message) or not message.tool_results


def has_pictures(message: Message) -> bool:
    return any(isinstance(part, Image) for part in message.parts)


def picture_data(image: Image) -> tuple[str, str] | None:
    """Return media type and base64 text of a picture that is not elsewhere, or None."""
    if image.url is None:
        return image.media_type, image.data or ""
    inline = _DATA_ADDRESS.match(image.url)
    return (inline[1] or image.media_type, inline[2]) if inline else None


def picture_address(image: Image) -> str:
    """Return where a picture is found; one that is inline becomes a `data:` address."""
    return image.url or f"data:{image.media_type};base64,{image.data or ''}"


def told(result: ToolResult, *, addresses: bool = True) -> tuple[str, list[Image]]:
    """Return a result's words and those of its pictures that a model can be given; the words tell of the others.

    Args:
        addresses: the server fetches pictures itself.
    """
    if not result.images:
        return result.content, []
    words, pictures = [result.content] if result.content.strip() else [], []
    for image in result.images:
        inline = picture_data(image)
        if inline[0] in PICTURE_TYPES if inline is not None else addresses:
            pictures.append(image)
        else:
            words.append(f"(a picture that can't be shown here: {image.media_type if inline else image.url})")
    return "\n".join(words), pictures


def result_content(
    result: ToolResult, *, words: Callable[[str], dict[str, Any]], picture: Callable[[Image], dict[str, Any]]
) -> str | list[dict[str, Any]]:
    """Return a result as one text, or as blocks when there are pictures.

    Args:
        words, picture: as in `blocks_of`.
    """
    text, pictures = told(result)
    if not pictures:
        return filled(text)
    return [*([words(text)] if text.strip() else []), *map(picture, pictures)]


def arguments_text(call: ToolCall) -> str:
    """Return a call's arguments as JSON text; servers refuse a whole history over one text that is no object."""
    if call.raw_arguments is None:
        try:
            return json.dumps(dict(call.arguments), ensure_ascii=False, allow_nan=False)
        except ValueError:
            return json.dumps({"invalid_json": json.dumps(dict(call.arguments))})
    return json.dumps({"invalid_json": call.raw_arguments}, ensure_ascii=False)


def arguments_object(call: ToolCall) -> JSONObject:
    """Return a call's arguments as the object that Anthropic and Ollama take (spec/faults.md a14)."""
    parsed: JSONObject = json.loads(arguments_text(call))
    return parsed


def function_tool(definition: ToolDefinition) -> dict[str, Any]:
    """Return a tool's definition as Chat Completions and Ollama take it."""
    return {
        "type": "function",
        "function": {
            "name": definition.name,
            "description": definition.description,
            "parameters": definition.parameters,
        },
    }


def listed(value: object) -> object:
    """Return a setting that may be one text, such as `stop`, as the list that a server wants."""
    return [value] if isinstance(value, str) else value


__all__ = [
    "EMPTY",
    "arguments_object",
    "arguments_text",
    "blocks_of",
    "filled",
    "function_tool",
    "has_pictures",
    "has_words",
    "listed",
    "picture_address",
    "picture_data",
    "result_content",
    "to_json",
    "told",
    "words_of",
]
