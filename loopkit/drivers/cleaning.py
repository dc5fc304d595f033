"""Hides the secrets of a recording that was made without redaction, before anything of it is written again.

Inputs are hidden one by one and what follows from them is derived anew, so that the result replays as the original does
(spec/faults.md d1: no path writes what another would have hidden).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from loopkit import events as e
from loopkit.core.loop import LoopCore
from loopkit.drivers.originals import Originals
from loopkit.errors import RecordingError


def cleaned(events: Sequence[e.Event], originals: Originals) -> tuple[e.Event, ...]:
    """Return the same events with placeholders in the place of secrets.

    Raises:
        RecordingError: today's loop does not go the recorded way, so that what follows can't be derived.
    """
    cores: dict[str, LoopCore] = {}
    return tuple(_cleaned(event, cores, originals) for event in events)


def _cleaned(event: e.Event, cores: dict[str, LoopCore], originals: Originals) -> e.Event:
    fact = event.fact
    core = cores.get(event.loop)
    if isinstance(fact, e.LoopStarted):
        fact = originals.hidden(fact)
        cores[event.loop] = LoopCore.started(event.loop, fact)
        return replace(event, fact=fact)
    if core is None:
        return event
    if isinstance(fact, e.Derived):
        due = core.due()
        if type(due) is not type(fact):
            raise RecordingError(
                f"event {event.seq} ({event.type}) is not what today's loop does there, so its secrets can't be "
                "hidden: replay it first, or go on without redaction"
            )
        fact = due
    else:
        fact = originals.hidden(fact)
    event = replace(event, fact=fact)
    core.apply(event)
    return event
