"""Says which calls of an unattended run were refused because nobody vouched for their tools, and what to do about it."""

from __future__ import annotations

from pathlib import Path

from loopkit.cli.output import warn


def refused_tools(recording: Path | None, after: int = 0) -> list[str]:
    """Return the names of the tools whose calls the policy did not let run; those of a fork's parent don't count.

    Args:
        after: number of the last event that doesn't count either.
    """
    from loopkit.debugger.recorded import open_recording
    from loopkit.events import Decided
    from loopkit.outcomes import Deny

    if recording is None or not recording.exists():
        return []
    with open_recording(recording) as recorded:
        copied = recorded.header.fork_seq if recorded.header is not None else None
        refused = [
            event.fact.call
            for event in recorded.events
            if event.seq > max(copied or 0, after)
            and isinstance(event.fact, Decided)
            and isinstance(event.fact.decision, Deny)
            and event.fact.by.startswith("policy")
        ]
        return list(dict.fromkeys(recorded.timeline.calls[call].name for call in refused))


def advise_on(refused: list[str], option: str) -> None:
    """Say on stderr, in one line, which tools did not run and how they would.

    Args:
        option: of the command that lets every tool run.
    """
    if refused:
        warn(
            f'not run: {", ".join(refused)}; `{option} all` runs every tool, `@tool(side_effect="read")` declares '
            "one that only reads, and `loopkit tui` asks you about each call"
        )
