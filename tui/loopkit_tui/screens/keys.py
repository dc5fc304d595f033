"""All keys on one page, from the table of commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from loopkit.debugger.rows import MARKS
from loopkit_tui.commands import key_of
from loopkit_tui.painting import fit
from loopkit_tui.widgets.bars import Bar, KeyBar
from loopkit_tui.widgets.document import DocumentView, Item, Labelled, Words

_WIDE = 118
_LEGEND = (
    ("✓ done", "good"),
    ("✗ error", "bad"),
    ("✎ edited or answered by a person", "person"),
    ("⊘ denied", "person"),
    ("◆ waits for you", "waiting"),
    ("○ next, or left without an answer", "muted"),
    ("● running, or live", "plain"),
    ("⇢ sub-agent", "agent"),
    ("⚠ warning", "warning"),
    ("▪ an answer of the model", "plain"),
    ("» what was asked", "plain"),
    ("■ the end", "plain"),
    ("◌ a recording", "muted"),
)


class KeysScreen(ModalScreen[None]):
    """The commands of a screen by group, and what the marks mean.

    Args:
        commands: group, keys, words and name of each.
    """

    CSS_PATH = "keys.tcss"

    def __init__(self, commands: Sequence[tuple[str, str, str, str]]) -> None:
        super().__init__()
        self._commands = commands

    def compose(self) -> ComposeResult:
        with Vertical(id="keys-page"):
            yield Bar(id="keys-title")
            yield DocumentView(id="keys-lines")
            yield KeyBar(id="keys-keys")

    def on_mount(self) -> None:
        self.query_one("#keys-title", Bar).show([(" keys", "heading"), ("   ctrl+p finds a command by name", "muted")])
        self.query_one(DocumentView).show_items(list(self._items()))
        self.query_one(KeyBar).show_keys([("j k", "move"), ("g G", "top, end"), ("m", "marks"), ("q", "close")])

    def _items(self) -> Iterator[Item]:
        # without room for the names the words wrap; the palette says the names too
        wide = self.app.size.width >= _WIDE
        for group, commands in groupby(self._commands, key=lambda command: command[0]):
            yield Words((f" {group}", "heading"))
            for _, keys, words, name in commands:
                if wide:
                    yield Words((f"   {keys:<18}", "key"), (fit(words, 66), "plain"), (f"  {name}", "muted"))
                else:
                    yield Labelled([(f"   {keys:<18}", "key")], words)
            yield Words()
        yield Words((" marks", "heading"))
        assert {mark for mark, _ in MARKS.values()} <= {words[0] for words, _ in _LEGEND}
        for words, tone in _LEGEND:
            yield Words((f"   {words[0]:<18}", tone), (words[2:], "plain"))

    def on_key(self, event: events.Key) -> None:
        lines = self.query_one(DocumentView)
        moves = {
            "j": 1,
            "down": 1,
            "k": -1,
            "up": -1,
            "pagedown": 15,
            "pageup": -15,
            "space": 15,
            "ctrl+f": 15,
            "ctrl+b": -15,
        }
        key = key_of(event)
        if key in moves:
            lines.move(moves[key])
        elif key in ("g", "home"):
            lines.move_to(0)
        elif key in ("G", "end"):
            lines.move_to(lines.count() - 1)
        elif key == "m":
            # the legend stands at the end: the last line in sight has all of it in sight
            lines.move_to(lines.count() - 1)
            lines.move_to(lines.count() - 1 - len(_LEGEND))
        elif key in ("q", "?", "escape", "enter"):
            self.dismiss(None)
        event.stop()
        event.prevent_default()
