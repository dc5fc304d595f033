"""The fixture `loopkit_replay`: replays, records or updates the recording that a test names. Knows nothing of pytest."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from loopkit.agent import Agent
from loopkit.debugger.display import visible
from loopkit.debugger.targets import load_agent
from loopkit.drivers.mending import accept
from loopkit.drivers.replay import Source, replay
from loopkit.drivers.replay_report import Match, ReplayReport
from loopkit.errors import UserError
from loopkit.messages import Message
from loopkit.recording.redaction.settings import Redaction
from loopkit.testing.failures import ReplayFailed
from loopkit.testing.faults import Fault
from loopkit.testing.faulty_replay import replay_with_faults
from loopkit.testing.keeping import Recipe, one_at_a_time, update
from loopkit.testing.network import no_network
from loopkit.testing.observing import Approval, policy_of
from loopkit.testing.replays import changed_step, explain
from loopkit.testing.trajectory import Trajectory

RecordMode: TypeAlias = Literal["none", "once", "all"]
AgentLike: TypeAlias = Agent | str | Callable[[], Agent]


@dataclass(frozen=True)
class TestPlace:
    """Where a test stands, and what its session was asked for.

    Args:
        folder: the test file's.
        root: the project's.
        here: where the command was given; paths and commands are told from there.
        command: what runs this test alone, without options for recording.
        locks: makes a folder where the session's processes meet.
        session: the same in all processes of the session.
        mode: which recordings are made: `none`, those that are `missing` once, or `all`.
        update: keep what today's agent does in the recording's place.
    """

    __test__ = False

    folder: Path
    root: Path
    here: Path
    command: str
    locks: Callable[[], Path]
    session: str
    mode: RecordMode = "none"
    update: bool = False


@dataclass(frozen=True)
class Wish:
    """What a test asks for; see `LoopkitReplay`."""

    recording: str | Path | None = None
    agent: AgentLike | None = None
    task: str | Sequence[Message] | None = None
    approve: Approval | None = None
    tools: Source = "recorded"
    match: Match = "strict"
    faults: Sequence[Fault] = field(default=())
    allow_loopback: bool = False
    redaction: Redaction | None = None
    secrets: Mapping[str, str] | None = None
    backend: str | None = None


class LoopkitReplay:
    """Replays a recording in a test, with the network blocked, and returns what the run did.

    Args:
        place: where the test stands.
        defaults: what the test's marker says.
        failure: makes what the test fails with from a text, to be shown without a traceback.
        tell: takes a line for the session's summary.
    """

    def __init__(
        self,
        place: TestPlace,
        defaults: Mapping[str, Any],
        failure: Callable[[str], BaseException],
        tell: Callable[[str], None],
    ) -> None:
        unknown = sorted(defaults.keys() - Wish.__dataclass_fields__.keys())
        if unknown:
            known = ", ".join(Wish.__dataclass_fields__)
            raise failure(f"the marker `loopkit` does not know {', '.join(unknown)}; it takes {known}")
        self._place = place
        self._defaults = dict(defaults)
        self._failure = failure
        self._tell = tell

    def __call__(
        self,
        recording: str | Path | None = None,
        agent: AgentLike | None = None,
        *,
        task: str | Sequence[Message] | None = None,
        approve: Approval | None = None,
        tools: Source | None = None,
        match: Match | None = None,
        faults: Sequence[Fault] | None = None,
        allow_loopback: bool | None = None,
        redaction: Redaction | None = None,
        secrets: Mapping[str, str] | None = None,
        backend: str | None = None,
    ) -> Trajectory:
        """Replay a recording; what is not given here is taken from the marker `loopkit`.

        Args:
            recording: the file, from the test file's folder or the project's.
            agent: today's agent: itself, `path.py:name`, `package.module:name`, or a function that makes it. Without one
                the recording is replayed against today's loop alone.
            task: what the agent is asked when the recording is made (`--loopkit-record`).
            approve: which of its calls run then: `all`, `none`, `read-only`, or what a policy decides; never assumed.
            tools: `live` runs the agent's own tools instead of feeding their recorded results.
            match: `content` passes over prompts, descriptions, settings and the model's name.
            faults: what goes wrong on purpose; see `loopkit.testing.faults`.
            allow_loopback: servers on this machine may be reached.
            redaction: what is kept out of the recording, when it is more than the rules that come with loopkit.
            secrets: what the recording's placeholders stand for, such as `{"password-1": "…"}`, for live tools and
                callbacks.
            backend: `asyncio` or `trio`; by default what runs in this thread, else asyncio.
        """
        __tracebackhide__ = True
        given = {name: value for name, value in locals().items() if name in Wish.__dataclass_fields__}
        said = {name: value for name, value in given.items() if value is not None}
        try:
            return self._run(Wish(**{**self._defaults, **said}))
        except (ReplayFailed, UserError) as error:
            raise self._failure(str(error)) from None

    def _run(self, wish: Wish) -> Trajectory:
        __tracebackhide__ = True
        path = self._found(wish)
        agent = self._agent(wish.agent)
        if wish.faults and (agent is None or wish.tools != "recorded"):
            raise UserError("faults=… need agent=…, which has to cope with them, and stand among recorded results")
        self._record_if_asked(path, agent, wish)
        report = self._replayed(path, agent, wish)
        if not report.same and not (self._place.update and agent is not None and self._updated(path, agent, wish)):
            shown = dataclasses.replace(report, path=self._shown(path))
            raise ReplayFailed(explain(shown, self._ways_out(path, agent, wish, report)))
        if wish.faults and agent is not None:
            return self._with_faults(path, agent, wish)
        return Trajectory.of_file(path)

    def _replayed(self, path: Path, agent: Agent | None, wish: Wish) -> ReplayReport:
        with no_network(allow_loopback=wish.allow_loopback):
            return replay(
                path,
                agent,
                tools=wish.tools,
                match=wish.match,
                redaction=wish.redaction,
                secrets=wish.secrets,
                backend=wish.backend,
            )

    def _with_faults(self, path: Path, agent: Agent, wish: Wish) -> Trajectory:
        __tracebackhide__ = True
        return replay_with_faults(
            path,
            agent,
            wish.faults,
            match=wish.match,
            allow_loopback=wish.allow_loopback,
            redaction=wish.redaction,
            secrets=wish.secrets,
            backend=wish.backend,
        )

    # ── recording ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _record_if_asked(self, path: Path, agent: Agent | None, wish: Wish) -> None:
        __tracebackhide__ = True
        mode, missing = self._place.mode, _missing(agent, wish)
        if mode == "none" or (mode == "once" and path.exists()):
            self._require(path, missing)
            return
        if path.exists() and {"task", "approve"} <= set(missing):
            self._tell(f"{self._shown(path)}: not recorded again, since its test says no task and approve")
            return
        if missing or agent is None or wish.task is None or wish.approve is None:
            raise UserError(f"{self._shown(path)}: can't be recorded: the test has to say {_all_of(missing)}")
        policy_of(wish.approve)
        recipe = Recipe(agent, wish.task, wish.approve, wish.match, wish.redaction, wish.backend)
        with one_at_a_time(path, self._place.locks()) as stamp:
            # another process of the session may have made it meanwhile
            if path.exists() and (mode == "once" or stamp.is_of(self._place.session)):
                return
            again = path.exists()
            recipe.record(path)
            stamp.put(self._place.session)
        self._tell(f"{self._shown(path)}: recorded{' again' if again else ''}")

    def _require(self, path: Path, missing: Sequence[str]) -> None:
        if path.exists():
            return
        words = f"{self._shown(path)}: there is no such recording, and nothing is recorded unless it is asked for\n"
        if missing:
            words += f"to have it recorded, the test has to say {_all_of(missing)}; then\n"
        words += f"this command records it, which asks the agent's model and runs its tools:\n  {self._command('--loopkit-record=once')}"
        raise UserError(words)

    def _updated(self, path: Path, agent: Agent, wish: Wish) -> bool:
        with one_at_a_time(path, self._place.locks()), no_network(allow_loopback=wish.allow_loopback):
            try:
                done = update(
                    path,
                    lambda new: accept(
                        path, agent, new, redaction=wish.redaction, secrets=wish.secrets, backend=wish.backend
                    ),
                    lambda new: self._replayed(new, agent, wish).same,
                )
            except UserError as error:
                raise ReplayFailed(
                    f"{error}\nto record it anew, with the model really asked:\n  {self._command('--loopkit-record=all')}"
                ) from None
        if done:
            self._tell(f"{self._shown(path)}: updated to what the agent does today")
        return done

    def _ways_out(self, path: Path, agent: Agent | None, wish: Wish, report: ReplayReport) -> list[str]:
        if agent is None:
            return [
                f"`loopkit replay {shlex.quote(self._shown(path))} --agent AGENT` compares it with today's agent too"
            ]
        ways = []
        if wish.tools == "recorded":
            ways.append(f"it is meant: `{self._command('--loopkit-update')}` puts today's run in the recording's place")
        step = changed_step(report)
        if step is not None:
            command = f"loopkit replay {shlex.quote(self._shown(path))} --agent AGENT --re-record {step}"
            ways.append(f"that result is out of date: `{command}` runs this step live, into a new recording")
        if not _missing(agent, wish):
            ways.append(f"the model has to be asked anew: `{self._command('--loopkit-record=all')}`")
        return ways

    # ── what is meant ────────────────────────────────────────────────────────────────────────────────────────────────

    def _found(self, wish: Wish) -> Path:
        if wish.recording is None:
            raise UserError('no recording is named: loopkit_replay("recordings/x.jsonl"), or recording=… in the marker')
        beside, in_root = self._place.folder / wish.recording, self._place.root / wish.recording
        return in_root if in_root.exists() and not beside.exists() else beside

    def _agent(self, agent: AgentLike | None) -> Agent | None:
        __tracebackhide__ = True
        if isinstance(agent, str):
            place, _, _ = agent.partition(":")
            beside = self._place.folder / place
            inside = self._place.root / place
            found = next((path for path in (beside, inside) if place.endswith(".py") and path.is_file()), None)
            return load_agent(agent if found is None else f"{found}{agent[len(place) :]}")
        if agent is None or isinstance(agent, Agent):
            return agent
        made = agent() if callable(agent) else agent
        if not isinstance(made, Agent):
            raise UserError(f"agent=… takes an Agent, its path.py:name, or a function that makes one, not {made!r}")
        return made

    def _command(self, option: str) -> str:
        return f"pytest {option} {self._place.command}"

    def _shown(self, path: Path) -> str:
        try:
            return visible(str(path.resolve().relative_to(self._place.here.resolve())))
        except ValueError:
            return visible(str(path))


def _missing(agent: Agent | None, wish: Wish) -> list[str]:
    parts = {"agent": agent, "task": wish.task, "approve": wish.approve}
    return [name for name, value in parts.items() if value is None]


def _all_of(names: Sequence[str]) -> str:
    return " and ".join(f"{name}=…" for name in names)
