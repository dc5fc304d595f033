"""Brings a recording up to date with today's agent, as a new recording that names the old one, which stays as it is.

`accept` keeps today's run on the recorded answers. `re_record` has one step of it answered live: a call, or a model's
answer; everything else comes from the recording, met by what it was about.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from loopkit import events as e
from loopkit.core.detection.signatures import batch_signature
from loopkit.core.state import AskDecision, CallModel, Effect, RunTool
from loopkit.drivers.asking_again import TodaysAgent
from loopkit.drivers.by_content import CallContents
from loopkit.drivers.changed_agent import last_joined
from loopkit.drivers.live_replay import refuse_unrepeatable, run_with
from loopkit.drivers.parts import LoopParts
from loopkit.drivers.prepared import MissingAnswer, RecordedAnswers
from loopkit.drivers.replay import (
    current_backend,
    followed,
    originals_of,
    replay,
    require_replayable,
    run_apart,
    todays_parts,
)
from loopkit.drivers.rerunning import Rerun
from loopkit.drivers.run import new_header
from loopkit.errors import LoopkitError, UserError
from loopkit.events import Event
from loopkit.recording.reader import Recording, read_recording
from loopkit.recording.redaction.settings import Redaction
from loopkit.recording.writer import Recorder

_END = (e.LoopFinished, e.LoopFailed)
_GO_ON = "`loopkit fork` goes on live from there"


def accept(
    recording: str | Path | Recording,
    agent: Any,
    out: str | Path,
    *,
    redaction: Redaction | None = None,
    secrets: Mapping[str, str] | None = None,
    backend: str | None = None,
) -> Path:
    """Keep what today's agent does on the recorded answers as a new recording.

    Args:
        out: the new recording; nothing may be there yet.
        redaction: what the recorder hid, when it was more than the rules that come with loopkit.
        secrets: what placeholders stand for, such as `{"password-1": "…"}`.

    Raises:
        UserError: the recording lacks answers that today's run needs, or `out` is there already.
    """
    old = _read(recording)
    today = TodaysAgent(todays_parts(old, agent), originals_of(old, redaction, secrets), last_joined(old.events))
    rerun = Rerun(old.events, today)
    run_apart(rerun.run, backend or current_backend())
    if rerun.stand_ins:
        first = rerun.came[min(rerun.stand_ins) - 1]
        raise UserError(
            f"{old.path}: today's run needs what is not recorded ({first.type} in {first.loop}, iteration "
            f"{first.iteration}), so it can't be accepted: {_GO_ON}"
        )
    if _is_finished(old.events) and not _is_finished(rerun.came):
        raise UserError(f"{old.path}: today's run goes on behind the recorded end, so it can't be accepted: {_GO_ON}")
    return _written(old, agent, rerun.came, Path(out), redaction)


def re_record(
    recording: str | Path | Recording,
    agent: Any,
    step: str | int,
    out: str | Path,
    *,
    redaction: Redaction | None = None,
    secrets: Mapping[str, str] | None = None,
    backend: str | None = None,
) -> Path:
    """Have one step of a recording answered live, and keep the run with it as a new recording.

    Args:
        step: a call's id, whose tool runs again with all that it starts; or the number of an event of a call or of a
            model's answer.
        out: the new recording; nothing may be there yet.
        redaction, secrets: as for `accept`; a call that holds a secret that nobody knows is not run.

    Raises:
        UserError: there is no such step, the step leads where the recording holds no answers, or `out` is there
            already.
    """
    old = _read(recording)
    refuse_unrepeatable(old.events)
    place = find_step(old, step)
    answers = _OneStepLive(old.events, *place)
    parts: LoopParts = todays_parts(old, agent)
    originals = originals_of(old, redaction, secrets)
    live = run_apart(lambda: run_with(answers, parts, originals, answers.hear), backend or current_backend())
    if live.missing is not None and _is_finished(old.events):
        raise UserError(
            f"{old.path}: with this step live the run asks for what is not recorded ({live.missing}): {_GO_ON}"
        )
    return _written(old, agent, _with_sub_agents(old.events, live.events, place), Path(out), redaction)


def _with_sub_agents(recorded: Sequence[Event], came: Sequence[Event], place: tuple[str, Effect]) -> Sequence[Event]:
    """Put back the loops that recorded calls had started, since what a recorded result stands for was not run."""
    driven = {event.loop.rpartition("#")[0] for event in came}
    events: list[Event] = []
    for event in came:
        events.append(event)
        if isinstance(event.fact, e.ToolStarted):
            call = event.fact.call
            if call not in driven and place != (event.loop, RunTool(call)):
                events += [other for other in recorded if other.loop.startswith(f"{call}#")]
    return [replace(event, seq=seq) for seq, event in enumerate(events, 1)]


def find_step(recording: Recording, step: str | int) -> tuple[str, Effect]:
    """Return the loop and the effect that a step names.

    Raises:
        UserError: there is no such step, or nobody answers it.
    """
    if isinstance(step, str) and step.isdecimal():
        step = int(step)
    if isinstance(step, str):
        call = step if step.startswith(e.ROOT) else f"{e.ROOT}/{step}"
        for event in recording.events:
            if isinstance(event.fact, e.ToolStarted) and event.fact.call == call:
                return event.loop, RunTool(call)
        raise UserError(f"{recording.path}: no call {call} was run in it; `loopkit show` names the calls")
    if not 1 <= step <= len(recording.events):
        raise UserError(f"{recording.path} has the events 1 to {len(recording.events)}, not {step}")
    event = recording.events[step - 1]
    match event.fact:
        case e.ToolStarted(key) | e.ToolReturned(key) | e.ToolFailed(key) | e.ToolAbandoned(key):
            return event.loop, RunTool(key)
        case e.ModelRequested() | e.ModelReplied() | e.ModelInterrupted() | e.ModelAttemptFailed():
            return event.loop, CallModel(event.iteration, 1)
    raise UserError(
        f"event {step} ({event.type}) is no step that can be recorded again: name a call that ran, or the event of a "
        "model's answer or a tool's result"
    )


class _OneStepLive:
    """A recording's answers, one step and what it starts left to be performed."""

    def __init__(self, events: Sequence[Event], loop: str, effect: Effect) -> None:
        self._answers = RecordedAnswers(events, live_tools=False, ask_again=True)
        self._loop = loop
        self._effect = effect
        self._below = f"{effect.call}#" if isinstance(effect, RunTool) else None
        self._today = CallContents()
        self._recorded = CallContents()
        for event in events:
            self._recorded.hear(event)

    def hear(self, event: Event) -> None:
        """Take in what happens today."""
        self._today.hear(event)

    def decided(self, loop: str, call: str, version: int) -> e.Decided | None:
        """Return the recorded decision on a version of a call, or None."""
        return self._answers.decided(loop, call, version)

    def in_order(self, loop: str, effects: Sequence[Effect]) -> Sequence[Effect]:
        """Return effects in the recorded order."""
        return self._answers.in_order(loop, effects)

    def answer(self, loop: str, effect: Effect) -> e.Input | None:
        """Return the recorded input for an effect, or None for the step itself.

        Raises:
            MissingAnswer: it is not recorded, or for another call.
        """
        if self._is_live(loop, effect):
            return None
        if isinstance(effect, (AskDecision, RunTool)):
            contents = (self._recorded.run, self._today.run)
            if isinstance(effect, AskDecision):
                contents = (self._recorded.asked, self._today.asked)
            then, now = (calls.get(effect.call) for calls in contents)
            if then is None or now is None or batch_signature((then,)) != batch_signature((now,)):
                raise MissingAnswer(loop, effect)
        return self._answers.answer(loop, effect)

    def _is_live(self, loop: str, effect: Effect) -> bool:
        if self._below is not None and loop.startswith(self._below):
            # a person's decisions are recorded, and asking is nobody's part here
            return not isinstance(effect, AskDecision)
        if isinstance(effect, RunTool) and self._loop.startswith(f"{effect.call}#"):
            # the way to the step leads through this handler
            return True
        if loop != self._loop:
            return False
        if isinstance(self._effect, CallModel):
            return isinstance(effect, CallModel) and effect.iteration == self._effect.iteration
        return effect == self._effect


def _read(recording: str | Path | Recording) -> Recording:
    old = recording if isinstance(recording, Recording) else read_recording(recording)
    require_replayable(old)
    return replace(old, events=followed(old.events))


def _is_finished(events: Sequence[Event]) -> bool:
    return any(event.loop == e.ROOT and isinstance(event.fact, _END) for event in events)


def _written(old: Recording, agent: Any, events: Sequence[Event], out: Path, redaction: Redaction | None) -> Path:
    """Write a new recording and make sure that it replays."""
    pairs = zip(old.events, events, strict=False)
    alike = itertools.takewhile(lambda pair: (pair[0].loop, pair[0].fact) == (pair[1].loop, pair[1].fact), pairs)
    shared = sum(1 for _ in alike)
    header = replace(new_header(old.header.run, shared), redaction=old.header.redaction)
    with Recorder(out) as recorder:
        recorder.start(header)
        for event in events:
            recorder.append(event)
    report = replay(out, agent, redaction=redaction)
    if not report.same:
        out.unlink()
        raise LoopkitError(f"{out}: what was kept does not replay, so it was removed:\n{report.text()}")
    return out
