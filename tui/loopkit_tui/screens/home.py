"""The home screen: the demo agent to try, and the recordings at hand."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from textual import events, on
from textual.app import ComposeResult, SystemCommand
from textual.message import Message
from textual.screen import Screen

from loopkit.debugger.costs import cost_text
from loopkit.debugger.display import one_line, visible
from loopkit.debugger.library import RunSummary, bundled_recordings, fork_tree, list_runs, newest_first, summarise
from loopkit.debugger.rows import count_text
from loopkit.debugger.search_over import Found
from loopkit.debugger.searching import Hit
from loopkit.errors import UserError
from loopkit_tui.commands import Command, KeyReader, key_of
from loopkit_tui.painting import Span, shortened
from loopkit_tui.screens.keys import KeysScreen
from loopkit_tui.screens.searching import SearchAllScreen
from loopkit_tui.widgets.bars import Bar, KeyBar, RegionTitle
from loopkit_tui.widgets.run_list import RunList, column_titles
from loopkit_tui.widgets.virtual_list import VirtualList

_OFFER: tuple[Span, ...] = (
    ("● ", "good"),
    ("try it live: enter  ", "heading"),
    ("the demo agent: no key, no network needed", "muted"),
)


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

    class StartChosen(Message):
        """The person wants to start an agent of their own."""

    class RunChosen(Message):
        """The person wants to look at a recording, from its start or from what was found in it."""

        def __init__(self, path: Path, at: Hit | None = None) -> None:
            super().__init__()
            self.path = path
            self.at = at

    class PairChosen(Message):
        """The person wants to see two recordings beside each other."""

        def __init__(self, left: Path, right: Path) -> None:
            super().__init__()
            self.left = left
            self.right = right

    class Listed(Message):
        """The recordings were read."""

        def __init__(self, tree: list[tuple[int, RunSummary]], trouble: str) -> None:
            super().__init__()
            self.tree = tree
            self.trouble = trouble

    def __init__(self, folder: Path, *, bundled: bool = True) -> None:
        super().__init__()
        self._folder = folder
        self._bundled = bundled
        self._keys: KeyReader[HomeScreen] = KeyReader(HOME_COMMANDS)
        self._marked: list[Path] = []
        self.listed = False

    def compose(self) -> ComposeResult:
        yield Bar(id="status")
        yield Bar(id="hello")
        yield RegionTitle(id="runs-title")
        yield Bar(id="columns")
        yield RunList(_OFFER, id="runs")
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
        tree = newest_first(fork_tree(runs))
        if self._bundled:
            found = (summarise(path) for path in bundled_recordings() if path.resolve() not in known)
            tree += [(0, run) for run in found if run is not None]
        self.post_message(self.Listed(tree, trouble))

    @on(Listed)
    def _take_in(self, message: Listed) -> None:
        self.listed = True
        self.runs.show_runs(message.tree)
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

    def start(self) -> None:
        """Ask for an agent and a task."""
        self.post_message(self.StartChosen())

    def search(self) -> None:
        """Look for words in all recordings."""
        paths = [run.path for run in self.runs.runs if run.damaged is None]
        if not paths:
            self.notice("there is no recording to search", "muted")
            return

        def chosen(found: Found | None) -> None:
            if found is not None:
                self.post_message(self.RunChosen(found.path, found.hit))

        self.app.push_screen(SearchAllScreen(paths), chosen)

    def mark(self) -> None:
        """Mark the recording under the cursor for a comparison, or take its mark back; the third one replaces the first."""
        run = self.runs.chosen
        if run is None or run.damaged is not None:
            self.notice("only recordings are compared", "muted")
            return
        if run.path in self._marked:
            self._marked.remove(run.path)
        else:
            self._marked = [*self._marked[-1:], run.path]
        self.runs.show_marked(self._marked)
        self.runs.move(1)
        if len(self._marked) == 2:
            self.notice("two are marked: D shows them beside each other", "person")

    def compare(self) -> None:
        """Compare the marked two, or the marked one with the one under the cursor, or a fork with its parent."""
        run = self.runs.chosen
        pair = list(self._marked)
        if len(pair) < 2 and run is not None and run.damaged is None and run.path not in pair:
            parent = next(
                (each for each in self.runs.runs if run.parent is not None and each.run_id == run.parent), None
            )
            pair = [*pair, run.path] if pair or parent is None else [parent.path, run.path]
        if len(pair) == 2:
            self.post_message(self.PairChosen(pair[0], pair[1]))
        else:
            self.notice(
                "space marks a run, D on another one compares them; a fork is compared with its parent", "muted"
            )

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
        today = _today([run for run in self.runs.runs if run.path.parent == self._folder])
        self.query_one("#runs-title", RegionTitle).show_title(words, [(today, "muted")] if today else [], focused=True)
        self.query_one("#columns", Bar).show([(column_titles(self.size.width), "muted")])
        self.query_one("#about", Bar).show(self._about(self.runs.chosen))

    def _about(self, run: RunSummary | None) -> list[Span]:
        """What the line under the cursor has no room for."""
        if run is None:
            return [(f" recordings are kept in the folder {visible(str(self._folder))}{os.sep}", "muted")]
        if run.damaged is not None:
            return [(" ✗ ", "bad"), (one_line(run.damaged, 300), "bad")]
        fork = f"  ⑂ forked at event {run.forked_at}" if run.parent is not None and run.forked_at is not None else ""
        path = shortened(visible(str(run.path)), self.size.width - 2 - len(fork))
        return [(f" {path}", "muted"), (fork, "agent")]

    @on(VirtualList.Chosen)
    def _line_chosen(self) -> None:
        self.choose()

    def on_resize(self, event: events.Resize) -> None:
        self.query_one("#columns", Bar).show([(column_titles(event.size.width), "muted")])


def _today(runs: Sequence[RunSummary]) -> str:
    """How many runs began today, and what is known of their cost."""
    if not runs:
        return ""
    # a run of another day may stand above a newer fork of it, so the day is not that of the first line
    today = datetime.now(UTC).astimezone().date()  # noqa: TID251  # what today is decides nothing in a run
    begun = [run for run in runs if run.when.date() == today and run.damaged is None]
    costs = [run.cost for run in begun if run.cost is not None]
    return f"today: {count_text(len(begun), 'run')} {cost_text(sum(costs)) if costs else ''}".rstrip() if begun else ""


def _show_keys(screen: HomeScreen) -> None:
    screen.app.push_screen(KeysScreen([(c.group, c.keys_shown, c.words, c.name) for c in HOME_COMMANDS]))


HOME_COMMANDS: tuple[Command[HomeScreen], ...] = (
    Command("home.open", "open it", ("enter", "l", "right", "s"), lambda s: s.choose(), "home", "open"),
    Command("search.start", "search in all recordings", ("/",), lambda s: s.search(), "home", "search"),
    Command("home.start", "start an agent of yours", ("a",), lambda s: s.start(), "home", "start an agent"),
    Command("home.mark", "mark it, to compare two", ("space",), lambda s: s.mark(), "home", "mark"),
    Command("home.compare", "two marked ones beside each other; a fork beside its parent", ("D",),
            lambda s: s.compare(), "home", "diff"),
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
