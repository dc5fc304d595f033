"""The calls that wait for a person, in the order in which they were asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopkit.debugger.display import arguments_line, one_line
from loopkit_tui.painting import Span
from loopkit_tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from loopkit.debugger.status import PendingDecision


class PendingView(VirtualList):
    """One line a call; the one that decision keys would decide is marked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.pending: list[PendingDecision] = []
        self._chosen = ""

    def show_pending(self, pending: list[PendingDecision], chosen: str) -> None:
        """Draw other calls; `chosen` is the id of the one whose detail is shown."""
        self.pending = pending
        self._chosen = chosen
        self.update_size()
        index = next((index for index, one in enumerate(pending) if one.call == chosen), None)
        if index is not None:
            self.set_cursor(index)

    def count(self) -> int:
        return len(self.pending)

    def draw(self, index: int, width: int, *, current: bool) -> list[Span]:
        one = self.pending[index]
        chosen = one.call == self._chosen
        path = " › ".join(one_line(agent, 20) for agent in one.agents)
        spans: list[Span] = [
            ("▶" if chosen else " ", "key"),
            ("◆ " if chosen else "◇ ", "waiting"),
            (f"{path}  ", "agent"),
            (f"{one_line(one.name, 40)} ", "name"),
            (f"({arguments_line(one.arguments, 120)})", "muted"),
        ]
        if one.problems:
            spans.insert(2, ("✗ ", "bad"))
        elif one.warnings:
            spans.insert(2, ("⚠ ", "warning"))
        return spans
