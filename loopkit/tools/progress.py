"""How a handler says where it stands while it runs: its call is found by a context variable, in its thread too."""

from __future__ import annotations

import math
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

MOST_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a running tool stands.

    Args:
        text: words, at most 500 characters.
        done: how much is done, in whatever unit.
        total: how much there is to do, in the same unit.
    """

    text: str = ""
    done: float | None = None
    total: float | None = None


class ProgressTaker(Protocol):
    """A running call, for whoever reports on it."""

    def progressed(self, progress: Progress) -> None:
        """Take a report, from any thread; it never raises and never waits for long."""
        ...


current_taker: ContextVar[ProgressTaker | None] = ContextVar("loopkit_current_call", default=None)


def report_progress(text: str = "", done: float | None = None, total: float | None = None) -> None:
    """Say where the tool call that this runs in stands; people see it, the model does not.

    For handlers, sync and async, and what they call. Outside a tool call, and once the call is over or no longer
    waited for, it does nothing. Report as often as you like: what is too much for the recording is left out of it, the
    newest report excepted.

    Args:
        text: what is being done; cut after 500 characters.
        done: how much is done, in whatever unit; with `total=1` a fraction.
        total: how much there is to do, in the same unit.

    Raises:
        TypeError: `text` is no text, or an amount no number.
        ValueError: an amount is NaN or infinite.
    """
    if not isinstance(text, str):
        raise TypeError(f"the text of a progress report is a str, not {type(text).__name__}")
    progress = Progress(shortened(text), _amount("done", done), _amount("total", total))
    taker = current_taker.get()
    if taker is not None:
        taker.progressed(progress)


def shortened(text: str) -> str:
    """Return a report's words as a recording keeps them."""
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _amount(name: str, value: float | None) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, OverflowError):
        raise TypeError(f"{name} is a number, not {type(value).__name__}") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} is a finite number, not {number}")
    return number


__all__ = ["Progress", "ProgressTaker", "current_taker", "report_progress", "shortened"]
