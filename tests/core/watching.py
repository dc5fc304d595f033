"""Detectors fed by hand: turns of calls with their results, without a loop around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loopkit import events as e
from loopkit.core.config import LoopDetectionConfig
from loopkit.core.detection import DETECTORS, Outcome, Watch
from loopkit.messages import Message, ToolCall, ToolDefinition

ANYTHING = {"type": "object"}
TOOLS = tuple(ToolDefinition(name, "", ANYTHING) for name in ("look", "write", "ask", "test"))
POLL = ToolDefinition("poll", "", ANYTHING, polling=True)


@dataclass(frozen=True)
class Step:
    """One turn.

    Args:
        results: of the calls in their order; the last stands for those behind it.
    """

    calls: tuple[ToolCall, ...]
    text: str = ""
    results: tuple[Outcome, ...] = (Outcome("done", failed=False),)

    def outcomes(self, iteration: int) -> dict[str, Outcome]:
        last = len(self.results) - 1
        places = range(1, len(self.calls) + 1)
        return {e.call_key(e.ROOT, iteration, place): self.results[min(place - 1, last)] for place in places}


def step(
    name: str = "look", result: str = "done", *, failed: bool = False, text: str = "", **arguments: object
) -> Step:
    """A turn of one call."""
    return Step((ToolCall("id", name, arguments),), text, (Outcome(result, failed),))


def everything(threshold: int = 3) -> LoopDetectionConfig:
    """All detectors at once."""
    return LoopDetectionConfig(threshold, detectors=DETECTORS)


def watched(
    steps: Iterable[Step], config: LoopDetectionConfig, tools: Sequence[ToolDefinition] | None = (*TOOLS, POLL)
) -> Watch:
    """The detectors after these turns."""
    return _watch(steps, config, tools)[0]


def found(
    steps: Iterable[Step], config: LoopDetectionConfig, tools: Sequence[ToolDefinition] | None = (*TOOLS, POLL)
) -> list[tuple[int, e.RepetitionDetected]]:
    """What was reported, with the number of the turn."""
    return _watch(steps, config, tools)[1]


def _watch(
    steps: Iterable[Step], config: LoopDetectionConfig, tools: Sequence[ToolDefinition] | None
) -> tuple[Watch, list[tuple[int, e.RepetitionDetected]]]:
    watch = Watch.of(config, tools)
    reports: list[tuple[int, e.RepetitionDetected]] = []
    for iteration, taken in enumerate(steps, 1):
        watch = watch.asked(e.ROOT, iteration, Message.assistant(taken.text, taken.calls))
        reports += [(iteration, fact) for fact in watch.due]
        watch = watch.answered(taken.outcomes(iteration))
    return watch, reports
