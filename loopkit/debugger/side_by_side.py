"""Two aligned runs as rows of two columns, folded where they are the same: what a screen draws of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from loopkit.debugger.comparison import Difference, LoopComparison, RunComparison, Step
from loopkit.debugger.comparison_report import iteration_words, loop_name, measures_text, step_number
from loopkit.debugger.display import visible
from loopkit.debugger.nodes import IterationNode
from loopkit.debugger.rows import count_text, outcome_text

PairKind: TypeAlias = Literal["loop", "same", "step", "difference", "equal", "changed", "more"]
Unfolded: TypeAlias = Callable[[str, bool], bool]
"""Says whether what folds on a key is unfolded; the second argument says so where nobody chose."""

MOST_LINES = 12
MOST_CHARACTERS = 600
_COMPARED_LINES = 4_000
_OPEN_STEPS = 60


@dataclass(frozen=True, slots=True)
class Pair:
    """A row of two columns; its texts are safe, of one line each, and None on a side that has nothing there.

    Args:
        mark: `=` the same, `≠` different, `-` only left, `+` only right, or empty.
        words: what stands across both columns, or before them.
        key: what folds here, or empty.
        parted: whether the runs differ here, so that one may jump to it.
        step: the iterations that it belongs to, or None.
    """

    kind: PairKind
    mark: str = ""
    words: str = ""
    left: str | None = None
    right: str | None = None
    key: str = ""
    parted: bool = False
    step: Step | None = None


def side_by_side(compared: RunComparison, unfolded: Unfolded) -> list[Pair]:
    """Return a comparison as rows: loops, what is the same folded to a line, and each difference with both its texts."""
    pairs: list[Pair] = []
    for number, loop in enumerate(compared.loops):
        pairs += _loop_pairs(loop, str(number), unfolded)
    return pairs


def _loop_pairs(loop: LoopComparison, key: str, unfolded: Unfolded) -> Iterator[Pair]:
    name = loop_name(loop)
    if loop.left is None or loop.right is None:
        node = loop.left or loop.right
        assert node is not None
        mark = "-" if loop.right is None else "+"
        words = outcome_text(node)
        left, right = (words, None) if loop.right is None else (None, words)
        yield Pair("loop", mark, name, parted=True)
        yield Pair("step", mark, "", left, right)
    else:
        yield Pair("loop", "=" if loop.same else "≠", name)
    yield from _difference_pairs(loop.start, f"{key}.start", unfolded, None)
    same: list[Step] = []
    shown = 0
    for step in loop.steps:
        if step.same:
            same.append(step)
            continue
        yield from _same_pairs(same, key, unfolded)
        same = []
        shown += 1
        yield from _step_pairs(step, key, unfolded, open_at_first=shown <= _OPEN_STEPS)
    yield from _same_pairs(same, key, unfolded)
    yield from _difference_pairs(loop.end, f"{key}.end", unfolded, None)


def _same_pairs(same: Sequence[Step], key: str, unfolded: Unfolded) -> Iterator[Pair]:
    if not same:
        return
    first, last = step_number(same[0]), step_number(same[-1])
    fold = f"{key}.same.{first}"
    words = f"iteration {first}" if first == last else f"iterations {first} … {last}"
    yield Pair("same", "=", f"{words}  the same", key=fold, step=same[0])
    if unfolded(fold, False):
        for step in same:
            yield Pair("step", "=", step_number(step), *_sides(step), step=step)


def _sides(step: Step) -> tuple[str | None, str | None]:
    return _side(step.left), _side(step.right)


def _side(iteration: IterationNode | None) -> str | None:
    if iteration is None:
        return None
    measures = measures_text(iteration)
    return f"{iteration_words(iteration)}  ({measures})" if measures else iteration_words(iteration)


def _step_pairs(step: Step, key: str, unfolded: Unfolded, *, open_at_first: bool) -> Iterator[Pair]:
    mark = {"left": "-", "right": "+", "both": "≠"}[step.side]
    number = step_number(step)
    fold = f"{key}.{number}.{mark}" if step.differences else ""
    yield Pair("step", mark, number, *_sides(step), key=fold, parted=True, step=step)
    if fold and unfolded(fold, open_at_first):
        yield from _difference_pairs(step.differences, fold, unfolded, step)


def _difference_pairs(
    differences: Sequence[Difference], key: str, unfolded: Unfolded, step: Step | None
) -> Iterator[Pair]:
    for number, difference in enumerate(differences):
        fold = f"{key}.{number}"
        yield Pair("difference", "≠", visible(difference.what), parted=step is None, step=step)
        lines = list(_line_pairs(difference))
        whole = len(lines) <= MOST_LINES or unfolded(fold, False)
        for mark, left, right in lines if whole else lines[:MOST_LINES]:
            kind: PairKind = "equal" if mark == "=" else "changed"
            yield Pair(kind, mark, "", left, right, key=fold if len(lines) > MOST_LINES else "", step=step)
        if not whole:
            yield Pair("more", "", count_text(len(lines) - MOST_LINES, "more line"), key=fold, step=step)


def _line_pairs(difference: Difference) -> Iterator[tuple[str, str | None, str | None]]:
    """The lines of both texts beside each other; equal ones far from a change are left out."""
    left, right = (_lines(text) for text in (difference.left, difference.right))
    matcher = SequenceMatcher(None, left, right, autojunk=len(left) + len(right) > _COMPARED_LINES)
    codes = matcher.get_opcodes()
    for place, (kind, left_from, left_to, right_from, right_to) in enumerate(codes):
        ones, others = left[left_from:left_to], right[right_from:right_to]
        if kind == "equal":
            yield from _equal_lines(ones, first=place == 0, last=place == len(codes) - 1)
            continue
        for row in range(max(len(ones), len(others))):
            one = _shown(ones[row]) if row < len(ones) else None
            other = _shown(others[row]) if row < len(others) else None
            yield "-" if other is None else "+" if one is None else "≠", one, other


def _equal_lines(lines: Sequence[str], *, first: bool, last: bool) -> Iterator[tuple[str, str | None, str | None]]:
    head, tail = (0 if first else 1), (0 if last else 1)
    hidden = len(lines) - head - tail
    if hidden <= 1:
        head, tail, hidden = len(lines), 0, 0
    for line in lines[:head]:
        yield "=", _shown(line), _shown(line)
    if hidden:
        words = f"… {count_text(hidden, 'equal line')}"
        yield "=", words, words
    for line in lines[len(lines) - tail :] if tail else ():
        yield "=", _shown(line), _shown(line)


def _lines(text: str | None) -> list[str]:
    return [] if text is None else text.split("\n")


def _shown(line: str) -> str:
    shown = visible(line[:MOST_CHARACTERS]).expandtabs(4)
    hidden = len(line) - MOST_CHARACTERS
    return f"{shown} …(+{hidden:,})" if hidden > 0 else shown
