"""What a model was sent, which is not recorded but follows from the events before it; and events as the recording holds them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loopkit.debugger.nodes import IterationNode
from loopkit.debugger.recorded import states_after
from loopkit.errors import UserError
from loopkit.events import Event, ModelRequested
from loopkit.messages import Message
from loopkit.recording.lines import event_line


def messages_sent(events: Sequence[Event], iteration: IterationNode) -> tuple[Message, ...]:
    """Return the messages of an iteration's request as the model got them: answered, edited, old results left out.

    Args:
        events: the run's, from the first on.

    Raises:
        UserError: there is no such request, or events before it are missing; in one line.
    """
    loop = iteration.loop.path
    requests = (
        event.seq
        for event in events
        if event.loop == loop and event.iteration == iteration.number and isinstance(event.fact, ModelRequested)
    )
    last = max(requests, default=None)
    if last is None:
        raise UserError("the model was not asked in this iteration")
    return tuple(states_after(Path("recording"), events, last)[loop].view)


def recorded_line(event: Event) -> str:
    """Return an event as the line of a recording."""
    return event_line(event).decode("utf-8", "replace").rstrip("\n")
