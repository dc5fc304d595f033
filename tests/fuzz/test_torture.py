"""A small part of the torture in every run of the tests; `python -m tests.fuzz` does all of it and prints figures."""

from __future__ import annotations

import random  # noqa: TID251  # a seed makes it the same each time
from pathlib import Path

import pytest

from loopkit.events import Event, ToolReturned
from tests.fuzz.torture import CONTENT, LINES, Figures, cut_everywhere, flip_everywhere, kill_in_a_loop, starve
from tests.recording.full_disk import small_disk

KILLS = 3


def unhurt(figures: Figures) -> Figures:
    """Nothing was lost or passed over."""
    assert (figures.lost, figures.silent, figures.failures) == (0, 0, [])
    return figures


def test_a_cut_at_every_byte_of_the_last_two_events_loses_none_but_the_torn_one(tmp_path: Path) -> None:
    """spec/faults.md j1, j4, spec/performance.md goal 7: also within a UTF-8 character; then it is written on."""
    places = range(len(b"".join(LINES[:-2])), len(CONTENT) + 1)
    figures = unhurt(cut_everywhere(tmp_path / "run.jsonl", places))
    assert figures.tried == len(places)
    assert 0 < figures.torn < figures.tried


def test_a_cut_within_the_header_is_refused(tmp_path: Path) -> None:
    """spec/faults.md j5"""
    figures = unhurt(cut_everywhere(tmp_path / "run.jsonl", range(len(LINES[0]))))
    assert figures.refused == figures.tried


def test_a_flipped_bit_is_named_with_its_line(tmp_path: Path) -> None:
    """spec/faults.md j4"""
    bits = random.Random(4).sample(range(len(CONTENT) * 8), 300)
    figures = unhurt(flip_everywhere(tmp_path / "run.jsonl", bits))
    assert figures.changed
    assert figures.damaged


@pytest.mark.parametrize("durability", ["iteration", "event"])
def test_a_writer_that_is_killed_loses_nothing_that_it_said_was_written(tmp_path: Path, durability: str) -> None:
    """spec/faults.md j1, j9, spec/performance.md goal 7"""
    figures = unhurt(kill_in_a_loop(tmp_path / "run.jsonl", KILLS, random.Random(9), durability))
    assert figures.events >= KILLS


def test_a_disk_that_is_full_before_each_event_loses_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """spec/faults.md j6, on a real disk of 256 KB where one can be mounted."""
    events = [Event(seq, 0.0, "root", 1, ToolReturned("c", "你好" * 700)) for seq in range(1, 25)]
    with small_disk(tmp_path / "disk", monkeypatch) as disk:
        figures = unhurt(starve(disk, events))
    assert figures.refused > len(events) / 2
