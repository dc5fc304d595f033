"""A whole run without a screen of its own that others may attach to; calls ask whoever decides, else the policy."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal, TypeAlias

from loopkit.agent import Agent
from loopkit.debugger.doors import Door
from loopkit.debugger.live import LiveRun
from loopkit.debugger.places import Place
from loopkit.debugger.policy import HEADLESS_POLICIES, NobodyToAsk, Policy
from loopkit.debugger.policy_file import RulePolicy
from loopkit.debugger.rows import attempt_text
from loopkit.debugger.runs import HeadlessOutcome
from loopkit.debugger.serving import RETURN_SECONDS, SessionServer
from loopkit.debugger.session import Session
from loopkit.debugger.unattended import Approval
from loopkit.errors import UserError
from loopkit.events import Event, ModelAttemptFailed
from loopkit.recording.syncing import Durability

Alone: TypeAlias = Literal["policy", "wait"]


def run_served(
    agent: Agent,
    task: str,
    place: Place,
    *,
    record: str | Path,
    approve: Approval | RulePolicy = "read-only",
    alone: Alone = "policy",
    overwrite: bool = False,
    durability: Durability = "iteration",
    redacted: bool = True,
    backend: str = "asyncio",
    network: bool = False,
    return_seconds: float = RETURN_SECONDS,
    opened: Callable[[Door], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
) -> HeadlessOutcome:
    """Run an agent to its end, served at a place.

    Args:
        approve: which calls run while nobody is attached who decides; see `run_headless`. The rules of a policy hold also
            while somebody is: then they are asked about what is left, and while nobody is that is denied.
        alone: `policy` goes on by `approve` while nobody decides, `wait` waits for somebody.
        network: whether a port may be open to other machines.
        return_seconds: how long a viewer whose connection broke is waited for before the policy stands in.
        opened: told when viewers may come.
        tell: told in one line when a request failed and is sent again; the line is not safe to show as it is.

    Raises:
        UserError: the recording can't be written, or the place can't be opened.
    """
    # rules hold also while somebody is attached; what they would ask about is what somebody is there for
    rules = approve if isinstance(approve, RulePolicy) else None
    stand_in: Policy | None = None
    if alone == "policy":
        stand_in = NobodyToAsk() if isinstance(approve, RulePolicy) else HEADLESS_POLICIES[approve]()

    def heard(event: Event) -> None:
        if isinstance(event.fact, ModelAttemptFailed) and event.fact.retry:
            # whoever hears may have gone, and a run outlives that
            with suppress(OSError, ValueError):
                tell(attempt_text(event.fact))

    with closing(Door(place, network=network)) as door:
        live = LiveRun(
            agent,
            task,
            Path(record),
            rules,
            backend=backend,
            durability=durability,
            redacted=redacted,
            overwrite=overwrite,
            stand_in=stand_in,
        )
        session = Session(live=live, title=live.title)
        server = SessionServer(session, live, door, stand_in=stand_in, heard=heard, return_seconds=return_seconds)
        with closing(server), closing(live):
            opened(door)
            live.wait(None)
    if isinstance(live.error, UserError):
        raise live.error
    return HeadlessOutcome(live.result, live.error if isinstance(live.error, Exception) else None, live.path)
