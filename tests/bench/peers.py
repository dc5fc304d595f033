"""Other frameworks at the same work, in an environment of their own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RUNS = 3  # that a peer's process gives the median of
_LOOP = Path(__file__).with_name("smolagents_loop.py")
_REWIND = Path(__file__).with_name("rewind_rows.py")


@contextmanager
def python_with(package: str, module: str, *, install: bool) -> Iterator[str | None]:
    """Give an interpreter that has a package, or None.

    Args:
        module: what the package is imported as.
        install: make an environment for it when this one has it not, and throw it away afterwards.
    """
    if importlib.util.find_spec(module) is not None:
        yield sys.executable
    elif not install:
        yield None
    else:
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            python = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
            subprocess.run(
                [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", package], check=True
            )
            yield str(python)


def smolagents_cost(python: str, turns: int) -> float:
    """CPU microseconds of an iteration."""
    done = subprocess.run([python, _LOOP, str(turns), str(RUNS)], check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def rewind_cost(python: str, path: Path) -> tuple[float, float]:
    """CPU seconds until agent-rewind has its first rows of a trace, and the memory at its peak in megabytes."""
    command = [python, str(_REWIND), str(path)]
    seconds, megabytes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-2:]
    return float(seconds), float(megabytes)
