"""A run's state as plain data for the widget and as one line for a file without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopkit.debugger.display import arguments_line, one_line
from loopkit.debugger.rows import seconds_text, tokens_text
from loopkit_notebook.row_feed import RowFeed, row_key

if TYPE_CHECKING:
    from loopkit.debugger.session import Session
    from loopkit.debugger.status import PendingDecision, Status

ENDED = frozenset({"finished", "failed", "stopped", "unfinished"})


def status_data(session: Session) -> dict[str, Any]:
    """Return a session's status as safe, plain data; durations in seconds."""
    status = session.status()
    return {
        "title": one_line(session.title, 60),
        "mode": status.mode,
        "state": status.state,
        "ended": status.mode == "recorded" or status.state in ENDED,
        "words": _state_words(status),
        "iteration": _iteration_words(status),
        "agents": f"{status.agents} agents" if status.agents > 1 else "",
        "tokens": tokens_text(status.usage),
        "elapsed": status.elapsed,
        "waited": status.waited,
        "recording": one_line(status.recording or "", 500),
        "notices": [one_line(words, 300) for words in (*session.notices, session.error) if words],
    }


def run_name(session: Session) -> str:
    """Return what a run is called where nothing else is said of it."""
    return f"loopkit run {one_line(session.title, 60)}"


def summary_line(session: Session) -> str:
    """Return run, step and state in one safe line (spec/faults.md f14); no arguments, no results."""
    status = session.status()
    parts = [
        run_name(session),
        _iteration_words(status),
        _state_words(status),
        tokens_text(status.usage),
        seconds_text(status.elapsed),
        f"recording {one_line(status.recording)}" if status.recording else "",
    ]
    return " · ".join(part for part in parts if part)


def pending_data(pending: list[PendingDecision], feed: RowFeed) -> list[dict[str, Any]]:
    """Return the calls that wait for a person, in the order in which they asked."""
    found = []
    for item in pending:
        row = feed.call_row(item.call)
        found.append(
            {
                "call": item.call,
                "version": item.version,
                "key": row_key(row) if row is not None else "",
                "agents": " › ".join(one_line(agent, 40) for agent in item.agents),
                "iteration": item.iteration,
                "name": one_line(item.name, 60),
                "arguments": arguments_line(item.arguments, 120),
                "side_effect": item.side_effect or "",
                "problems": [one_line(str(problem), 300) for problem in item.problems],
                "warnings": [one_line(words, 300) for words in item.warnings],
            }
        )
    return found


def _state_words(status: Status) -> str:
    if not status.waits_for:
        return status.state
    if status.state == "paused":
        return one_line(status.waits_for.removeprefix("you: "))
    return f"{status.state}{' for' if status.state == 'waiting' else ':'} {one_line(status.waits_for)}"


def _iteration_words(status: Status) -> str:
    limit = "" if status.max_iterations is None else f"/{status.max_iterations}"
    return f"iteration {status.iteration}{limit}"
