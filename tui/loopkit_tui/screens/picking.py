"""A choice from a list: one of the recordings at hand, or one of several things to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from loopkit.debugger.library import RunSummary, fork_tree, newest_first
from loopkit_tui.commands import key_of
from loopkit_tui.painting import Span
from loopkit_tui.widgets.bars import Bar, KeyBar
from loopkit_tui.widgets.run_list import RunList, column_titles
from loopkit_tui.widgets.virtual_list import VirtualList

Choice: TypeAlias = tuple[str, str]
"""A key, and what it does."""


class ChoiceList(VirtualList):
    """Things to do, each with its key."""

    def __init__(self, choices: Sequence[Choice], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._choices = choices

    def count(self) -> int:
        return len(self._choices)

    def draw(self, index: int, width: int, *, current: bool) -> list[Span]:
        key, words = self._choices[index]
        return [("▶ " if current else "  ", "key"), (f"{key}  ", "key"), (words, "plain")]


class PickScreen(ModalScreen[str | None]):
    """One of several things to do, by its key or with the cursor; or None.

    Args:
        choices: the key of each, which is also what the screen is dismissed with, and its words.
    """

    CSS_PATH = "picking.tcss"
    AUTO_FOCUS = "#choices"

    def __init__(self, title: str, beside: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._title = title
        self._beside = beside
        self._choices = choices

    def compose(self) -> ComposeResult:
        with Vertical(id="picking"):
            yield Bar(id="picking-title")
            yield ChoiceList(self._choices, id="choices")
            yield KeyBar(id="picking-keys")

    def on_mount(self) -> None:
        self.query_one("#picking-title", Bar).show([(f" {self._title}  ", "heading"), (self._beside, "muted")])
        choices = self.query_one(ChoiceList)
        choices.styles.height = len(self._choices)
        self.query_one(KeyBar).show_keys([("enter", "this one"), ("j k", "move"), ("esc", "never mind")])

    @on(VirtualList.Chosen)
    def _clicked(self) -> None:
        self._take()

    def _take(self) -> None:
        self.dismiss(self._choices[self.query_one(ChoiceList).cursor][0])

    def on_key(self, event: events.Key) -> None:
        key = key_of(event)
        moves = {"j": 1, "down": 1, "k": -1, "up": -1}
        if key in moves:
            self.query_one(ChoiceList).move(moves[key])
        elif key == "enter":
            self._take()
        elif any(key == choice for choice, _ in self._choices):
            self.dismiss(key)
        elif key in ("q", "escape"):
            self.dismiss(None)
        event.stop()
        event.prevent_default()


class PickRunScreen(ModalScreen[Path | None]):
    """One of some recordings, or None."""

    CSS_PATH = "picking.tcss"
    AUTO_FOCUS = "#runs"

    def __init__(self, title: str, runs: Sequence[RunSummary]) -> None:
        super().__init__()
        self._title = title
        self._runs = runs

    def compose(self) -> ComposeResult:
        with Vertical(id="picking"):
            yield Bar(id="picking-title")
            yield Bar(id="columns")
            yield RunList(id="runs")
            yield KeyBar(id="picking-keys")

    def on_mount(self) -> None:
        self.query_one("#picking-title", Bar).show([(f" {self._title}", "heading")])
        self.query_one("#columns", Bar).show([(column_titles(self.app.size.width), "muted")])
        runs = self.query_one(RunList)
        runs.show_runs(newest_first(fork_tree(self._runs)))
        self.query_one(KeyBar).show_keys([("enter", "this one"), ("j k", "move"), ("esc", "never mind")])

    @on(VirtualList.Chosen)
    def _clicked(self) -> None:
        self._take()

    def _take(self) -> None:
        chosen = self.query_one(RunList).chosen
        self.dismiss(None if chosen is None else chosen.path)

    def on_key(self, event: events.Key) -> None:
        key = key_of(event)
        runs = self.query_one(RunList)
        moves = {"j": 1, "down": 1, "k": -1, "up": -1, "pagedown": 15, "pageup": -15}
        if key in moves:
            runs.move(moves[key])
        elif key in ("enter", "l", "right"):
            self._take()
        elif key in ("q", "escape"):
            self.dismiss(None)
        event.stop()
        event.prevent_default()
