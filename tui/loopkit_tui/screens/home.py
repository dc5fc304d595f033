"""The home screen: the demo agent to try, and the recordings at hand."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult, SystemCommand
from textual.message import Message
from textual.screen import Screen

from loopkit.debugger.display import one_line, visible
from loopkit.debugger.library import RunSummary, bundled_recordings, list_runs, summarise
from loopkit.debugger.rows import count_text, tokens_text
from loopkit.errors import UserError
from loopkit.messages import Usage
from loopkit_tui.commands import Command, KeyReader, key_of
from loopkit_tui.painting import Span, cut, fit, shortened
from loopkit_tui.screens.keys import KeysScreen
from loopkit_tui.widgets.bars import Bar, KeyBar, RegionTitle
from loopkit_tui.widgets.virtual_list import VirtualList

_COLUMNS = (("when", 13), ("file", 21), ("agent", 15), ("model", 13), ("it", 4), ("calls", 6), ("tok", 8))
# a narrow list names the file of the line under the cursor only, in the line below it
_NARROW_WITHOUT = ("file", "model", "calls")
_NARROW_CELLS = 100


class RunList(VirtualList):
    """The demo in its first line, then a line per recording."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.runs: list[RunSummary] = []

    def show_runs(self, runs: list[RunSummary]) -> None:
        chosen = self.chosen
        self.runs = runs
        self.update_size()
        place = next((i for i, run in enumerate(runs, 1) if chosen is not None and run.path == chosen.path), 0)
        self.set_cursor(place)

    @property
    def chosen(self) -> RunSummary | None:
        """The recording under the cursor; None is the demo."""
        return self.runs[self.cursor - 1] if 0 < self.cursor <= len(self.runs) else None

    def count(self) -> int:
        return len(self.runs) + 1

    def draw(self, index: int, width: int, *, current: bool) -> list[Span]:
        mark: Span = ("▶ " if current else "  ", "key")
        if index == 0:
            words = "the demo agent: no key, no network needed"
            return [mark, ("● ", "good"), ("try it live: enter  ", "heading"), (words, "muted")]
        return [mark, *_run_spans(self.runs[index - 1], width)]


def column_titles(width: int) -> str:
    """Return the heading of the columns at a width."""
    return "    " + "".join(fit(name, cells) for name, cells in _columns(width)) + "outcome"


def _columns(width: int) -> list[tuple[str, int]]:
    return [(name, cells) for name, cells in _COLUMNS if width >= _NARROW_CELLS or name not in _NARROW_WITHOUT]


def _run_spans(run: RunSummary, width: int) -> list[Span]:
    if run.damaged is not None:
        when, *others = (cells for _, cells in _columns(width))
        name = fit(one_line(run.path.name), sum(others))
        return [("✗ ", "bad"), (fit(_when(run), when), "muted"), (name, "plain"), ("damaged", "bad")]
    values: dict[str, Span] = {
        "when": (_when(run), "muted"),
        "file": (shortened(one_line(run.path.name), dict(_COLUMNS)["file"] - 1), "plain"),
        "agent": (one_line(run.agent or run.path.stem, 40), "heading"),
        "model": (one_line(run.model or "", 40), "muted"),
        "it": (str(run.iterations), "plain"),
        "calls": (str(run.calls), "plain"),
        "tok": (tokens_text(Usage(run.tokens)).removesuffix(" tok") if run.tokens is not None else "?", "muted"),
    }
    spans: list[Span] = [("⑂ " if run.parent else "◌ ", "muted")]
    for name, cells in _columns(width):
        text, tone = values[name]
        spans.append((fit(text, cells - 1) + " ", tone))
    good = run.outcome in ("complete", "stop_condition")
    counts = ((run.errors, "✗", "bad"), (run.warnings, "⚠", "warning"), (run.edited, "✎", "person"))
    marks = [(f" {mark} {number}", tone) for number, mark, tone in (*counts, (run.denied, "⊘", "person")) if number]
    taken = 5 + sum(cells for _, cells in _columns(width)) + sum(cell_len(mark) for mark, _ in marks)
    good = run.outcome in ("complete", "stop_condition")
    spans.append((cut(one_line(run.outcome_text, 200), width - taken - 1) + " ", "good" if good else "warning"))
    return [*spans, *marks]


def _when(run: RunSummary) -> str:
    return f"{run.when:%d %b %H:%M}"


class HomeScreen(Screen[None]):
    """What there is to open.

    Args:
        folder: where recordings are kept.
        bundled: list the recordings that come with the package too.
    """

    CSS_PATH = "home.tcss"
    AUTO_FOCUS = "#runs"

    class DemoChosen(Message):
        """The person wants to try the demo agent."""

    class RunChosen(Message):
        """The person wants to look at a recording."""

        def __init__(self, path: Path) -> None:
            super().__init__()
            self.path = path

    class Listed(Message):
        """The recordings were read."""

        def __init__(self, runs: list[RunSummary], trouble: str) -> None:
            super().__init__()
            self.runs = runs
            self.trouble = trouble

    def __init__(self, folder: Path, *, bundled: bool = True) -> None:
        super().__init__()
        self._folder = folder
        self._bundled = bundled
        self._keys: KeyReader[HomeScreen] = KeyReader(HOME_COMMANDS)
        self.listed = False

    def compose(self) -> ComposeResult:
        yield Bar(id="status")
        yield Bar(id="hello")
        yield RegionTitle(id="runs-title")
        yield Bar(id="columns")
        yield RunList(id="runs")
        yield Bar(id="about")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        self.runs = self.query_one(RunList)
        self.query_one("#status", Bar).show(
            [(" loopkit  ", "key"), ("a debugger for LLM agents", "plain")], [("home ", "muted")]
        )
        words = "Walk through a run, or start one: it stops before tool calls, you decide."
        self.query_one("#hello", Bar).show([(f" {words}", "muted")])
        keys = [(c.keys[0], c.short) for c in HOME_COMMANDS if c.short]
        self.query_one(KeyBar).show_keys([*keys, ("?", "all keys")])
        self.read_runs()
        self._show()

    def on_screen_resume(self) -> None:
        if self.listed:
            self.read_runs()

    def read_runs(self) -> None:
        """Read the recordings, in a thread that nobody waits for at exit."""
        threading.Thread(target=self._read_runs, name="home", daemon=True).start()

    def _read_runs(self) -> None:
        runs: list[RunSummary] = []
        trouble = ""
        try:
            runs = list_runs(self._folder) if self._folder.is_dir() else []
        except UserError as error:
            trouble = one_line(str(error), 300)
        known = {run.path.resolve() for run in runs}
        if self._bundled:
            found = (summarise(path) for path in bundled_recordings() if path.resolve() not in known)
            runs += [run for run in found if run is not None]
        self.post_message(self.Listed(runs, trouble))

    @on(Listed)
    def _take_in(self, message: Listed) -> None:
        self.listed = True
        self.runs.show_runs(message.runs)
        self._show()
        if message.trouble:
            self.notice(message.trouble)

    def notice(self, words: str, tone: str = "bad") -> None:
        """Say something safe in the place of the keys, until the next key."""
        self.query_one(KeyBar).show_notice(words, tone)

    def system_commands(self) -> Iterable[SystemCommand]:
        """What the palette offers here."""
        for command in HOME_COMMANDS:
            yield SystemCommand(command.in_palette, command.words, partial(command.do, self))

    def choose(self) -> None:
        """Open what the cursor is on."""
        run = self.runs.chosen
        if run is None:
            self.post_message(self.DemoChosen())
        elif run.damaged is not None:
            self.notice(one_line(run.damaged, 300))
        else:
            self.post_message(self.RunChosen(run.path))

    def on_key(self, event: events.Key) -> None:
        self.query_one(KeyBar).clear_notice()
        command = self._keys.read(key_of(event))
        if command is not None:
            event.stop()
            event.prevent_default()
            command.do(self)

    @on(VirtualList.CursorMoved)
    def _show(self) -> None:
        count = len(self.runs.runs)
        words = count_text(count, "recording") if self.listed else "reading the recordings …"
        self.query_one("#runs-title", RegionTitle).show_title(words, focused=True)
        self.query_one("#columns", Bar).show([(column_titles(self.size.width), "muted")])
        run = self.runs.chosen
        if run is None:
            about: list[Span] = [(f" recordings are kept in the folder {visible(str(self._folder))}{os.sep}", "muted")]
        elif run.damaged is not None:
            about = [(" ✗ ", "bad"), (one_line(run.damaged, 300), "bad")]
        else:
            about = [(f" {shortened(visible(str(run.path)), self.size.width - 2)}", "muted")]
        self.query_one("#about", Bar).show(about)

    @on(VirtualList.Chosen)
    def _line_chosen(self) -> None:
        self.choose()

    def on_resize(self, event: events.Resize) -> None:
        self.query_one("#columns", Bar).show([(column_titles(event.size.width), "muted")])


def _show_keys(screen: HomeScreen) -> None:
    screen.app.push_screen(KeysScreen([(c.group, c.keys_shown, c.words, c.name) for c in HOME_COMMANDS]))


HOME_COMMANDS: tuple[Command[HomeScreen], ...] = (
    Command("home.open", "open it", ("enter", "l", "right", "s"), lambda s: s.choose(), "home", "open"),
    Command("row.down", "down a line", ("j", "down"), lambda s: s.runs.move(1), "home", "down"),
    Command("row.up", "up a line", ("k", "up"), lambda s: s.runs.move(-1), "home", "up"),
    Command("page.down", "down a page", ("pagedown", "ctrl+f"), lambda s: s.runs.page(1), "home"),
    Command("page.up", "up a page", ("pageup", "ctrl+b"), lambda s: s.runs.page(-1), "home"),
    Command("row.first", "to the top", ("g", "home"), lambda s: s.runs.move_to(0), "home"),
    Command("row.end", "to the end", ("G", "end"), lambda s: s.runs.move_to(s.runs.count() - 1), "home"),
    Command("home.read", "read the folder again", ("r",), lambda s: s.read_runs(), "home", "read again"),
    Command("screen.keys", "all keys", ("?",), _show_keys, "home"),
    Command("screen.palette", "find a command by its name", ("ctrl+p",),
            lambda s: s.app.action_command_palette(), "home"),
    Command("screen.leave", "quit", ("q",), lambda s: s.app.exit(), "home", "quit"),
    Command("app.quit", "quit at once, from anywhere", ("ctrl+c",), lambda s: s.app.exit(return_code=130), "home"),
)  # fmt: skip
