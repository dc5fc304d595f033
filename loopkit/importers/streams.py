"""Steps of several files put in one order: each file keeps its own, times decide between them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar


class Timed(Protocol):
    """Something with a time in seconds since the epoch, or None."""

    @property
    def at(self) -> float | None: ...


T = TypeVar("T", bound=Timed)
Made = TypeVar("Made")


class Streams(Generic[T]):
    """Lists of steps, one per file; each but the first begins behind a step of an earlier one.

    Attributes:
        latest: the step added last, or None.
    """

    def __init__(self) -> None:
        self.latest: T | None = None
        self._lists: list[list[T]] = [[]]
        self._after: list[tuple[int, int] | None] = [None]
        self._current = 0

    def add(self, step: T) -> tuple[int, int]:
        """Append a step to the current list and return its place."""
        steps = self._lists[self._current]
        steps.append(step)
        self.latest = step
        return self._current, len(steps) - 1

    def replace(self, place: tuple[int, int], step: T) -> None:
        """Put a step in the place of another."""
        self._lists[place[0]][place[1]] = step

    @contextmanager
    def beside(self, place: tuple[int, int]) -> Iterator[None]:
        """Collect steps in a list of their own that begins behind the step at `place`."""
        outer = self._current
        self._lists.append([])
        self._after.append(place)
        self._current = len(self._lists) - 1
        try:
            yield
        finally:
            self._current = outer

    def merged(self, finish: Callable[[T], Made]) -> list[Made]:
        """Return all steps in one order, each as `finish` makes it."""
        if len(self._lists) == 1:
            return [finish(step) for step in self._lists[0]]
        keyed: list[list[tuple[float, int, T]]] = []
        for number, (steps, after) in enumerate(zip(self._lists, self._after, strict=True)):
            latest = 0.0 if after is None else keyed[after[0]][after[1]][0]
            keys: list[tuple[float, int, T]] = []
            for step in steps:
                latest = max(latest, step.at or 0.0)
                keys.append((latest, number, step))
            keyed.append(keys)
        return [finish(step) for _, _, step in heapq.merge(*keyed, key=lambda item: item[:2])]
