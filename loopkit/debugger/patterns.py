"""Searches text for regular expressions in time that grows with the text only, whatever the expression.

Python's own `re` goes back and tries again, so that a short pattern and a long text from a model may take years. Here
all ways through the pattern are followed at once, and what was found for a set of ways and a character is kept.
"""

from __future__ import annotations

import re
from functools import cached_property

from loopkit.debugger.pattern_parts import Edge, Either, One, Part, PatternError, Repeat, Row, is_word, read_pattern

MOST_STEPS = 2_000
_MOST_KEPT = 5_000
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_NEWLINE, _WORD, _OTHER = "newline", "word", "other"


class _Ways(dict[str, "_Ways"]):
    """Where all ways stand after some text, and by the next character where they stand then."""

    __slots__ = ("before", "found", "steps")

    def __init__(self, steps: frozenset[int], before: str) -> None:
        super().__init__()
        self.steps = steps
        self.before = before
        self.found = False


class Pattern:
    """A regular expression: what `re` knows, but look-around and back references; `^` and `$` are ends of lines.

    Args:
        text: the expression.
        any_case: upper and lower case are the same.

    Raises:
        PatternError: it can't be understood.
    """

    def __init__(self, text: str, *, any_case: bool = False) -> None:
        # `\\/` is what people type between slashes; it means a slash
        self.text = _ESCAPED.sub(lambda found: "/" if found[0] == r"\/" else found[0], text)
        self.any_case = any_case
        self._steps: list[tuple[One | Edge | None, tuple[int, ...]]] = []
        part = read_pattern(text, any_case=any_case)
        self._end = self._add(None)
        self._start = self._built(part, self._end)
        self._found = _Ways(frozenset(), _OTHER)
        self._found.found = True
        self._kept: dict[tuple[frozenset[int], str], _Ways] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and (self.text, self.any_case) == (other.text, other.any_case)

    def __hash__(self) -> int:
        return hash((self.text, self.any_case))

    def __repr__(self) -> str:
        return f"Pattern({self.text!r}, any_case={self.any_case})"

    def found_in(self, text: str) -> bool:
        """Return whether the expression matches anywhere in a text."""
        ways = self._first
        for character in text:
            following = ways.get(character)
            if following is None:
                following = self._after(ways, character)
            if following.found:
                return True
            ways = following
        return self._end in self._reached(ways.steps, ways.before, _NEWLINE)

    # ── the pattern as steps ─────────────────────────────────────────────────────────────────────────────────────────

    def _add(self, what: One | Edge | None, *following: int) -> int:
        if len(self._steps) >= MOST_STEPS:
            raise PatternError("this pattern is too large: use smaller counts", 0)
        self._steps.append((what, following))
        return len(self._steps) - 1

    def _built(self, part: Part, after: int) -> int:
        match part:
            case One() | Edge():
                return self._add(part, after)
            case Row(parts):
                for inner in reversed(parts):
                    after = self._built(inner, after)
                return after
            case Either(parts):
                return self._add(None, *[self._built(inner, after) for inner in parts])
            case Repeat(inner, least, most):
                if most is None:
                    after = self._endless(inner, after)
                else:
                    end = after
                    for _ in range(most - least):
                        after = self._add(None, self._built(inner, after), end)
                for _ in range(least):
                    after = self._built(inner, after)
                return after

    def _endless(self, part: Part, after: int) -> int:
        again = self._add(None)
        self._steps[again] = (None, (self._built(part, again), after))
        return again

    # ── following all ways at once ───────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _first(self) -> _Ways:
        return self._ways(frozenset((self._start,)), _NEWLINE)

    def _ways(self, steps: frozenset[int], before: str) -> _Ways:
        key = (steps, before)
        ways = self._kept.get(key)
        if ways is None:
            ways = self._kept[key] = _Ways(steps, before)
        return ways

    def _after(self, ways: _Ways, character: str) -> _Ways:
        kind = _kind(character)
        reached = self._reached(ways.steps, ways.before, kind)
        if self._end in reached:
            following = self._found
        else:
            steps = {self._start}
            for step in reached:
                what, after = self._steps[step]
                if isinstance(what, One) and what.test(character):
                    steps.update(after)
            if len(self._kept) > _MOST_KEPT or len(ways) > _MOST_KEPT:
                self._forget(ways)
            following = self._ways(frozenset(steps), kind)
        ways[character] = following
        return following

    def _forget(self, standing: _Ways) -> None:
        for ways in list(self._kept.values()):
            ways.clear()
        standing.clear()
        self._kept.clear()
        self.__dict__.pop("_first", None)

    def _reached(self, steps: frozenset[int], before: str, after: str) -> set[int]:
        """All steps that can be reached without taking a character."""
        reached: set[int] = set()
        waiting = list(steps)
        while waiting:
            step = waiting.pop()
            if step in reached:
                continue
            reached.add(step)
            what, following = self._steps[step]
            if what is None or (isinstance(what, Edge) and _holds(what.kind, before, after)):
                waiting.extend(following)
        return reached


def _kind(character: str) -> str:
    if character == "\n":
        return _NEWLINE
    return _WORD if is_word(character) else _OTHER


def _holds(edge: str, before: str, after: str) -> bool:
    match edge:
        case "^":
            return before == _NEWLINE
        case "$":
            return after == _NEWLINE
        case "b":
            return (before == _WORD) is not (after == _WORD)
    return (before == _WORD) is (after == _WORD)
