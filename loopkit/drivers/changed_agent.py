"""What is different about today's agent, where a loop goes on that another one began (DESIGN §4)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from loopkit import events as e
from loopkit.core.editing import PERSON
from loopkit.core.state import LoopState, Phase
from loopkit.drivers.originals import Originals
from loopkit.drivers.parts import LoopParts
from loopkit.encoding import encode
from loopkit.messages import Message

INTERRUPTED = "Interrupted"


def changes_of_agent(state: LoopState, parts: LoopParts, by: str, originals: Originals) -> tuple[e.Input, ...]:
    """Return the facts that make a loop go on with today's agent; none where it is the recorded one.

    Args:
        by: what lets it go on: `fork` or `resume`.
        originals: hides what is recorded already as placeholders.
    """
    today = parts.started(state.started.parent_call)
    facts: list[e.Input] = []
    # what a person changed stays, as long as the agent is the one that it was changed of
    before_agent = agent_of(state.before_person or state.started, by)
    agent = originals.aligned(before_agent, agent_of(today, by))
    if agent != before_agent and as_recorded(agent) != as_recorded(before_agent):
        facts.append(agent)
    before, after = _prompt(state.started, state.history), _prompt(today, today.messages)
    if before is not None and after is not None:
        after = originals.aligned(before, after)
    elif after is not None:
        after = originals.hidden(e.HistoryEdited(0, 0, (after,), by)).messages[0]
    if before != after:
        facts.append(e.HistoryEdited(0, 0 if before is None else 1, () if after is None else (after,), by))
    if facts and state.phase is Phase.MODEL:
        # what was sent is not what would be sent now
        failure = e.Failure(INTERRUPTED, "the agent was changed before an answer came")
        facts.insert(0, e.ModelAttemptFailed(state.attempt, failure, retry=True))
    return tuple(facts)


def _prompt(started: e.LoopStarted, messages: Any) -> Message | None:
    """Return the agent's own prompt, or None; a system message of the task is none."""
    if not started.own_prompt or not messages or messages[0].role != "system":
        return None
    first: Message = messages[0]
    return first


def last_joined(events: Iterable[e.Event]) -> int | None:
    """Return the number of the event with which the newest agent went on with the root loop; None where none did.

    A person who changes the running one is not another agent.
    """
    return max(
        (
            event.seq
            for event in events
            if event.loop == e.ROOT and isinstance(event.fact, e.AgentChanged) and event.fact.by != PERSON
        ),
        default=None,
    )


def agent_of(started: e.LoopStarted, by: str) -> e.AgentChanged:
    """Return what of a loop's start is its agent's."""
    return e.AgentChanged(
        started.agent,
        started.tools,
        started.configuration,
        started.model,
        started.settings,
        started.fallbacks,
        by,
    )


def as_recorded(fact: e.AgentChanged) -> Any:
    """Return what a file would hold: a tuple in the settings comes back as a list."""
    return json.loads(json.dumps(encode(fact), default=str))
