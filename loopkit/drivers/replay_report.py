"""What a replay says: the same, or where it went another way and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from loopkit import events as e
from loopkit.drivers.divergence import Divergence
from loopkit.drivers.findings import WORDING, Diagnosis, Finding
from loopkit.errors import ReplayDivergence
from loopkit.recording.reader import Recording

Match: TypeAlias = Literal["strict", "content"]


@dataclass(frozen=True)
class ReplayReport:
    """What a replay found.

    Args:
        path: the recording.
        events: events compared.
        loops: loops of the tree.
        finished: the recorded run came to its end.
        divergence: the first event that differs, or None.
        diagnosis: all that changed, and what follows from it; None when nothing did.
        match: `content` counts only what changes the run's course.
    """

    path: str
    events: int
    loops: int
    finished: bool
    divergence: Divergence | None = None
    diagnosis: Diagnosis | None = None
    match: Match = "strict"

    @classmethod
    def of(
        cls,
        recording: Recording,
        divergence: Divergence | None,
        diagnosis: Diagnosis | None,
        *,
        match: Match,
    ) -> ReplayReport:
        """Return the report of a recording's replay."""
        loops = {event.loop for event in recording.events}
        ends = (e.LoopFinished, e.LoopFailed)
        finished = any(event.loop == e.ROOT and isinstance(event.fact, ends) for event in recording.events)
        path = str(recording.path)
        return cls(path, len(recording.events), len(loops), finished, divergence, diagnosis, match)

    @property
    def same(self) -> bool:
        if self.match == "content" and self.diagnosis is not None:
            return len(self.passed_over) == len(self.diagnosis.findings)
        return self.divergence is None

    @property
    def passed_over(self) -> tuple[Finding, ...]:
        """What changed and doesn't count."""
        if self.match == "strict" or self.diagnosis is None:
            return ()
        return tuple(finding for finding in self.diagnosis.findings if finding.drift in WORDING)

    def text(self) -> str:
        """Return the outcome in words; a divergence's values are as recorded."""
        size = f"{_count(self.events, 'event')}, {_count(self.loops, 'loop')}"
        if not self.same:
            account = self.diagnosis or self.divergence
            return f"{self.path}: diverged ({size})\n{'' if account is None else account.text()}"
        words = f"{self.path}: same ({size}{'' if self.finished else ', the recorded run is unfinished'})"
        if self.passed_over:
            words += "; passed over: " + ", ".join(f"{finding.drift}: {finding.what}" for finding in self.passed_over)
        return words

    def data(self) -> dict[str, Any]:
        """Return the same for machines."""
        return {
            "same": self.same,
            "match": self.match,
            "events": self.events,
            "loops": self.loops,
            "finished": self.finished,
            "divergence": None if self.divergence is None else self.divergence.data(),
            "diagnosis": None if self.diagnosis is None else self.diagnosis.data(),
        }

    def raise_if_diverged(self) -> None:
        """Raise the divergence, if there is one.

        Raises:
            ReplayDivergence: with the readable account.
        """
        if not self.same:
            raise ReplayDivergence(self.text())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
