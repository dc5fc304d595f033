"""The diff screen: two runs aligned beside each other; it begins where they part."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import events, on
from textual.app import ComposeResult, SystemCommand
from textual.screen import Screen

from loopkit.debugger.comparison import RunComparison
from loopkit.debugger.comparison_report import comparison_lines, verdict
from loopkit.debugger.display import one_line
from loopkit.debugger.nodes import IterationNode
from loopkit.debugger.recorded import OpenedRun
from loopkit.debugger.report import totals_text
from loopkit.debugger.rows import outcome_text
from loopkit_tui.commands import Command, KeyReader, key_of
from loopkit_tui.painting import Span, shortened
from loopkit_tui.screens.keys import KeysScreen
from loopkit_tui.widgets.bars import Bar, KeyBar
from loopkit_tui.widgets.diff import DiffView, column_cells, heads
from loopkit_tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from loopkit_tui.app import LoopkitApp


class DiffScreen(Screen[None]):
    """Two runs, aligned.

    Args:
        compared: the runs; for a fork, its parent stands left.
    """

    CSS_PATH = "diff.tcss"
    AUTO_FOCUS = "#diff"

    def __init__(self, compared: RunComparison) -> None:
        super().__init__()
        self.compared = compared
        self._keys: KeyReader[DiffScreen] = KeyReader(DIFF_COMMANDS)

    def compose(self) -> ComposeResult:
        yield Bar(id="status")
        yield Bar(id="verdict")
        yield Bar(id="files")
        yield Bar(id="outcomes")
        yield Bar(id="measures")
        yield DiffView(id="diff")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        self.diff = self.query_one(DiffView)
        words = "the same" if self.compared.same else verdict(self.compared)
        mark: Span = ("= ", "good") if self.compared.same else ("≠ ", "warning")
        self.query_one("#verdict", Bar).show([(" ", "plain"), mark, (words, "heading")])
        shared = self.compared.shared
        fork = f"B is a fork of A, from event {shared} on  " if shared is not None else ""
        self.query_one("#status", Bar).show([(" loopkit  ", "key"), ("two runs beside each other", "plain")],
                                            [(fork, "agent"), ("diff ", "muted")])  # fmt: skip
        keys = [(c.keys[0], c.short) for c in DIFF_COMMANDS if c.short]
        self.query_one(KeyBar).show_keys([*keys, ("?", "all keys")])
        self.diff.show_comparison(self.compared)
        self._show_heads()

    def on_resize(self, _: events.Resize) -> None:
        self._show_heads()

    def _show_heads(self) -> None:
        width = self.diff.size.width or self.size.width
        left, right = self.compared.left, self.compared.right
        cells = column_cells(width)
        files: list[list[Span]] = [
            [(f"{name} ", "key"), (shortened(one_line(run.path.name, 200), room - 2), "heading")]
            for name, run, room in (("A", left, cells[0]), ("B", right, cells[1]))
        ]
        self.query_one("#files", Bar).show(heads(files[0], files[1], width))
        self.query_one("#outcomes", Bar).show(heads(_outcome(left), _outcome(right), width))
        self.query_one("#measures", Bar).show(heads(_measures(left), _measures(right), width))

    def notice(self, words: str, tone: str = "bad") -> None:
        """Say something safe in the place of the keys, until the next key."""
        self.query_one(KeyBar).show_notice(words, tone)

    def system_commands(self) -> Iterable[SystemCommand]:
        """What the palette offers here."""
        for command in DIFF_COMMANDS:
            yield SystemCommand(command.in_palette, command.words, partial(command.do, self))

    def on_key(self, event: events.Key) -> None:
        self.query_one(KeyBar).clear_notice()
        command = self._keys.read(key_of(event))
        if command is not None:
            event.stop()
            event.prevent_default()
            command.do(self)

    @on(VirtualList.Chosen)
    def _line_chosen(self) -> None:
        self.toggle()

    # ── what commands do ─────────────────────────────────────────────────────────────────────────────────────────────

    def find(self, direction: int) -> None:
        if not self.diff.go_to_difference(direction):
            self.notice("no difference " + ("below" if direction > 0 else "above"), "muted")

    def toggle(self) -> None:
        if not self.diff.toggle_fold():
            self.notice("nothing folds here", "muted")

    def leave(self) -> None:
        self.app.pop_screen()

    def open_side(self, side: int) -> None:
        """Show one of the runs at the iteration under the cursor."""
        run = (self.compared.left, self.compared.right)[side]
        pair = self.diff.pair
        step = pair.step if pair is not None else None
        iteration: IterationNode | None = None
        if step is not None:
            iteration = (step.left, step.right)[side]
        place = None if iteration is None else (iteration.loop.path, iteration.number)
        cast("LoopkitApp", self.app).open_run(run.path, place)

    def swap(self) -> None:
        cast("LoopkitApp", self.app).swap_comparison(self.compared)

    def copy(self) -> None:
        self.app.copy_to_clipboard("\n".join(line for line, _ in comparison_lines(self.compared)))
        self.notice("copied, if this terminal lets programs copy", "good")


def _outcome(run: OpenedRun) -> list[Span]:
    root = run.timeline.root
    good = root is not None and root.failure is None and root.ended
    return [(outcome_text(root) if root is not None else "empty", "good" if good else "warning")]


def _measures(run: OpenedRun) -> list[Span]:
    return [(totals_text(run.timeline, run.source_format), "muted")]


def _show_keys(screen: DiffScreen) -> None:
    screen.app.push_screen(KeysScreen([(c.group, c.keys_shown, c.words, c.name) for c in DIFF_COMMANDS]))


DIFF_COMMANDS: tuple[Command[DiffScreen], ...] = (
    Command("difference.next", "to the next difference", ("n", "]d"), lambda s: s.find(1), "diff", "next"),
    Command("difference.previous", "to the difference before", ("N", "[d"), lambda s: s.find(-1), "diff", "previous"),
    Command("row.toggle", "fold or unfold what is the same, or long", ("enter", "space", "h", "l", "left", "right"),
            lambda s: s.toggle(), "diff", "unfold"),
    Command("diff.unfold_all", "unfold everything", ("+",), lambda s: s.diff.fold_all(folded=False), "diff", "all"),
    Command("diff.fold_all", "fold everything", ("-",), lambda s: s.diff.fold_all(folded=True), "diff"),
    Command("diff.open_left", "open run A at this iteration", ("1",), lambda s: s.open_side(0), "diff", "open A"),
    Command("diff.open_right", "open run B at this iteration", ("2",), lambda s: s.open_side(1), "diff", "open B"),
    Command("diff.swap", "the other way round", ("x",), lambda s: s.swap(), "diff", "swap"),
    Command("diff.copy", "copy the comparison as text", ("y",), lambda s: s.copy(), "diff"),
    Command("row.down", "down a line", ("j", "down"), lambda s: s.diff.move(1), "diff"),
    Command("row.up", "up a line", ("k", "up"), lambda s: s.diff.move(-1), "diff"),
    Command("page.down", "down a page", ("pagedown", "ctrl+f"), lambda s: s.diff.page(1), "diff"),
    Command("page.up", "up a page", ("pageup", "ctrl+b"), lambda s: s.diff.page(-1), "diff"),
    Command("row.first", "to the top", ("g", "home"), lambda s: s.diff.move_to(0), "diff"),
    Command("row.end", "to the end", ("G", "end"), lambda s: s.diff.move_to(s.diff.count() - 1), "diff"),
    Command("screen.keys", "all keys", ("?",), _show_keys, "diff"),
    Command("screen.palette", "find a command by its name", ("ctrl+p",),
            lambda s: s.app.action_command_palette(), "diff"),
    Command("screen.leave", "back", ("q", "escape"), lambda s: s.leave(), "diff", "back"),
    Command("app.quit", "quit at once, from anywhere", ("ctrl+c",), lambda s: s.app.exit(return_code=130), "diff"),
)  # fmt: skip
