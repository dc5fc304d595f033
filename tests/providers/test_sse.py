"""The event reader: bytes in any cut give the same events."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.errors import ProviderError
from loopkit.providers.sse import ServerSentEvent, SSEReader


def read(*chunks: bytes) -> list[ServerSentEvent]:
    reader = SSEReader()
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + reader.finish()


def byte_by_byte(body: bytes) -> list[ServerSentEvent]:
    return read(*(body[place : place + 1] for place in range(len(body))))


LINES = st.sampled_from(
    [
        "data: one",
        "data:two",
        "data:  three",
        "data",
        "data:",
        ": comment",
        ":",
        "event: error",
        "event:",
        "id: 7",
        "id: a\0b",
        "retry: 3",
        "unknown: x",
        "data: a\u2028b\u2029c\u0085d",
        "data: 你好😀 é",
        "",
        "",
    ]
)
ENDINGS = st.sampled_from(["\n", "\r", "\r\n"])


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(st.tuples(LINES, ENDINGS), max_size=20))
    text = "".join(line + ending for line, ending in lines) + draw(st.sampled_from(["", "data: torn", "data: t\r"]))
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()


@given(streams(), st.lists(st.integers(0, 400)))
def test_any_cut_of_the_bytes_gives_the_same_events(body: bytes, cuts: list[int]) -> None:
    """a24, n2."""
    places = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    chunks = [body[start:end] for start, end in pairwise(places)]
    assert read(*chunks) == read(body) == byte_by_byte(body) == read(*body.splitlines(keepends=True))


@given(st.lists(LINES, max_size=12))
def test_line_endings_make_no_difference(lines: list[str]) -> None:
    """a24."""
    forms = [read((ending.join(lines) + ending * 2).encode()) for ending in ("\n", "\r", "\r\n")]
    assert forms[0] == forms[1] == forms[2]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
def test_only_cr_and_lf_end_a_line(separator: str) -> None:
    """a23."""
    assert read(f'data: {{"t":"a{separator}b"}}\n\n'.encode())[0].data == f'{{"t":"a{separator}b"}}'


def test_a_character_may_be_split_over_chunks() -> None:
    """a25."""
    assert byte_by_byte("data: 你好😀\n\n".encode()) == [ServerSentEvent("message", "你好😀")]


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    assert read(b"data: a\xffb\n\n")[0].data == "a\ufffdb"


def test_comments_are_ignored() -> None:
    """a26."""
    assert read(b": OPENROUTER PROCESSING\n\n: x\ndata: 1\n\n") == [ServerSentEvent("message", "1")]


def test_an_event_has_its_type_its_data_lines_and_the_last_id() -> None:
    body = b"id: 4\nevent: error\ndata: a\ndata: b\n\ndata:c\n\n"
    assert read(body) == [ServerSentEvent("error", "a\nb", "4"), ServerSentEvent("message", "c", "4")]


def test_an_event_without_data_is_none() -> None:
    assert read(b"event: ping\n\ndata: 1\n\n") == [ServerSentEvent("message", "1")]


def test_the_last_event_needs_no_blank_line() -> None:
    """a24."""
    assert read(b"data: 1\n\ndata: 2")[-1].data == "2"


def test_an_event_comes_as_soon_as_its_blank_line_ends() -> None:
    assert SSEReader().feed(b"data: 1\r\r") == [ServerSentEvent("message", "1")]
    assert SSEReader().feed(b"data: 1\r\n\r") == [ServerSentEvent("message", "1")]


def test_a_byte_order_mark_counts_only_at_the_start() -> None:
    assert read(b"\xef\xbb\xbfdata: 1\n\n")[0].data == "1"
    assert read(b"\n\xef\xbb\xbfdata: 1\n\n") == []


@pytest.mark.parametrize("body", [b"x" * 11, b"data: 12345\n", b"data:12345\ndata:12345\ndata:1\n"])
def test_an_endless_line_or_event_is_a_clear_error(body: bytes) -> None:
    for chunks in ([body], [body[place : place + 1] for place in range(len(body))]):
        reader = SSEReader(longest_line=10)
        with pytest.raises(ProviderError, match="more than 10 bytes"):
            [reader.feed(chunk) for chunk in chunks]
