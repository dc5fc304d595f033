"""Text of any size as drawn lines: laid out for a width at once, turned into cells only where it is seen.

A 5 MB result or a line of 1 MB opens as fast as a short one (spec/performance.md goal 14, spec/faults.md e11): lines
of a large text are broken at fixed places, so that their height is a division.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

from rich.cells import cell_len

from loopkit.debugger.display import visible
from loopkit_tui.painting import Span, cut, wrap
from loopkit_tui.widgets.virtual_list import VirtualList

_LARGE = 20_000
_LONG_LINE = 2_000
_TAB = 4
_NARROW = 24


class Item(Protocol):
    """Some lines of a document.

    Attributes:
        key: what folds when a person presses enter on it, or empty.
    """

    key: str

    def height(self, width: int) -> int:
        """How many lines it takes when each has `width` cells."""
        ...

    def line(self, row: int, width: int) -> list[Span]:
        """One of these lines."""
        ...


class Words:
    """One line of spans, cut where it is too long."""

    def __init__(self, *spans: Span, key: str = "") -> None:
        self.spans = spans
        self.key = key

    def height(self, width: int) -> int:
        return 1

    def line(self, row: int, width: int) -> list[Span]:
        shown: list[Span] = []
        room = width
        for text, tone in self.spans:
            piece = cut(text, room)
            shown.append((piece, tone))
            room -= cell_len(piece)
            if piece != text:
                break
        return shown


class Facts:
    """Short facts beside each other, going on in the next line where they don't fit."""

    def __init__(self, *facts: Span) -> None:
        self.facts = [fact for fact in facts if fact[0]]
        self.key = ""

    def height(self, width: int) -> int:
        return len(self._rows(width))

    def line(self, row: int, width: int) -> list[Span]:
        return self._rows(width)[row]

    def _rows(self, width: int) -> list[list[Span]]:
        rows: list[list[Span]] = [[]]
        used = 0
        for text, tone in self.facts:
            shown = cut(text, width - 2)
            length = cell_len(shown)
            if rows[-1] and used + 3 + length > width:
                rows.append([])
                used = 0
            if rows[-1]:
                rows[-1].append((" · ", "muted"))
                used += 3
            rows[-1].append((shown, tone))
            used += length
        return rows


class Labelled:
    """A label, and safe words beside it that go on below their own beginning, or below the label where that is narrow.

    Args:
        label: spans of the first row.
        words: safe text on one line.
    """

    def __init__(self, label: Sequence[Span], words: str, tone: str = "plain") -> None:
        self.key = ""
        self._label = label
        self._words = words
        self._tone = tone

    def height(self, width: int) -> int:
        return len(self._rows(width))

    def line(self, row: int, width: int) -> list[Span]:
        return self._rows(width)[row]

    def _rows(self, width: int) -> list[list[Span]]:
        beside = sum(cell_len(text) for text, _ in self._label)
        if width - beside < min(_NARROW, cell_len(self._words)):
            below: list[list[Span]] = [
                [(" " * _TAB, "plain"), (row, self._tone)] for row in wrap(self._words, max(1, width - _TAB))
            ]
            return [Words(*self._label).line(0, width), *below]
        first, *rest = wrap(self._words, max(1, width - beside))
        return [[*self._label, (first, self._tone)], *([(" " * beside, "plain"), (row, self._tone)] for row in rest)]


class Passage:
    """Text as it is, wrapped; every character that acts or hides is shown as an escape.

    Args:
        text: anything.
        indent: cells of space before each line.
        lead: drawn instead of the indent's end, such as `│ `.
        key: what folds on it.
    """

    def __init__(
        self,
        text: str,
        *,
        indent: int = 2,
        tone: str = "plain",
        lead: str = "",
        lead_tone: str = "rule",
        key: str = "",
    ) -> None:
        self.key = key
        self.tone = tone
        self._lead_tone = lead_tone
        self._lead = (" " * indent) + lead
        self._lines = text.split("\n")
        self._large = len(text) > _LARGE
        self._width = -1
        self._ends: list[int] = []
        self._fillings = {index: _filling(line) for index, line in enumerate(self._lines) if len(line) > _LONG_LINE}

    def height(self, width: int) -> int:
        self._lay_out(width)
        return self._ends[-1]

    def line(self, row: int, width: int) -> list[Span]:
        self._lay_out(width)
        index = bisect_right(self._ends, row)
        first = self._ends[index - 1] if index else 0
        return [(self._lead, self._lead_tone), (self._piece(index, row - first), self.tone)]

    def _lay_out(self, width: int) -> None:
        room = max(1, width - cell_len(self._lead))
        if room != self._width:
            self._width = room
            self._ends = list(accumulate(self._rows(index, line) for index, line in enumerate(self._lines)))

    def _rows(self, index: int, line: str) -> int:
        if len(line) > _LONG_LINE:
            return -(-len(line) // self._step(index))
        shown = _shown(line)
        if shown.isascii() and (self._large or len(shown) <= self._width):
            return max(1, -(-len(shown) // self._width))
        return len(wrap(shown, self._width))

    def _piece(self, index: int, row: int) -> str:
        line = self._lines[index]
        if len(line) > _LONG_LINE:
            step = self._step(index)
            return _shown(line[row * step : (row + 1) * step])
        shown = _shown(line)
        if shown.isascii() and self._large:
            return shown[row * self._width : (row + 1) * self._width]
        return wrap(shown, self._width)[row]

    def _step(self, index: int) -> int:
        """Characters in a row of a long line."""
        return max(1, self._width // self._fillings[index])


def _filling(line: str) -> int:
    """Cells that a character of a line fills at most: one, two when it may be wide, ten as an escape."""
    if not line.isprintable():
        return 10
    return 1 if line.isascii() else 2


def _shown(line: str) -> str:
    if line.isascii() and line.isprintable():
        return line
    return visible(line).expandtabs(_TAB)


class DocumentView(VirtualList):
    """Items under each other, with a cursor that shows where the keyboard is."""

    SHOWS_CURSOR_UNFOCUSED = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._items: Sequence[Item] = ()
        self._ends: list[int] = []
        self._laid_out_for = -1

    def show_items(self, items: Sequence[Item], *, keep_place: bool = False) -> None:
        """Draw other items, from the top unless the place is kept."""
        self._items = items
        self._laid_out_for = -1
        self._lay_out()
        self.update_size()
        if not keep_place:
            self.set_cursor(0)
            self.scroll_to(y=0, animate=False, force=True)

    @property
    def lines_below(self) -> int:
        """How many lines are below what is seen."""
        return max(0, self.count() - self.scroll_offset.y - self.size.height) if self.size.height else 0

    def key_under_cursor(self) -> str:
        """What enter folds here, or empty."""
        if not self.count():
            return ""
        return self._items[bisect_right(self._ends, self.cursor)].key

    def count(self) -> int:
        return self._ends[-1] if self._ends else 0

    def draw(self, index: int, width: int, *, current: bool) -> list[Span]:
        place = bisect_right(self._ends, index)
        first = self._ends[place - 1] if place else 0
        marker: Span = ("▶" if current else " ", "key")
        return [marker, *self._items[place].line(index - first, self._laid_out_for)]

    def update_size(self) -> None:
        self._lay_out()
        super().update_size()

    @property
    def _room(self) -> int:
        return max(1, self.size.width - 2)

    def _lay_out(self) -> None:
        if self._laid_out_for != self._room:
            self._laid_out_for = self._room
            self._ends = list(accumulate(max(1, item.height(self._room)) for item in self._items))
