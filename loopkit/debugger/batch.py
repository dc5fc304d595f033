"""Many replays, side by side in processes of their own; one that breaks its process is an error of its own."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from loopkit.agent import Agent
from loopkit.debugger.runs import replay_file
from loopkit.debugger.targets import load_agent
from loopkit.errors import LoopkitError

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.context import BaseContext


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """How the replay of one file went.

    Args:
        same: whether it went the same way; None when the file can't be used.
        text: the report, or the error, as recorded.
        seconds: what it took.
        report: the report for machines; empty when the file can't be used.
        error: what kept it from being used, or None.
    """

    file: str
    same: bool | None
    text: str
    seconds: float
    report: Mapping[str, Any] = field(default_factory=dict)
    error: Exception | None = None

    def data(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        if self.error is not None:
            return {"file": self.file, "same": None, "error": self.text}
        return {"file": self.file, **self.report}


def replay_all(
    files: Sequence[str],
    *,
    agent: str | None = None,
    options: Mapping[str, Any] | None = None,
    workers: int = 1,
) -> Iterator[ReplayOutcome]:
    """Replay files and yield how each went, in the order in which they end.

    Args:
        agent: `path.py:name` or `package.module:name` of today's agent; loaded once in each process.
        options: further arguments of `replay_file`.
        workers: processes; 1 replays in this one.

    Raises:
        AgentPathError: the agent can't be loaded.
    """
    chosen = dict(options or {})
    loaded = load_agent(agent) if agent is not None else None
    if workers == 1 or len(files) < 2:
        yield from (_replay(file, loaded, chosen) for file in files)
        return
    left = list(files)
    for outcome in _in_processes(left, agent, chosen, min(workers, len(files))):
        left.remove(outcome.file)
        yield outcome
    # a process died and took its siblings' work with it: one process a file says whose fault it was
    for file in left:
        yield next(_in_processes([file], agent, chosen, 1), _died(file))


def _in_processes(
    files: Sequence[str], agent: str | None, options: Mapping[str, Any], workers: int
) -> Iterator[ReplayOutcome]:
    """Yield what ends well; nothing more once a process has died."""
    # loaded for several processes only
    from concurrent.futures import ProcessPoolExecutor, as_completed  # noqa: PLC0415
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415

    pool = ProcessPoolExecutor(workers, _fresh_processes(), initializer=_begin, initargs=(agent,))
    try:
        started: list[Future[ReplayOutcome]] = [pool.submit(_replay_in_worker, file, dict(options)) for file in files]
        for future in as_completed(started):
            try:
                yield future.result()
            except BrokenProcessPool:
                continue
    finally:
        pool.shutdown(cancel_futures=True)


def _fresh_processes() -> BaseContext:
    """Processes that are no copies of this one: a copy of one with threads and event loops may hang."""
    import multiprocessing  # noqa: PLC0415  # as above

    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # loaded once, not once a process
    return context


_agent: Agent | None = None


def _begin(agent: str | None) -> None:
    global _agent  # noqa: PLW0603  # a worker process has one agent, loaded before its first file
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl+C ends it without a traceback; the parent says so once
    _agent = load_agent(agent) if agent is not None else None


def _replay_in_worker(file: str, options: dict[str, Any]) -> ReplayOutcome:
    outcome = _replay(file, _agent, options)
    # not every exception can cross to another process; its words can
    return outcome if outcome.error is None else replace(outcome, error=LoopkitError(outcome.text))


def _replay(file: str, agent: Agent | None, options: dict[str, Any]) -> ReplayOutcome:
    started = time.perf_counter()
    try:
        report = replay_file(file, agent=agent, **options)
    except (LoopkitError, OSError) as error:
        words = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        return ReplayOutcome(file, None, words, time.perf_counter() - started, error=error)
    return ReplayOutcome(file, report.same, report.text(), time.perf_counter() - started, report.data())


def _died(file: str) -> ReplayOutcome:
    error = LoopkitError(f"{file}: the process that replayed it ended by itself; the agent's code may have ended it")
    return ReplayOutcome(file, None, str(error), 0.0, error=error)
