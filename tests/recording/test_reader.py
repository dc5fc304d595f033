"""Whatever is whole can be read, whatever is not is named; nothing crashes the reader."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopkit.errors import RecordingDamaged, RecordingError, RecordingNewer, UserError
from loopkit.events import Event, ToolReturned, Unrecognised
from loopkit.recording.reader import Damage, iterate_events, read_recording, require_sound
from tests.recording.story import HEADER, HEADER_LINE, line_of, small_run

LINES = [HEADER_LINE, *map(line_of, small_run())]


def _write(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"".join(lines))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def test_a_whole_recording_reads_back(path: Path) -> None:
    recording = read_recording(_write(path, LINES))
    require_sound(recording)
    assert recording.header == HEADER
    assert list(recording.events) == small_run() == list(iterate_events(path))
    assert (recording.torn, recording.damage, recording.in_use, recording.newer) == (None, (), None, False)
    assert recording.size == path.stat().st_size


def test_a_file_cut_at_any_byte_opens_with_every_whole_line_before_the_cut(path: Path) -> None:
    """spec/faults.md j1, j4: every byte of the last two events, those inside a UTF-8 character among them."""
    content = b"".join(LINES)
    for cut in range(len(b"".join(LINES[:-2])), len(content) + 1):
        kept = content[:cut]
        path.write_bytes(kept)
        recording = read_recording(path)
        require_sound(recording)
        whole = kept.count(b"\n") - 1
        # a last line that lacks nothing but its end is whole too
        whole += (kept + b"\n").endswith((LINES[-2], LINES[-1])) and not kept.endswith(b"\n")
        assert list(recording.events) == small_run()[:whole]
        assert (recording.torn is None) == (recording.size == cut)
        assert list(iterate_events(path)) == list(recording.events)


def test_a_torn_tail_is_left_out_with_a_notice(path: Path) -> None:
    """spec/faults.md j4."""
    recording = read_recording(_write(path, [*LINES, b'{"seq":13,"t":"tor']))
    assert str(recording.torn) == "line 14, the last, was never finished: its 18 bytes are left out"
    assert list(recording.events) == small_run()


def test_damage_in_the_middle_is_named_with_its_line_and_the_rest_is_readable(path: Path) -> None:
    """spec/faults.md j4: viewable, and refused where an event must not be missing."""
    recording = read_recording(_write(path, [*LINES[:4], b"\x00\x00broken\n", *LINES[5:]]))
    assert [event.seq for event in recording.events] == [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12]
    assert recording.damage == (Damage(5, "not JSON: Expecting value at character 1"),)
    with pytest.raises(RecordingDamaged, match="line 5 is damaged"):
        require_sound(recording)
    with pytest.raises(RecordingDamaged, match="line 5 is damaged"):
        list(iterate_events(path))


@pytest.mark.parametrize(
    ("lines", "damage"),
    [
        ([*LINES[:4], *LINES[5:]], [Damage(5, "event 4 was due, event 5 stands there")]),
        ([*LINES[:4], LINES[3], *LINES[4:]], [Damage(5, "event 4 was due, event 3 stands there")]),
        ([LINES[0], *LINES[2:]], [Damage(2, "event 1 was due, event 2 stands there")]),
    ],
)
def test_a_gap_and_a_repeat_in_the_sequence_are_damage(path: Path, lines: list[bytes], damage: list[Damage]) -> None:
    """spec/faults.md j9, j18."""
    recording = read_recording(_write(path, lines))
    assert list(recording.damage) == damage
    assert len(recording.events) == len(lines) - 1


def test_the_order_is_that_of_the_sequence_whatever_the_clock_said(path: Path) -> None:
    """spec/faults.md j18: the clock was set back by an hour."""
    events = [Event(1, 5.0, "root", 1, ToolReturned("a", "1")), Event(2, -3595.0, "root", 1, ToolReturned("b", "2"))]
    recording = read_recording(_write(path, [LINES[0], *map(line_of, events)]))
    assert list(recording.events) == events
    assert not recording.damage


def test_lines_end_at_a_newline_only(path: Path) -> None:
    """spec/faults.md a23; a file that git or an editor gave other line ends is still read."""
    events = small_run("a\u2028b\u2029c\x85d\x0be\x1cf\rg")
    lines = [LINES[0], *map(line_of, events)]
    assert list(read_recording(_write(path, lines)).events) == events
    windows = [line.replace(b"\n", b"\r\n") for line in lines]
    recording = read_recording(_write(path, [b"\xef\xbb\xbf", *windows, b"\r\n"]))
    assert list(recording.events) == events
    assert not recording.damage


def test_an_unknown_type_is_kept_raw(path: Path) -> None:
    """spec/faults.md j17."""
    custom = b'{"seq":13,"t":1.3,"loop":"root","iteration":2,"type":"x/custom","note":"hi"}\n'
    recording = read_recording(_write(path, [*LINES, custom]))
    assert recording.events[-1].fact == Unrecognised("x/custom", {"note": "hi"})
    assert not recording.damage


def test_a_later_format_can_be_viewed_and_nothing_else(path: Path) -> None:
    head = b'{"loopkit":"9.9","format":2,"run":"r","created":"c","extra":[]}\n'
    changed = b'{"seq":1,"t":0.1,"loop":"root","iteration":0,"type":"LoopStarted","who":"me"}\n'
    recording = read_recording(_write(path, [head, changed, *LINES[2:]]))
    assert recording.newer
    assert recording.events[0].fact == Unrecognised("LoopStarted", {"who": "me"})
    assert not recording.damage
    with pytest.raises(RecordingNewer, match=r"format 2 .* knows format 1: it can be viewed; upgrade loopkit"):
        require_sound(recording)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: None, "there is no such file"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_bytes(bytes(range(256)) * 40), "is not a loopkit recording"),
        (lambda path: path.write_bytes(b"hello\n"), "is not a loopkit recording"),
        (lambda path: path.write_bytes(LINES[0][:60]), "ends within its header"),
        (lambda path: path.write_bytes(LINES[0][:60] + b"\n" + LINES[1]), "line 1 is damaged"),
        (lambda path: path.symlink_to(path), "can't be read"),
        (os.mkfifo, "is not a regular file"),
    ],
)
def test_what_is_no_recording_is_refused_in_one_line(path: Path, make: Callable[[Path], object], says: str) -> None:
    make(path)
    for read in (read_recording, lambda path: list(iterate_events(path))):
        with pytest.raises(RecordingError, match=says) as caught:
            read(path)
        assert isinstance(caught.value, UserError)
        assert "\n" not in str(caught.value)


def test_a_file_without_the_right_to_read_it_is_refused_in_one_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(LINES[0])

    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(RecordingError, match=r"run\.jsonl: can't be read \(Permission denied\)$"):
        read_recording(path)


def test_a_disk_that_fails_while_reading_is_named_in_one_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FailingFile(io.BytesIO):
        def __next__(self) -> bytes:
            raise OSError(5, "Input/output error")

    path.write_bytes(b"".join(LINES))
    monkeypatch.setattr(Path, "open", lambda self, mode: FailingFile(b"".join(LINES)))
    with pytest.raises(RecordingError, match=r"can't be read \(Input/output error\)"):
        read_recording(path)


def test_a_path_that_can_be_none_is_refused_in_one_line() -> None:
    with pytest.raises(RecordingError, match="is not a path"):
        read_recording("a\x00b")


def test_a_header_without_an_event_is_no_ground_for_a_replay(path: Path) -> None:
    recording = read_recording(_write(path, LINES[:1]))
    assert recording.events == ()
    with pytest.raises(RecordingError, match="no event"):
        require_sound(recording)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_flipped_bits_never_crash_the_reader(path: Path, data: st.DataObject) -> None:
    """Every other event is still there, and a changed number, type or length of the file is never passed over."""
    content = bytearray(b"".join(LINES))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(len(LINES[0]), len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    recording = read_recording(path)
    survivors = len(recording.events) + len(recording.damage) + (recording.torn is not None)
    assert survivors >= 1
    intact = sum(event in recording.events for event in small_run())
    assert intact >= len(small_run()) - 8


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, len(b"".join(LINES))), st.integers(0, 80), st.binary(max_size=60)), min_size=1)
)
def test_any_bytes_are_read_or_refused_in_one_line(path: Path, splices: list[tuple[int, int, bytes]]) -> None:
    content = bytearray(b"".join(LINES))
    for start, length, piece in splices:
        content[start : start + length] = piece
    path.write_bytes(content)
    try:
        recording = read_recording(path)
    except RecordingError as error:
        assert "\n" not in str(error)  # noqa: PT017  # refusing is one of two right outcomes
    else:
        assert recording.header.format >= 1
