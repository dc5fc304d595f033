"""Run by an interpreter that has agent-rewind: opens a trace as its own `show` does and makes the rows of one screen."""

from __future__ import annotations

import pathlib
import sys
import time
from importlib import import_module


def main() -> None:
    """Print the CPU seconds and the memory at its peak, in megabytes, over what the imports took."""
    trace_module, screen = import_module("rewind.trace"), import_module("rewind.tui")
    held = _kilobytes("VmRSS")
    before = time.process_time()
    trace = trace_module.Trace.open(sys.argv[1])
    for event in trace.events[:60]:
        screen.list_row(event, 7, 8, 24, 10)
    cost = time.process_time() - before
    sys.stdout.write(f"{cost} {(_kilobytes('VmHWM') - held) / 1000}\n")


def _kilobytes(what: str) -> int:
    lines = pathlib.Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what))


if __name__ == "__main__":
    main()
