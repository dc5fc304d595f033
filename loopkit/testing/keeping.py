"""Makes the recordings that tests replay: whole and in one step, and each once however many test processes ask for it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import IO

from loopkit.agent import Agent
from loopkit.debugger.display import visible
from loopkit.drivers.replay import replay
from loopkit.drivers.replay_report import Match
from loopkit.messages import Message
from loopkit.recording.redaction.settings import DEFAULT_REDACTION, Redaction
from loopkit.recording.writer import Recorder
from loopkit.testing.failures import ReplayFailed
from loopkit.testing.observing import Approval, observe_sync
from loopkit.testing.replays import explain

try:
    import fcntl
except ImportError:
    _lock: Callable[[int], None] | None = None
else:

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


@dataclass(frozen=True)
class Recipe:
    """How a recording is made.

    Args:
        approve: which calls run; see `observing.observe`.
        match: how it has to replay at once with the same agent.
        redaction: what is kept out of it, or None for the rules that come with loopkit.
        backend: `asyncio` or `trio`, or None for what runs in this thread.
    """

    agent: Agent
    task: str | Sequence[Message]
    approve: Approval
    match: Match = "strict"
    redaction: Redaction | None = None
    backend: str | None = None

    def record(self, path: Path) -> None:
        """Run the agent for real and keep the run; what was there before is replaced at the end, or stays.

        Raises:
            ReplayFailed: the run failed, or what was recorded does not replay.
            UserError: the file can't be written.
        """
        __tracebackhide__ = True
        with replacing(path) as new:
            recorder = Recorder(new, redaction=self.redaction or DEFAULT_REDACTION)
            run = observe_sync(self.agent, self.task, approve=self.approve, recorder=recorder, backend=self.backend)
            if run.error is not None:
                words = f"{path}: nothing was recorded, since the run failed: {type(run.error).__name__}: {run.error}"
                raise ReplayFailed(f"{visible(words)}\nwhat happened:\n{run.story()}")
            report = replay(new, self.agent, match=self.match, redaction=self.redaction, backend=self.backend)
            if not report.same:
                words = (
                    f"{visible(str(path))}: nothing was recorded, since the same agent, asked again, does something else "
                    "(is there a date, a random number or an address in a prompt or a description?)"
                )
                raise ReplayFailed(f"{words}\n{explain(report, ['make it the same each time'])}")


def update(path: Path, accept: Callable[[Path], object], is_as_it_should_be: Callable[[Path], bool]) -> bool:
    """Put what an agent does today on a recording's answers in the recording's place; say whether that was enough.

    Args:
        accept: writes that to a new file.
        is_as_it_should_be: says of the new file whether the test's replay of it is the same; else the old one stays.
    """
    with suppress(_NotEnough), replacing(path) as new:
        accept(new)
        if not is_as_it_should_be(new):
            raise _NotEnough
        return True
    return False


class _NotEnough(Exception):
    """What was accepted still differs."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a name beside `path` for a new file, which takes the place of `path` only when all went well.

    Nobody else may be at it: what a process that died left behind is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f".{escape(path.name)}.*.new"):
        with suppress(OSError):
            left.unlink()
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        yield new
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


@contextmanager
def one_at_a_time(path: Path, folder: Path) -> Iterator[Stamp]:
    """Let one test process at a time work on a recording; others wait.

    Args:
        folder: where the processes of one project meet; a lock file stays there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(str(path.resolve()).encode(errors="surrogatepass")).hexdigest()[:24]
    with (folder / f"{name}.lock").open("a+") as file:
        if _lock is not None:
            # given back by the system when the file is closed, or the process dies
            _lock(file.fileno())
        yield Stamp(file)


@dataclass(frozen=True)
class Stamp:
    """What the last test session that recorded a file left in its lock file, so that the others of it don't record again."""

    file: IO[str]

    def is_of(self, session: str) -> bool:
        """Say whether this session has recorded the file already."""
        self.file.seek(0)
        return self.file.read() == session

    def put(self, session: str) -> None:
        """Say that this session has recorded the file."""
        self.file.seek(0)
        self.file.truncate()
        self.file.write(session)
        self.file.flush()
