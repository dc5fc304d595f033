"""The calls that a loop warning is about."""

from __future__ import annotations

from loopkit.debugger.nodes import CallNode, IterationNode
from loopkit.events import RepetitionDetected


def evidence_of(iteration: IterationNode, warning: RepetitionDetected) -> list[CallNode]:
    """Return the calls that repeat, oldest first: those the warning names, or all since it began where it names none.

    Args:
        iteration: where the warning stands.
    """
    found: list[CallNode] = []
    missing = set(warning.calls)
    for earlier in reversed(iteration.loop.iterations):
        if earlier.number < warning.since_iteration or (warning.calls and not missing):
            break
        if earlier.number <= iteration.number:
            found += [call for call in reversed(earlier.calls) if not warning.calls or call.id in missing]
            missing.difference_update(call.id for call in earlier.calls)
    return found[::-1]
