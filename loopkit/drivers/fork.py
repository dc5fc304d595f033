"""Goes on from inside a recording with something changed, as a new recording that names its parent (DESIGN §4).

What came before is copied with the same sequence numbers and not paid for again. A sub-agent that was open at the cut
is reached by running its parent's handler again, which re-enters the sub-agent's recorded part by its path; other
open loops are closed as orphans. Calls of the same response keep what was decided on them and what they returned.
Where today's agent is not the recorded one, that is the first thing the fork records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from loopkit import events as e
from loopkit.core.history import INTERRUPTED_CALL
from loopkit.core.loop import fold
from loopkit.core.state import AskDecision, CallPhase, CallState, Effect, LoopState, ProcessResult, RunTool
from loopkit.drivers.cleaning import cleaned
from loopkit.drivers.fork_point import ForkPoint, find_fork_point
from loopkit.drivers.going_on import RunToGoOn, complete_ends, is_gone_on_with, leave_gates
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.drivers.originals import Originals, originals_of
from loopkit.drivers.orphans import append_to_inherited, close_orphans
from loopkit.drivers.parts import LoopParts
from loopkit.drivers.prepared import RecordedAnswers
from loopkit.drivers.result import ToolLoopResult
from loopkit.drivers.run import Run, Watcher, new_header
from loopkit.drivers.tool_loop import DriverMade
from loopkit.errors import RecordingUnwritable, UserError
from loopkit.events import Event
from loopkit.outcomes import Approve, Deny, ForkEdit, ToolApproval
from loopkit.providers.protocol import Delta
from loopkit.recording.reader import Recording, read_recording, require_sound
from loopkit.recording.writer import Recorder

IRREVERSIBLE = "irreversible"


async def fork(
    recording: str | Path | Recording,
    *,
    at: int | str,
    edit: ForkEdit | None = None,
    agent: Any,
    recorder: Recorder,
    watcher: Watcher | None = None,
    driver_made: DriverMade | None = None,
    secrets: Mapping[str, str] | None = None,
) -> ToolLoopResult:
    """Go on from a place in a recording, with an agent's model and tools live from there.

    Args:
        recording: the parent; it is not changed.
        at: a call's id (`root/3.2`), an iteration (`root/3`), or the number of the last event to keep.
        edit: approve, deny, other arguments or an answer in the tool's place for a call, `EditResult` for what it
            returned; `EditMessage`, `AddMessages` or `EditAnswer` for an iteration.
        agent: today's agent; its `parts` make the root loop, and its prompt, tools and configuration hold from there.
        recorder: where the fork is kept.
        watcher: decides on later calls; None approves them, but for those of tools declared irreversible.
        driver_made: called with the root's driver before anything goes on.
        secrets: what placeholders of the parent stand for, such as `{"password-1": "…"}`; a call that holds one that
            nobody knows is not run. Secrets in the agent's own prompt and settings are known from there.

    Raises:
        RecordingError: the parent can't be used.
        UserError: there is nothing to fork at that place.
    """
    prepared = prepare_fork(
        recording, at=at, edit=edit, agent=agent, recorder=recorder, watcher=watcher, secrets=secrets
    )
    return await prepared.go_on(driver_made)


def prepare_fork(
    recording: str | Path | Recording,
    *,
    at: int | str,
    edit: ForkEdit | None = None,
    agent: Any,
    recorder: Recorder,
    watcher: Watcher | None = None,
    secrets: Mapping[str, str] | None = None,
) -> RunToGoOn:
    """Write a fork up to where it goes on; everything is as in `fork`, but for what comes then.

    Raises:
        RecordingError: the parent can't be used.
        UserError: there is nothing to fork at that place.
    """
    parent = recording if isinstance(recording, Recording) else read_recording(recording)
    require_sound(parent)
    parts: LoopParts = agent.parts(())
    originals = originals_of(parent, recorder.redaction, parts, secrets or {})
    if originals.redactor is not None and not parent.header.redaction:
        parent = replace(parent, events=cleaned(parent.events, originals))
    point = find_fork_point(parent, at, edit, originals)
    _refuse_to_repeat(parent, point)
    watcher = Unattended() if watcher is None else watcher
    run = _forked_run(parent, point, parts, recorder, watcher, originals)
    try:
        _copy_prefix(run, point)
        complete_ends(run)
        leave_gates(run, lambda path, state: is_gone_on_with(path, state, point.loop))
        _close_orphans(run, point.loop)
        append_to_inherited(run, point.loop, *(originals.hidden(fact) for fact in point.facts))
    except BaseException:
        run.close()
        raise
    return RunToGoOn(run, parts)


def _refuse_to_repeat(parent: Recording, point: ForkPoint) -> None:
    """Refuse a place whose way leads through a handler that must never run twice.

    Raises:
        UserError: a tool on the way is declared irreversible.
    """
    for path, state in fold(point.prefix).items():
        for call in state.calls:
            tool = state.tools.get(call.call.name)
            on_the_way = call.phase is CallPhase.RUNNING and f"{point.loop}#".startswith(f"{call.key}#")
            if on_the_way and tool is not None and tool.side_effect == IRREVERSIBLE:
                raise UserError(
                    f"{parent.path}: {point.loop} is reached by running {call.call.name} ({call.key}) again, which is "
                    f"declared irreversible: fork {path} before it, or the sub-agent's loop in a run of its own"
                )


def _forked_run(  # noqa: PLR0917  # what a run is made of
    parent: Recording,
    point: ForkPoint,
    parts: LoopParts,
    recorder: Recorder,
    watcher: Watcher | None,
    originals: Originals,
) -> Run:
    inherited = fold(point.prefix)
    run = Run(
        new_header(parent.header.run, len(point.prefix)),
        recorder,
        watcher,
        prepared=_ForkAnswers(parent.events, point, inherited),
        inherited=inherited,
        seq=len(point.prefix),
        carried_seconds=point.prefix[-1].t if point.prefix else 0.0,
        max_runs=parts.config.max_runs,
        max_concurrent_runs=parts.config.max_concurrent_runs,
        originals=originals,
    )
    run.start()
    # loops that are taken up again are counted when they are
    run.started_runs = sum(state.finished is not None for state in inherited.values())
    return run


def _copy_prefix(run: Run, point: ForkPoint) -> None:
    assert run.recorder is not None
    for event in point.prefix:
        run.recorder.append(event)
        if run.watcher is not None:
            run.watcher.happened(event)


def _close_orphans(run: Run, loop: str) -> None:
    """End the loops that were open at the cut and are not gone on with."""
    states = run.inherited.items()
    close_orphans(
        run, [path for path, state in states if state.finished is None and not is_gone_on_with(path, state, loop)]
    )


def _is_no_result(recorded: e.Input | None) -> bool:
    """Say whether a call has no end in the parent, or was only given up because its loop was stopped."""
    return recorded is None or (isinstance(recorded, e.ToolAbandoned) and recorded.content is None)


class Unattended:
    """Approves what nobody else decides on, but nothing that can't be undone: it happened once already."""

    def stops_at(self, loop: str, gate: str) -> str | None:
        return None

    def decide(self, driver: LoopDriver, call: CallState) -> tuple[ToolApproval, str] | None:
        tool = driver.core.state.tools.get(call.call.name)
        if tool is not None and tool.side_effect == IRREVERSIBLE:
            return Deny(f"Not run: {tool.name} can't be undone, and nobody approved it in this fork."), "default"
        return Approve(), "default"

    def stands_unrecorded(self, error: RecordingUnwritable) -> bool:
        return False

    def happened(self, event: Event) -> None:
        """Nobody looks."""

    def streamed(self, loop: str, iteration: int, delta: Delta) -> None:
        """Nobody looks."""


class _ForkAnswers:
    """What a fork knows beforehand: the changed decision, and what the siblings of the cut did in the parent."""

    def __init__(self, events: Sequence[Event], point: ForkPoint, states: dict[str, LoopState]) -> None:
        self._recorded = RecordedAnswers(events, live_tools=False, ask_again=False)
        self._point = point
        self._siblings = {
            (path, call.key)
            for path, state in states.items()
            if state.finished is None and not (path == point.loop and point.asks_otherwise)
            for call in state.calls
        }
        self._tools = {path: state.tools for path, state in states.items()}
        self._names = {call.key: call.call.name for state in states.values() for call in state.calls}

    def in_order(self, loop: str, effects: Sequence[Effect]) -> Sequence[Effect]:
        """Return effects in the order in which the parent's were answered (spec/faults.md d9)."""
        return self._recorded.in_order(loop, effects)

    def answer(self, loop: str, effect: Effect) -> e.Input | None:
        """Return the input for an effect of the cut's own moment, or None to perform it live."""
        if not isinstance(effect, (AskDecision, RunTool, ProcessResult)) or (loop, effect.call) not in self._siblings:
            return None
        if effect.call == self._point.call and not self._happened_once(loop, effect):
            return self._point.decided if isinstance(effect, AskDecision) else None
        if not isinstance(effect, AskDecision) and f"{effect.call}#" in f"{self._point.loop}#":
            # the way to the cut leads through this handler
            return None
        return self._as_in_parent(loop, effect)

    def _happened_once(self, loop: str, effect: AskDecision | RunTool | ProcessResult) -> bool:
        """Say whether the call of the cut is decided on as it was, and must not happen twice."""
        return not self._point.is_edited and self._side_effect(loop, effect.call) == IRREVERSIBLE

    def _side_effect(self, loop: str, call: str) -> str | None:
        tool = self._tools[loop].get(self._names[call])
        return None if tool is None else tool.side_effect

    def _as_in_parent(self, loop: str, effect: AskDecision | RunTool | ProcessResult) -> e.Input | None:
        recorded = self._recorded.recorded(loop, effect)
        if isinstance(effect, (AskDecision, ProcessResult)) or not _is_no_result(recorded):
            return recorded
        if self._side_effect(loop, effect.call) in ("read", "idempotent"):
            return None
        return e.ToolAbandoned(effect.call, "fork", INTERRUPTED_CALL)
