"""A server's answer as a handler's: its text, its pictures, its data, and words for what is none of these."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from loopkit.messages import Image, ToolOutput
from loopkit.tools.checks import json_problem
from loopkit.tools.output import MOST_IMAGES, output_text, picture_problem

if TYPE_CHECKING:
    from mcp.types import BlobResourceContents, CallToolResult, ContentBlock, TextResourceContents

MOST_CHARACTERS = 1_000_000


def output_of(result: CallToolResult) -> ToolOutput:
    """Return a server's answer as a handler's.

    Pictures are given, and their places in the text are marked; sounds and files are described. A server that gives
    structured content repeats it as content, so that the model is given it only where there is no other; it is kept as
    data where the text is not the same.
    """
    images: list[Image] = []
    words = [_words(block, images) for block in result.content]
    text = "\n".join(words)
    data = result.structured_content
    if data is not None and not words:
        text, data = output_text(data)[0], None
    elif data is not None and (json_problem(data) is not None or _same(text, data)):
        data = None
    if not text and result.is_error:
        text = "The tool failed and did not say why."
    if len(text) > MOST_CHARACTERS:
        left_out = len(text) - MOST_CHARACTERS
        text = (
            f"{text[:MOST_CHARACTERS]}\n[the answer was {len(text)} characters long; the last {left_out} are left out]"
        )
    return ToolOutput(text, result.is_error, json=data, images=images)


def _same(text: str, data: object) -> bool:
    """Say whether the text is the data's own JSON, as servers are told to give it."""
    if data == {"result": text}:
        return True
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return bool(data in (said, {"result": said}))


def _words(block: ContentBlock, images: list[Image]) -> str:
    match block.type:
        case "text":
            return block.text
        case "image":
            return _picture_words(Image(block.mime_type, block.data), images)
        case "audio":
            return f"[{block.type}, {block.mime_type}, {_size(block.data)}]"
        case "resource_link":
            return f"[link to {block.name}: {block.uri}]"
        case "resource":
            return _resource_words(block.resource, images)


def _picture_words(image: Image, images: list[Image]) -> str:
    """Return what marks a picture's place, and keep it if it is one."""
    described = f"{image.media_type}, {_size(image.data or '')}"
    if len(images) >= MOST_IMAGES or picture_problem([image]) is not None:
        return f"[image that can't be used, {described}]"
    images.append(image)
    return f"[image {len(images)}, {described}]"


def _resource_words(resource: TextResourceContents | BlobResourceContents, images: list[Image]) -> str:
    # a class of the extra can't be named here without loading it
    text: str | None = getattr(resource, "text", None)
    if text is not None:
        return text
    if (resource.mime_type or "").startswith("image/"):
        return _picture_words(Image(resource.mime_type or "", getattr(resource, "blob", "")), images)
    kind = resource.mime_type or "of unknown type"
    return f"[file {resource.uri}, {kind}, {_size(getattr(resource, 'blob', ''))}]"


def _size(base64_text: str) -> str:
    return f"{len(base64_text.rstrip('=')) * 3 // 4} bytes"
