"""The search screen: words in everything that was recorded, in one run or in all of them; the first hits come at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, TypeAlias

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input

from loopkit.debugger.display import one_line
from loopkit.debugger.rows import count_text
from loopkit.debugger.search_over import Found, SearchOver
from loopkit_tui.commands import key_of
from loopkit_tui.painting import Span, cut, fit, shortened
from loopkit_tui.screens.asking import LineInput
from loopkit_tui.widgets.bars import Bar, KeyBar, RegionTitle
from loopkit_tui.widgets.virtual_list import VirtualList

SLICE_SECONDS = 0.005
PAUSE_SECONDS = 0.01
_LEAST = 2
_FILE_CELLS = 24
_PLACE_CELLS = 16
_SHOWN_BEFORE = 24

SearchAnswer: TypeAlias = Found | None


class HitList(VirtualList):
    """A line per hit: where it is, and the words around it."""

    def __init__(self, *, several: bool, id: str | None = None) -> None:
        super().__init__(id=id)
        self.found: Sequence[Found] = ()
        self._several = several

    def show_found(self, found: Sequence[Found]) -> None:
        self.found = found
        self.update_size()

    @property
    def chosen(self) -> Found | None:
        return self.found[self.cursor] if self.cursor < len(self.found) else None

    def count(self) -> int:
        return len(self.found)

    def draw(self, index: int, width: int, *, current: bool) -> list[Span]:
        found = self.found[index]
        hit = found.hit
        name = fit(shortened(one_line(found.path.name), _FILE_CELLS - 1), _FILE_CELLS) if self._several else ""
        place = one_line(f"{hit.loop.removeprefix('root/') or 'root'} it {hit.iteration}", 80)
        spans: list[Span] = [("▶ " if current else "  ", "key"), (name, "heading")]
        spans += [(fit(shortened(place, _PLACE_CELLS - 1), _PLACE_CELLS), "agent")]
        if width >= 100:
            spans.append((fit(one_line(hit.type, 40), 18), "muted"))
        room = width - sum(cell_len(text) for text, _ in spans) - 1
        before = one_line(hit.before[-_SHOWN_BEFORE:], 200)
        if hit.before[-1:].isspace():
            before += " "
        match = cut(one_line(hit.found, 200), room)
        after = one_line(hit.after, 200)
        if hit.after[:1].isspace():
            after = " " + after
        before = cut(before, max(0, room - cell_len(match)))
        return [*spans, (before, "muted"), (match, "waiting"),
                (cut(after, room - cell_len(before) - cell_len(match)), "muted")]  # fmt: skip


class SearchAllScreen(Screen[SearchAnswer]):
    """Words in some recordings; dismissed with a hit, or with None.

    Args:
        paths: the recordings.
        needle: words to begin with.
    """

    CSS_PATH = "searching.tcss"
    AUTO_FOCUS = "#needle"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "leave", "back"),
        ("down", "to_hits", "to the hits"),
    ]

    def __init__(self, paths: Sequence[Path], needle: str = "") -> None:
        super().__init__()
        self._paths = paths
        self._needle = needle
        self._search: SearchOver | None = None
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Bar(id="status")
        yield LineInput(value=self._needle, placeholder="words, in everything that was recorded", id="needle")
        yield RegionTitle(id="hits-title")
        yield HitList(several=len(self._paths) > 1, id="hits")
        yield Bar(id="about")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        self.hits = self.query_one(HitList)
        where = (
            one_line(self._paths[0].name, 80) if len(self._paths) == 1 else count_text(len(self._paths), "recording")
        )
        words: list[Span] = [(" loopkit  ", "key"), ("search ", "heading"), (f"in {where}", "muted")]
        self.query_one("#status", Bar).show(words)
        self._show()
        self._show_keys()

    @on(Input.Changed, "#needle")
    def _begin(self, message: Input.Changed) -> None:
        self._needle = message.value
        if self._timer is not None:
            self._timer.stop()
        long_enough = len(self._needle) >= _LEAST
        self._search = SearchOver(self._paths, self._needle) if long_enough else None
        self.hits.show_found(())
        self.hits.set_cursor(0)
        self._go_on()

    def _go_on(self) -> None:
        search = self._search
        if search is not None and not search.ended:
            if search.advance(SLICE_SECONDS):
                self.hits.show_found(search.found)
            if not search.ended:
                self._timer = self.set_timer(PAUSE_SECONDS, self._go_on)
        self._show()

    @property
    def searching(self) -> bool:
        """Whether there may be more hits."""
        return self._search is not None and not self._search.ended

    @on(VirtualList.CursorMoved)
    def _show(self) -> None:
        search = self._search
        if search is None:
            words, right = "type at least two letters", ""
        else:
            words = count_text(len(search.found), "hit")
            right = "" if search.ended else f"searching, {search.searched} of {search.files}"
            if search.unreadable:
                right += f"  {count_text(search.unreadable, 'file')} can't be read"
        title = self.query_one("#hits-title", RegionTitle)
        title.show_title(words, [(right, "waiting")] if right else [], focused=self.hits.has_focus)
        chosen = self.hits.chosen
        about: list[Span] = []
        if chosen is not None:
            hit = chosen.hit
            where = f" {one_line(chosen.path.name, 80)} · event {hit.seq} {one_line(hit.type, 40)} · {one_line(hit.field, 80)}"
            about = [(where, "muted")]
        self.query_one("#about", Bar).show(about)

    def _show_keys(self) -> None:
        typing = not self.hits.has_focus
        keys = [("enter", "to the hits"), ("esc", "back")] if typing else [
            ("enter", "go there"), ("j k", "move"), ("/", "other words"), ("q", "back")
        ]  # fmt: skip
        self.query_one(KeyBar).show_keys(keys)

    def on_descendant_focus(self) -> None:
        self._show_keys()
        self._show()

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    @on(Input.Submitted, "#needle")
    def action_to_hits(self) -> None:
        if self.hits.found:
            self.hits.focus()

    def action_leave(self) -> None:
        self.dismiss(None)

    @on(VirtualList.Chosen)
    def _take(self) -> None:
        if self.hits.chosen is not None:
            self.dismiss(self.hits.chosen)

    def on_key(self, event: events.Key) -> None:
        if not self.hits.has_focus:
            return
        key = key_of(event)
        moves = {"j": 1, "down": 1, "k": -1, "up": -1}
        pages = {"pagedown": 1, "ctrl+f": 1, "pageup": -1, "ctrl+b": -1}
        if key == "up" and self.hits.cursor == 0:
            self.query_one("#needle").focus()
        elif key in moves:
            self.hits.move(moves[key])
        elif key in pages:
            self.hits.page(pages[key])
        elif key in ("g", "home"):
            self.hits.move_to(0)
        elif key in ("G", "end"):
            self.hits.move_to(self.hits.count() - 1)
        elif key in ("enter", "l", "right"):
            self._take()
        elif key in ("/", "tab", "shift+tab"):
            self.query_one("#needle").focus()
        elif key in ("q", "escape"):
            self.dismiss(None)
        else:
            return
        event.stop()
        event.prevent_default()
