"""What detectors see of a turn, and what they find in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from loopkit.core.detection.settings import LoopDetectionConfig, ToolDetection
from loopkit.core.detection.signatures import digest
from loopkit.messages import Image

EVIDENCE_CALLS = 24


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call as detectors compare it.

    Args:
        key: the call's own id.
        signature: equal for equal calls.
        polling: its repeats count only while the result stays the same.
        known: there is such a tool.
    """

    key: str
    name: str
    signature: str
    polling: bool
    known: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """A response that asks for tools, without the calls that are ignored.

    Args:
        text: stands for the words of the response, empty when there are few.
    """

    iteration: int
    calls: tuple[AskedCall, ...]
    text: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(call.name for call in self.calls)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(call.key for call in self.calls)

    @property
    def signature(self) -> str:
        return " ".join(call.signature for call in self.calls)

    @property
    def polls(self) -> bool:
        return any(call.polling for call in self.calls)

    def polled(self, outcomes: Outcomes) -> str:
        """Return text that is equal when the polling tools gave equal results."""
        return " ".join(f"{call.name} {result_of(call, outcomes)}" for call in self.calls if call.polling)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended.

    Args:
        content: what the model is told.
        failed: the tool failed, or could not run with these arguments; None when nobody let it run.
    """

    content: str | None
    failed: bool | None = None


def told(content: str | None, images: Iterable[Image]) -> str | None:
    """Return what tells a result from another: two screenshots differ, whatever words stand beside them."""
    pictures = [image.data or image.url or "" for image in images]
    return "\n".join((content or "", *pictures)) if pictures else content


Outcomes: TypeAlias = Mapping[str, Outcome]


def result_of(call: AskedCall, outcomes: Outcomes) -> str:
    """Return text that stands for a call's result; one that isn't known equals no other."""
    outcome = outcomes.get(call.key)
    return f"unknown, {call.key}" if outcome is None or outcome.content is None else digest(outcome.content)


@dataclass(frozen=True, slots=True)
class Run:
    """One thing that happens again and again.

    Args:
        count: how often.
        since: iteration in which it began.
        calls: ids of the newest calls of it.
        firings: how often it was reported.
        result: what polling tools gave last, as far as it matters.
        last: iteration in which it happened last.
    """

    count: int = 0
    since: int = 0
    calls: tuple[str, ...] = ()
    firings: int = 0
    result: str = ""
    last: int = 0

    def grown(self, iteration: int, calls: tuple[str, ...], result: str = "") -> Run:
        """Return it with one more."""
        newest = (*self.calls, *calls)[-EVIDENCE_CALLS:]
        return Run(self.count + 1, self.since or iteration, newest, self.firings, result, iteration)

    def fired(self) -> Run:
        """Return it reported once more."""
        return replace(self, firings=self.firings + 1)


@dataclass(frozen=True, slots=True)
class Repetition:
    """Something that repeats, as it stands; asking for it changes nothing (spec/faults.md g10).

    Args:
        detector: which detector counts it.
        tool_name: the tool, several joined with `+`, the steps of a cycle with ` → `.
        count: how often so far.
        threshold: it is reported at every multiple of this.
        since_iteration: where it began.
        calls: ids of the newest of its calls, 24 at most.
    """

    detector: str
    tool_name: str
    count: int
    threshold: int
    since_iteration: int
    calls: tuple[str, ...]


@dataclass(frozen=True)
class DetectionRules:
    """A configuration with what the loop's tools say.

    Args:
        polling: names of the polling tools, or None when it isn't known which are: then every tool may be one.
        known: names of the tools that there are, or None when that isn't known.
    """

    config: LoopDetectionConfig
    polling: frozenset[str] | None
    known: frozenset[str] | None

    @cached_property
    def by_tool(self) -> dict[str, ToolDetection]:
        """Settings of single tools by name."""
        return self.config.by_tool

    def polls(self, name: str) -> bool:
        settings = self.by_tool.get(name)
        if settings is not None and settings.polling is not None:
            return settings.polling
        return self.polling is None or name in self.polling

    def ignores(self, name: str) -> bool:
        settings = self.by_tool.get(name)
        return settings is not None and settings.ignore

    def threshold_of(self, names: tuple[str, ...]) -> int:
        """Return from how many repeats on these tools' calls are a loop: the most patient tool's number."""
        if not self.by_tool or not names:
            return self.config.threshold
        settings = [self.by_tool.get(name) for name in names]
        return max((one and one.threshold) or self.config.threshold for one in settings)
