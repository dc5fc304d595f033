"""What the divergence doctor found, in words and as data: causes first, each with what follows from it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from loopkit import events as e
from loopkit.encoding import encode_tagged

LONGEST_LINE = 200
MOST_LINES = 40
MOST_FOLLOWING = 8


class Drift(StrEnum):
    """What changed."""

    AGENT = "agent name"
    SYSTEM_PROMPT = "system prompt"
    MESSAGES = "first messages"
    TOOL_MISSING = "missing tool"
    TOOL_NEW = "new tool"
    TOOL_DESCRIPTION = "tool description"
    TOOL_SCHEMA = "tool schema"
    TOOL_TRAITS = "tool traits"
    TOOL_ORDER = "order of tools"
    CONFIGURATION = "configuration"
    MODEL = "model"
    FALLBACKS = "fallbacks"
    SETTINGS = "settings"
    DEPTH = "depth"
    DECISION = "decision"
    ARGUMENTS = "arguments"
    STOP_CONDITION = "stop condition"
    CALLBACK = "callback"
    RESULT = "result"
    PROCESSING = "result processing"
    ANSWER = "answer"
    MISSING_CALL = "missing call"
    EXTRA_CALL = "extra call"
    SUB_AGENT = "sub-agent"
    ORDER = "order"
    HISTORY = "history"
    MISSING_EVENT = "missing event"
    LEFT_OVER = "left-over event"
    COURSE = "course"


# what a model is told, and not what the run does: `match="content"` passes over these
WORDING = frozenset(
    (
        Drift.AGENT,
        Drift.SYSTEM_PROMPT,
        Drift.TOOL_DESCRIPTION,
        Drift.TOOL_ORDER,
        Drift.TOOL_NEW,
        Drift.MODEL,
        Drift.FALLBACKS,
        Drift.SETTINGS,
    )
)


@dataclass(frozen=True, slots=True)
class Following:
    """A difference that follows from a cause.

    Args:
        seq: number of the recorded event, or of the one that it comes behind.
        what: the difference in a few words.
    """

    seq: int
    loop: str
    iteration: int
    what: str


@dataclass(frozen=True, slots=True)
class Suspect:
    """A recorded event that may have been changed.

    Args:
        what: the event in a few words.
    """

    seq: int
    what: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that changed by itself, not because something before it did.

    Args:
        drift: what kind of thing.
        what: which, in a few words.
        seq: number of the recorded event where it shows, or of the one that it comes behind.
        loop: path of the loop.
        iteration: 1-based, 0 before the first.
        step: the nearest recorded step in words.
        call: the call that it is about, or None.
        recorded, came: the facts, None where there is none.
        before, after: the values that differ, a text or plain JSON.
        suspects: recorded events of which one was changed, when it can't be told which.
        follows: what differs because of it.
    """

    drift: Drift
    what: str
    seq: int
    loop: str
    iteration: int
    step: str
    call: str | None = None
    recorded: e.Fact | None = None
    came: e.Fact | None = None
    before: Any = None
    after: Any = None
    suspects: tuple[Suspect, ...] = ()
    follows: tuple[Following, ...] = ()

    @property
    def diff(self) -> tuple[str, ...]:
        """Lines that begin with `-` as recorded, `+` as it came today, or a blank where both are the same."""
        return tuple(diff_lines(self.before, self.after))

    def text(self) -> str:
        """Return a readable account; values are as recorded and may hold anything."""
        where = f"event {self.seq}, {self.loop}, " + (
            f"iteration {self.iteration}" if self.iteration else "before the first iteration"
        )
        lines = [f"{self.drift}: {self.what}", f"    at {where}: {self.step}"]
        shown = self.diff
        lines.extend(f"    {line}" for line in shown[:MOST_LINES])
        if len(shown) > MOST_LINES:
            lines.append(f"    … {len(shown) - MOST_LINES} more lines")
        lines.extend(f"    event {each.seq}: {each.what}" for each in self.suspects[:MOST_LINES])
        if self.follows:
            lines.append(f"    {_count(len(self.follows), 'difference')} from it:")
            lines.extend(f"      event {each.seq}, {each.loop}: {each.what}" for each in self.follows[:MOST_FOLLOWING])
            if len(self.follows) > MOST_FOLLOWING:
                lines.append(f"      … and {len(self.follows) - MOST_FOLLOWING} more")
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        """Return the same for machines."""
        return {
            "drift": self.drift.value,
            "what": self.what,
            "seq": self.seq,
            "loop": self.loop,
            "iteration": self.iteration,
            "step": self.step,
            "call": self.call,
            "recorded": None if self.recorded is None else encode_tagged(self.recorded),
            "came": None if self.came is None else encode_tagged(self.came),
            "diff": list(self.diff),
            "suspects": [{"seq": each.seq, "what": each.what} for each in self.suspects],
            "follows": [
                {"seq": each.seq, "loop": each.loop, "iteration": each.iteration, "what": each.what}
                for each in self.follows
            ],
        }


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The whole run beside its recording.

    Args:
        findings: causes, in the order of the recording.
        aligned: recorded events that came the same.
        compared: recorded events that were compared.
    """

    findings: tuple[Finding, ...]
    aligned: int
    compared: int

    def text(self) -> str:
        """Return all findings as readable text."""
        following = sum(len(finding.follows) for finding in self.findings)
        first = f"first difference at event {self.findings[0].seq}; " if self.findings else ""
        head = f"{first}{self.aligned:,} of {_count(self.compared, 'recorded event')} came the same; "
        head += _count(len(self.findings), "cause")
        if following:
            head += f", {_count(following, 'difference')} that follow{'s' if following == 1 else ''}"
        lines = [f"{head} (- as recorded, + as it came today)"]
        lines.extend(f"{number}. {finding.text()}" for number, finding in enumerate(self.findings, 1))
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        """Return the same for machines."""
        return {
            "aligned": self.aligned,
            "compared": self.compared,
            "causes": [finding.data() for finding in self.findings],
        }


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def diff_lines(before: Any, after: Any) -> Iterator[str]:
    """Yield what differs between two values, line by line; long lines are cut to where they differ."""
    first, second = _lines(before), _lines(after)
    if len(first) == len(second) == 1:
        first[0], second[0] = _around_difference(first[0], second[0])
    for line in difflib.unified_diff(first, second, n=1, lineterm=""):
        if not line.startswith(("---", "+++", "@@")):
            mark, words = line[0], line[1:]
            yield f"{mark} {words[:LONGEST_LINE]}{f' …(+{len(words) - LONGEST_LINE:,})' if len(words) > LONGEST_LINE else ''}"


def _lines(value: Any) -> list[str]:
    if value is None:
        return []
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return text.split("\n")


def _around_difference(first: str, second: str) -> Sequence[str]:
    """Leave out what two long lines begin with alike."""
    if max(len(first), len(second)) <= LONGEST_LINE:
        return first, second
    alike = next((place for place, (one, two) in enumerate(zip(first, second, strict=False)) if one != two), None)
    start = max(0, (min(len(first), len(second)) if alike is None else alike) - 40)
    return [f"…{line[start:]}" if start else line for line in (first, second)]
