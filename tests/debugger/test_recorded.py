"""Opening runs that were recorded: ours, foreign, damaged, torn, newer, and what is no run at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit.core.loop import fold
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.session import Session
from loopkit.errors import RecordingError, UserError
from loopkit.recording.header import Header
from loopkit.recording.writer import Recorder
from tests.debugger.playbook import outline
from tests.recording.story import HEADER, record, small_run


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A sound recording."""
    path = tmp_path / "ours.jsonl"
    record(path, small_run())
    return path


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_our_recording_is_opened_whole(ours: Path) -> None:
    with open_recording(ours) as run:
        assert isinstance(run.header, Header)
        assert (run.source_format, run.notices, run.damaged) == ("loopkit", [], None)
        assert list(run.events) == small_run()
        assert run.timeline.ended
        assert run.timeline is run.timeline


def test_a_session_of_a_recording_looks_and_does_nothing(ours: Path) -> None:
    session = Session.open(str(ours))
    assert (session.live, session.mode, session.running, session.error) == (False, "recorded", False, "")
    assert (session.title, session.path) == ("say hello", ours)
    assert session.status().state == "finished"
    assert session.events == tuple(small_run())
    for command in (session.pause, session.step, session.next_iteration, session.resume, session.stop, session.close):
        command()
    assert session.poll() == []
    assert session.wait() is True
    assert session.partial() == ""
    assert session.pending() == []


def test_the_state_at_every_event_is_the_fold_of_its_prefix(ours: Path) -> None:
    run = open_recording(ours)
    for seq in range(len(run.events) + 1):
        assert run.state_at(seq) == fold(run.events[:seq])
    assert run.state_at(10**9) == fold(run.events)


def test_an_unfinished_recording_says_so(ours: Path) -> None:
    """Calls that waited when it ended are not offered for a decision that nobody takes (spec/faults.md c12)."""
    ours.write_bytes(b"".join(lines_of(ours)[:6]))
    session = Session.open(ours)
    assert session.status().state == "unfinished"
    assert session.status().waits_for == ""
    assert session.pending() == []


def test_a_torn_end_is_a_notice(ours: Path) -> None:
    """One torn last line does not lose the session (spec/faults.md j4)."""
    ours.write_bytes(ours.read_bytes()[:-20])
    run = open_recording(ours)
    assert len(run.events) == len(small_run()) - 1
    assert len(run.notices) == 1
    assert "never finished" in run.notices[0]
    assert run.damaged is None


def test_a_recording_that_is_being_written_is_shown_to_read_only(tmp_path: Path) -> None:
    """The second opener is told who writes it (spec/faults.md j9)."""
    path = tmp_path / "run.jsonl"
    with Recorder(path) as recorder:
        recorder.start(HEADER)
        for event in small_run()[:5]:
            recorder.append(event)
        (notice,) = open_recording(path).notices
        assert notice.startswith(f"being written by process {os.getpid()} on ")
    assert open_recording(path).notices == []


@pytest.mark.parametrize("line", range(2, 14))
def test_damage_is_named_with_its_line_and_the_rest_is_in_view(line: int, ours: Path) -> None:
    """Damage in the middle is reported, never skipped silently (spec/faults.md j4)."""
    lines = lines_of(ours)
    lines[line - 1] = b'{"seq": broken\n'
    ours.write_bytes(b"".join(lines))
    session = Session.open(ours)
    assert session.notices[0].startswith(f"line {line} is damaged")
    assert session.timeline.ended or line == 13
    assert "▪ greet" not in outline(session.timeline)
    run = open_recording(ours)
    assert run.damaged == session.notices[0]
    assert run.state_at(line - 2) == fold(small_run()[: line - 2])
    if line < 13:
        with pytest.raises(RecordingError, match=f"event {line - 1} is missing"):
            run.state_at(10**9)


@pytest.mark.parametrize("missing", range(1, 12))
def test_a_recording_that_lies_about_its_order_does_not_end_the_interface(missing: int, ours: Path) -> None:
    """Numbers may be gapless and still tell no story: a file can be written by anybody."""
    header, *rest = lines_of(ours)
    events = [json.loads(line) for line in rest]
    del events[missing]
    told = [json.dumps({**event, "seq": seq}).encode() + b"\n" for seq, event in enumerate(events, 1)]
    ours.write_bytes(header + b"".join(told))
    session = Session.open(ours)
    assert outline(session.timeline)
    assert session.status().agents == 1
    run = open_recording(ours)
    if missing in (1, 3):
        # without the iteration or the answer there is no call to decide on
        with pytest.raises(RecordingError, match="doesn't follow from those before it"):
            run.state_at(10**9)
    else:
        assert run.state_at(10**9).keys() == {"root"}


def test_odd_settings_in_a_file_are_no_words_on_a_screen(ours: Path) -> None:
    """What a status line shows is a number or nothing (spec/faults.md e6)."""
    header, first, *rest = lines_of(ours)
    start = json.loads(first)
    start["configuration"] = {"max_iterations": "\x1b[2J"}
    ours.write_bytes(b"".join([header, json.dumps(start).encode() + b"\n", *rest]))
    assert Session.open(ours).status().max_iterations is None
    with pytest.raises(RecordingError, match=r"event 1 \(LoopStarted\)"):
        open_recording(ours).state_at(1)


def test_a_newer_format_is_viewed_with_a_notice(ours: Path) -> None:
    """Newer ones open read-only (DESIGN §3)."""
    header, *rest = lines_of(ours)
    newer = {**json.loads(header), "format": 99}
    ours.write_bytes(json.dumps(newer).encode() + b"\n" + b"".join(rest))
    run = open_recording(ours)
    assert run.timeline.ended
    assert run.notices == ["written in the newer format 99: what is unknown is shown raw"]


def test_a_foreign_session_is_opened_by_its_content(tmp_path: Path) -> None:
    dump = tmp_path / "chat.json"
    messages = [
        {"role": "user", "content": "What is 1+2?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":2}'}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "3"},
        {"role": "assistant", "content": "Three."},
    ]
    dump.write_text(json.dumps({"model": "m", "messages": messages}))
    session = Session.open(dump)
    assert (session.source_format, session.live) == ("openai-chat", False)
    assert session.title
    assert [call.content for call in session.timeline.calls.values()] == ["3"]
    run = open_recording(dump)
    assert run.header is None
    assert "root" in run.state_at(10**9)


def _missing(folder: Path) -> Path:
    return folder / "nothing.jsonl"


def _empty(folder: Path) -> Path:
    (folder / "empty").write_bytes(b"")
    return folder / "empty"


def _blank(folder: Path) -> Path:
    (folder / "blank").write_bytes(b"\n \n")
    return folder / "blank"


def _binary(folder: Path) -> Path:
    (folder / "binary").write_bytes(bytes(range(256)) * 20)
    return folder / "binary"


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def _header_cut(folder: Path) -> Path:
    record(folder / "cut", small_run())
    (folder / "cut").write_bytes((folder / "cut").read_bytes()[:30])
    return folder / "cut"


@pytest.mark.parametrize(
    "make", [_missing, _empty, _blank, _binary, _pipe, _header_cut, lambda folder: folder, lambda folder: Path("a\0b")]
)
def test_what_is_no_run_is_refused_in_one_line(make: Callable[[Path], Path], tmp_path: Path) -> None:
    """It says what is wrong, without a traceback, and waits for nothing."""
    for opening in (open_recording, Session.open):
        with pytest.raises(UserError) as refusal:
            opening(make(tmp_path) if not (tmp_path / "pipe").exists() else tmp_path / "pipe")
        assert "\n" not in str(refusal.value)
        assert len(str(refusal.value)) < 500


def test_a_header_alone_is_a_run_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "begun.jsonl"
    record(path, [])
    session = Session.open(path)
    assert session.status().state == "unfinished"
    assert session.timeline.rows == []
    assert session.title == "begun.jsonl"
