"""A foreign session in our words: events that a timeline shows, and what its reader had to put up with."""

from __future__ import annotations

from dataclasses import dataclass

from loopkit.events import Event


@dataclass(frozen=True, slots=True)
class ForeignSession:
    """One session that another program recorded.

    Args:
        format: short name of the format it was read from, such as `claude-code`.
        title: what the session is about, in its own words; may be empty.
        agent: the agent's name.
        model: the model that answered first, or None.
        events: our events, numbered from 1 without a gap.
        notices: one line each on damage and on what was guessed.
        runs: number of sub-agents.
    """

    format: str
    title: str
    agent: str
    model: str | None
    events: list[Event]
    notices: list[str]
    runs: int = 0
