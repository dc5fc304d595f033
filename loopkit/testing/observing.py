"""Runs an agent for a test and keeps what it does: with a scripted model, or with a real one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from loopkit.agent import Agent
from loopkit.debugger.policy import HEADLESS_POLICIES, Policy
from loopkit.debugger.unattended import Unattended
from loopkit.drivers.replay import current_backend, run_apart
from loopkit.drivers.result import ToolLoopResult
from loopkit.errors import UserError
from loopkit.events import Event
from loopkit.messages import Message
from loopkit.recording.writer import Recorder
from loopkit.testing.trajectory import Trajectory

Approval: TypeAlias = Literal["all", "none", "read-only"] | Policy


class _Observer(Unattended):
    """Decides by policy and keeps every event."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.events: list[Event] = []

    def happened(self, event: Event) -> None:
        """Keep an event."""
        self.events.append(event)


async def observe(
    agent: Agent,
    task: str | Sequence[Message],
    *,
    approve: Approval = "all",
    recorder: Recorder | None = None,
) -> Trajectory:
    """Run an agent to its end, in the caller's own event loop, and return what it did.

    An exception that the run ends with is its outcome: it stands in `error`, and `failed_with` asserts it.

    Args:
        approve: which calls run where `on_tool_call` has nothing to say: `all`, `none`, those of tools declared to only
            read, or what a policy decides.
        recorder: where the run is kept too.

    Raises:
        UserError: the run could not begin.
    """
    observer = _Observer(policy_of(approve))
    result: ToolLoopResult | None = None
    error: Exception | None = None
    try:
        result = await agent.run(task, recorder=recorder, watcher=observer)
    except Exception as raised:
        if not observer.events:
            raise
        error = raised
    run = Trajectory.of(observer.events)
    run.result, run.error = result, error
    return run


def observe_sync(
    agent: Agent,
    task: str | Sequence[Message],
    *,
    approve: Approval = "all",
    recorder: Recorder | None = None,
    backend: str | None = None,
) -> Trajectory:
    """Do as `observe`, from a test that is not async; in an event loop of its own.

    Args:
        backend: `asyncio` or `trio`; by default what runs in this thread, else asyncio.
    """
    return run_apart(lambda: observe(agent, task, approve=approve, recorder=recorder), backend or current_backend())


def policy_of(approve: Approval) -> Policy:
    """Return the policy that a word means.

    Raises:
        UserError: there is no such word.
    """
    if not isinstance(approve, str):
        return approve
    if approve not in HEADLESS_POLICIES:
        raise UserError(f"approve={approve!r} is none of {', '.join(map(repr, HEADLESS_POLICIES))}, and no policy")
    return HEADLESS_POLICIES[approve]()


__all__ = ["Approval", "observe", "observe_sync", "policy_of"]
