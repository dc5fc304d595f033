"""The lines around the regions of a run screen: how it stands, the titles, the keys that do something now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from loopkit.debugger.rows import count_text
from loopkit_tui.describing import row_title
from loopkit_tui.painting import Span
from loopkit_tui.screens.run_commands import RUN_COMMANDS, decides
from loopkit_tui.standing import context_spans, now_spans, status_spans
from loopkit_tui.widgets.bars import Bar, RegionTitle
from loopkit_tui.widgets.detail import TABS

if TYPE_CHECKING:
    from loopkit_tui.screens.run import RunScreen


def draw_bars(screen: RunScreen) -> None:
    """Draw the lines around the regions."""
    left, right = status_spans(screen.session, screen.status)
    screen.query_one("#status", Bar).show(left, [*right[:1], *context_spans(screen), *right[1:]])
    now = screen.query_one("#now", Bar)
    now.show(*now_spans(screen))
    now.set_class(screen.steers and bool(screen.decisions.pending), "waits")
    row = screen.timeline.selected
    rows = screen.timeline.count()
    place = f" {screen.timeline.cursor + 1} of {rows:,}" if rows else " nothing yet"
    _title(screen, "timeline", "timeline", [*screen.reading.spans(), (place, "muted")])
    screen.query_one("#timeline-title", RegionTitle).refresh()
    tabs = [
        (f" {number}·{name}", "key" if number - 1 == screen.detail.tab else "muted")
        for number, name in enumerate(TABS, 1)
    ]
    below = screen.detail.lines_below
    tone = "warning" if screen.decisions.chosen else "muted"
    more = [(f"↓ {count_text(below, 'more line')} ", tone)] if below else []
    _title(screen, "detail", row_title(row) if row is not None else "detail", [*more, *tabs])
    pending = screen.decisions.pending
    screen.set_class(bool(pending), "has-pending")
    _title(screen, "pending", f"waiting for you · {len(pending)}", [])
    chosen = screen.decisions.chosen
    screen.pending.show_pending(pending, chosen.call if chosen is not None else "")
    draw_keys(screen)


def _title(screen: RunScreen, region: str, words: str, right: Sequence[Span]) -> None:
    focused = screen.active_region().id == region
    screen.query_one(f"#{region}-title", RegionTitle).show_title(words, right, focused=focused)


def draw_keys(screen: RunScreen) -> None:
    """Draw the keys that do something now."""
    typed = screen.keys_reader.typed
    if typed in ("]", "["):
        where = "next" if typed == "]" else "previous"
        found = [(c.keys[0][1], c.short) for c in RUN_COMMANDS if c.keys[0].startswith(typed)]
        screen.key_bar.show_keys([(f"{typed} {where}", "…"), *found, ("esc", "never mind")])
        return
    able = [c for c in RUN_COMMANDS if c.short and len(c.keys[0]) != 2 and not c.unless(screen)]
    shown = [(c.keys[0], c.short) for c in able]
    if screen.steers and screen.decisions.pending and screen.decisions.chosen is None:
        # on another row the keys that decide only go to what waits
        shown = [("a", "show what waits"), *((c.keys[0], c.short) for c in able if not decides(c))]
    if typed:
        shown.insert(0, (f"{typed}g", f"to iteration {typed}"))
    screen.key_bar.show_keys([*shown, ("?", "all keys")])
