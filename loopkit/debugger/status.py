"""Where a run stands, as plain data for a status line and a queue."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from loopkit.debugger.arguments import working_copy
from loopkit.debugger.display import one_line
from loopkit.debugger.nodes import CallNode, CallStatus, IterationNode, LoopNode
from loopkit.debugger.timeline import Timeline
from loopkit.messages import NO_USAGE, Problem, ToolDefinition, Usage
from loopkit.outcomes import Cancelled, ToolApproval

Mode: TypeAlias = Literal["recorded", "live"]
RunState: TypeAlias = Literal["running", "waiting", "paused", "finished", "failed", "stopped", "unfinished"]

_GATE_WORDS = {
    "request": "before the request",
    "response": "after the response",
    "call": "before the call",
    "result": "after the result",
}


@dataclass(frozen=True, slots=True)
class Status:
    """Where a run stands.

    Args:
        waits_for: what it waits for, in safe words; empty when for nothing.
        iteration: of the root loop, 1-based.
        max_iterations: of the root loop, or None when unknown.
        agents: loops in the tree.
        elapsed: seconds since the run started.
        waited: of these, seconds in which it waited for a person.
        recording: path of the recording, or None.
    """

    mode: Mode
    state: RunState
    waits_for: str
    iteration: int
    max_iterations: int | None
    agents: int
    usage: Usage
    elapsed: float
    waited: float
    recording: str | None


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """A call that waits for a person.

    Args:
        call: the call's id; a decision names it together with `version`.
        loop: path of the asking loop.
        agents: names of the agents from the root to the asking one, as recorded.
        description: what the tool says of itself.
        schema: JSON Schema of its arguments; empty for an unknown tool.
        problems: what the schema check said of the model's arguments.
        warnings: what else is odd about them; not safe to show as it is.
        since: seconds since the run started when it was asked.
    """

    call: str
    version: int
    loop: str
    agents: tuple[str, ...]
    iteration: int
    name: str
    arguments: dict[str, Any]
    raw_arguments: str | None
    description: str
    schema: dict[str, Any]
    side_effect: str | None
    problems: tuple[Problem, ...]
    since: float
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person decides on one call of several; `version` is the one that was seen."""

    call: str
    version: int
    decision: ToolApproval


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a waiting call is decided by its policy.

    Args:
        at: seconds since the run started.
        then: `allow`, `deny` (it expires and is not run) or `stop`.
        rule: name of the rule that asks; empty where none matched.
    """

    call: str
    version: int
    at: float
    then: str
    rule: str


def agents_path(loop: LoopNode) -> tuple[str, ...]:
    """Return the names of the agents from the root to a loop."""
    names = [loop.agent]
    while loop.parent is not None:
        loop = loop.parent.loop
        names.append(loop.agent)
    return tuple(reversed(names))


def agents_text(loop: LoopNode) -> str:
    """Return the path of agents as safe words."""
    return " › ".join(one_line(name, 40) for name in agents_path(loop))


def definition_of(call: CallNode) -> ToolDefinition | None:
    """Return the definition of a call's tool as its loop knew it, or None."""
    return next((tool for tool in call.loop.started.tools if tool.name == call.name), None)


def pending_decision(call: CallNode) -> PendingDecision:
    """Return a waiting call as plain data."""
    tool = definition_of(call)
    return PendingDecision(
        call=call.id,
        version=call.version,
        loop=call.loop.path,
        agents=agents_path(call.loop),
        iteration=call.iteration.number,
        name=call.name,
        arguments=working_copy(call.arguments),
        raw_arguments=call.raw_arguments,
        description="" if tool is None else tool.description,
        schema={} if tool is None else working_copy(tool.parameters),
        side_effect=None if tool is None else tool.side_effect,
        problems=call.problems,
        warnings=call.warnings,
        since=call.requested_at or 0.0,
    )


def status_of(timeline: Timeline, mode: Mode, now: float, recording: str | None) -> Status:
    """Return where a run stands.

    Args:
        now: seconds since the run started.
    """
    root = timeline.root
    state = _state(timeline, mode)
    return Status(
        mode=mode,
        state=state,
        waits_for=waits_for(timeline, now) if state in ("running", "waiting", "paused") else "",
        iteration=root.iteration_count if root else 0,
        max_iterations=_limit(root),
        agents=timeline.agents,
        usage=timeline.usage if root else NO_USAGE,
        elapsed=timeline.t if mode == "recorded" or timeline.ended else now,
        waited=timeline.waiting_seconds(None if mode == "recorded" or timeline.ended else now),
        recording=recording,
    )


def _limit(root: LoopNode | None) -> int | None:
    # a recording from elsewhere may hold anything there
    limit = None if root is None else root.started.configuration.get("max_iterations")
    return limit if isinstance(limit, int) else None


def _state(timeline: Timeline, mode: Mode) -> RunState:
    root = timeline.root
    if root is None:
        return "running" if mode == "live" else "unfinished"
    if root.ended:
        if root.failure is not None:
            return "failed"
        return "stopped" if isinstance(root.reason, Cancelled) else "finished"
    if mode == "recorded":
        return "unfinished"
    if timeline.waiting:
        return "waiting"
    return "paused" if timeline.paused else "running"


def waits_for(timeline: Timeline, now: float) -> str:
    """Return what a run waits for, in safe words.

    Args:
        now: seconds since the run started.
    """
    for call in timeline.waiting.values():
        more = f" (+{len(timeline.waiting) - 1})" if len(timeline.waiting) > 1 else ""
        return f"your decision on {agents_text(call.loop)} › {one_line(call.name, 40)}{more}"
    for loop in timeline.paused:
        where, _, kind = (loop.paused_at or "").rpartition(".")
        place = (
            f"iteration {one_line(where.rpartition('/')[2], 12)}"
            if kind in ("request", "response")
            else _call_words(timeline, where)
        )
        by = f"{one_line(loop.paused_by, 40)}, " if loop.paused_by.startswith("breakpoint") else ""
        return f"you: {by}paused {_GATE_WORDS.get(kind, 'at a gate')} of {place} ({agents_text(loop)})"
    for loop in reversed(timeline.open_loops):
        running = [call for call in _last_calls(loop) if call.status is CallStatus.RUNNING]
        if running:
            return f"tool {one_line(running[0].name, 40)}" + (f" (+{len(running) - 1})" if len(running) > 1 else "")
        if loop.iterations and loop.iterations[-1].replied_at is None:
            return f"the model ({agents_text(loop)}){_attempt_words(loop.iterations[-1], now)}"
    return ""


def _attempt_words(iteration: IterationNode, now: float) -> str:
    if not iteration.attempts:
        return ""
    left = math.ceil((iteration.retry_at or 0.0) - now)
    return f", attempt {len(iteration.attempts) + 1}" + (f" in {left} s" if left > 0 else "")


def _last_calls(loop: LoopNode) -> list[CallNode]:
    return loop.iterations[-1].calls if loop.iterations else []


def _call_words(timeline: Timeline, key: str) -> str:
    call = timeline.calls.get(key)
    return one_line(key if call is None else call.name, 40)
