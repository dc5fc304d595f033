"""The text that a model gets for what a handler returned or raised."""

from __future__ import annotations

import base64
import collections
import datetime
import enum
import json
import pathlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.errors import RecordedToolError, ToolError
from loopkit.messages import ToolOutput
from loopkit.tools.output import failure_text, output_text


@dataclass
class Point:
    x: int
    where: pathlib.PurePosixPath


class Range(NamedTuple):
    start: int
    stop: int


class Colour(enum.Enum):
    RED = "red"


class Word(str):
    def __str__(self) -> str:
        return "other"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n ", "as it is\n "),
        (None, ""),
        ("\ud800", "\ud800"),
        (1, "1"),
        (1.5, "1.5"),
        (True, "true"),
        ([1, None, "é\u2028"], '[1, null, "é\u2028"]'),
        (["\ud800"], '["\ud800"]'),
        ((1, (2,)), "[1, [2]]"),
        ({"a": {"b": False}}, '{"a": {"b": false}}'),
        ({True: "c", None: "b", Colour.RED: "d"}, '{"true": "c", "null": "b", "red": "d"}'),
        (Point(1, pathlib.PurePosixPath("a/b")), '{"x": 1, "where": "a/b"}'),
        ([Range(1, 2)], '[{"start": 1, "stop": 2}]'),
        (Colour.RED, "red"),
        ({"b", "a", "c"}, '["a", "b", "c"]'),
        (collections.deque([1]), "[1]"),
        (datetime.date(2024, 2, 29), "2024-02-29"),
        ({"at": datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)}, '{"at": "2024-02-29T12:00:00+00:00"}'),
        (pathlib.PurePosixPath("a"), "a"),
        (b"text \xc3\xa9", "text é"),
        (b"\xc7\xff", "data:application/octet-stream;base64,x/8="),
        ({"body": bytearray(b"\xc7\xff")}, '{"body": "data:application/octet-stream;base64,x/8="}'),
        (range(3), "range(0, 3)"),
        (int, "<class 'int'>"),
    ],
)
def test_each_kind_of_answer_has_its_text(value: Any, text: str) -> None:
    """spec/faults.md d4 (bytes name their encoding) and e20 (lone surrogates are kept)."""
    assert output_text(value) == (text, False)


def test_text_of_a_subclass_is_plain_text() -> None:
    text, _ = output_text(Word("own"))
    assert type(text) is str


@given(st.binary())
def test_bytes_can_be_read_back(data: bytes) -> None:
    """spec/faults.md d4."""
    text, _ = output_text(data)
    prefix = "data:application/octet-stream;base64,"
    try:
        assert text == data.decode()
    except UnicodeDecodeError:
        assert base64.b64decode(text.removeprefix(prefix)) == data


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).filter(lambda value: value is not None and not isinstance(value, str))
)
def test_json_values_are_written_as_json(value: Any) -> None:
    assert json.loads(output_text(value)[0]) == value


def test_tool_output_says_whether_it_is_an_error() -> None:
    assert output_text(ToolOutput({"a": 1}, is_error=True)) == ('{"a": 1}', True)
    assert output_text(ToolOutput("fine")) == ("fine", False)
    assert output_text(ToolOutput(ToolOutput("inner", is_error=True))) == ("inner", True)


def test_answer_that_contains_itself_is_an_error_for_the_model() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert output_text(endless) == ("The tool's result is nested too deeply to be written as text.", True)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (ValueError(), "ValueError"),
        (KeyError("name"), "KeyError: 'name'"),
        (ToolError("The file is gone."), "The file is gone."),
        (ToolError(), "ToolError"),
        (RecordedToolError("ValueError", "bad"), "ValueError: bad"),
        (SystemExit(3), "SystemExit: 3"),
        (
            ExceptionGroup("several", [ValueError("a"), ExceptionGroup("b", [KeyError("c")])]),
            "ValueError: a\nKeyError: 'c'",
        ),
        (Unprintable(), "Unprintable: its message can't be read (RuntimeError)"),
    ],
)
def test_failure_is_told_without_a_traceback(error: BaseException, text: str) -> None:
    """Rule 9.1: a handler's exception is a result for the model."""
    assert failure_text(error) == text
