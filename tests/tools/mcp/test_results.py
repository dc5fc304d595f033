"""What a model is told of a server's answer."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.types import CallToolResult

from loopkit.messages import ToolOutput
from loopkit.tools.mcp.results import MOST_CHARACTERS, output_of

TEXT = {"type": "text", "text": "salt"}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"content": []}, ""),
        ({"content": [TEXT, TEXT]}, "salt\nsalt"),
        ({"content": [], "structuredContent": {"a": [1, None, "é"]}}, '{"a": [1, null, "é"]}'),
        ({"content": [TEXT], "structuredContent": {"taste": "salt"}}, "salt"),
        ({"content": [{"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}]}, "[audio, audio/wav, 3 bytes]"),
        (
            {"content": [{"type": "resource_link", "name": "soup", "uri": "file:///soup.txt"}]},
            "[link to soup: file:///soup.txt]",
        ),
        ({"content": [{"type": "resource", "resource": {"uri": "file:///soup.txt", "text": "salt"}}]}, "salt"),
        (
            {"content": [{"type": "resource", "resource": {"uri": "file:///soup", "blob": "AAA="}}]},
            "[file file:///soup, of unknown type, 2 bytes]",
        ),
    ],
)
def test_each_kind_of_content_has_words(answer: dict[str, Any], words: str) -> None:
    assert output_of(CallToolResult.model_validate(answer)) == ToolOutput(words)


def test_a_failure_without_words_gets_some() -> None:
    answer = CallToolResult.model_validate({"content": [], "isError": True})
    assert output_of(answer) == ToolOutput("The tool failed and did not say why.", is_error=True)


def test_a_text_of_the_greatest_length_stays_whole() -> None:
    text = "x" * MOST_CHARACTERS
    answer = CallToolResult.model_validate({"content": [{"type": "text", "text": text}]})
    assert output_of(answer) == ToolOutput(text)
