"""One run, recorded or live, as every interface sees it: commands in, events and a timeline out, all plain data."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopkit.debugger.arguments import read_arguments
from loopkit.debugger.breakpoints import Breakpoints
from loopkit.debugger.commanding import command, reported
from loopkit.debugger.display import one_line
from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.nodes import Row
from loopkit.debugger.queueing import Queueing
from loopkit.debugger.recorded import OpenedRun, open_recording, open_to_look
from loopkit.debugger.status import Mode, PendingDecision, Status, definition_of, pending_decision, status_of
from loopkit.debugger.stepping import Stepping
from loopkit.debugger.timeline import Timeline, task_text
from loopkit.debugger.under_way import RemoteRunUnderWay, RunUnderWay
from loopkit.errors import UserError
from loopkit.events import ROOT, Event
from loopkit.messages import Message, Problem
from loopkit.recording.syncing import Durability
from loopkit.tools.checks import SchemaCheck

if TYPE_CHECKING:
    from loopkit.agent import Agent
    from loopkit.debugger.live import LiveRun
    from loopkit.debugger.policy import Policy


class Session(Queueing, Stepping):
    """A run that is looked at or debugged; made by `open` or `start`, or by `remote.attach`.

    Attributes:
        timeline: the read model; changed by `poll` only, in the thread that calls it.
        path: the recording, or the foreign file.
        title: what to call the run, as recorded.
        agent: the one that runs in this process, also after it ended; None for a recording.
        notices: one line each on what is damaged, torn or guessed in a recording.
        source_format: `loopkit`, or the foreign format's name.
    """

    def __init__(
        self,
        *,
        recorded: OpenedRun | None = None,
        live: LiveRun | None = None,
        remote: RemoteRunUnderWay | None = None,
        title: str = "",
        breakpoints: Breakpoints | None = None,
    ) -> None:
        self._live = live
        self._own_breakpoints = (
            (Breakpoints() if live is None else live.breakpoints) if breakpoints is None else breakpoints
        )
        self._remote = remote
        self.agent: Agent | None = None if live is None else live.agent
        self._run: RunUnderWay | None = live or remote
        self.timeline = recorded.timeline if recorded is not None else Timeline()
        known = recorded or self._run
        self.path: Path | None = None if known is None else known.path
        self.notices: list[str] = list(recorded.notices) if recorded is not None else []
        self.source_format = recorded.source_format if recorded is not None else "loopkit"
        self.recorded_events: Sequence[Event] = recorded.events if recorded is not None else ()
        self._events: list[Event] = []
        self.title = title
        self._checks: dict[str, SchemaCheck] = {}

    @classmethod
    def open(cls, path: str | Path, *, whole: bool = False, breakpoints: Breakpoints | None = None) -> Session:
        """Open a recording, ours or a foreign one.

        Args:
            whole: load also what is large or still written; otherwise such a recording is read in windows, and on by
                `read_on`.
            breakpoints: what `resume` and `reverse_continue` stop at; by default none.

        Raises:
            UserError: it can't be read, in one line.
        """
        recorded = open_recording(path) if whole else open_to_look(path)
        root = recorded.timeline.root
        title = recorded.title or (task_text(root.started.messages) if root else "") or recorded.path.name
        return cls(recorded=recorded, title=title, breakpoints=breakpoints)

    @classmethod
    def start(
        cls,
        agent: Agent,
        task: str,
        *,
        record: str | Path | None = None,
        policy: Policy | None = None,
        project: str | Path | None = None,
        backend: str = "asyncio",
        durability: Durability = "iteration",
        redacted: bool = True,
        breakpoints: Breakpoints | None = None,
    ) -> Session:
        """Start an agent in its own thread and return at once; it stops before every tool call.

        Args:
            record: where the run is kept; by default a new file in the recordings folder.
            policy: decides before a person is asked.
            project: a folder whose `.loopkit` holds a policy, for where none is given, and rules that a person let it
                remember; None asks no folder.
            backend: `asyncio` or `trio`.
            durability: when the recording reaches the disk; see `loopkit.Recorder`.
            redacted: whether secrets are kept out of the recording, and with it out of what is shown.
            breakpoints: what the run stops at; by default none.

        Raises:
            UserError: the recording can't be written, or the project's policy can't be read; in one line.
        """
        from loopkit.debugger.live import LiveRun  # noqa: PLC0415  # looking at a recording needs no event loop
        from loopkit.debugger.policy_file import project_policy  # noqa: PLC0415  # the same
        from loopkit.debugger.targets import new_recording_path  # noqa: PLC0415  # the same

        path = new_recording_path(agent.name) if record is None else Path(record)
        folder = None if project is None else Path(project)
        if policy is None and folder is not None:
            policy = project_policy(folder)
        live = LiveRun(
            agent,
            task,
            path,
            policy,
            backend=backend,
            durability=durability,
            redacted=redacted,
            project=folder,
            breakpoints=breakpoints,
        )
        session = cls(live=live, title=live.title)
        session.notices.extend(session.broken_rules)
        return session

    # ── what it shows ────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def live(self) -> bool:
        """Whether an agent is attached, also after it ended."""
        return self._run is not None

    @property
    def conversation(self) -> tuple[Message, ...] | None:
        """The whole transcript of a live run that came to its end, with what placeholders stand for; else None."""
        result = None if self._live is None else self._live.result
        return None if result is None else tuple(result.messages)

    @property
    def mode(self) -> Mode:
        return "live" if self.live else "recorded"

    @property
    @reported
    def running(self) -> bool:
        """Whether an agent is on its way."""
        return self._live is not None and not self._live.ended

    @property
    @reported
    def stands_next(self) -> str:
        """Where a run that is on its way will stand without being asked, in words; empty when nowhere.

        What `pause`, `step` and their like ask for takes effect at a gate, which may be some time away.
        """
        if self._live is None or self._live.ended:
            return ""
        return self._live.goal.words

    @property
    @reported
    def interrupted(self) -> bool:
        """Whether a live run was stopped before its own end, or still goes."""
        return self._live is not None and self._live.interrupted

    @property
    @reported
    def error(self) -> str:
        """What ended a live run, in one safe line, when it was an exception; else empty."""
        return "" if self._live is None else self._live.failure

    @property
    def events(self) -> Sequence[Event]:
        """All events so far, in order; those of a large recording are read when they are asked for."""
        return self.recorded_events or tuple(self._events)

    def events_near(self, row: Row) -> Sequence[Event]:
        """Return at least the events that a row of the timeline is made of, in order."""
        large = self._large
        return self.events if large is None else large.events_near(row)

    @property
    def _large(self) -> LargeTimeline | None:
        return self.timeline if isinstance(self.timeline, LargeTimeline) else None

    @property
    def large(self) -> bool:
        """Whether the recording is read in windows: it is large, or another process may still write it."""
        return self._large is not None

    @property
    def reading(self) -> float | None:
        """How much of a large recording was read, 0 to 1; None when all of it was."""
        large = self._large
        return None if large is None or large.complete else large.progress

    @property
    def followed(self) -> bool:
        """Whether another process writes the recording, so that `read_on` may find more at any time."""
        return self._large is not None and self._large.follow

    @property
    def unsettled(self) -> bool:
        """Whether `read_on` still has something to do."""
        return self._large is not None and self._large.unsettled

    def read_on(self, seconds: float) -> bool:
        """Read on in a recording that is large or still written; say whether the timeline has changed.

        Args:
            seconds: at most about this long.
        """
        large = self._large
        if large is None:
            return False
        try:
            changed = large.advance(seconds)
        except (OSError, UserError) as error:
            large.stop_following()
            self.notices.append(f"it can't be read any more: {error}")
            return True
        self.notices.extend(large.take_damage())
        return changed

    def on_change(self, wake: Callable[[], None]) -> None:
        """Have `wake` called when `poll` has something new.

        Args:
            wake: called from the run's thread, or from one that decides or stops; it must not block. One that raises
                is not called again.
        """
        if self._run is not None:
            self._run.on_change(wake)

    def poll(self) -> list[Event]:
        """Feed what is new to the timeline and return it."""
        if self._run is None:
            return []
        events = self._run.take()
        for event in events:
            self.timeline.apply(event)
        self._events.extend(events)
        return events

    def status(self) -> Status:
        """Return where the run stands."""
        run = self._run
        now = self.timeline.t if run is None else run.now
        status = status_of(self.timeline, self.mode, now, None if self.path is None else str(self.path))
        if run is not None and run.ended and not run.has_news and not self.timeline.ended:
            # the run broke outside its loop, for instance because its recording could not be written
            return replace(status, state="failed", waits_for="", elapsed=self.timeline.t)
        if self.running and self.recording_trouble:
            return replace(status, state="waiting", waits_for=f"you: {self.recording_trouble}")
        return status

    def pending(self) -> list[PendingDecision]:
        """Return the calls that wait for a person, in the order in which they were asked."""
        return [pending_decision(call) for call in self.timeline.waiting.values()]

    def partial(self, loop: str = ROOT) -> str:
        """Return the words of an answer that is coming in, as received."""
        return "" if self._run is None else self._run.partial(loop)

    # ── checks while a person types ──────────────────────────────────────────────────────────────────────────────────

    def validate(self, call: str, arguments: object) -> tuple[Problem, ...]:
        """Return why arguments don't fit a call's schema; nothing when they do.

        Args:
            arguments: parsed JSON.
        """
        node = self.timeline.calls.get(call)
        tool = None if node is None else definition_of(node)
        if node is None or tool is None:
            return ()
        if not isinstance(arguments, dict):
            return (Problem("$", "the arguments must be a JSON object"),)
        if self._live is not None:
            found = self._live.problems(node.loop.path, node.name, arguments)
            if found is not None:
                return found
        key = json.dumps([tool.name, tool.parameters], sort_keys=True, default=str)
        if key not in self._checks:
            self._checks[key] = SchemaCheck(tool.parameters)
        return self._checks[key].problems(arguments)

    def parse_arguments(self, call: str, text: str) -> tuple[dict[str, Any] | None, tuple[Problem, ...]]:
        """Return the arguments that a text says, or None, and what is wrong with them.

        A syntax error's path is its line and column, such as `line 2, column 7`.
        """
        arguments, problems = read_arguments(text)
        return arguments, problems or self.validate(call, arguments)

    # ── a recording that can't be written any more: retry, stop, or go on without ────────────────────────────────────

    @property
    @reported
    def recording_trouble(self) -> str:
        """Why the run stands with a recording that can't be written, in one safe line; empty when it can."""
        trouble = None if self._live is None else self._live.recording_trouble
        return "" if trouble is None else f"the recording can't be written ({one_line(trouble.reason, 80)})"

    @command
    def retry_recording(self) -> bool:
        """Try to record what was held back, and go on when it works; nothing of it is lost when it does not.

        Returns:
            whether all is recorded.
        """
        return True if self._live is None else self._live.retry_recording()

    @command
    def go_on_unrecorded(self) -> None:
        """End the recording where it is, which the recording says, and go on without one."""
        trouble = self.recording_trouble
        if self._live is not None and trouble:
            self._live.go_on_unrecorded()
            self.notices.append(f"what followed is not recorded: {trouble}")

    # ── its end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @command
    def stop(self, reason: str | None = None) -> None:
        """End the run at once: what runs is interrupted, sub-agents first."""
        if self._live is not None:
            self._live.stop(reason)

    # ── a session that is elsewhere ──────────────────────────────────────────────────────────────────────────────────

    @property
    def connection(self) -> str:
        """What is wrong with the connection to a session elsewhere, in safe words; empty when nothing is."""
        return "" if self._remote is None else self._remote.connection

    @property
    def watches(self) -> str:
        """Who else decides on a session elsewhere, in safe words, or `nobody`; empty when it is decided here."""
        return "" if self._remote is None else self._remote.watches

    def take_over(self) -> None:
        """Decide here from now on, in the place of another viewer.

        Raises:
            CommandRefused: the session elsewhere can't be reached.
        """
        if self._remote is not None:
            self._remote.ask("take_over", {})

    # ── its end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the run's end and return whether it has ended; never for an interface's own thread."""
        return True if self._run is None else self._run.wait(timeout)

    def close(self) -> None:
        """Stop a live run and close its recording, within a few seconds; one that is elsewhere goes on.

        Calling it again does nothing.
        """
        if self._run is not None:
            self._run.close()
        if self._large is not None:
            self._large.release()
