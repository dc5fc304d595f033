"""Codex's answers while they are gathered, and which of them a report of tokens is about (formats.md §2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from loopkit.importers.blocks import Block, as_object
from loopkit.importers.codex_items import usage_of
from loopkit.messages import NO_USAGE, Part, Usage


@dataclass(slots=True, eq=False)
class Response:
    """An answer whose items are still being gathered; nothing in the file names it."""

    thread: str
    at: float | None
    model: str | None
    parts: list[Part] = field(default_factory=list)
    usage: Usage | None = None
    place: tuple[int, int] = (0, 0)


class TokenReports:
    """Which answer a report of tokens is about: builds write it before their answer's items, or behind its outputs."""

    def __init__(self) -> None:
        self._ahead: bool | None = None
        self._latest: Response | None = None
        self._waiting: Usage | None = None
        self._total: Any = None

    @property
    def close_answers(self) -> bool:
        """Whether a report ends its answer."""
        return self._ahead is False

    def begun(self, response: Response) -> None:
        self._latest = response
        response.usage, self._waiting = self._waiting, None

    def took(self, event: Block) -> bool:
        """Take a report in; False when it belongs to no answer."""
        info = as_object(event.get("info"))
        usage, total = usage_of(info.get("last_token_usage")), info.get("total_token_usage")
        if usage == NO_USAGE:
            return False
        if total is not None and total == self._total:
            return True  # told again, with nothing new but the limits
        self._total = total
        if self._ahead is None:
            self._ahead = self._latest is None
        if self._ahead:
            self._waiting = usage
            return True
        if self._latest is None or self._latest.usage is not None:
            return False  # of a request that left no answer, such as a compaction
        self._latest.usage = usage
        return True
