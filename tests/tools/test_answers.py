"""What a handler may return beside text: data and pictures, checked before they are kept."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from loopkit import Image, ToolOutput
from loopkit.tools.output import MOST_IMAGE_CHARACTERS, Answer, answer_of, picture_problem

DOT = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
PICTURE = Image("image/png", DOT)


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("words", Answer("words")),
        ({"a": 1}, Answer('{"a": 1}')),
        (ToolOutput("words", is_error=True), Answer("words", True)),
        (ToolOutput(text="words"), Answer("words")),
        (ToolOutput(json={"a": [1]}), Answer('{"a": [1]}')),
        (ToolOutput(json=0), Answer("0")),
        (ToolOutput(text="one row", json=[{"a": 1}]), Answer("one row", False, [{"a": 1}])),
        (ToolOutput(text="", json=[1]), Answer("", False, [1])),
        (ToolOutput(images=[PICTURE]), Answer("", False, None, (PICTURE,))),
        (PICTURE, Answer("", False, None, (PICTURE,))),
        (ToolOutput({"b": 2}, text="a", images=[PICTURE]), Answer('a\n{"b": 2}', False, None, (PICTURE,))),
        (ToolOutput(ToolOutput("inner", images=[PICTURE]), is_error=True), Answer("inner", True, None, (PICTURE,))),
        (ToolOutput(json={1: {2, 1}, "t": (1, 2)}), Answer('{"1": [1, 2], "t": [1, 2]}')),
        (ToolOutput(), Answer("")),
    ],
)
def test_each_part_has_its_place(value: object, answer: Answer) -> None:
    """The model gets the text, and the JSON where there is no text."""
    assert answer_of(value) == answer


def circular() -> Any:
    endless: list[Any] = []
    endless.append(endless)
    return endless


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (ToolOutput(json={"a": float("nan")}), "nan is not a JSON number"),
        (ToolOutput(json=[float("inf")]), "inf is not a JSON number"),
        (ToolOutput(json=circular()), "nested too deeply"),
        (ToolOutput(json=["x" * 11_000_000]), "its JSON is none"),
        (ToolOutput(json=list(range(200_000))), "more than 100000 values"),
        (ToolOutput(json=10**9999), "too many digits"),
        (ToolOutput(text=7), "its text is no text"),  # type: ignore[arg-type]  # what a mistake gives
        (ToolOutput(images=["png"]), "image 1 is no Image but str"),  # type: ignore[list-item]  # the same
        (ToolOutput(images=[PICTURE, Image("image/png", "not base64!")]), "image 2 is not base64"),
        (ToolOutput(images=[Image("image/png", "é")]), "is not base64"),
        (ToolOutput(images=[Image("image/png", "")]), "is empty"),
        (ToolOutput(images=[Image("image/png")]), "needs base64 data or a url"),
        (ToolOutput(images=[Image("image/png", DOT, "https://x")]), "one of them"),
        (ToolOutput(images=[Image("image/png", url="file:///etc/passwd")]), "none of the web"),
        (ToolOutput(images=[Image("text/html", DOT)]), "none of pictures"),
        (ToolOutput(images=[Image("image/png\n\x1b", DOT)]), "none of pictures"),
        (ToolOutput(images=[Image("image/png", "A" * (MOST_IMAGE_CHARACTERS + 4))]), "has more than"),
        (ToolOutput(images=[PICTURE] * 101), "101 images"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_kept_is_an_error_that_says_why(value: object, words: str) -> None:
    answer = answer_of(value)
    assert answer.is_error
    assert words in answer.content
    assert (answer.json, answer.images) == (None, ())
    assert len(answer.content) < 300


def test_a_picture_is_made_of_a_files_bytes() -> None:
    image = Image.from_bytes(b"\xff\xd8\xff", "image/jpeg")
    assert (image, picture_problem([image])) == (Image("image/jpeg", "/9j/"), None)
