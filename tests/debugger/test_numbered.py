"""Any event of a recording is found by its number without reading what stands before it, whatever is missing."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopkit.debugger import numbered
from loopkit.debugger.numbered import NumberedEvents
from loopkit.errors import UserError
from loopkit.events import Event
from loopkit.recording import line_starts
from loopkit.recording.line_starts import LineStarts
from tests.bench.large_file import write_large


def written(folder: str, missing: set[int], *, apart: bool, torn: bool) -> tuple[Path, list[int]]:
    """A recording with lines missing, damaged ones in the place of some, and the numbers that are left."""
    path = Path(folder) / "run.jsonl"
    write_large(path, 60)
    header, *lines = path.read_bytes().splitlines()
    kept = []
    for place, line in enumerate(lines):
        if place not in missing:
            kept.append(json.dumps(json.loads(line)).encode() if apart else line)
        elif place % 2:
            kept.append(b'{"seq":7,"broken')
    path.write_bytes(b"\n".join([header, *kept]) + (b'\n{"seq":9999,"t":1' if torn else b"\n"))
    return path, [place + 1 for place in range(len(lines)) if place not in missing]


@given(missing=st.sets(st.integers(0, 61), max_size=50), apart=st.booleans(), torn=st.booleans(), found=st.booleans())
@settings(deadline=None)
def test_every_number_is_found_and_no_other(missing: set[int], apart: bool, torn: bool, found: bool) -> None:
    """spec/faults.md j1, j4: cut anywhere, lines missing or damaged; with and without the lines being known."""
    with tempfile.TemporaryDirectory() as folder, patch.object(numbered, "_NEAR", 64):
        path, numbers = written(folder, missing, apart=apart, torn=torn)
        with NumberedEvents(path) as events:
            while found and events.advance(0.0):
                pass
            for seq in range(1, 64):
                if seq in numbers:
                    assert events.event(seq).seq == seq
                else:
                    with pytest.raises(UserError, match=f"no event {seq} "):
                        events.event(seq)
                later = [item.seq for item in events.from_number(seq) if isinstance(item, Event)]
                assert later == [number for number in numbers if number >= seq]


@given(count=st.integers(1, 80), block=st.integers(1, 5000), torn=st.booleans())
@settings(deadline=None)
def test_the_last_events_are_found_from_the_end(count: int, block: int, torn: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, patch.object(numbered, "_BLOCK", block):
        path, numbers = written(folder, set(), apart=False, torn=torn)
        with NumberedEvents(path) as events:
            # a torn line is one of the last
            wanted = count - torn
            assert [item.seq for item in events.last(count) if isinstance(item, Event)] == (
                numbers[-wanted:] if wanted else []
            )


@given(
    lines=st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=80),
    clock=st.integers(1, 200),
    torn=st.binary(max_size=5).map(lambda line: line.replace(b"\n", b"")),
)
def test_every_line_begins_where_it_does(lines: list[bytes], clock: int, torn: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, patch.object(line_starts, "_CLOCK_BYTES", clock):
        path = Path(folder) / "run.jsonl"
        path.write_bytes(b"head\n" + b"".join(line + b"\n" for line in lines) + torn)
        starts = LineStarts(path, 5)
        while not starts.ended:
            starts.advance(0.0)
        starts.advance()
        assert [starts.line(number) for number in range(starts.lines)] == lines
        with path.open("ab") as file:
            file.write(b"\nmore\n")
        starts.advance()
        assert [starts.line(number) for number in range(starts.lines)] == [*lines, torn, b"more"]
        with pytest.raises(IndexError):
            starts.line(starts.lines)
        starts.close()
