"""The header tells what a file is, who wrote it and what it came from."""

from __future__ import annotations

import json

import pytest

import loopkit
from loopkit.encoding import DecodingError
from loopkit.recording.header import FORMAT, SNIFFED_BYTES, Header, header_line, looks_like_recording, read_header

FORK = Header(
    run="run-2",
    created="2026-01-02T03:04:05+00:00",
    parent="run-1",
    fork_seq=7,
    redaction=("api key", "e-mail"),
    flags=("old masking",),
)


def test_the_header_comes_back_as_it_was_written() -> None:
    assert read_header(header_line(FORK)) == FORK


def test_every_key_is_written_and_the_first_two_tell_the_file_by_content() -> None:
    """spec/faults.md j22."""
    line = header_line(Header(run="run-1", created="2026-01-02T03:04:05+00:00"))
    assert list(json.loads(line)) == [
        "loopkit", "format", "run", "created", "parent", "fork_seq", "redaction", "flags",
    ]  # fmt: skip
    assert line.startswith(f'{{"loopkit":"{loopkit.__version__}","format":{FORMAT},'.encode())
    assert looks_like_recording(line[:SNIFFED_BYTES])


@pytest.mark.parametrize(
    ("first_bytes", "ours"),
    [
        (b'{"loopkit":"9.9","format":12,"new":{}}\n', True),
        (b'\xef\xbb\xbf{ "loopkit": "0.1.0", "format": 1, "run"', True),
        (b"", False),
        (b"{}", False),
        (b'{"type":"user","loopkit":"0.1.0","format":1}', False),
        (b'[{"loopkit":"0.1.0","format":1}]', False),
        (b"\x00\xff\x7fELF", False),
    ],
)
def test_a_recording_is_told_by_its_first_bytes(first_bytes: bytes, ours: bool) -> None:
    assert looks_like_recording(first_bytes) is ours


def test_what_a_later_format_adds_is_passed_over() -> None:
    line = b'{"loopkit":"9.9","format":9,"run":"r","created":"c","colour":"blue"}'
    assert read_header(line) == Header(loopkit="9.9", format=9, run="r", created="c")


@pytest.mark.parametrize(
    "line",
    [
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"loopkit":"0.1.0","format":0,"run":"r","created":"c"}',
        b'{"loopkit":"0.1.0","format":"1","run":"r","created":"c"}',
        b'{"loopkit":"0.1.0","format":1,"created":"c"}',
    ],
)
def test_a_line_that_is_no_header_is_refused(line: bytes) -> None:
    with pytest.raises(DecodingError):
        read_header(line)
