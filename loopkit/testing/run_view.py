"""What a run was, for a test to look at: its calls, sub-agents, figures and end, the sub-agents' parts included."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn, Self

from loopkit.debugger.costs import Cost, cost_of_loops
from loopkit.debugger.nodes import CallNode, IterationNode, LoopNode
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.report import outcome_name
from loopkit.debugger.timeline import Timeline
from loopkit.drivers.result import ToolLoopResult
from loopkit.errors import UserError
from loopkit.events import Event
from loopkit.messages import Usage
from loopkit.testing.arguments import name_matches
from loopkit.testing.story import story


class RunView:
    """A run, or a sub-agent's part of one.

    Args:
        timeline: the whole run.
        top: the loop whose part it is; None for the whole run.

    Attributes:
        path: the recording, or None for a run that nobody recorded.
        result: what a live run gave, or None.
        error: the exception that a live run ended with, or None.
    """

    def __init__(self, timeline: Timeline, top: LoopNode | None = None) -> None:
        root = timeline.root if top is None else top
        if root is None:
            raise UserError("there is no run to look at: no loop was started")
        self.timeline = timeline
        self.path: Path | None = None
        self.result: ToolLoopResult | None = None
        self.error: BaseException | None = None
        self._top = root

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self:
        """Return the run that some events tell.

        Raises:
            UserError: no loop starts in them.
        """
        timeline = Timeline(events)
        timeline.close()
        return cls(timeline)

    @classmethod
    def of_file(cls, path: str | Path) -> Self:
        """Return the run that a recording, or another tool's session, holds.

        Raises:
            UserError: it can't be read.
        """
        opened = open_recording(path)
        view = cls(opened.timeline)
        view.path = opened.path
        return view

    # ── its parts ────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def loops(self) -> list[LoopNode]:
        """Its loop and those of all agents below it, depth first."""
        return self._top.subtree()

    @property
    def iterations(self) -> list[IterationNode]:
        """The turns of its own loop."""
        return self._top.iterations

    @property
    def calls(self) -> list[CallNode]:
        """All calls that models asked for, those of sub-agents included, in the order in which they came."""
        loops = {id(loop) for loop in self.loops}
        return [call for call in self.timeline.calls.values() if id(call.loop) in loops]

    @property
    def agent(self) -> str:
        return self._top.agent

    @property
    def text(self) -> str:
        """The words of the last answer of its own loop; empty when there are none."""
        messages = [iteration.message for iteration in self._top.iterations if iteration.message is not None]
        return messages[-1].text if messages else ""

    @property
    def outcome(self) -> str:
        """How its own loop ended: `complete`, `max_iterations`, `timeout`, `failed` …, as in `loopkit show --json`."""
        return outcome_name(self._top)

    @property
    def usage(self) -> Usage:
        """Tokens, those of sub-agents included."""
        return self._top.subtree_usage

    @property
    def cost(self) -> Cost:
        """What its answers cost, those of sub-agents included."""
        return cost_of_loops(self.loops)

    @property
    def depth(self) -> int:
        """Levels of agents below it."""
        return max(loop.level for loop in self.loops) - self._top.level

    def sub_agents(self, name: str | re.Pattern[str] | None = None) -> list[Self]:
        """Return the parts of the agents below it, on all levels, in the order in which they stand in the tree."""
        found = self.loops[1:]
        return [self._part(loop) for loop in found if name is None or name_matches(name, loop.agent)]

    def sub_agent(self, name: str | re.Pattern[str]) -> Self:
        """Return the part of the one sub-agent of this name.

        Raises:
            AssertionError: there is none, or more than one.
        """
        __tracebackhide__ = True
        found = self.sub_agents(name)
        if len(found) != 1:
            names = ", ".join(loop.agent for loop in self.loops[1:]) or "none"
            self.fail(f"{len(found)} sub-agents are named {name!r}, not one; there are: {names}")
        return found[0]

    def _part(self, loop: LoopNode) -> Self:
        part = type(self)(self.timeline, loop)
        part.path = self.path
        return part

    # ── in words ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def story(self, marked: Iterable[CallNode] = ()) -> str:
        """Return what happened as short, safe lines; those of `marked` calls are pointed at."""
        return story(self.timeline.rows, self.loops, list(marked))

    def fail(self, reason: str, marked: Iterable[CallNode] = ()) -> NoReturn:
        """Fail with a reason and what happened below it.

        Raises:
            AssertionError: always.
        """
        __tracebackhide__ = True
        raise AssertionError(f"{reason}\nwhat happened:\n{self.story(marked)}")

    def __repr__(self) -> str:
        return f"<run of {self.agent}: {self.outcome}, {len(self.iterations)} iterations, {len(self.calls)} calls>"
