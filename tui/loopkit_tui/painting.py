"""Spans of safe text, and how they become a line of cells.

Text never goes through markup (spec/faults.md e1, e2): a span is text beside a tone, a tone is a component class, and
the stylesheet says what it looks like.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

Span: TypeAlias = tuple[str, str]
"""Safe text on one line, and the name of its tone."""

TONES = (
    "plain",
    "good",
    "bad",
    "warning",
    "person",
    "waiting",
    "muted",
    "agent",
    "heading",
    "name",
    "string",
    "number",
    "key",
    "rule",
)
TONE_CLASSES = frozenset(f"tone--{tone}" for tone in (*TONES, "cursor", "away"))


def cut(text: str, width: int) -> str:
    """Return `text` in at most `width` cells; a cut ends in `…`."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…"


def fit(text: str, width: int) -> str:
    """Return `text` in exactly `width` cells."""
    return set_cell_size(cut(text, width), max(0, width))


def shortened(text: str, width: int) -> str:
    """Return `text` in at most `width` cells, cut in its middle: of a path, the end says most."""
    if cell_len(text) <= width or width < 5:
        return cut(text, width)
    head = set_cell_size(text, (width - 1) // 3).rstrip()
    tail = text
    while cell_len(tail) > width - 1 - cell_len(head):
        tail = tail[1:]
    return f"{head}…{tail}"


def wrap(text: str, width: int) -> list[str]:
    """Return the rows of one line of text, broken at words where that leaves no row half empty.

    A character wider than `width` still gets a row of its own, so any width ends (spec/faults.md e24).
    """
    rows: list[str] = []
    rest = text
    while cell_len(rest) > width and len(rest) > 1:
        length = _prefix(rest, width)
        space = rest.rfind(" ", length // 2, length)
        if space > 0 and length < len(rest) and rest[length] != " ":
            length = space + 1
        rows.append(rest[:length])
        rest = rest[length:].removeprefix(" ") if rest[length - 1] != " " else rest[length:]
    rows.append(rest)
    return rows


def _prefix(text: str, width: int) -> int:
    """How many characters fit into `width` cells, at least one."""
    head = text[: max(1, width)]
    if head.isascii():
        return len(head)
    cells = 0
    for index, character in enumerate(head):
        cells += cell_len(character)
        if cells > width:
            return max(1, index)
    return len(head)


def strip(widget: Widget, spans: Iterable[Span], *over: str) -> Strip:
    """Return spans as one line as wide as `widget`'s content.

    Args:
        over: tones laid over all spans, such as `cursor`.
    """
    base = widget.rich_style
    for tone in over:
        base += widget.get_component_rich_style(f"tone--{tone}", partial=True)
    segments = [
        Segment(text, base + widget.get_component_rich_style(f"tone--{tone}", partial=True)) for text, tone in spans
    ]
    return Strip(segments).adjust_cell_length(widget.size.width, base)
