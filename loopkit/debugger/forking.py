"""Going on live from what was recorded, with a person at the gates: what if, resume, once more, and one thing more to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from loopkit.agent import Agent
from loopkit.core.loop import fold
from loopkit.core.state import CallPhase
from loopkit.debugger.live import LiveRun
from loopkit.debugger.policy import Policy
from loopkit.debugger.session import Session
from loopkit.debugger.taken_up import GoesOn
from loopkit.debugger.targets import new_recording_path
from loopkit.debugger.timeline import task_text
from loopkit.drivers.fork import prepare_fork
from loopkit.drivers.going_on import RunToGoOn
from loopkit.drivers.resume import RunAgain, prepare_resume
from loopkit.drivers.run import Watcher
from loopkit.errors import RecordingError
from loopkit.events import ROOT, LoopStarted
from loopkit.messages import JSONObject, Message
from loopkit.outcomes import ForkEdit
from loopkit.recording.reader import Recording, read_recording, require_sound
from loopkit.recording.redaction.settings import DEFAULT_REDACTION
from loopkit.recording.syncing import Durability
from loopkit.recording.writer import Recorder


def fork_session(
    path: str | Path,
    at: int | str,
    edit: ForkEdit | None,
    agent: Agent,
    *,
    record: str | Path | None = None,
    policy: Policy | None = None,
    backend: str = "asyncio",
    durability: Durability = "iteration",
    secrets: Mapping[str, str] | None = None,
) -> Session:
    """Go on live from inside a recording, with something changed there, as a new recording; see `loopkit.fork`.

    Args:
        at: a call's id, an iteration, or the number of the last event to keep.
        record: where the fork is kept; by default a new file beside the recording.
        policy: decides before a person is asked.
        secrets: what placeholders of the recording stand for.

    Raises:
        UserError: the recording can't be forked there, in one line.
    """
    parent = _sound(path)
    file = new_recording_path(f"{agent.name}-fork") if record is None else Path(record)
    recorder = Recorder(file, durability=durability, redaction=DEFAULT_REDACTION)

    def goes_on(watcher: Watcher) -> RunToGoOn:
        return prepare_fork(parent, at=at, edit=edit, agent=agent, recorder=recorder, watcher=watcher, secrets=secrets)

    return _live(parent, agent, goes_on, file, policy, backend, durability)


def resume_session(
    path: str | Path,
    agent: Agent,
    *,
    run_again: RunAgain = (),
    policy: Policy | None = None,
    backend: str = "asyncio",
    durability: Durability = "iteration",
    secrets: Mapping[str, str] | None = None,
) -> Session:
    """Go on live with an unfinished recording, in the same file; see `loopkit.resume`.

    Args:
        run_again: ids of calls that had started and may run once more, or `all`.

    Raises:
        UserError: it can't be gone on with, in one line.
    """
    recorded = read_recording(path)

    def goes_on(watcher: Watcher) -> RunToGoOn:
        return prepare_resume(
            path, agent=agent, run_again=run_again, secrets=secrets, durability=durability, watcher=watcher
        )

    return _live(recorded, agent, goes_on, Path(path), policy, backend, durability)


def started_calls(path: str | Path) -> list[tuple[str, str, JSONObject]]:
    """Return the calls that had started and not ended when a recording was cut short: id, name, arguments.

    Raises:
        UserError: the recording can't be read.
    """
    states = fold(read_recording(path).events)
    return [
        (call.key, call.call.name, call.call.arguments)
        for state in states.values()
        if state.finished is None
        for call in state.calls
        if call.phase is CallPhase.RUNNING
    ]


def follow_up_session(
    path: str | Path,
    words: str,
    agent: Agent,
    *,
    so_far: Sequence[Message] | None = None,
    record: str | Path | None = None,
    policy: Policy | None = None,
    backend: str = "asyncio",
) -> Session:
    """Say one thing more to a run that has ended: a new recording that begins with the whole conversation.

    Args:
        path: the recording; it is not changed.
        so_far: the conversation, where it is known with its secrets; by default as recorded.

    Raises:
        UserError: the recording can't be read, or holds nothing to go on with.
    """
    recorded = _sound(path)
    history = tuple(fold(recorded.events)[ROOT].history) if so_far is None else tuple(so_far)
    return _begun(recorded, agent, (*_without_prompt(history, agent), Message.user(words)), record, policy, backend)


def run_again_session(
    path: str | Path,
    agent: Agent,
    *,
    record: str | Path | None = None,
    policy: Policy | None = None,
    backend: str = "asyncio",
) -> Session:
    """Start an agent once more with the task of a recorded run, as a new recording.

    Raises:
        UserError: the recording can't be read, or holds no task.
    """
    recorded = _sound(path)
    started = recorded.events[0].fact
    assert isinstance(started, LoopStarted)
    return _begun(recorded, agent, _without_prompt(started.messages, agent), record, policy, backend)


def _begun(  # noqa: PLR0917  # what a new run is made of
    recorded: Recording,
    agent: Agent,
    messages: Sequence[Message],
    record: str | Path | None,
    policy: Policy | None,
    backend: str,
) -> Session:
    file = new_recording_path(agent.name) if record is None else Path(record)
    live = LiveRun(agent, messages, file, policy, backend=backend, durability="iteration", follows=recorded.header.run)
    return Session(live=live, title=live.title)


def _without_prompt(messages: Sequence[Message], agent: Agent) -> tuple[Message, ...]:
    """An agent with a prompt puts its own first."""
    recorded = bool(messages) and messages[0].role == "system"
    return tuple(messages[1:] if recorded and agent.system is not None else messages)


def _sound(path: str | Path) -> Recording:
    recorded = read_recording(path)
    require_sound(recorded)
    first = recorded.events[0] if recorded.events else None
    if first is None or first.loop != ROOT or not isinstance(first.fact, LoopStarted):
        raise RecordingError(f"{recorded.path}: does not hold the start of its root loop, so nothing can go on from it")
    return recorded


def _live(  # noqa: PLR0917  # what a live run is made of
    recorded: Recording,
    agent: Agent,
    goes_on: GoesOn,
    file: Path,
    policy: Policy | None,
    backend: str,
    durability: Durability,
) -> Session:
    live = LiveRun(agent, goes_on, file, policy, backend=backend, durability=durability)
    return Session(live=live, title=_title(recorded))


def _title(recorded: Recording) -> str:
    started = recorded.events[0].fact if recorded.events else None
    words = task_text(started.messages) if isinstance(started, LoopStarted) else ""
    return words or recorded.path.name
