"""A list that draws only the lines that are seen, however many there are (spec/performance.md 6)."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from loopkit_tui.painting import TONE_CLASSES, Span, strip

_MARGIN = 2


class VirtualList(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines with a cursor; subclasses say how many there are and what one looks like.

    Attributes:
        cursor: index of the current line, 0 when there are none.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = set(TONE_CLASSES)
    ALLOW_SELECT = False
    SHOWS_CURSOR_UNFOCUSED = True

    class CursorMoved(Message):
        """The person moved the cursor."""

        def __init__(self, source: VirtualList) -> None:
            super().__init__()
            self.source = source

        @property
        def control(self) -> VirtualList:
            return self.source

    class SightMoved(Message):
        """Other lines are seen than before: it was scrolled, or has another size."""

        def __init__(self, source: VirtualList) -> None:
            super().__init__()
            self.source = source

        @property
        def control(self) -> VirtualList:
            return self.source

    class Chosen(Message):
        """The person clicked the line that the cursor was on."""

        def __init__(self, source: VirtualList) -> None:
            super().__init__()
            self.source = source

        @property
        def control(self) -> VirtualList:
            return self.source

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.cursor = 0

    # ── what subclasses say ──────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def count(self) -> int:
        """How many lines there are."""

    @abstractmethod
    def draw(self, index: int, width: int, *, current: bool) -> list[Span]:
        """One line; what is wider than `width` cells is cut off."""

    # ── moving ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def move(self, lines: int) -> None:
        self.move_to(self.cursor + lines)

    def page(self, pages: int) -> None:
        self.move(pages * max(1, self.size.height - 1))

    def move_to(self, index: int) -> None:
        """Put the cursor on a line, or the nearest there is, as the person's own move."""
        self.set_cursor(index)
        self.post_message(self.CursorMoved(self))

    def set_cursor(self, index: int) -> None:
        """Put the cursor on a line without telling anybody."""
        self.cursor = max(0, min(index, self.count() - 1))
        self._keep_in_sight()
        self.refresh()

    def update_size(self) -> None:
        """Take in that the number of lines may have changed."""
        size = Size(max(1, self.size.width), self.count())
        if size != self.virtual_size:
            self.virtual_size = size
        self.cursor = max(0, min(self.cursor, self.count() - 1))
        self.refresh()

    def _keep_in_sight(self) -> None:
        height = self.size.height
        if height <= 0:
            return
        margin = min(_MARGIN, (height - 1) // 2)
        top = self.scroll_offset.y
        wanted = min(top, self.cursor - margin)
        wanted = max(wanted, self.cursor - height + 1 + margin)
        wanted = max(0, min(wanted, self.count() - height))
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, force=True)

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def render_line(self, y: int) -> Strip:
        index = y + self.scroll_offset.y
        if index >= self.count():
            return strip(self, ())
        current = index == self.cursor and (self.has_focus or self.SHOWS_CURSOR_UNFOCUSED)
        spans = self.draw(index, self.size.width, current=current)
        if not current:
            return strip(self, spans)
        return strip(self, spans, "cursor" if self.has_focus else "away")

    def on_resize(self, event: events.Resize) -> None:
        self.update_size()
        self._keep_in_sight()
        self.post_message(self.SightMoved(self))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.SightMoved(self))

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        index = event.y + self.scroll_offset.y
        if index >= self.count():
            return
        if index == self.cursor and self.has_focus:
            self.post_message(self.Chosen(self))
        else:
            self.move_to(index)
