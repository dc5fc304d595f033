"""The lines around the regions: how the run stands, what it waits for, a region's title, the keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from loopkit_tui.painting import TONE_CLASSES, Span, cut, strip

_LEFT_CELLS = 40


class Bar(Widget):
    """One line: spans at the left, spans at the right; the left side is cut first, a right side that doesn't fit goes."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(TONE_CLASSES)
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.left: Sequence[Span] = ()
        self.right: Sequence[Span] = ()

    def show(self, left: Sequence[Span], right: Sequence[Span] = ()) -> None:
        """Draw other spans."""
        if (left, right) != (self.left, self.right):
            self.left, self.right = left, right
            self.refresh()

    def render_line(self, y: int) -> Strip:
        if y:
            return strip(self, ())
        width = self.size.width
        right = list(self.right)
        while right and _cells(right) > max(width * 3 // 5, width - _LEFT_CELLS):
            right.pop(0)
        gap = 2 if right else 0
        room = max(0, width - _cells(right) - gap)
        spans: list[Span] = []
        for text, tone in self.left:
            piece = cut(text, room)
            spans.append((piece, tone))
            room -= cell_len(piece)
        return strip(self, [*spans, (" " * (room + gap), "plain"), *right])

    def words(self) -> str:
        """What it says, for tests and screen readers."""
        return "".join(text for text, _ in (*self.left, *self.right))


class RegionTitle(Bar):
    """The line above a region; marked where the keyboard is, without colour too.

    Attributes:
        map: draws the rule between words and figures, given its cells; None draws a plain one.
    """

    class MapClicked(Message):
        """The person clicked on the rule.

        Args:
            share: where, from 0 at its left end to 1.
        """

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.map: Callable[[int], Sequence[Span]] | None = None
        self._rule = (0, 0)

    def on_click(self, event: events.Click) -> None:
        start, cells = self._rule
        if self.map is not None and cells > 0 and start <= event.x < start + cells:
            self.post_message(self.MapClicked((event.x - start + 0.5) / cells))

    def show_title(self, title: str, right: Sequence[Span] = (), *, focused: bool) -> None:
        mark = "▌" if focused else " "
        tone = "key" if focused else "heading"
        self.show([(f"{mark}{title} ", tone), ("─" * 400, "rule")], right)

    def render_line(self, y: int) -> Strip:
        if y or not self.left:
            return strip(self, ())
        (title, tone), _ = self.left
        width = self.size.width
        right = list(self.right)
        while right and _cells(right) > max(0, width - 12):
            right.pop(0)
        shown = cut(title, width - _cells(right) - 1)
        line = max(0, width - cell_len(shown) - _cells(right) - 1)
        self._rule = (cell_len(shown), line)
        rule = [("─" * line, "rule")] if self.map is None else self.map(line)
        return strip(self, [(shown, tone), *rule, *right])


class KeyBar(Widget):
    """The keys that do something now, as many as fit; or a notice for a moment."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(TONE_CLASSES)
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._keys: Sequence[tuple[str, str]] = ()
        self._notice: Span | None = None

    def show_keys(self, keys: Sequence[tuple[str, str]]) -> None:
        """Draw keys and what they do, the most wanted first, the last always."""
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    def show_notice(self, words: str, tone: str = "warning") -> None:
        """Draw words in the keys' place, until `clear_notice`; `words` are safe text."""
        self._notice = (words, tone) if words else None
        self.refresh()

    def clear_notice(self) -> None:
        self.show_notice("")

    @property
    def notice(self) -> str:
        return self._notice[0] if self._notice else ""

    def words(self) -> str:
        """What it says now."""
        return self.notice or "  ".join(f"{key} {word}" for key, word in self._keys)

    def render_line(self, y: int) -> Strip:
        if y:
            return strip(self, ())
        if self._notice is not None:
            return strip(self, [(" " + cut(self._notice[0], self.size.width - 2), self._notice[1])])
        return strip(self, self._key_spans())

    def _key_spans(self) -> list[Span]:
        if not self._keys:
            return []
        *keys, (last_key, last_word) = self._keys
        room = self.size.width - 4 - cell_len(f"{last_key} {last_word}")
        spans: list[Span] = [(" ", "plain")]
        for key, word in keys:
            room -= cell_len(f"{key} {word}") + 2
            if room < 0:
                break
            spans += [(key, "key"), (f" {word}  ", "plain")]
        return [*spans, (last_key, "key"), (f" {last_word}", "plain")]


def _cells(spans: Sequence[Span]) -> int:
    return sum(cell_len(text) for text, _ in spans)
