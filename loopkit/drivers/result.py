"""What a loop gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loopkit.events import ModelReplied
from loopkit.messages import ChatResponse, Message, Usage
from loopkit.outcomes import TerminationReason


@dataclass(frozen=True)
class ToolLoopResult:
    """How a loop ended and what it said (spec/loop.md 1).

    Args:
        response: the last answer, or None if no model answered.
        iterations: model calls made.
        total_usage: the loop's own tokens.
        termination_reason: why it ended.
        messages: the whole transcript, the final answer included.
        run_id: id of the run that it belongs to.
        subtree_usage: tokens of the loop and of all loops below it.
    """

    response: ChatResponse | None
    iterations: int
    total_usage: Usage
    termination_reason: TerminationReason
    messages: Sequence[Message]
    run_id: str
    subtree_usage: Usage

    @property
    def text(self) -> str:
        """The visible words of the last answer; empty when there is none."""
        return "" if self.response is None else self.response.text


def response_of(reply: ModelReplied) -> ChatResponse:
    """Return a recorded answer as the provider gave it."""
    return ChatResponse(
        parts=reply.message.parts,
        usage=reply.usage,
        stop_reason=reply.stop_reason,
        model=reply.model,
        request_id=reply.request_id,
        raw_stop_reason=reply.raw_stop_reason,
    )
