"""Loop detection over runs that are over: what the detectors would have reported, so that they can be tuned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from loopkit import events as e
from loopkit.core.config import LoopDetectionConfig, LoopRules, ToolDetection
from loopkit.core.detection import DETECTORS, Outcome, Watch, told
from loopkit.debugger.recorded import OWN_FORMAT, open_recording
from loopkit.encoding import encode
from loopkit.errors import RecordingError, UserError
from loopkit.importers import codex
from loopkit.importers.codex_outputs import comparable_output
from loopkit.messages import Image

DEFAULT_THRESHOLD = 3
_INVALID = "invalid arguments"

# Returns what makes two results the same, or None for one that equals no other.
Comparable: TypeAlias = Callable[[str], str | None]


def _as_it_is(content: str) -> str | None:
    return content


# Formats that put times and ids of their own around what a tool gave.
_COMPARABLE: dict[str, Comparable] = {codex.NAME: comparable_output}


@dataclass(frozen=True, slots=True)
class Found:
    """Something that repeats.

    Args:
        agents: names from the root to the loop that repeats itself.
        iteration: where it is noticed.
    """

    loop: str
    agents: tuple[str, ...]
    iteration: int
    repetition: e.RepetitionDetected

    def data(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        words = encode(self.repetition)
        del words["action"]
        return {"loop": self.loop, "agents": list(self.agents), "iteration": self.iteration, **words}


def detection_of(
    detectors: str = "all",
    threshold: int = DEFAULT_THRESHOLD,
    *,
    polling: Iterable[str] = (),
    ignored: Iterable[str] = (),
) -> LoopDetectionConfig:
    """Return the configuration that a person's words ask for.

    Args:
        detectors: names separated by commas, with spaces or hyphens within, or `all`.
        polling: tools whose repeats count only while the result stays the same.
        ignored: tools whose calls are not looked at.

    Raises:
        UserError: a name is none that is known, or the threshold is below 2.
    """
    chosen = tuple(word.strip().replace("-", " ") for word in detectors.split(",") if word.strip())
    tools = {name: ToolDetection(polling=True) for name in polling}
    tools |= {name: ToolDetection(ignore=True) for name in ignored}
    try:
        return LoopDetectionConfig(threshold, detectors=DETECTORS if chosen == ("all",) else chosen, tools=tools)
    except ValueError as error:
        raise UserError(str(error)) from None


def detect_file(path: str | Path, config: LoopDetectionConfig) -> list[Found]:
    """Run detectors over a recording, or a session that another tool recorded.

    A recording keeps the settings that it had for single tools, as far as `config` has none for them. A foreign session
    doesn't say which tools poll, so every tool's repeats count only while its results stay the same; times and ids that
    its program put around a result make no difference, and a command that still runs has none yet.

    Args:
        config: detectors, threshold and settings of single tools; what they would do is not done.

    Raises:
        UserError: the file can't be read, or is neither.
    """
    run = open_recording(path)
    try:
        comparable = _COMPARABLE.get(run.source_format, _as_it_is)
        return list(detect(run.events, config, foreign=run.source_format != OWN_FORMAT, comparable=comparable))
    except (ValueError, TypeError) as error:
        raise RecordingError(f"{path}: its loop detection settings can't be used: {error}") from None


def detect(
    events: Iterable[e.Event],
    config: LoopDetectionConfig,
    *,
    foreign: bool = False,
    comparable: Comparable = _as_it_is,
) -> Iterator[Found]:
    """Yield what detectors find in the events of a run.

    Args:
        foreign: the events don't say which tools there are.
        comparable: what of a tool's answer makes two answers the same.
    """
    loops: dict[str, _Loop] = {}
    for event in events:
        if isinstance(event.fact, e.LoopStarted):
            loops[event.loop] = _started(event.fact, config, loops, comparable, foreign=foreign)
        loop = loops.get(event.loop)
        if loop is None:
            loop = loops[event.loop] = _Loop(("?",), Watch.of(config, None), comparable)
        for repetition in loop.take(event):
            yield Found(event.loop, loop.agents, event.iteration, repetition)


@dataclass(slots=True)
class _Loop:
    agents: tuple[str, ...]
    watch: Watch
    comparable: Comparable
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    results: dict[str, tuple[str | None, tuple[Image, ...]]] = field(default_factory=dict)

    def take(self, event: e.Event) -> tuple[e.RepetitionDetected, ...]:
        match event.fact:
            case e.ModelReplied(message):
                answered = self.watch.answered(self.outcomes)
                self.outcomes, self.results = {}, {}
                self.watch = answered.asked(event.loop, event.iteration, message)
                return self.watch.due
            case e.MessagesInjected(messages) if any(message.role == "user" for message in messages):
                self.watch = self.watch.restarted()
            case e.ToolReturned(call, content, is_error, _, images):
                self.results[call] = (self.comparable(content), images)
                self.outcomes[call] = Outcome(told(*self.results[call]), is_error)
            case e.ToolFailed(call, _, content):
                self.outcomes[call] = Outcome(content, failed=True)
            case e.ToolAbandoned(call, _, content):
                self.outcomes[call] = Outcome(content, failed=True)
            case e.ToolSkipped(call, cause, content):
                self.outcomes[call] = Outcome(content, True if cause == _INVALID else None)
            case e.ResultProcessed(call, content, _, _, pictures) if call in self.results:
                words, images = self.results[call]
                self.results[call] = (words if content is None else content, images if pictures is None else pictures)
                self.outcomes[call] = replace(self.outcomes[call], content=told(*self.results[call]))
        return ()


def _started(
    fact: e.LoopStarted,
    config: LoopDetectionConfig,
    loops: dict[str, _Loop],
    comparable: Comparable,
    *,
    foreign: bool,
) -> _Loop:
    above = loops.get((fact.parent_call or "").rpartition("/")[0])
    agents = (*(above.agents if above is not None else ()), fact.agent)
    if foreign:
        return _Loop(agents, Watch.of(config, None), comparable)
    recorded = LoopRules.read(fact.configuration).detection
    if recorded is not None:
        config = replace(config, tools={**recorded.by_tool, **config.by_tool})
    return _Loop(agents, Watch.of(config, fact.tools), comparable)
