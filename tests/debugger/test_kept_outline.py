"""The outline of a large recording is kept in the cache, used while it fits, and never needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopkit.debugger import large as large_module
from loopkit.debugger import recorded
from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.library import summarise
from loopkit.debugger.rows import row_text
from loopkit.recording.index_file import index_path
from tests.bench.large_file import write_large


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOOPKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(large_module, "LARGE_BYTES", 1000)
    monkeypatch.setattr(large_module, "_FIRST_SLICE", 0.0)
    path = tmp_path / "recordings" / "run.jsonl"
    path.parent.mkdir()
    write_large(path, 800)
    return path


def rows(path: Path) -> tuple[bool, list[object]]:
    """Whether everything was known at once, and what all rows say."""
    with LargeTimeline(path) as large:
        known = large.complete
        large.advance()
        return known, [row_text(row) for row in large.rows]


def test_a_second_look_reads_the_kept_outline_and_says_the_same(run: Path) -> None:
    first, second = rows(run), rows(run)
    assert (first[0], second[0]) == (False, True)
    assert first[1] == second[1]
    assert len(first[1]) > 200


def test_nothing_is_written_beside_a_recording(run: Path) -> None:
    """issue: nothing is written by looking; the cache is the user's own (mode 0700, files 0600)."""
    rows(run)
    assert [path.name for path in run.parent.iterdir()] == ["run.jsonl"]
    assert index_path(run).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "change", ["appended", "other bytes", "touched", "other path", "cut index", "no index", "new steps"]
)
def test_an_outline_that_does_not_fit_is_made_again(run: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows(run)
    kept = index_path(run)
    match change:
        case "appended":
            with run.open("ab") as file:
                file.write(b'{"seq":9999,"t":1,"loop":"root","iteration":1,"type":"Later"}\n')
        case "other bytes":
            times = run.stat()
            run.write_bytes(run.read_bytes().replace(b"LoopFinished", b"LoopFinishes"))
            os.utime(run, ns=(times.st_atime_ns, times.st_mtime_ns))
        case "touched":
            os.utime(run, ns=(1, 1))
        case "other path":
            run = run.rename(run.with_name("moved.jsonl"))
            index_path(run).parent.mkdir(exist_ok=True)
            kept.rename(index_path(run))
        case "cut index":
            kept.write_bytes(kept.read_bytes()[:-200])
        case "new steps":
            monkeypatch.setattr(large_module, "_MEANING", "what a later loopkit knows")
        case "no index":
            kept.write_bytes(b"something else")
    known, said = rows(run)
    assert not known
    assert said == rows(run)[1]


@given(places=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_no_changed_byte_of_a_kept_outline_is_believed(run: Path, places: list[tuple[float, int]]) -> None:
    """DESIGN §3: stale or broken is made again, so that no row is ever wrong."""
    said = rows(run)[1]
    kept = bytearray(index_path(run).read_bytes())
    before = bytes(kept)
    for place, bits in places:
        kept[int(place * len(kept))] ^= bits
    index_path(run).write_bytes(kept)
    assert rows(run) == (kept == before, said)


def test_without_a_place_for_it_the_outline_stays_in_memory(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that can't be written is no fault: the folder's name is taken by a file."""
    blocked = run.parent / "blocked"
    blocked.write_text("")
    monkeypatch.setenv("LOOPKIT_CACHE", str(blocked))
    assert rows(run)[1] == rows(run)[1]
    assert not rows(run)[0]


def test_a_list_of_recordings_says_the_same_of_a_large_one(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = summarise(run)
    monkeypatch.setattr(recorded, "LARGE_BYTES", 1000)
    assert summarise(run) == summarise(run) == whole
    assert index_path(run).exists()


def test_a_file_that_is_replaced_while_it_is_looked_at_is_read_anew(run: Path) -> None:
    with LargeTimeline(run, follow=True) as large:
        large.advance()
        before = len(large.rows)
        other = run.with_name("other.jsonl")
        write_large(other, 100)
        other.replace(run)
        assert large.advance()
        large.advance()
        assert 0 < len(large.rows) < before
