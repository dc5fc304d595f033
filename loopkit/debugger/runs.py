"""Whole runs without a screen: run an agent, replay a recording, fork one, check one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import anyio

from loopkit.agent import Agent
from loopkit.debugger.policy_file import RulePolicy
from loopkit.debugger.recorded import states_after
from loopkit.debugger.unattended import Approval, IfAsked, Unattended
from loopkit.drivers.fork import fork
from loopkit.drivers.replay import Source, replay
from loopkit.drivers.replay_report import Match, ReplayReport
from loopkit.drivers.result import ToolLoopResult
from loopkit.drivers.resume import RunAgain, resume
from loopkit.errors import RecordingError, UserError
from loopkit.events import ROOT
from loopkit.outcomes import ForkEdit
from loopkit.recording.check import Finding, check_recording, notes_on
from loopkit.recording.reader import read_recording, require_sound
from loopkit.recording.redaction.inspection import SecretsReport, inspect_secrets
from loopkit.recording.redaction.settings import DEFAULT_REDACTION
from loopkit.recording.syncing import Durability
from loopkit.recording.writer import Recorder

FileSecrets: TypeAlias = SecretsReport


@dataclass(frozen=True)
class HeadlessOutcome:
    """How a run without a screen ended.

    Args:
        result: what it gave, or None when it failed.
        error: what it failed with, or None.
        path: where it is recorded, or None.
        asked: calls that a person would have been asked about, a line each; not safe to show as it is.
    """

    result: ToolLoopResult | None
    error: Exception | None
    path: Path | None
    asked: tuple[str, ...] = ()


def run_headless(
    agent: Agent,
    task: str,
    *,
    record: str | Path | None,
    approve: Approval | RulePolicy = "read-only",
    if_asked: IfAsked = "stop",
    overwrite: bool = False,
    durability: Durability = "iteration",
    redacted: bool = True,
    backend: str = "asyncio",
    tell: Callable[[str], None] = lambda _: None,
) -> HeadlessOutcome:
    """Run an agent to its end, deciding on calls by policy.

    Args:
        record: where the run is kept, or None.
        approve: which calls run: those of tools declared to only read, all but the irreversible ones, all, or none; or a
            policy of rules.
        if_asked: what becomes of a run when a policy would ask a person: it stops, or the call is denied and it goes on.
        overwrite: whether a recording that is there already is replaced.
        durability: when the recording reaches the disk; see `loopkit.Recorder`.
        redacted: whether secrets are kept out of the recording.
        tell: told in one line when a request failed and is sent again; the line is not safe to show as it is.

    Raises:
        UserError: the recording can't be written.
    """
    recorder = None
    if record is not None:
        recorder = _recorder(record, overwrite=overwrite, durability=durability, redacted=redacted)
    watcher = Unattended(approve, tell, if_asked)
    path = None if record is None else Path(record)
    match _end_of(lambda: agent.run(task, recorder=recorder, watcher=watcher), backend):
        case UserError() as error:
            raise error
        case Exception() as error:
            return HeadlessOutcome(None, error, path, tuple(watcher.asked))
        case result:
            return HeadlessOutcome(result, None, path, tuple(watcher.asked))


def _recorder(path: str | Path, *, overwrite: bool, durability: Durability, redacted: bool) -> Recorder:
    redaction = DEFAULT_REDACTION if redacted else None
    return Recorder(path, if_exists="replace" if overwrite else "fail", durability=durability, redaction=redaction)


def _end_of(
    work: Callable[[], Coroutine[Any, Any, ToolLoopResult]], backend: str = "asyncio"
) -> ToolLoopResult | Exception:
    ended: list[ToolLoopResult | Exception] = []

    async def run() -> None:
        try:
            ended.append(await work())
        except Exception as error:  # noqa: BLE001  # whatever the agent's own code raised is its outcome
            ended.append(error)

    async def run_beside() -> None:
        # Ctrl+C cancels the main task once; a task of a group is cancelled by its scope, which also ends the
        # processes that a tool waits for
        async with anyio.create_task_group() as group:
            group.start_soon(run)

    anyio.run(run_beside, backend=backend)
    return ended[0]


def replay_file(
    path: str | Path,
    *,
    agent: Agent | None = None,
    model: Source = "recorded",
    tools: Source = "recorded",
    match: Match = "strict",
    backend: str | None = None,
    secrets: Mapping[str, str] | None = None,
) -> ReplayReport:
    """Replay a recording; see `loopkit.replay`."""
    return replay(path, agent, model=model, tools=tools, match=match, backend=backend, secrets=secrets)


def fork_file(
    path: str | Path,
    at: int | str,
    edit: ForkEdit | None,
    agent: Agent,
    out: str | Path,
    *,
    approve: Approval | RulePolicy = "read-only",
    if_asked: IfAsked = "stop",
    overwrite: bool = False,
    durability: Durability = "iteration",
    redacted: bool = True,
    secrets: Mapping[str, str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
    asked: Callable[[str], None] = lambda _: None,
) -> Path:
    """Go on from inside a recording, without a screen, and return the new recording; see `loopkit.fork`.

    Args:
        approve, if_asked: which of the calls after the fork run; as in `run_headless`.
        overwrite: whether a recording that is there already is replaced; the parent never is.
        durability: when the recording reaches the disk; see `loopkit.Recorder`.
        redacted: as in `run_headless`; what goes on from a redacted recording always is.
        secrets: what placeholders of the parent stand for.
        tell: as in `run_headless`.
        asked: told of each call that a person would have been asked about; the line is not safe to show as it is.

    Raises:
        UserError: the recording can't be forked there, in one line.
    """
    parent = read_recording(path)
    require_sound(parent)
    if overwrite and Path(out).exists() and Path(out).samefile(path):
        raise RecordingError(f"{out}: is what is forked, and a fork never replaces it; name another file")
    if ROOT not in states_after(parent.path, parent.events, len(parent.events)):
        raise RecordingError(f"{parent.path}: does not hold the start of its root loop, so nothing can go on from it")
    watcher = Unattended(approve, tell, if_asked)
    recorder = _recorder(out, overwrite=overwrite, durability=durability, redacted=redacted)
    end = _end_of(
        lambda: fork(parent, at=at, edit=edit, agent=agent, recorder=recorder, watcher=watcher, secrets=secrets)
    )
    for line in watcher.asked:
        asked(line)
    if isinstance(end, Exception):
        raise end
    return Path(out)


def resume_file(
    path: str | Path,
    agent: Agent,
    *,
    approve: Approval | RulePolicy = "read-only",
    if_asked: IfAsked = "stop",
    run_again: RunAgain = (),
    durability: Durability = "iteration",
    secrets: Mapping[str, str] | None = None,
    backend: str = "asyncio",
    tell: Callable[[str], None] = lambda _: None,
) -> HeadlessOutcome:
    """Go on with an unfinished recording, without a screen; see `loopkit.resume`.

    Args:
        approve, if_asked: which of the calls from here on run; as in `run_headless`.
        run_again: ids of calls that had started and may run once more, or `all`.
        durability: when the recording reaches the disk; see `loopkit.Recorder`.
        secrets: what its placeholders stand for.
        tell: as in `run_headless`.

    Raises:
        UserError: the recording can't be gone on with, in one line.
    """
    watcher = Unattended(approve, tell, if_asked)
    match _end_of(
        lambda: resume(path, agent=agent, run_again=run_again, secrets=secrets, durability=durability, watcher=watcher),
        backend,
    ):
        case UserError() as error:
            raise error
        case Exception() as error:
            return HeadlessOutcome(None, error, Path(path), tuple(watcher.asked))
        case result:
            return HeadlessOutcome(result, None, Path(path), tuple(watcher.asked))


def secrets_of_file(path: str | Path) -> FileSecrets:
    """Return what a recording or a foreign session hides, what secrets it shows, and what looks like some.

    Raises:
        RecordingError: there is no file, or it can't be read.
    """
    if Path(path).exists() and not Path(path).is_file():
        # a device or a pipe would be read for ever
        raise RecordingError(f"{path}: is not a regular file")
    try:
        return inspect_secrets(path)
    except OSError as error:
        raise RecordingError(f"{path}: can't be read ({error.strerror or error})") from None


def notes_on_file(path: str | Path) -> list[str]:
    """Return what a person should know about a recording though nothing is wrong with it: who writes it, how it ends."""
    return notes_on(path)


def check_file(path: str | Path) -> list[Finding]:
    """Return what is unsound about a recording: schema, sequence, torn or damaged lines; nothing when it is sound."""
    return check_recording(path)
