"""What a model is told of a server's answer."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.types import CallToolResult

from loopkit.messages import Image, ToolOutput
from loopkit.tools.mcp.results import MOST_CHARACTERS, output_of

TEXT = {"type": "text", "text": "salt"}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"content": []}, ""),
        ({"content": [TEXT, TEXT]}, "salt\nsalt"),
        ({"content": [], "structuredContent": {"a": [1, None, "é"]}}, '{"a": [1, null, "é"]}'),
        ({"content": [TEXT], "structuredContent": {"result": "salt"}}, "salt"),
        ({"content": [{"type": "text", "text": "[1]"}], "structuredContent": {"result": [1]}}, "[1]"),
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


def test_data_beside_other_words_is_kept_as_data() -> None:
    """The model gets the words that the server chose, people and programs the data."""
    answer = CallToolResult.model_validate({"content": [TEXT], "structuredContent": {"taste": "salt", "grams": 3}})
    assert output_of(answer) == ToolOutput("salt", json={"taste": "salt", "grams": 3})


DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_pictures_are_given_and_their_places_marked() -> None:
    file = {"uri": "file:///b.png", "mimeType": "image/png", "blob": DOT}
    content = [TEXT, {"type": "image", "mimeType": "image/png", "data": DOT}, {"type": "resource", "resource": file}]
    picture = Image("image/png", DOT)
    assert output_of(CallToolResult.model_validate({"content": content})) == ToolOutput(
        "salt\n[image 1, image/png, 70 bytes]\n[image 2, image/png, 70 bytes]", images=[picture, picture]
    )


@pytest.mark.parametrize(("data", "media_type"), [("not base64!", "image/png"), ("", "image/png"), (DOT, "text/html")])
def test_a_picture_that_is_none_has_words(data: str, media_type: str) -> None:
    content = [{"type": "image", "mimeType": media_type, "data": data}]
    output = output_of(CallToolResult.model_validate({"content": content}))
    assert output.images == ()
    assert str(output.content).startswith(f"[image that can't be used, {media_type}")


def test_data_that_is_too_deep_is_left_out() -> None:
    deep: dict[str, Any] = {}
    for _ in range(150):
        deep = {"a": deep}
    assert output_of(CallToolResult.model_validate({"content": [TEXT], "structuredContent": deep})) == ToolOutput(
        "salt"
    )
