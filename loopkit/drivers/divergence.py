"""Where a replay left its recording, in words and as data: which side is the recording and which is today's code."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loopkit import events as e
from loopkit.encoding import encode_tagged

LONGEST_VALUE = 2000


@dataclass(frozen=True)
class Divergence:
    """The first event in which a replay differs.

    Args:
        seq: number of the recorded event where it shows.
        loop: path of the loop.
        iteration: 1-based, 0 before the first.
        what: what drifted, in a few words.
        recorded: the recorded fact, or None where the recording has nothing.
        came: what came today, or None where nothing came.
    """

    seq: int
    loop: str
    iteration: int
    what: str
    recorded: e.Fact | None
    came: e.Fact | None

    def text(self) -> str:
        """Return a readable account with a diff; values are as recorded and may hold anything."""
        where = f"event {self.seq}, {self.loop}, iteration {self.iteration}"
        lines = [f"first difference at {where}: {self.what}"]
        if type(self.recorded) is type(self.came):
            lines.append(f"  {_name(self.recorded)}, - as recorded, + as it came:")
        else:
            lines.append(f"  recorded: {_name(self.recorded)}")
            lines.append(f"  came:     {_name(self.came)}")
        lines.extend(f"    {line}" for line in self._difference())
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        """Return the same for machines."""
        return {
            "seq": self.seq,
            "loop": self.loop,
            "iteration": self.iteration,
            "what": self.what,
            "recorded": None if self.recorded is None else encode_tagged(self.recorded),
            "came": None if self.came is None else encode_tagged(self.came),
        }

    def _difference(self) -> Iterator[str]:
        before, after = _lines(self.recorded), _lines(self.came)
        for line in difflib.unified_diff(before, after, "recorded", "came", n=1, lineterm=""):
            if not line.startswith(("---", "+++", "@@")):
                yield (
                    line if len(line) <= LONGEST_VALUE else f"{line[:LONGEST_VALUE]} …(+{len(line) - LONGEST_VALUE:,})"
                )


def _name(fact: e.Fact | None) -> str:
    return "nothing" if fact is None else type(fact).__name__


def _lines(fact: e.Fact | None) -> list[str]:
    if fact is None:
        return []
    return json.dumps(encode_tagged(fact), indent=2, ensure_ascii=False, default=str).splitlines()


def what_drifted(recorded: e.Fact | None, came: e.Fact | None) -> str:
    """Return which part of a fact drifted, in a few words."""
    if isinstance(recorded, e.LoopStarted) and isinstance(came, e.LoopStarted):
        return _drift_of_start(recorded, came)
    if isinstance(recorded, e.ModelRequested) and isinstance(came, e.ModelRequested):
        return "the request differs from the recorded one (history, settings or tools)"
    if isinstance(recorded, e.Decided) and isinstance(came, e.Decided):
        return f"{recorded.by} decides otherwise on {recorded.call}"
    if isinstance(recorded, (e.ToolReturned, e.ToolFailed)) and isinstance(came, (e.ToolReturned, e.ToolFailed)):
        return f"the result of {recorded.call} differs"
    if isinstance(recorded, e.ResultProcessed) and isinstance(came, e.ResultProcessed):
        return f"result_{recorded.processor} makes something else of the result of {recorded.call}"
    if recorded is None:
        return "the recording ends here, today's loop goes on"
    if came is None:
        return "today's loop does nothing here"
    return f"{_name(came)} instead of {_name(recorded)}" if type(recorded) is not type(came) else "its content differs"


def _drift_of_start(recorded: e.LoopStarted, came: e.LoopStarted) -> str:
    drifted = []
    prompts = [
        fact.messages[0].text if fact.messages and fact.messages[0].role == "system" else None
        for fact in (recorded, came)
    ]
    if prompts[0] != prompts[1]:
        drifted.append("system prompt")
    before, after = ({tool.name: tool for tool in fact.tools} for fact in (recorded, came))
    drifted += [f"tool {name} is missing" for name in before.keys() - after.keys()]
    drifted += [f"tool {name} is new" for name in after.keys() - before.keys()]
    drifted += [f"definition of tool {name}" for name in before.keys() & after.keys() if before[name] != after[name]]
    if not drifted and list(before) != list(after):
        drifted.append("order of the tools")
    keys = [*dict.fromkeys([*recorded.configuration, *came.configuration])]
    drifted += [
        f"configuration {key}" for key in keys if recorded.configuration.get(key) != came.configuration.get(key)
    ]
    drifted += [
        name
        for name in ("agent", "model", "fallbacks", "settings", "depth")
        if getattr(recorded, name) != getattr(came, name)
    ]
    return "changed: " + ", ".join(sorted(drifted)) if drifted else "its start differs"
