"""`loopkit check` names everything that is wrong, and the schema that it uses is the format."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

from loopkit.errors import RecordingError
from loopkit.events import FACT_CLASSES, Event, RecordingEnded
from loopkit.recording.check import Finding, check_recording, notes_on
from loopkit.recording.lines import event_line
from loopkit.recording.schema import SCHEMA_FILE, recording_schema, schema_text, shipped_schema
from loopkit.recording.writer import Recorder
from tests.recording.story import HEADER, HEADER_LINE, changed, line_of, small_run
from tests.strategies import events, facts, unrecognised_facts

LINES = [HEADER_LINE, *map(line_of, small_run())]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def test_the_shipped_schema_is_made_from_todays_dataclasses() -> None:
    """If this fails: `python -m loopkit.recording.schema` writes it again; changed fields need a new format number."""
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(recording_schema())


def test_the_schema_is_one_and_knows_every_fact() -> None:
    Draft202012Validator.check_schema(shipped_schema())
    assert set(FACT_CLASSES) < set(shipped_schema()["$defs"])


_WHOLE_SCHEMA = Draft202012Validator(shipped_schema())


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(events(fact=facts() | unrecognised_facts()))
def test_every_line_that_can_be_written_fits_the_schema(event: Event) -> None:
    _WHOLE_SCHEMA.validate(json.loads(event_line(event)))


def test_the_lines_of_a_file_fit_the_schema() -> None:
    for line in LINES:
        _WHOLE_SCHEMA.validate(json.loads(line))


def test_a_sound_recording_has_no_findings(path: Path) -> None:
    custom = b'{"seq":13,"t":1.3,"loop":"root","iteration":2,"type":"Header","note":"hi"}\n'
    path.write_bytes(b"".join([*LINES, custom]))
    assert check_recording(path) == []


def test_all_that_is_wrong_is_listed_in_line_order(path: Path) -> None:
    """spec/faults.md j4, j9."""
    lines = list(LINES)
    lines[0] = changed(lines[0], b',"flags":[]', b"")
    lines[2] = changed(lines[2], b'"type"', b'"colour":"blue","type"')
    lines[5] = b"garbage\n"
    del lines[8]
    lines.append(b'{"seq":13,"t":1.3,"lo')
    path.write_bytes(b"".join(lines))
    assert check_recording(path) == [
        Finding(1, "Header does not fit the format at $: 'flags' is a required property"),
        Finding(
            3,
            "IterationStarted does not fit the format at $: "
            "Additional properties are not allowed ('colour' was unexpected)",
        ),
        Finding(6, "not JSON: Expecting value at character 1"),
        Finding(9, "event 8 was due, event 9 stands there"),
        Finding(13, "was never finished: its 21 bytes are left out"),
    ]


def test_a_long_value_that_does_not_fit_is_quoted_in_part(path: Path) -> None:
    line = changed(LINES[1], b'"role":"user"', b'"role":"' + b"u" * 5000 + b'"')
    path.write_bytes(LINES[0] + line)
    (finding,) = check_recording(path)
    assert finding.line == 2
    assert "$.messages[0].role" in finding.what
    assert len(finding.what) <= 300


def test_a_damaged_header_and_a_later_format_are_findings(path: Path) -> None:
    path.write_bytes(b'{"loopkit":"0.1.0","format":1,\n' + LINES[1])
    assert check_recording(path) == [Finding(1, "the header is not JSON")]
    path.write_bytes(b'{"loopkit":"9.9","format":2,"run":"r","created":"c"}\n{"odd":1}\n')
    (finding,) = check_recording(path)
    assert (finding.line, "was written in format 2" in finding.what) == (1, True)


def test_the_last_line_of_a_running_recording_may_be_on_its_way(path: Path) -> None:
    with Recorder(path) as recorder:
        recorder.start(HEADER)
        with path.open("ab") as file:
            file.write(b'{"seq":1')
        assert check_recording(path) == []
    assert check_recording(path) == [Finding(2, "was never finished: its 8 bytes are left out")]


def test_what_is_no_fault_is_a_note(path: Path) -> None:
    """spec/faults.md j6, j9, j17"""
    path.write_bytes(b"".join(LINES))
    assert notes_on(path) == []
    path.write_bytes(b"".join(LINES[:-1]))
    assert notes_on(path) == ["does not hold the end of its run"]
    ended = line_of(Event(12, 1.2, "root", 2, RecordingEnded("No space left on device")))
    path.write_bytes(b"".join([*LINES[:-1], ended]))
    (note,) = notes_on(path)
    assert note.startswith("ends before its run, which went on unrecorded")
    assert note.endswith("(No space left on device)")
    strange = b'{"seq":%d,"t":1.3,"loop":"root","iteration":2,"type":"x/%s"%s}\n'
    ignorable = strange % (14, b"b", b',"ignorable":true')
    path.write_bytes(b"".join([*LINES, strange % (13, b"a", b""), ignorable]))
    assert notes_on(path) == ["holds types that this loopkit doesn't know, and so can't be replayed: x/a"]
    assert check_recording(path) == []


def test_who_writes_a_recording_is_a_note(path: Path) -> None:
    """spec/faults.md j9"""
    with Recorder(path) as recorder:
        recorder.start(HEADER)
        (note,) = notes_on(path)
        assert note.startswith(f"is being written by process {os.getpid()} on ")


def test_what_is_no_recording_is_refused(path: Path) -> None:
    with pytest.raises(RecordingError, match="there is no such file"):
        check_recording(path)
