"""The rows of the cost table, and which of their limits are broken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Row:
    """One line.

    Args:
        what: what was measured.
        figure: the result, in words.
        limit: the stated limit, or "" for what is only reported.
        broken: the limit does not hold.
    """

    what: str
    figure: str
    limit: str = ""
    broken: bool = False


def at_most(what: str, value: float, limit: float, *, unit: str = "x", beside: str = "") -> Row:
    """Return a row whose value may not exceed its limit."""
    figure = f"{value:.{2 if limit < 10 else 1}f}{unit}{beside}"
    return Row(what, figure, f"at most {limit:g}{unit}", value > limit)


def at_least(what: str, value: float, limit: float, *, beside: str = "") -> Row:
    """Return a row whose value must reach its limit."""
    return Row(what, f"{value:.1f}x{beside}", f"at least {limit:g}x", value < limit)


def show(rows: Iterable[Row]) -> bool:
    """Print rows as they come; whether every limit holds."""
    sound = True
    for row in rows:
        limit = f"  ({row.limit}{': BROKEN' if row.broken else ''})" if row.limit else ""
        sys.stdout.write(f"{row.what:<64} {row.figure}{limit}\n")
        sys.stdout.flush()
        sound = sound and not row.broken
    return sound


def side_by_side(repeats: int, *measure: Callable[[], float]) -> list[float]:
    """Return the median of each measurement, all taken in turn, so that a busy machine slows all of them alike."""
    rounds = [[each() for each in measure] for _ in range(repeats)]
    return [median(values) for values in zip(*rounds, strict=True)]


def ratio(repeats: int, ours: Callable[[], float], floor: Callable[[], float]) -> tuple[float, float]:
    """Return the median of the ratios of pairs measured one after the other, and of ours itself."""
    pairs = [(ours(), floor()) for _ in range(repeats)]
    return median(one / other for one, other in pairs), median(one for one, _ in pairs)
