"""What a caller may set of loop detection, and how it stands in the log (spec/loop.md 2, 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from loopkit.messages import JSONObject

IDENTICAL_BATCHES = "identical batches"
CYCLE = "cycle"
SAME_RESULT = "same call same result"
REPEATED_ERRORS = "repeated errors"
REPEATED_TEXT = "repeated text"
UNKNOWN_TOOLS = "unknown tools"

DETECTORS = (IDENTICAL_BATCHES, CYCLE, SAME_RESULT, REPEATED_ERRORS, REPEATED_TEXT, UNKNOWN_TOOLS)
LEAST_THRESHOLD = 2


class LoopAction(StrEnum):
    """What loop detection does when it fires (spec/loop.md 6)."""

    WARN = "warn"
    STOP = "stop"
    INJECT_WARNING = "inject_warning"


@dataclass(frozen=True, slots=True)
class ToolDetection:
    """How the repeats of one tool are judged (spec/loop.md 6.5, spec/faults.md g1).

    Args:
        threshold: in place of the configuration's, or None; where several tools repeat together, the largest counts.
        polling: repeats count only while the result stays the same; None is what the tool's definition says.
        ignore: detectors don't see the tool's calls at all.

    Raises:
        ValueError: the threshold is below 2.
    """

    threshold: int | None = None
    polling: bool | None = None
    ignore: bool = False

    def __post_init__(self) -> None:
        if self.threshold is not None:
            _check_threshold(self.threshold)


ToolSettings: TypeAlias = Mapping[str, ToolDetection] | Iterable[tuple[str, ToolDetection]]


@dataclass(frozen=True, slots=True)
class LoopDetectionConfig:
    """When repeats are a loop, and what to do then.

    The detectors, each looked at when a response asks for tools, before any of them runs:

    - `identical batches`: the same calls as in the response before, again and again (spec/loop.md 6.1).
    - `cycle`: 2 to 5 different batches that come again in the same order, A B A B or A B C A B C; counts whole rounds.
    - `same call same result`: a call is asked for again after it gave the same result this often; other calls may
      stand between.
    - `repeated errors`: a tool is asked for again after it did nothing but fail for this many turns, whatever its
      arguments; other tools may stand between. Both forget what was not asked for in ten turns.
    - `repeated text`: the assistant says the same words (40 characters or more) whenever it says anything.
    - `unknown tools`: response after response asks for tools that aren't there.

    A detector starts anew when something else happens, after a warning that the model heeded, and when the user says
    something (spec/faults.md g12). Calls of polling tools count for none of them while their results change: a repeat
    counts as soon as its result is known, so it is reported when the tool is asked for once more (spec/faults.md g1).

    Args:
        threshold: fires at every multiple of this many repeats; at least 2.
        action: warn only, end the loop, or tell the model.
        detectors: names of those that watch; only the first is on unless asked for.
        stages: what to do at the first, second … firing of one repetition, the last from then on; by default always
            `action`.
        tools: settings of single tools by name.

    Raises:
        ValueError: a threshold is below 2, or a name or word is none that is known.
    """

    threshold: int = 3
    action: LoopAction = LoopAction.WARN
    detectors: tuple[str, ...] = (IDENTICAL_BATCHES,)
    stages: tuple[LoopAction, ...] = ()
    tools: ToolSettings = ()

    def __post_init__(self) -> None:
        _check_threshold(self.threshold)
        chosen = (self.detectors,) if isinstance(self.detectors, str) else tuple(dict.fromkeys(self.detectors))
        _check_detectors(chosen)
        settings = self.tools.items() if isinstance(self.tools, Mapping) else self.tools
        object.__setattr__(self, "action", LoopAction(self.action))
        object.__setattr__(self, "detectors", chosen)
        object.__setattr__(self, "stages", tuple(LoopAction(action) for action in self.stages))
        object.__setattr__(self, "tools", tuple(sorted(settings, key=lambda item: item[0])))

    @property
    def by_tool(self) -> dict[str, ToolDetection]:
        """Settings of single tools by name."""
        return dict(self.tools)

    def action_at(self, firing: int) -> LoopAction:
        """Return what to do at a firing of one repetition, counted from 1."""
        return self.stages[min(firing, len(self.stages)) - 1] if self.stages else self.action

    def description(self) -> dict[str, Any]:
        """Return the settings as plain JSON; what a bare configuration doesn't have is left out."""
        data: dict[str, Any] = {"threshold": self.threshold, "action": self.action.value}
        if self.detectors != (IDENTICAL_BATCHES,):
            data["detectors"] = list(self.detectors)
        if self.stages:
            data["stages"] = [action.value for action in self.stages]
        if self.tools:
            data["tools"] = {name: _changed(settings) for name, settings in self.by_tool.items()}
        return data

    @classmethod
    def read(cls, data: JSONObject) -> LoopDetectionConfig:
        """Read what `description` wrote; what is absent has its default.

        Raises:
            ValueError, TypeError: it holds what no configuration can.
        """
        tools = data.get("tools") or {}
        return cls(
            data.get("threshold", 3),
            LoopAction(data.get("action", LoopAction.WARN)),
            tuple(data.get("detectors", (IDENTICAL_BATCHES,))),
            tuple(LoopAction(action) for action in data.get("stages", ())),
            {name: ToolDetection(**settings) for name, settings in tools.items()},
        )


def _changed(settings: ToolDetection) -> dict[str, Any]:
    default = ToolDetection()
    values = {name: getattr(settings, name) for name in ToolDetection.__dataclass_fields__}
    return {name: value for name, value in values.items() if value != getattr(default, name)}


def _check_threshold(threshold: int) -> None:
    if threshold < LEAST_THRESHOLD:
        raise ValueError(f"threshold must be at least {LEAST_THRESHOLD}, not {threshold}")


def _check_detectors(names: tuple[str, ...]) -> None:
    unknown = [name for name in names if name not in DETECTORS]
    if unknown:
        raise ValueError(f"detectors: {unknown[0]!r} is none of {', '.join(DETECTORS)}")
    if not names:
        raise ValueError("detectors must name at least one; loop_detection=None turns detection off")
