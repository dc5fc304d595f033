"""Prints the cost table and fails when a stated limit is broken: `make bench` (spec/performance.md, goals 1-5, 8, 10-12, 18)."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from loopkit import replay
from loopkit.providers.openai_chat import OpenAIChat
from loopkit.recording.redaction.settings import DEFAULT_REDACTION
from tests.bench import peers
from tests.bench.large import MILLION, large_rows
from tests.bench.redaction import redaction_rows
from tests.bench.streams import bare_read, provider_read, sdk_read, streams
from tests.bench.table import Row, at_least, at_most, ratio, show, side_by_side
from tests.bench.validation import CHECKED_BY_JSONSCHEMA, PLAIN, check_cost, jsonschema_cost
from tests.bench.workload import EVENTS, RESULT, measure_floor, measure_loop

REPEATS = 9
PEER_REPEATS = 5


def main() -> None:
    """Measure, print, and say by the exit code whether every limit holds."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--peers", action="store_true", help="install smolagents in a throw-away environment beside it")
    with_peers = parser.parse_args().peers
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        measure_loop(50, path)
        sections = [
            show(_loop_rows(path)),
            show(_variant_rows(path)),
            show(_size_rows(path)),
            show(_peer_rows(path, with_peers=with_peers)),
            show(_stream_rows()),
            show(_validation_rows()),
            show(redaction_rows()),
            show(_start_rows()),
            show(large_rows(MILLION // 20, Path(folder), with_peers=with_peers)),
        ]
    if not all(sections):
        sys.exit("a limit is broken")


def _recorded(turns: int, path: Path) -> float:
    return measure_loop(turns, path).cpu


def _typical(path: Path) -> float:
    """The median of as many runs as the process of a peer makes."""
    return median(_recorded(200, path) for _ in range(peers.RUNS))


def _loop_rows(path: Path) -> Iterator[Row]:
    """Goals 1 to 3: the loop, recorded without redaction, over a floor with JSON and a flush per event."""
    costs = {}
    for turns, repeats in ((50, REPEATS), (200, 2 * REPEATS), (1000, 5), (3000, 5)):
        over_floor, costs[turns] = ratio(
            repeats, partial(_recorded, turns, path), partial(measure_floor, turns, path.with_suffix(".floor"))
        )
        what, beside = f"recorded, {turns:,} iterations, over the floor", f", {costs[turns]:.0f} µs an iteration"
        if turns == 200:
            yield at_most(what, over_floor, 8, beside=beside)
        else:
            yield Row(what, f"{over_floor:.2f}x{beside}")
    short, long = side_by_side(3, partial(_recorded, 200, path), partial(_recorded, 3000, path))
    yield at_most("an iteration of 3,000 over one of 200", long / short, 1.25)


def _variant_rows(path: Path) -> Iterator[Row]:
    """What is reported beside it, for 200 iterations."""

    def cost(**changes: Any) -> float:
        return measure_loop(200, path, **changes).cpu

    names = ("not recorded", "recorded without syncs", "with redaction", "with a synchronous tool (a thread hop)")
    plain, *others = side_by_side(
        REPEATS,
        cost,
        partial(cost, recorded=False),
        partial(cost, durability="none"),
        partial(cost, redaction=DEFAULT_REDACTION),
        partial(cost, threaded=True),
    )
    for name, other in zip(names, others, strict=True):
        yield Row(f"the same {name}", f"{other / plain:.2f}x of it, {other - plain:+.0f} µs")


def _size_rows(path: Path) -> Iterator[Row]:
    """Goals 4 and 5: bytes and memory."""
    at_50, at_1000 = (measure_loop(turns, path).size for turns in (50, 1000))
    yield at_most(
        "bytes of an iteration of 1,000 over one of 50", at_1000 / at_50, 1.05, beside=f", {at_1000:.0f} bytes"
    )
    yield at_most("bytes of an event beside the result", (at_1000 - len(RESULT)) / EVENTS, 200, unit=" B")
    if sys.platform == "linux":
        grown = (_peak_kilobytes(3000) - _peak_kilobytes(200)) / 2800
        yield at_most("memory of an iteration, from 200 to 3,000", grown, 3, unit=" KB")
    measure_loop(3000, path)
    before = time.process_time()
    if not replay(path).same:
        raise AssertionError("the measured run does not replay")
    replayed = (time.process_time() - before) / 3000 * 1e6
    yield Row("replay of 3,000 iterations", f"{replayed:.0f} µs an iteration")


def _peer_rows(path: Path, *, with_peers: bool) -> Iterator[Row]:
    """Goal 1: at least ten times below smolagents, which records nothing."""
    what = "smolagents over the recorded loop, 200 iterations"
    with peers.python_with("smolagents", "smolagents", install=with_peers) as python:
        if python is None:
            yield Row(
                what,
                "not measured: it is not installed; `make bench ARGS=--peers` does that, in an environment of its own",
            )
            return
        over_ours, theirs = ratio(PEER_REPEATS, partial(peers.smolagents_cost, python, 200), lambda: _typical(path))
        yield at_least(what, over_ours, 10, beside=f", {theirs:.0f} µs")


def _stream_rows() -> Iterator[Row]:
    """Goal 18: what a provider adds to each piece of a stream; 10 µs, as a ratio: a tenth of what the SDK costs."""
    chat = next(stream for stream in streams() if stream.model is OpenAIChat)
    for stream in streams():
        bare, ours, sdk = side_by_side(
            REPEATS, partial(bare_read, stream), partial(provider_read, stream), partial(sdk_read, chat)
        )
        what = f"{stream.model.__name__} adds to a piece of a stream, of openai's cost"
        beside = f", {ours - bare:.1f} µs over httpx and a split ({bare:.1f} µs); openai {sdk:.0f} µs"
        yield at_most(what, (ours - bare) / sdk * 100, 10, unit=" %", beside=beside)


def _validation_rows() -> Iterator[Row]:
    """Goal 12: the check of a call's arguments, over jsonschema's validator made beforehand."""
    plain, _ = ratio(REPEATS, partial(check_cost, PLAIN), partial(jsonschema_cost, PLAIN))
    yield at_most("arguments under a plain schema, over jsonschema", plain, 0.2)
    other, _ = ratio(
        REPEATS, partial(check_cost, CHECKED_BY_JSONSCHEMA), partial(jsonschema_cost, CHECKED_BY_JSONSCHEMA)
    )
    yield at_most("arguments under any other schema, over jsonschema", other, 1.5)


def _start_rows() -> Iterator[Row]:
    helped, passed = side_by_side(
        REPEATS, partial(_start_cost, "-m", "loopkit", "--help"), partial(_start_cost, "-c", "pass")
    )
    yield at_most("loopkit --help over python -c pass", helped / passed, 5)


def _peak_kilobytes(turns: int) -> int:
    """The most memory that a process with one run of this length needed."""
    # not `getrusage`: on Linux a process begins with the peak of the one that started it
    code = (
        "import pathlib, re, tempfile\n"
        "from tests.bench.workload import measure_loop\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        f"    measure_loop({turns}, pathlib.Path(folder) / 'run.jsonl')\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', pathlib.Path('/proc/self/status').read_text())[1])\n"
    )
    return int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def _start_cost(*arguments: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
