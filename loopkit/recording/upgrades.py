"""Older formats, upgraded in memory: each step turns what a line of one format says into what the next one's would.

A change that an older loopkit would misread raises `header.FORMAT` by one and adds a step here, which is never changed
again. A new type, or a new field with a default, needs neither: what it says is left out where it is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Change: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


def unchanged(data: dict[str, Any]) -> dict[str, Any]:
    """Return what a format left as it was."""
    return data


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What one format says otherwise than the one before it.

    Args:
        header: turns the older header, a JSON object, into the newer one.
        event: the same for an event, its envelope included.
    """

    header: Change = unchanged
    event: Change = unchanged


# by the older format's number; format 1 is the first and still today's
STEPS: Mapping[int, Upgrade] = {}


def upgrade_from(number: int) -> Upgrade | None:
    """Return all that stands between a format and today's as one step, or None when nothing of it changes a line."""
    steps = []
    while number in STEPS:
        steps.append(STEPS[number])
        number += 1
    headers = [step.header for step in steps if step.header is not unchanged]
    events = [step.event for step in steps if step.event is not unchanged]
    return Upgrade(_in_turn(headers), _in_turn(events)) if headers or events else None


def _in_turn(changes: list[Change]) -> Change:
    if not changes:
        return unchanged

    def change(data: dict[str, Any]) -> dict[str, Any]:
        for one in changes:
            data = one(data)
        return data

    return change
