"""What a recording weighs; figures of time are printed by `make bench` and never decide a test."""

from __future__ import annotations

from pathlib import Path

from tests.bench.workload import measure_loop


def test_an_iteration_costs_the_same_bytes_however_long_the_run_is(tmp_path: Path) -> None:
    """DESIGN §1, linear always: at most 1.05 times from 50 to 1,000 iterations."""
    short = measure_loop(50, tmp_path / "short.jsonl").size
    long = measure_loop(1000, tmp_path / "long.jsonl").size
    assert long / short <= 1.05
