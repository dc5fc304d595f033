"""Looking at a large recording, beside floors measured in the same run: `make bench-large` (spec/performance.md, goals 8, 10, 11)."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.numbered import NumberedEvents
from loopkit.debugger.rows import row_text
from loopkit.debugger.searching import find_in
from loopkit.recording.index_file import index_path
from tests.bench import peers
from tests.bench.large_file import write_for_rewind, write_large
from tests.bench.table import Row, at_most, show

SCREEN = 60
SLICE_SECONDS = 0.005
MILLION = 1_000_000
_TIMES = 3

_MEMORY = """
import pathlib, re, sys
from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.rows import row_text
def held(what):
    return int(re.search(what + r":\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
before = held("VmRSS")
large = LargeTimeline(pathlib.Path(sys.argv[1]))
if sys.argv[2] == "all":
    large.advance()
[row_text(row) for row in large.rows[:60]]
print((held("VmHWM") - before) / 1000)
large.release()
"""


def main() -> None:
    """Measure a million events and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.large", description=__doc__)
    parser.add_argument(
        "--peers", action="store_true", help="install agent-rewind in a throw-away environment beside it"
    )
    with_peers = parser.parse_args().peers
    with tempfile.TemporaryDirectory() as folder:
        if not show(large_rows(MILLION, Path(folder), with_peers=with_peers)):
            sys.exit("a limit is broken")


def large_rows(events: int, folder: Path, *, with_peers: bool) -> Iterator[Row]:
    """What a recording of so many events costs to look at."""
    os.environ["LOOPKIT_CACHE"] = str(folder / "cache")
    path = folder / "large.jsonl"
    write_large(path, events)
    size = path.stat().st_size / 1e6
    lines, decoded = _cost(lambda: _line_floor(path)), _cost(lambda: _json_floor(path))
    yield Row(f"{events:,} events, {size:.0f} MB: offsets of lines in Python", f"{lines:.2f} s")
    yield Row("json.loads of every line", f"{decoded:.2f} s")
    opened = median(_timed(lambda: _first_screen(path)) for _ in range(_TIMES)) * 1e3
    yield at_most(f"first {SCREEN} rows without an index", opened, 50, unit=" ms")
    if sys.platform == "linux":
        yield at_most("memory for that", _memory(path, "first"), 30, unit=" MB")
    slices: list[float] = []
    found = min(_timed(lambda: _line_starts(path, slices)) for _ in range(_TIMES))
    yield at_most("where lines begin, over that in Python", found / lines, 2, beside=f", {found:.2f} s")
    yield at_most("the longest of its slices, of CPU", max(slices) * 1e3, 10, unit=" ms")
    yield from _numbered_rows(path, events)
    slices.clear()
    outlined = min(_timed(lambda: _outline(path, slices)) for _ in range(_TIMES))
    large = LargeTimeline(path)
    yield at_most("the outline: offsets and what filters need, over json.loads", outlined / decoded, 1.5,
                  beside=f", {outlined:.2f} s")  # fmt: skip
    if sys.platform == "linux":
        index_path(path).unlink(missing_ok=True)
        yield at_most("memory for that", _memory(path, "all"), 30, unit=" MB")
    yield at_most("the longest of its slices, of CPU", max(slices) * 1e3, 10, unit=" ms")
    jumps = range(0, large.outline.events, max(1, large.outline.events // 5000))
    jumped = _timed(lambda: [large.event(place) for place in jumps]) / len(jumps) * 1e6
    yield at_most("a jump to any event", jumped, 50, unit=" µs")
    middle = len(large.rows) // 2
    yield Row(f"{SCREEN} rows in the middle", f"{_timed(lambda: _words(large, middle)) * 1e3:.1f} ms")
    large.release()
    again = median(_timed(lambda: _first_screen(path)) for _ in range(_TIMES)) * 1e3
    yield at_most(f"first {SCREEN} rows with the kept outline", again, 50, unit=" ms")
    if sys.platform == "linux":
        yield at_most("memory for that", _memory(path, "first"), 30, unit=" MB")
        yield _rewind_row(path, install=with_peers)
    for any_case in (False, True):
        cost = _cost(lambda any_case=any_case: list(find_in(path, "no such words", any_case=any_case)))  # type: ignore[misc]  # a default binds it
        yield Row(f"search of everything, {'any case' if any_case else 'case counts'}", f"{cost:.2f} s")


def _line_starts(path: Path, slices: list[float]) -> None:
    with NumberedEvents(path) as numbered:
        more = True
        while more:
            before = time.thread_time()
            more = numbered.advance(SLICE_SECONDS)
            slices.append(time.thread_time() - before)


def _numbered_rows(path: Path, events: int) -> Iterator[Row]:
    """Jumps without an outline."""
    with NumberedEvents(path) as numbered:
        numbers = range(1, events, max(1, events // 1000))
        last = _timed(lambda: list(numbered.last(SCREEN))) * 1e3
        yield Row(f"the last {SCREEN} events", f"{last:.1f} ms")
        at_once = _timed(lambda: [numbered.event(seq) for seq in numbers]) / len(numbers) * 1e6
        yield Row("a jump to any event as soon as the file is open", f"{at_once:.0f} µs")
        numbered.advance()
        jumped = _timed(lambda: [numbered.event(seq) for seq in numbers]) / len(numbers) * 1e6
        yield at_most("the same when the lines are known", jumped, 50, unit=" µs")


def _outline(path: Path, slices: list[float]) -> None:
    """Make the outline anew, in the slices of a screen."""
    index_path(path).unlink(missing_ok=True)
    with LargeTimeline(path) as large:
        while large.unsettled:
            before = time.thread_time()
            large.advance(SLICE_SECONDS)
            slices.append(time.thread_time() - before)


def _rewind_row(path: Path, *, install: bool) -> Row:
    """The same events in the format of agent-rewind, to its first rows; it makes an index at every opening."""
    what = "agent-rewind to its first rows of the same events"
    with peers.python_with("agent-rewind", "rewind", install=install) as python:
        if python is None:
            return Row(what, "not measured: it is not installed; ARGS=--peers does that, in an environment of its own")
        seconds, megabytes = peers.rewind_cost(python, write_for_rewind(path))
    return Row(what, f"{seconds:.2f} s, {megabytes:.0f} MB")


def _first_screen(path: Path) -> None:
    with LargeTimeline(path) as large:
        _words(large, 0)


def _words(large: LargeTimeline, start: int) -> None:
    for row in large.rows[start : start + SCREEN]:
        row_text(row)


def _line_floor(path: Path) -> None:
    starts, end = array("Q"), 0
    with path.open("rb") as file:
        for line in file:
            starts.append(end)
            end += len(line)


def _json_floor(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def _memory(path: Path, what: str) -> float:
    """Megabytes at the peak of a process of its own, over what its imports need."""
    command = [sys.executable, "-c", _MEMORY, str(path), what]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _cost(function: Callable[[], Any]) -> float:
    return min(_timed(function) for _ in range(_TIMES))


def _timed(function: Callable[[], Any]) -> float:
    before = time.process_time()
    function()
    return time.process_time() - before


if __name__ == "__main__":
    main()
