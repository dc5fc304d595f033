"""What was put in the place of something else, in the timeline: the original stays beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopkit import events as e
from loopkit.debugger.nodes import CallStatus, LoopNode

if TYPE_CHECKING:
    from loopkit.debugger.timeline import Timeline


_EDITS = (e.HistoryEdited, e.AgentChanged, e.AnswerEdited, e.ResultEdited)


def took(loop: LoopNode, event: e.Event) -> float | None:
    """Return how long a loop had stood at a gate when somebody edited what stands there, or None."""
    if loop.paused_since is None or not isinstance(event.fact, _EDITS):
        return None
    return max(0.0, event.t - loop.paused_since)


def answer_edited(timeline: Timeline, event: e.Event, fact: e.AnswerEdited) -> None:
    """Show the answer that took the place of the model's, and its calls."""
    iteration = timeline.iteration_at(event)
    if iteration.original is None:
        iteration.original = iteration.message
    iteration.message = fact.message
    timeline.put_calls(event, iteration, fact.message, fact.verdicts)
    for call in iteration.calls[len(fact.message.tool_calls) :]:
        call.status = CallStatus.REFUSED
        call.cause = "edited away"
    timeline.note(event)


def result_edited(timeline: Timeline, event: e.Event, fact: e.ResultEdited) -> None:
    """Show the result that took the place of another one."""
    timeline.calls[fact.call].edited_result = fact
    timeline.note(event)


def result_processed(timeline: Timeline, event: e.Event, fact: e.ResultProcessed) -> None:
    """Show what a callback made of a result; a line of its own only when it failed."""
    timeline.calls[fact.call].rewrites.append(fact)
    if fact.failure is not None:
        timeline.note(event)


def results_masked(timeline: Timeline, event: e.Event, fact: e.ResultsMasked) -> None:
    """Show which results requests leave out from here on."""
    for key in fact.calls:
        if (call := timeline.calls.get(key)) is not None:
            call.masked_in = event.iteration
    timeline.note(event)
