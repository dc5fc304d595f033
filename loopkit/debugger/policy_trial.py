"""What a policy would have decided on the calls of a recording, beside what was decided (docs/policies.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from loopkit.debugger.nodes import CallNode
from loopkit.debugger.policy_file import RulePolicy
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.rules import Asked, Ruling
from loopkit.debugger.spending import Spending
from loopkit.debugger.status import definition_of
from loopkit.events import DecisionRequested, Event, ToolReturned, ToolSkipped, ToolStarted
from loopkit.messages import ToolCall
from loopkit.outcomes import Approve, Deny, Modify, Respond

_MOMENTS = (DecisionRequested, ToolStarted, ToolSkipped, ToolReturned)


@dataclass(frozen=True, slots=True)
class Tried:
    """One call of a recording.

    Args:
        call: its id.
        name: its tool; not safe to show as it is, nor is what follows.
        agent: who asked for it.
        would: what the policy says of it as the model made it.
        was: what was decided then, in words.
    """

    call: str
    name: str
    agent: str
    would: Ruling
    was: str


def try_policy(policy: RulePolicy, path: str | Path) -> list[Tried]:
    """Return what a policy would have decided on each call of a recording or a foreign session, in order.

    Raises:
        UserError: it can't be read.
    """
    with open_recording(path) as recorded:
        calls = recorded.timeline.calls
        return [
            Tried(call.id, call.name, call.loop.agent, policy.judge(asked), _was(call))
            for call, asked in _asked_in(recorded.events, calls)
        ]


def _asked_in(events: Iterable[Event], calls: dict[str, CallNode]) -> Iterator[tuple[CallNode, Asked]]:
    spending, seen = Spending(), set[str]()
    for event in events:
        spending.take(event)
        key = event.fact.call if isinstance(event.fact, _MOMENTS) else ""
        call = calls.get(key)
        if call is None or key in seen:
            continue
        seen.add(key)
        asked = ToolCall(call.provider_id, call.name, call.arguments, raw_arguments=call.raw_arguments)
        tool = definition_of(call)
        yield call, Asked(asked, tool, call.loop.agent, call.loop.level, spending.tokens, spending.cost)


def _was(call: CallNode) -> str:
    by = f" by {call.decided_by}" if call.decided_by else ""
    match call.decision:
        case Approve():
            return f"approved{by}"
        case Deny():
            return f"denied{by}"
        case Modify():
            return f"run with other arguments{by}"
        case Respond():
            return f"answered{by}"
    return str(call.status)
