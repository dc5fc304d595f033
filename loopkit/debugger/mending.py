"""What can be done about a replay that went another way: keep today's run, or record one step of it anew."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

from loopkit.agent import Agent
from loopkit.drivers.mending import accept, re_record


def accept_file(
    path: str | Path,
    agent: Agent,
    out: str | Path,
    *,
    backend: str | None = None,
    secrets: Mapping[str, str] | None = None,
) -> Path:
    """Keep what an agent does today on a recording's answers as a new recording; see `drivers.mending.accept`."""
    return accept(path, agent, out, backend=backend, secrets=secrets)


def re_record_file(
    path: str | Path,
    agent: Agent,
    step: str | int,
    out: str | Path,
    *,
    backend: str | None = None,
    secrets: Mapping[str, str] | None = None,
) -> Path:
    """Have one step answered live and keep the run as a new recording; see `drivers.mending.re_record`.

    Args:
        step: a call's id, or the number of an event.
    """
    return re_record(path, agent, step, out, backend=backend, secrets=secrets)


def free_name_beside(path: str | Path, word: str) -> Path:
    """Return a name for a new recording beside an old one, such as `run-accepted.jsonl`."""
    old = Path(path)
    endings = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    names = (old.with_name(f"{old.stem}-{word}{ending}{old.suffix}") for ending in endings)
    return next(name for name in names if not name.exists())
