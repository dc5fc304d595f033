"""`python -m tests.fuzz [KILLS]`: every cut, every bit, many kills and a small full disk, as figures."""

from __future__ import annotations

import random  # noqa: TID251  # a seed makes it the same each time
import sys
import tempfile
from pathlib import Path

import pytest

from loopkit.events import Event, ToolReturned
from tests.fuzz.torture import CONTENT, EVENTS, Figures, cut_everywhere, flip_everywhere, kill_in_a_loop, starve
from tests.recording.full_disk import small_disk

KILLS = 60
ON_FULL_DISK = 60


def main(kills: int) -> int:
    """Do all of it and print what came of it; 1 when anything was lost, silent or wrong."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "run.jsonl"
        rows = [
            ("cuts, at every byte", cut_everywhere(path, range(len(CONTENT) + 1))),
            ("bits flipped, every one", flip_everywhere(path, range(len(CONTENT) * 8))),
        ]
        path.unlink()
        rows.append(("kill -9", kill_in_a_loop(path, kills, random.Random(1))))
        events = [Event(seq, 0.0, "root", 1, ToolReturned("c", "x" * 1500)) for seq in range(1, ON_FULL_DISK + 1)]
        with small_disk(Path(folder) / "disk", patch) as disk:
            rows.append((f"full disk ({'mounted' if disk.real else 'a stand-in'})", starve(disk, events)))
    sys.stdout.write(f"a recording of {len(EVENTS)} events, {len(CONTENT):,} bytes\n")
    for what, figures in rows:
        sys.stdout.write(f"{what:<26} {_words(figures)}\n")
        for failure in figures.failures[:5]:
            sys.stdout.write(f"    {failure}\n")
    return int(any(figures.lost or figures.silent or figures.failures for _, figures in rows))


def _words(figures: Figures) -> str:
    counts = {
        "tried": figures.tried,
        "events kept": figures.events,
        "torn ends": figures.torn,
        "damaged": figures.damaged,
        "changed": figures.changed,
        "refused": figures.refused,
    }
    told = [f"{count:,} {name}" for name, count in counts.items() if count]
    return ", ".join([*told, f"{figures.lost} lost, {figures.silent} silent, {len(figures.failures)} wrong"])


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else KILLS))
