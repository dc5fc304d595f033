"""Two runs beside each other: rows of two columns, wrapped, with a cursor that goes from difference to difference."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from rich.cells import cell_len

from loopkit.debugger.comparison import RunComparison
from loopkit.debugger.side_by_side import Pair, side_by_side
from loopkit_tui.painting import Span, cut, fit, wrap
from loopkit_tui.widgets.virtual_list import VirtualList

_LEAD = 8
_TONES = {"=": ("muted", "muted"), "≠": ("bad", "good"), "-": ("bad", "bad"), "+": ("good", "good"), "": ("plain",) * 2}
_ACROSS = ("loop", "same", "difference", "more")
_TONE_OF_WORDS = {"loop": "agent", "same": "muted", "difference": "warning", "more": "key"}


class DiffView(VirtualList):
    """A comparison; what is the same is folded.

    Attributes:
        pairs: the rows that are shown.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.pairs: Sequence[Pair] = ()
        self._compared: RunComparison | None = None
        self._chosen: dict[str, bool] = {}
        self._known: dict[str, bool] = {}
        self._ends: list[int] = []
        self._laid_out_for = -1

    def show_comparison(self, compared: RunComparison) -> None:
        """Draw a comparison, with the cursor where the runs part."""
        self._compared = compared
        self._make_pairs()
        self.go_to_difference(1, from_start=True)

    # ── folding ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def pair(self) -> Pair | None:
        """The row under the cursor."""
        return self.pairs[self._place] if self.pairs else None

    def toggle_fold(self) -> bool:
        """Fold or unfold what the cursor is on; say whether there was anything."""
        pair = self.pair
        if pair is None or not pair.key:
            return False
        self._chosen[pair.key] = not self._known.get(pair.key, False)
        self._make_pairs()
        place = next(place for place, each in enumerate(self.pairs) if each.key == pair.key)
        self.set_cursor(self._first_line(place))
        return True

    def fold_all(self, *, folded: bool) -> None:
        """Fold, or unfold, everything; new folds that appear by unfolding included."""
        # what is folded now may hide what can be unfolded next
        for _ in range(3):
            self._chosen.update(dict.fromkeys(self._known, not folded))
            self._make_pairs()
        self.set_cursor(0)

    def _unfolded(self, key: str, by_itself: bool) -> bool:
        self._known[key] = unfolded = self._chosen.get(key, by_itself)
        return unfolded

    def _make_pairs(self) -> None:
        self._known = {}
        self.pairs = () if self._compared is None else side_by_side(self._compared, self._unfolded)
        self._laid_out_for = -1
        self.update_size()

    # ── moving ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def go_to_difference(self, direction: int, *, from_start: bool = False) -> bool:
        """Put the cursor on the next place where the runs differ, or the one before; say whether there is one."""
        start = -1 if from_start else self._place
        places = range(start + 1, len(self.pairs)) if direction > 0 else range(start - 1, -1, -1)
        place = next((place for place in places if self.pairs[place].parted), None)
        if place is not None:
            self.move_to(self._first_line(place))
        return place is not None

    @property
    def _place(self) -> int:
        return min(bisect_right(self._ends, self.cursor), len(self.pairs) - 1)

    def _first_line(self, place: int) -> int:
        return self._ends[place - 1] if place else 0

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def count(self) -> int:
        return self._ends[-1] if self._ends else 0

    def update_size(self) -> None:
        if self._laid_out_for != self.size.width:
            self._laid_out_for = self.size.width
            self._ends = list(accumulate(self._height(pair) for pair in self.pairs))
        super().update_size()

    def _height(self, pair: Pair) -> int:
        if pair.kind in _ACROSS:
            return 1
        one, other = column_cells(self.size.width)
        return max(len(wrap(text, cells)) if text else 1 for text, cells in ((pair.left, one), (pair.right, other)))

    def draw(self, index: int, width: int, *, current: bool) -> list[Span]:
        place = min(bisect_right(self._ends, index), len(self.pairs) - 1)
        pair = self.pairs[place]
        row = index - self._first_line(place)
        marker: Span = ("▶" if current else " ", "key")
        if pair.kind in _ACROSS:
            return [marker, *self._across(pair, width - 1)]
        return [marker, *_columns(pair, row, width)]

    def _across(self, pair: Pair, width: int) -> list[Span]:
        indent = {"loop": 0, "same": 2}.get(pair.kind, 7)
        fold = ""
        if pair.key and pair.kind == "same":
            fold = "▾ " if self._known.get(pair.key) else "▸ "
        mark = f"{pair.mark} " if pair.kind in ("loop", "same") else "↓ " if pair.kind == "more" else ""
        words = cut(f"{' ' * indent}{mark}{fold}{pair.words}", width)
        return [(words, _TONE_OF_WORDS[pair.kind])]


def column_cells(width: int) -> tuple[int, int]:
    """Return the cells of the left and the right column of a list that is `width` wide."""
    room = max(2, width - _LEAD - 4)
    return room // 2, room - room // 2


def _columns(pair: Pair, row: int, width: int) -> list[Span]:
    one, other = column_cells(width)
    left_tone, right_tone = _TONES[pair.mark]
    if pair.kind == "step" and pair.mark in ("≠", "="):
        left_tone = right_tone = "plain" if pair.mark == "≠" else "muted"
    lead = (
        fit(f"  {pair.mark} {pair.words}" if pair.kind == "step" else f"      {pair.mark}", _LEAD - 1)
        if not row
        else ""
    )
    tone = {"≠": "warning", "-": "bad", "+": "good"}.get(pair.mark, "muted")
    spans: list[Span] = [(fit(lead, _LEAD), tone)]
    spans += [(fit(_row(pair.left, row, one), one), left_tone), (" │ ", "rule")]
    return [*spans, (fit(_row(pair.right, row, other), other), right_tone)]


def _row(text: str | None, row: int, cells: int) -> str:
    rows = wrap(text, cells) if text else []
    return rows[row] if row < len(rows) else ""


def heads(left: Sequence[Span], right: Sequence[Span], width: int) -> list[Span]:
    """Return a line above the columns, each side cut to its own."""
    one, other = column_cells(width)
    return [(" " * (_LEAD + 1), "plain"), *_cut(left, one), (" │ ", "rule"), *_cut(right, other)]


def _cut(spans: Sequence[Span], cells: int) -> list[Span]:
    shown: list[Span] = []
    for text, tone in spans:
        piece = cut(text, cells)
        shown.append((piece, tone))
        cells -= cell_len(piece)
    return [*shown, (" " * max(0, cells), "plain")]
