"""Ends processes that tools started and left behind, when loopkit itself ends in the middle of a run.

A thread can't be interrupted, and a handler that is cancelled may not end the process that it waited for.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PATIENCE_SECONDS = 1.0
_LOOK_AGAIN_SECONDS = 0.02


def end_child_processes(patience: float = PATIENCE_SECONDS) -> int:
    """Ask all processes below this one to end, end for certain those that don't, and return how many there were.

    Only for a program of loopkit's own that is about to end: a notebook's kernel has children that are not ours.

    Args:
        patience: seconds that they get to end by themselves.
    """
    # asyncio tells of each child that ends after its event loop; that is what happens here, so it is no news
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    found = set(_descendants(os.getpid()))
    _signal(found, signal.SIGTERM)
    limit = time.monotonic() + patience
    while (left := found & _living()) and time.monotonic() < limit:
        # nothing wakes us when somebody else's child ends, so we look again
        time.sleep(_LOOK_AGAIN_SECONDS)
    _signal(left, getattr(signal, "SIGKILL", signal.SIGTERM))
    return len(found)


def _signal(processes: set[int], number: int) -> None:
    for process in processes:
        with suppress(OSError):
            os.kill(process, number)


def _descendants(process: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for number, parent in _parents().items():
        children.setdefault(parent, []).append(number)
    waiting = children.get(process, [])
    while waiting:
        child = waiting.pop()
        yield child
        waiting.extend(children.get(child, ()))


def _living() -> set[int]:
    return set(_parents())


def _parents() -> dict[int, int]:
    """Return the parent of every process that has not ended, by number; empty where nobody tells."""
    if Path("/proc/self/stat").exists():
        return _parents_of_proc()
    return _parents_of_ps()


def _parents_of_proc() -> dict[int, int]:
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                # the name in parentheses may hold anything, so what counts stands behind the last one
                state, parent, *_ = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
                if state != "Z":
                    parents[int(folder.name)] = int(parent)
    return parents


def _parents_of_ps() -> dict[int, int]:
    try:
        listing = subprocess.run(["ps", "-axo", "pid=,ppid=,stat="], capture_output=True, text=True, check=True)  # noqa: S607  # where it is differs
    except (OSError, subprocess.SubprocessError):
        return {}
    parents = {}
    for line in listing.stdout.splitlines():
        with suppress(ValueError):
            process, parent, state = line.split(None, 2)
            if not state.startswith("Z"):
                parents[int(process)] = int(parent)
    return parents
