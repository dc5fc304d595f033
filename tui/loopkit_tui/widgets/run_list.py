"""The list of recordings: forks behind the run that they were forked from, and as many columns as fit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len

from loopkit.debugger.costs import cost_text
from loopkit.debugger.display import one_line
from loopkit.debugger.library import RunSummary
from loopkit.debugger.rows import tokens_text
from loopkit.messages import Usage
from loopkit_tui.painting import Span, cut, fit, shortened
from loopkit_tui.widgets.virtual_list import VirtualList

_MARKS_CELLS = 5
_DEEPEST = 4
_GOOD = ("complete", "stop_condition")


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the list.

    Args:
        least: cells of the whole list from which on it is shown.
    """

    name: str
    cells: int
    least: int = 0


_COLUMNS = (
    _Column("when", 13),
    _Column("file", 25),
    _Column("agent", 15, 100),
    _Column("model", 14, 120),
    _Column("it", 4),
    _Column("calls", 6, 100),
    _Column("tok", 8, 110),
    _Column("cost", 8),
)
_WIDE_CELLS = 150
_WIDE_FILE = 40


class RunList(VirtualList):
    """A first line of one's own, where there is one, then a line per recording.

    Args:
        offer: the first line, or None.

    Attributes:
        families: the recordings with their levels.
        marked: files that the person marked.
    """

    def __init__(self, offer: Sequence[Span] | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.families: list[tuple[int, RunSummary]] = []
        self.marked: Collection[Path] = ()
        self._offer = offer

    def show_runs(self, tree: list[tuple[int, RunSummary]]) -> None:
        """Draw other recordings; the cursor stays with its file, or goes to the top."""
        chosen = self.chosen
        self.families = tree
        self.update_size()
        if chosen is None or not self.go_to(chosen.path):
            self.set_cursor(0)

    def show_marked(self, marked: Collection[Path]) -> None:
        self.marked = marked
        self.refresh()

    def go_to(self, path: Path) -> bool:
        """Put the cursor on a file; say whether it is there."""
        place = next((place for place, (_, run) in enumerate(self.families) if run.path == path), None)
        if place is not None:
            self.set_cursor(place + self._offered)
        return place is not None

    @property
    def runs(self) -> list[RunSummary]:
        """The recordings in the order in which they are shown."""
        return [run for _, run in self.families]

    @property
    def chosen(self) -> RunSummary | None:
        """The recording under the cursor; None is the first line of one's own."""
        place = self.cursor - self._offered
        return self.families[place][1] if 0 <= place < len(self.families) else None

    @property
    def _offered(self) -> int:
        return 0 if self._offer is None else 1

    def count(self) -> int:
        return len(self.families) + self._offered

    def draw(self, index: int, width: int, *, current: bool) -> list[Span]:
        mark: Span = ("▶ " if current else "  ", "key")
        if self._offer is not None and index == 0:
            return [mark, *self._offer]
        level, run = self.families[index - self._offered]
        if run.path in self.marked:
            mark = ("▶*" if current else " *", "person")
        return [mark, *_run_spans(run, level, width)]


def column_titles(width: int) -> str:
    """Return the heading of the columns at a width."""
    return "    " + "".join(fit(name, cells) for name, cells in _columns(width)) + "outcome"


def _columns(width: int) -> list[tuple[str, int]]:
    wide = width >= _WIDE_CELLS
    return [
        (column.name, _WIDE_FILE if wide and column.name == "file" else column.cells)
        for column in _COLUMNS
        if width >= column.least
    ]


def _run_spans(run: RunSummary, level: int, width: int) -> list[Span]:
    columns = _columns(width)
    if run.damaged is not None:
        when, *others = (cells for _, cells in columns)
        name = fit(_branch(level) + one_line(run.path.name), sum(others) - 1) + " "
        return [("✗ ", "bad"), (fit(_when(run), when), "muted"), (name, "plain"), ("damaged", "bad")]
    spans: list[Span] = [("⑂ " if run.parent else "◌ ", "muted")]
    for name, cells in columns:
        text, tone = _cell(run, level, name, cells - 1)
        spans.append((fit(text, cells - 1) + " ", tone))
    taken = _MARKS_CELLS + sum(cells for _, cells in columns)
    return [*spans, *_outcome_spans(run, width - taken)]


def _cell(run: RunSummary, level: int, column: str, cells: int) -> Span:
    match column:
        case "when":
            return _when(run), "muted"
        case "file":
            branch = _branch(level)
            return branch + shortened(one_line(run.path.name), cells - cell_len(branch)), "plain"
        case "agent":
            return one_line(run.agent or run.path.stem, 40), "heading"
        case "model":
            return one_line(run.model or "", 40), "muted"
        case "it":
            return str(run.iterations), "plain"
        case "calls":
            return str(run.calls), "plain"
        case "tok":
            return tokens_text(Usage(run.tokens)).removesuffix(" tok") if run.tokens is not None else "?", "muted"
    return cost_text(run.cost) or "-", "muted"


def _outcome_spans(run: RunSummary, room: int) -> list[Span]:
    """How it ended, cut so that what happened on the way stays in sight."""
    counts = (
        (run.errors, "✗", "bad"),
        (run.warnings, "⚠", "warning"),
        (run.edited, "✎", "person"),
        (run.denied, "⊘", "person"),
    )
    marks = [(f" {mark} {number}", tone) for number, mark, tone in counts if number]
    words = cut(one_line(run.outcome_text, 200), room - sum(cell_len(mark) for mark, _ in marks))
    return [(words, "good" if run.outcome in _GOOD else "warning"), *marks]


def _branch(level: int) -> str:
    return "  " * (min(level, _DEEPEST) - 1) + "└" if level else ""


def _when(run: RunSummary) -> str:
    return f"{run.when:%d %b %H:%M}"
