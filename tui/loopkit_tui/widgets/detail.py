"""The region beside the timeline: everything about the selected row, its request, and its raw events."""

from __future__ import annotations

from collections.abc import Sequence

from loopkit.debugger.nodes import Row
from loopkit.debugger.ways import same_row
from loopkit.events import Event
from loopkit_tui.describing import Surroundings, describe
from loopkit_tui.requests import describe_raw, describe_request
from loopkit_tui.widgets.document import DocumentView, Item

TABS = ("Detail", "Request", "Raw")
RAW_TAB = 2


class DetailView(DocumentView):
    """Shows one row; what a person folded stays folded while they look at that row.

    Attributes:
        tab: 0 the row itself, 1 its request, 2 its raw events.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.tab = 0
        self._row: Row | None = None
        self._events: Sequence[Event] = ()
        self._around = Surroundings()
        self._chosen: dict[str, bool] = {}
        self._open: dict[str, bool] = {}

    def show_row(self, row: Row | None, events: Sequence[Event], around: Surroundings) -> None:
        """Draw a row, from its top when it is another one than before."""
        same = same_row(row, self._row)
        if not same:
            self._chosen = {}
        self._row, self._events, self._around = row, events, around
        self._draw(keep_place=same)

    def show_tab(self, tab: int) -> None:
        if tab != self.tab:
            self.tab = tab
            self._draw(keep_place=False)

    def toggle_fold(self) -> bool:
        """Fold or unfold what the cursor is on; say whether there was anything."""
        key = self.key_under_cursor()
        if not key:
            return False
        self.set_fold(key, folded=not self._open.get(key, False))
        return True

    def fold_under_cursor(self, *, folded: bool) -> bool:
        """Fold, or unfold, what the cursor is on; say whether that changed anything."""
        key = self.key_under_cursor()
        if not key or self._open.get(key, False) == folded:
            return False
        self.set_fold(key, folded=folded)
        return True

    def set_fold(self, key: str, *, folded: bool) -> None:
        self._chosen[key] = folded
        self._draw(keep_place=True)

    def fold_all(self, *, folded: bool) -> None:
        """Fold, or unfold, everything on this tab; new folds that appear by unfolding included."""
        for _ in range(12):
            known = dict(self._open)
            self._chosen.update(dict.fromkeys(known, folded))
            self._draw(keep_place=True)
            if folded or self._open.keys() == known.keys():
                break

    def _folded(self, key: str, by_itself: bool) -> bool:
        folded = self._chosen.get(key, by_itself)
        self._open[key] = folded
        return folded

    def _draw(self, *, keep_place: bool) -> None:
        self._open = {}
        items: list[Item] = []
        if self._row is not None:
            if self.tab == 0:
                items = list(describe(self._row, self._around, self._folded))
            elif self.tab == 1:
                items = list(describe_request(self._row, self._folded, self._around.sent))
            else:
                items = list(describe_raw(self._events, self._folded))
        self.show_items(items, keep_place=keep_place)
        self.refresh()
