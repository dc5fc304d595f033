"""Goes on with a recording whose run was cut short, in the same file (DESIGN §3, Continues).

What was written half is completed, then `Reopened` says that somebody went on. A request without an answer is made again; a
decision on a call that had not started is asked for again. A call that started and never ended gets the synthetic result, unless it
is declared to read or to be idempotent, a person says that it may run again, or a sub-agent of it was open: that one is
reached by running the handler again, which re-enters the sub-agent's recorded part by its path.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from loopkit import events as e
from loopkit.core.history import INTERRUPTED_CALL
from loopkit.core.loop import LoopCore, fold
from loopkit.core.state import CallPhase, CallState, Effect, LoopState, Phase, RunTool
from loopkit.drivers.changed_agent import INTERRUPTED
from loopkit.drivers.going_on import RunToGoOn, complete_ends, leave_gates
from loopkit.drivers.originals import originals_of
from loopkit.drivers.orphans import append_to_inherited, close_orphans, open_below
from loopkit.drivers.parts import LoopParts
from loopkit.drivers.result import ToolLoopResult
from loopkit.drivers.run import Run, Watcher
from loopkit.drivers.tool_loop import DriverMade
from loopkit.errors import RecordingError, UserError
from loopkit.recording.reader import Recording, read_recording
from loopkit.recording.redaction.settings import DEFAULT_REDACTION, Redaction
from loopkit.recording.syncing import Durability
from loopkit.recording.writer import Recorder

RESUME = "resume"
RunAgain: TypeAlias = Collection[str] | Literal["all"]
_REPEATABLE = ("read", "idempotent")


async def resume(
    recording: str | Path,
    *,
    agent: Any,
    run_again: RunAgain = (),
    by: str = "person",
    secrets: Mapping[str, str] | None = None,
    durability: Durability = "iteration",
    redaction: Redaction | None = DEFAULT_REDACTION,
    watcher: Watcher | None = None,
    driver_made: DriverMade | None = None,
) -> ToolLoopResult:
    """Go on with an unfinished recording, with today's agent; it is appended to.

    Args:
        agent: today's agent; what is different about it is recorded as `AgentChanged`.
        run_again: ids of calls that had started and whose handlers may run once more, or `all`.
        by: who goes on.
        secrets: what its placeholders stand for, such as `{"password-1": "…"}`.
        durability: as in `Recorder`.
        redaction: what is hidden from here on, if the recording hides anything.
        watcher: decides on calls; None approves them.
        driver_made: called with the root's driver before anything goes on.

    Raises:
        RecordingInUse: its own process still writes it.
        RecordingError: it is finished, damaged before its end, or can't be written.
        UserError: it holds nothing to go on with, or `run_again` names a call that did not run.
    """
    prepared = prepare_resume(
        recording,
        agent=agent,
        run_again=run_again,
        by=by,
        secrets=secrets,
        durability=durability,
        redaction=redaction,
        watcher=watcher,
    )
    return await prepared.go_on(driver_made)


def prepare_resume(
    recording: str | Path,
    *,
    agent: Any,
    run_again: RunAgain = (),
    by: str = "person",
    secrets: Mapping[str, str] | None = None,
    durability: Durability = "iteration",
    redaction: Redaction | None = DEFAULT_REDACTION,
    watcher: Watcher | None = None,
) -> RunToGoOn:
    """Reopen an unfinished recording up to where it goes on; everything is as in `resume`, but for what comes then.

    Raises:
        RecordingInUse: its own process still writes it.
        RecordingError: it is finished, damaged before its end, or can't be written.
        UserError: it holds nothing to go on with, or `run_again` names a call that did not run.
    """
    recorder = Recorder.continue_from(recording, durability=durability, redaction=redaction)
    try:
        # read again: only under the lock is what stands there final
        recorded = read_recording(recording)
        parts: LoopParts = agent.parts(())
        run = _reopened_run(recorded, recorder, parts, watcher, secrets or {})
        _refuse_strangers(recorded.path, run.inherited, run_again)
    except BaseException:
        recorder.close()
        raise
    try:
        ran = _running(run.inherited)
        _complete_steps(run, recorded.events[-1].loop)
        _reopen(run, by)
        _close_what_is_given_up(run, ran, run_again)
    except BaseException:
        run.close()
        raise
    return RunToGoOn(run, parts)


def _reopened_run(
    recorded: Recording, recorder: Recorder, parts: LoopParts, watcher: Watcher | None, secrets: Mapping[str, str]
) -> Run:
    if not recorded.events or recorded.events[0].loop != e.ROOT:
        raise UserError(f"{recorded.path}: holds nothing to go on with: run the agent again")
    for event in recorded.events:
        if isinstance(event.fact, e.Unrecognised):
            raise RecordingError(
                f"{recorded.path}: event {event.seq} has the unknown type {event.type!r}, so it can't be gone on with"
            )
    if not recorded.header.redaction:
        recorder.redaction = None
    originals = originals_of(recorded, recorder.redaction, parts, secrets)
    states = fold(recorded.events)
    run = Run(
        recorded.header,
        recorder,
        watcher,
        inherited=states,
        seq=len(recorded.events),
        carried_seconds=recorded.events[-1].t,
        max_runs=parts.config.max_runs,
        max_concurrent_runs=parts.config.max_concurrent_runs,
        originals=originals,
        gone_on_by=RESUME,
    )
    run.started_runs = sum(state.finished is not None and path != e.ROOT for path, state in states.items())
    if watcher is not None:
        for event in recorded.events:
            watcher.happened(event)
    return run


def _open(states: Mapping[str, LoopState]) -> list[str]:
    return [path for path, state in states.items() if state.finished is None]


def _running(states: Mapping[str, LoopState]) -> dict[str, list[CallState]]:
    """Return the calls whose handlers had started, by loop: only these did anything."""
    return {path: [call for call in states[path].calls if call.phase is CallPhase.RUNNING] for path in _open(states)}


def _refuse_strangers(path: Path, states: Mapping[str, LoopState], run_again: RunAgain) -> None:
    known = {call.key for calls in _running(states).values() for call in calls}
    strangers = sorted(set(() if run_again == "all" else run_again) - known)
    if strangers:
        raise UserError(
            f"{path}: the call {strangers[0]} was not running when the recording ended; "
            f"running: {', '.join(sorted(known)) or 'none'}"
        )


def _complete_steps(run: Run, last: str) -> None:
    """Append what an input had already caused when its process died: both are one step; a turn may wait.

    Args:
        last: path of the loop of the last event, whose step it was.
    """
    complete_ends(run)
    for path in sorted(_open(run.inherited), key=lambda path: path != last):
        while run.inherited[path].phase is not Phase.TURN and (due := LoopCore(run.inherited[path]).due()) is not None:
            append_to_inherited(run, path, due)


def _reopen(run: Run, by: str) -> None:
    leave_gates(run, lambda _, state: state.finished is None)
    for path in _open(run.inherited):
        state = run.inherited[path]
        append_to_inherited(run, path, e.Reopened(by))
        if state.phase is Phase.MODEL:
            failure = e.Failure(INTERRUPTED, "the run was cut short before an answer came")
            append_to_inherited(run, path, e.ModelAttemptFailed(state.attempt, failure, retry=True, unreported=True))


def _close_what_is_given_up(run: Run, ran: Mapping[str, list[CallState]], run_again: RunAgain) -> None:
    """Give handlers up that may not run again, and end the loops that they left open."""
    given_up: set[tuple[str, str]] = set()
    for path, calls in ran.items():
        for call in calls:
            if not _may_run_again(run, path, call, run_again):
                given_up.add((path, call.key))
                close_orphans(run, open_below(run, call.key))
    run.prepared = _GivenUp(given_up)


def _may_run_again(run: Run, path: str, call: CallState, run_again: RunAgain) -> bool:
    if run_again == "all" or call.key in run_again:
        return True
    tool = run.inherited[path].tools.get(call.call.name) if path in run.inherited else None
    side_effect = None if tool is None else tool.side_effect
    return side_effect in _REPEATABLE or (side_effect != "irreversible" and bool(open_below(run, call.key)))


class _GivenUp:
    """Answers for handlers that are not run again."""

    def __init__(self, calls: set[tuple[str, str]]) -> None:
        self._calls = calls

    def in_order(self, loop: str, effects: Sequence[Effect]) -> Sequence[Effect]:
        return effects

    def answer(self, loop: str, effect: Effect) -> e.Input | None:
        if not isinstance(effect, RunTool) or (loop, effect.call) not in self._calls:
            return None
        return e.ToolAbandoned(effect.call, RESUME, INTERRUPTED_CALL)
