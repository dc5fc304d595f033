"""Prints the cost table: `make bench`."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from loopkit import replay
from tests.bench.workload import measure_floor, measure_loop

REPEATS = 5


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        measure_loop(50, path)
        floor = statistics.median(measure_floor(200, path) for _ in range(REPEATS))
        at_200 = statistics.median(measure_loop(200, path).cpu for _ in range(REPEATS))
        threaded = statistics.median(measure_loop(200, path, threaded=True).cpu for _ in range(3))
        unrecorded = statistics.median(measure_loop(200, path, recorded=False).cpu for _ in range(3))
        before = _peak_kilobytes()
        at_3000 = statistics.median(measure_loop(3000, path).cpu for _ in range(3))
        grown = (_peak_kilobytes() - before) / 3000
        replayed = _replay_cost(path) / 3000
        size_50, size_1000 = measure_loop(50, path).size, measure_loop(1000, path).size
    help_cost, floor_cost = _start_cost("-m", "loopkit", "--help"), _start_cost("-c", "pass")
    rows = [
        ("floor, JSON and a flush per event, 200 iterations", f"{floor:.0f} µs of CPU an iteration"),
        ("loopkit recorded, 200 iterations", f"{at_200:.0f} µs, {at_200 / floor:.1f}x the floor (at most 8)"),
        ("the same, not recorded", f"{unrecorded:.0f} µs"),
        ("the same with a synchronous tool (a thread hop)", f"{threaded:.0f} µs"),
        ("loopkit recorded, 3,000 iterations", f"{at_3000:.0f} µs, {at_3000 / at_200:.2f}x of 200 (at most 1.25)"),
        ("replay of that", f"{replayed:.0f} µs an iteration"),
        ("memory", f"{grown:.2f} KB an iteration (at most 3)"),
        ("recording", f"{size_1000:.0f} bytes an iteration, {size_1000 / size_50:.3f}x of 50 (at most 1.05)"),
        ("loopkit --help", f"{help_cost / floor_cost:.1f}x of python -c pass (at most 5)"),
    ]
    for what, figure in rows:
        sys.stdout.write(f"{what:<52} {figure}\n")


def _replay_cost(path: Path) -> float:
    before = time.process_time()
    if not replay(path).same:
        raise AssertionError("the measured run does not replay")
    return (time.process_time() - before) * 1e6


def _peak_kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _start_cost(*arguments: str) -> float:
    costs = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(costs)


if __name__ == "__main__":
    main()
