"""What a model is told of a server's answer: its text, or words for what is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopkit.messages import ToolOutput
from loopkit.tools.output import output_text

if TYPE_CHECKING:
    from mcp.types import BlobResourceContents, CallToolResult, ContentBlock, TextResourceContents

MOST_CHARACTERS = 1_000_000


def output_of(result: CallToolResult) -> ToolOutput:
    """Return a server's answer as a handler's.

    A server that gives structured content repeats it as content, pictures included; only where it does not, its JSON is
    the text. Pictures, sounds and files are described, not given.
    """
    words = [_words(block) for block in result.content]
    if result.structured_content is not None and not words:
        words.append(output_text(result.structured_content)[0])
    text = "\n".join(words)
    if not text and result.is_error:
        text = "The tool failed and did not say why."
    if len(text) > MOST_CHARACTERS:
        left_out = len(text) - MOST_CHARACTERS
        text = (
            f"{text[:MOST_CHARACTERS]}\n[the answer was {len(text)} characters long; the last {left_out} are left out]"
        )
    return ToolOutput(text, result.is_error)


def _words(block: ContentBlock) -> str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return f"[{block.type}, {block.mime_type}, {_size(block.data)}]"
        case "resource_link":
            return f"[link to {block.name}: {block.uri}]"
        case "resource":
            return _resource_words(block.resource)


def _resource_words(resource: TextResourceContents | BlobResourceContents) -> str:
    # a class of the extra can't be named here without loading it
    text: str | None = getattr(resource, "text", None)
    if text is not None:
        return text
    kind = resource.mime_type or "of unknown type"
    return f"[file {resource.uri}, {kind}, {_size(getattr(resource, 'blob', ''))}]"


def _size(base64_text: str) -> str:
    return f"{len(base64_text.rstrip('=')) * 3 // 4} bytes"
