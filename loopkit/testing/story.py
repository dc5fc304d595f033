"""What happened in a run in a few safe lines: what a failed assertion shows below its reason."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from loopkit.debugger.nodes import CallNode, LoopNode, Row
from loopkit.debugger.report import text_line
from loopkit.debugger.rows import row_text

FIRST_LINES = 8
LAST_LINES = 12
MARKED_LINES = 12
_LABEL_CELLS = 16
_LINE_CELLS = 160


def story(rows: Sequence[Row], loops: Collection[LoopNode], marked: Collection[CallNode] = ()) -> str:
    """Return the lines of some loops: the first, the last, and those of the calls that are meant.

    Args:
        marked: calls whose lines are pointed at.
    """
    of_loops = {id(loop) for loop in loops}
    meant = {id(call) for call in marked}
    shown = [row for row in rows if id(row.loop) in of_loops]
    return "\n".join(_lines(shown, meant)) or "  (nothing happened)"


def _lines(rows: Sequence[Row], meant: Collection[int]) -> Iterator[str]:
    pointed = [place for place, row in enumerate(rows) if row.call is not None and id(row.call) in meant]
    kept = {*range(FIRST_LINES), *range(len(rows) - LAST_LINES, len(rows)), *pointed[:MARKED_LINES]}
    left_out = 0
    for place, row in enumerate(rows):
        if place not in kept:
            left_out += 1
            continue
        if left_out:
            yield f"    … {left_out} more"
            left_out = 0
        line = text_line(row_text(row), _LABEL_CELLS)
        mark = ">" if place in pointed else " "
        yield f"{mark} {line if len(line) <= _LINE_CELLS else f'{line[: _LINE_CELLS - 1]}…'}".rstrip()
