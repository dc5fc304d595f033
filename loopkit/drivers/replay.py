"""Replays a recording: today's loop and agent beside it, with model and tools recorded or live (DESIGN §4)."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import anyio

from loopkit import events as e
from loopkit.drivers.asking_again import TodaysAgent
from loopkit.drivers.changed_agent import last_joined
from loopkit.drivers.diagnosing import diagnose, same_course
from loopkit.drivers.divergence import Divergence
from loopkit.drivers.findings import Diagnosis, Drift, Finding
from loopkit.drivers.following import first_difference
from loopkit.drivers.live_model import comparable, renumbered
from loopkit.drivers.live_replay import LiveReplay, LiveRun, refuse_unrepeatable
from loopkit.drivers.originals import Originals
from loopkit.drivers.parts import LoopParts
from loopkit.drivers.recorded_originals import RecordedOriginals
from loopkit.drivers.replay_report import Match, ReplayReport
from loopkit.drivers.rerunning import Rerun
from loopkit.errors import RecordingDamaged, RecordingError, UserError
from loopkit.events import Event
from loopkit.recording.reader import CHANGED, Recording, read_recording, require_sound
from loopkit.recording.redaction.redactor import Redactor
from loopkit.recording.redaction.settings import Redaction

Source: TypeAlias = Literal["recorded", "live"]
T = TypeVar("T")


def replay(
    recording: str | Path | Recording,
    agent: Any = None,
    *,
    model: Source = "recorded",
    tools: Source = "recorded",
    match: Match = "strict",
    backend: str | None = None,
    redaction: Redaction | None = None,
    secrets: Mapping[str, str] | None = None,
) -> ReplayReport:
    """Replay a recording and say whether it goes the same way; nothing is written, and nothing asked that is not live.

    Args:
        recording: a file, or what `read_recording` gave.
        agent: today's agent: its prompt, tools, configuration and callbacks are compared with what was recorded.
        model: `live` really asks the agent's model; its calls are met by name, arguments and occurrence.
        tools: `live` really runs the agent's tools and compares what they return.
        match: `content` passes over what only words the request: prompt, descriptions, settings, model.
        redaction: what the recorder hid, when it was more than the rules that come with loopkit: what comes today is
            compared in the form in which it would be recorded.
        secrets: what placeholders of the recording stand for, such as `{"password-1": "…"}`, for live tools and
            callbacks; those in the agent's own prompt and settings are known from there.
        backend: `asyncio` or `trio` for callbacks and live tools; by default what runs in this thread, else asyncio.

    Raises:
        RecordingError: the recording can't be used: it is missing, damaged, of a newer format.
        UserError: something live without an agent, or for a run that it can't be done for.
    """
    recording = recording if isinstance(recording, Recording) else read_recording(recording)
    require_replayable(recording)
    recording = dataclasses.replace(recording, events=followed(recording.events))
    live = [name for name, source in (("model", model), ("tools", tools)) if source == "live"]
    if live and agent is None:
        raise UserError(f"{live[0]}='live' needs the agent whose {live[0]} it is: name the agent")
    parts = None if agent is None else todays_parts(recording, agent)
    backend = backend or current_backend()
    originals = originals_of(recording, redaction, secrets)
    with _naming_changed_line(recording):
        if live and parts is not None:
            live_run = LiveReplay(parts, originals, live_tools=tools == "live", live_model=model == "live")
            found = _live(recording, live_run, backend)
        else:
            today = None if parts is None else TodaysAgent(parts, originals, last_joined(recording.events))
            found = run_apart(lambda: _recorded(recording, today), backend)
        return ReplayReport.of(recording, *found, match=match)


@contextmanager
def _naming_changed_line(recording: Recording) -> Iterator[None]:
    """Let a line that was changed be named when what it says now can't be followed at all (spec/faults.md j4)."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if not recording.changed:
            raise
        reason = f"{CHANGED}, and can't be followed: {type(error).__name__}: {error}"
        raise RecordingDamaged(str(recording.path), recording.changed[0], reason) from None


def originals_of(
    recording: Recording, redaction: Redaction | None = None, secrets: Mapping[str, str] | None = None
) -> Originals:
    """Return what a recording's placeholders stand for.

    Raises:
        UserError: there is no such placeholder as a secret is given for.
    """
    if not recording.header.redaction:
        return Originals()
    originals = RecordedOriginals(Redactor(redaction), recording.events)
    originals.take_up(recording.events, secrets or {})
    return originals


def require_replayable(recording: Recording) -> None:
    """Refuse what can't be replayed.

    Raises:
        RecordingError: it is damaged, of a newer format, or holds an event of an unknown type that is not marked as
            `ignorable` (spec/faults.md j17).
    """
    require_sound(recording)
    for event in recording.events:
        if isinstance(event.fact, e.Unrecognised) and not event.fact.ignorable:
            raise RecordingError(
                f"{recording.path}: event {event.seq} has the unknown type {event.type!r}, so it can't be replayed"
            )


def followed(events: Sequence[Event]) -> tuple[Event, ...]:
    """Return the events that a replay follows: without what is marked as ignorable, and the note that recording ended.

    The step before that note may be cut in two, as at the end of the file of a run that was killed.
    """
    return tuple(event for event in events if not isinstance(event.fact, (e.Unrecognised, e.RecordingEnded)))


def todays_parts(recording: Recording, agent: Any) -> LoopParts:
    """Return what a run of an agent on the recorded task is made of.

    Raises:
        RecordingError: the recording doesn't begin with the start of a loop.
    """
    first = recording.events[0].fact
    if not isinstance(first, e.LoopStarted):
        raise RecordingError(f"{recording.path}: does not begin with the start of a loop")
    parts: LoopParts = agent.parts(first.task)
    return parts


Found: TypeAlias = tuple[Divergence | None, Diagnosis | None]


async def _recorded(recording: Recording, today: TodaysAgent | None) -> Found:
    events = recording.events
    first = await first_difference(events, today, _copied(recording))
    if first is None:
        return None, None
    rerun = Rerun(events, today)
    await rerun.run()
    return first, _with_first(diagnose(events, rerun.came, stand_ins=frozenset(rerun.stand_ins)), first)


def _with_first(diagnosis: Diagnosis, first: Divergence) -> Diagnosis:
    """Let no difference go without a cause: the order of loops among each other shows in no single loop."""
    if diagnosis.findings:
        return diagnosis
    finding = Finding(
        Drift.ORDER,
        first.what,
        first.seq,
        first.loop,
        first.iteration,
        "the order of the loops among each other",
        recorded=first.recorded,
        came=first.came,
    )
    return dataclasses.replace(diagnosis, findings=(finding,), aligned=diagnosis.aligned - 1)


def _live(recording: Recording, replay: LiveReplay, backend: str) -> Found:
    events = recording.events
    refuse_unrepeatable(events)
    # what doesn't hold together by itself is told before anything runs
    found = run_apart(lambda: _recorded(recording, None), backend)
    if found[0] is not None:
        return found
    live = run_apart(lambda: replay.run(events), backend)
    shown = None
    met: Sequence[Event] = events
    came: Sequence[Event] = live.events
    if replay.live_model:
        shown = {event.seq: event for event in came}
        # with recorded results nothing starts the sub-agents that they came from
        met = [event for event in events if replay.live_tools or event.loop == e.ROOT]
        met, came = comparable(met), comparable(renumbered(met, came))
    if live.missing is None and same_course(met, came):
        return None, None
    diagnosis = _with_missing(diagnose(met, came, live=True, shown=shown), events, live)
    if not diagnosis.findings:
        return None, None
    first = diagnosis.findings[0]
    what = f"{first.drift}: {first.what}"
    return Divergence(first.seq, first.loop, first.iteration, what, first.recorded, first.came), diagnosis


def _with_missing(diagnosis: Diagnosis, recorded: Sequence[Event], live: LiveRun) -> Diagnosis:
    finished = any(
        event.loop == e.ROOT and isinstance(event.fact, (e.LoopFinished, e.LoopFailed)) for event in recorded
    )
    if diagnosis.findings or live.missing is None or not finished:
        return diagnosis
    loop = live.missing.loop
    seq = max((event.seq for event in recorded if event.loop == loop), default=len(recorded))
    finding = Finding(Drift.MISSING_EVENT, str(live.missing), seq, loop, 0, "the end of what is recorded")
    return dataclasses.replace(diagnosis, findings=(finding,))


def current_backend() -> str:
    """Return the event loop library that runs in this thread, asyncio when none does."""
    trio = sys.modules.get("trio")
    return "trio" if trio is not None and trio.lowlevel.in_trio_run() else "asyncio"


def run_apart(
    function: Callable[[], Coroutine[Any, Any, T]], backend: str, options: Mapping[str, Any] | None = None
) -> T:
    """Run an async function in an event loop of its own, also where one is running already.

    Args:
        options: what `anyio.run` passes on to the event loop library.
    """
    found: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(anyio.run(function, backend=backend, backend_options=dict(options or {})))
        except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
            raised.append(error)

    thread = threading.Thread(target=run, name="loopkit replay", daemon=True)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return found[0]


def _copied(recording: Recording) -> int | None:
    """Return up to which event the loops were written as they went; from there on some wait until they are gone on with."""
    reopened = [event.seq - 1 for event in recording.events if isinstance(event.fact, e.Reopened)]
    places = [*reopened[:1], *([] if recording.header.fork_seq is None else [recording.header.fork_seq])]
    return min(places, default=None)
