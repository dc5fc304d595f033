"""Lines in the language of conditions: the list of breakpoints with one to add, and what the timeline shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from loopkit.debugger.breakpoints import Breakpoint
from loopkit.debugger.condition_text import read_condition
from loopkit.debugger.display import one_line
from loopkit.errors import CommandRefused, ConditionError
from loopkit_tui.screens.asking import LineInput, LineScreen
from loopkit_tui.widgets.bars import Bar, KeyBar
from loopkit_tui.widgets.document import DocumentView, Item, Passage

if TYPE_CHECKING:
    from loopkit.debugger.session import Session

_WORDS = {"off": False, "on": True}


class ConditionScreen(LineScreen):
    """A line that is a condition; what can't be understood is pointed at, and the line stays."""

    def compose(self) -> ComposeResult:
        with Vertical(id="question"):
            yield Bar(id="question-title")
            lines = DocumentView(id="question-lines")
            lines.can_focus = False
            yield lines
            yield LineInput(value=self._value, placeholder=self._placeholder, id="line")
            yield KeyBar(id="question-keys")

    def on_mount(self) -> None:
        super().on_mount()
        self.show_lines([])

    def show_lines(self, items: list[Item]) -> None:
        """Draw lines above the one that is typed."""
        lines = self.query_one(DocumentView)
        lines.show_items(items)
        lines.styles.height = min(12, len(items))

    def refused(self, error: ConditionError | CommandRefused) -> list[Item]:
        """What says why a line was not taken."""
        pointer = error.pointer if isinstance(error, ConditionError) else ()
        return [Passage(text, indent=1, tone="bad") for text in (str(error), *pointer)]


class FilterScreen(ConditionScreen):
    """What the timeline shows: a condition, nothing for all rows, or None to leave it as it is."""

    def __init__(self, condition: str) -> None:
        super().__init__("only rows where", "such as error or tool == \"run_tests\"; nothing shows all", "condition",
                         "show", condition)  # fmt: skip

    @on(Input.Submitted)
    def _typed(self, message: Input.Submitted) -> None:
        message.stop()
        message.prevent_default()
        try:
            if message.value.strip():
                read_condition(message.value)
        except ConditionError as error:
            self.show_lines(self.refused(error))
            return
        self.dismiss(message.value)


class BreakpointsScreen(ConditionScreen):
    """All breakpoints, and a line that adds or switches one.

    Args:
        suggested: a condition to begin with.
    """

    def __init__(self, session: Session, suggested: str) -> None:
        super().__init__("breakpoints", "a condition adds one; off 2, on 2, del 2; once … stops once",
                         "condition", "do it", suggested, no="done")  # fmt: skip
        self._session = session

    def on_mount(self) -> None:
        super().on_mount()
        self._show([])

    @on(Input.Submitted)
    def _typed(self, message: Input.Submitted) -> None:
        message.stop()
        message.prevent_default()
        try:
            self._do(message.value.strip())
        except (ConditionError, CommandRefused) as error:
            self._show(self.refused(error))
            return
        self.query_one(LineInput).value = ""
        self._show([])

    def _do(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if not line:
            self.dismiss(None)
        elif word in _WORDS and rest.isdecimal():
            self._session.enable_breakpoint(int(rest), _WORDS[word])
        elif word == "del" and rest.isdecimal():
            self._session.remove_breakpoint(int(rest))
        elif word == "once" and rest:
            self._session.add_breakpoint(rest, one_shot=True)
        else:
            self._session.add_breakpoint(line)

    def _show(self, problems: list[Item]) -> None:
        listed: list[Item] = [
            Passage(breakpoint_line(one), indent=1, tone="plain" if one.enabled else "muted")
            for one in self._session.breakpoints[-8:]
        ]
        self.show_lines([*listed, *problems])


def breakpoint_line(one: Breakpoint) -> str:
    """Return a breakpoint as one safe line."""
    marks = "once" * one.one_shot, f"ignored {one.ignore}×" * bool(one.ignore), f"met {one.hits}×" * bool(one.hits)
    more = ", ".join(mark for mark in marks if mark)
    return f"{'●' if one.enabled else '○'} {one.number}  {one_line(one.condition, 300)}{f'   ({more})' if more else ''}"
