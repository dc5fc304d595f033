"""Leaves old large results out of what the model gets (spec/loop.md 2); transcript and log keep them.

Batches that hold large results wait in a queue. When the oldest leaves the window, the history up to its end is
settled: copied once, with placeholders, into the older part of the view. So each message is looked at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopkit.core.context_tools import estimated_tokens, result_tokens
from loopkit.core.history import History
from loopkit.messages import Message, ToolResult

if TYPE_CHECKING:
    from loopkit.core.state import LoopState


@dataclass(frozen=True, slots=True)
class LargeResults:
    """The large results of one batch.

    Args:
        iteration: whose calls they answer.
        places: of the results in the sendable history.
        calls: their calls' own ids, place by place.
        names: their tools, place by place.
    """

    iteration: int
    places: tuple[int, ...]
    calls: tuple[str, ...]
    names: tuple[str, ...]


def large_results(state: LoopState, first: int) -> tuple[LargeResults, ...]:
    """Return the queue with the large results of the calls of the response.

    Args:
        first: place of the first result in the sendable history.
    """
    masking = state.rules.masking
    if masking is None:
        return state.large_results
    answered = [call for call in state.calls if call.content is not None]
    large = [
        (first + place, call.key, call.call.name)
        for place, call in enumerate(answered)
        if result_tokens(call.content or "", len(call.images)) >= masking.minimum_tokens
    ]
    if not large:
        return state.large_results
    places, calls, names = zip(*large, strict=True)
    return (*state.large_results, LargeResults(state.iteration, places, calls, names))


def due_for_masking(state: LoopState) -> tuple[LargeResults, ...]:
    """Return what has left the window when a request is about to be made."""
    masking = state.rules.masking
    if masking is None or not state.large_results:
        return ()
    oldest_kept = state.iteration - masking.keep_iterations
    return tuple(batch for batch in state.large_results if batch.iteration < oldest_kept)


def settled(state: LoopState, calls: Sequence[str]) -> tuple[History, tuple[LargeResults, ...], list[str]]:
    """Return the older part of the view with these calls' results left out, the rest of the queue, the placeholders."""
    wanted = set(calls)
    leaving = [batch for batch in state.large_results if wanted.intersection(batch.calls)]
    if not leaving:
        return state.settled, state.large_results, []
    names = {place: name for batch in leaving for place, name in zip(batch.places, batch.names, strict=True)}
    start, stop = len(state.settled), max(names) + 1
    messages = list(state.sendable[start:stop])
    texts: list[str] = []
    for place, name in names.items():
        (result,) = messages[place - start].tool_results
        texts.append(placeholder(name, result.content, len(result.images)))
        messages[place - start] = Message.tool(ToolResult(result.tool_call_id, texts[-1], result.is_error))
    return state.settled.append(*messages), state.large_results[len(leaving) :], texts


def placeholder(tool: str, content: str, images: int = 0) -> str:
    """Return what stands for a result that is left out."""
    pictures = f" and {images} picture{'s' if images > 1 else ''}" if images else ""
    return f"[An older result of {tool}, about {estimated_tokens(content):,} tokens{pictures}, is left out here.]"


def kept_of_view(state: LoopState, sendable: Sequence[Message]) -> tuple[History, tuple[LargeResults, ...]]:
    """Return what an edit of the history leaves of view and queue: all before the first message that it changed."""
    if state.rules.masking is None:
        return state.settled, state.large_results
    same = 0
    for old, new in zip(state.sendable, sendable, strict=False):
        if old is not new and old != new:
            break
        same += 1
    older = state.settled if len(state.settled) <= same else History(state.settled[:same])
    return older, tuple(batch for batch in state.large_results if batch.places[-1] < same)
