"""A run in figures, as `loopkit show` and `ls` count it (DESIGN §6)."""

from __future__ import annotations

from dataclasses import dataclass

from loopkit.debugger.costs import cost_of_loops
from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.timeline import Timeline
from loopkit.messages import Usage

OWN_FORMAT = "loopkit"


@dataclass(frozen=True, slots=True)
class Totals:
    """A run in figures; None where the recording does not say.

    Args:
        iterations, tool_calls: of the whole tree; of a foreign session those of its root agent.
        depth: levels of agents below the root.
        runs: sub-agents, on all levels.
        cost: in US dollars, of the whole tree; None when a price is unknown.
        seconds: from the first event to the last.
    """

    iterations: int
    tool_calls: int
    depth: int
    runs: int
    warnings: int
    errors: int
    denied: int
    edited: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    seconds: float | None


def totals(timeline: Timeline, source_format: str = OWN_FORMAT) -> Totals:
    """Count a run (DESIGN §6).

    Args:
        source_format: `loopkit`, or the name of the foreign format that the run was read from.
    """
    loops = list(timeline.loops.values())
    counted = loops if source_format == OWN_FORMAT else loops[:1]
    input_tokens, output_tokens = reported_tokens(timeline.usage)
    started = timeline.root.started_at if timeline.root else None
    large = timeline if isinstance(timeline, LargeTimeline) else None
    return Totals(
        iterations=sum(loop.iteration_count for loop in counted) if large is None else large.iteration_count,
        tool_calls=sum(loop.call_count for loop in counted) if large is None else large.call_count,
        depth=timeline.depth,
        runs=max(0, timeline.agents - 1),
        warnings=timeline.warnings,
        errors=timeline.errors,
        denied=timeline.denied,
        edited=timeline.edited,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost=cost_of_loops(loops).total if large is None else large.cost,
        seconds=None if started is None or (not timeline.t and source_format != OWN_FORMAT) else timeline.t - started,
    )


def reported_tokens(usage: Usage | None) -> tuple[int | None, int | None]:
    """Return tokens in and out; None twice when no answer reported any."""
    if usage is None or (usage.unreported and not usage.input_tokens and not usage.output_tokens):
        return None, None
    return usage.input_tokens, usage.output_tokens
