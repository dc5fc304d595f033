"""Two aligned runs as text and as one JSON object: what `loopkit diff` prints."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

from loopkit.debugger.comparison import Difference, LoopComparison, RunComparison, Side, Step
from loopkit.debugger.costs import iteration_cost
from loopkit.debugger.display import arguments_line, one_line, visible
from loopkit.debugger.nodes import IterationNode, LoopNode
from loopkit.debugger.recorded import OpenedRun
from loopkit.debugger.report import outcome_name, totals_text
from loopkit.debugger.rows import Tone, count_text, outcome_text, seconds_text, tokens_text
from loopkit.debugger.totals import reported_tokens, totals

MOST_LINES = 24
FEW_LINES = 6
_SIDES: dict[Side, tuple[str, Tone]] = {"left": ("-", "bad"), "right": ("+", "good")}


def comparison_lines(compared: RunComparison, *, whole: bool = False) -> Iterator[tuple[str, Tone]]:
    """Yield a comparison as safe lines: what each run is, where they part, then what differs.

    Args:
        whole: long differences are not cut, and iterations that are the same are listed one by one.
    """
    for mark, run in (("A", compared.left), ("B", compared.right)):
        root = run.timeline.root
        how = outcome_text(root) if root is not None else "empty"
        yield f"{mark} {one_line(str(run.path), 120)}: {how}; {totals_text(run.timeline, run.source_format)}", "plain"
    if compared.shared is not None:
        yield f"B is a fork of A: the first {count_text(compared.shared, 'event')} are A's", "muted"
    yield verdict(compared), "good" if compared.same else "warning"
    for loop in compared.loops:
        if whole or not loop.same:
            yield "", "plain"
            yield from _loop_lines(loop, whole=whole)


def comparison_data(compared: RunComparison) -> dict[str, Any]:
    """Return a comparison as a JSON object; texts are as recorded."""
    parted = compared.first_difference()
    return {
        "same": compared.same,
        "left": _run_data(compared.left),
        "right": _run_data(compared.right),
        "fork_seq": compared.shared,
        "parted_at": None if parted is None else _place_data(*parted),
        "loops": [_loop_data(loop) for loop in compared.loops],
    }


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def verdict(compared: RunComparison) -> str:
    """Return where two runs part, in one safe line."""
    parted = compared.first_difference()
    if parted is None:
        return "the same"
    loop, step, difference = parted
    place = loop_name(loop)
    if step is not None:
        place += f", iteration {step_number(step)}"
    what = f"only in {'A' if step.side == 'left' else 'B'}" if step and step.side != "both" else None
    if step is None and difference is None:
        what = f"only in {'A' if loop.right is None else 'B'}"
    return f"they part at {place}: {what or (visible(difference.what) if difference else 'it differs')}"


def _loop_lines(loop: LoopComparison, *, whole: bool) -> Iterator[tuple[str, Tone]]:
    if loop.left is None or loop.right is None:
        node, mark = (loop.left, "-") if loop.left is not None else (loop.right, "+")
        assert node is not None
        yield f"{mark} {loop_name(loop)}: only in {'A' if mark == '-' else 'B'}, {outcome_text(node)}", "agent"
    else:
        yield f"{'=' if loop.same else '≠'} {loop_name(loop)}", "agent"
    for difference in loop.start:
        yield from _difference_lines(difference, whole=whole)
    equal: list[Step] = []
    for step in loop.steps:
        if step.same and not whole:
            equal.append(step)
            continue
        yield from _equal_lines(equal)
        equal = []
        yield from _step_lines(step, whole=whole)
    yield from _equal_lines(equal)
    for difference in loop.end:
        yield from _difference_lines(difference, whole=whole)


def _equal_lines(equal: list[Step]) -> Iterator[tuple[str, Tone]]:
    if equal:
        first, last = step_number(equal[0]), step_number(equal[-1])
        yield f"  = {first if first == last else f'{first} … {last}'}  the same", "muted"


def _step_lines(step: Step, *, whole: bool) -> Iterator[tuple[str, Tone]]:
    if step.left is not None and step.right is not None:
        mark = "=" if step.same else "≠"
        left, right = measures_text(step.left), measures_text(step.right)
        measured = left if left == right else f"{left} → {right}"
        yield f"  {mark} {step_number(step)}  {iteration_words(step.right)}  {measured}".rstrip(), "plain"
        for difference in step.differences:
            yield from _difference_lines(difference, whole=whole)
        return
    iteration = step.left if step.left is not None else step.right
    assert iteration is not None
    mark, tone = _SIDES[step.side]
    yield f"  {mark} {iteration.number}  {iteration_words(iteration)}  {measures_text(iteration)}".rstrip(), tone


def _difference_lines(difference: Difference, *, whole: bool) -> Iterator[tuple[str, Tone]]:
    before, after = (None if text is None else text.split("\n") for text in (difference.left, difference.right))
    if before is None or after is None:
        yield f"      {visible(difference.what)}: only in {'A' if after is None else 'B'}", "warning"
        changes = [f"{'-' if after is None else '+'}{line}" for line in before or after or ()]
        most = FEW_LINES
    else:
        yield f"      {visible(difference.what)}", "warning"
        # the first three lines name files and the first place; later places are lines that begin with @@
        changes = list(unified_diff(before, after, n=1, lineterm=""))[3:]
        most = MOST_LINES
    shown = changes if whole else changes[:most]
    for line in shown:
        tone: Tone = "bad" if line[0] == "-" else "good" if line[0] == "+" else "muted"
        yield f"        {visible(line) if whole else _diff_line(line)}", tone
    if len(changes) > len(shown):
        yield f"        … {count_text(len(changes) - len(shown), 'more line')}", "muted"


def _diff_line(line: str) -> str:
    """Return a line of a diff as a safe one, its indentation kept and its end cut."""
    limit = 200
    shown = visible(line[:limit])
    return f"{shown} …(+{len(line) - limit:,})" if len(line) > limit else shown


def loop_name(loop: LoopComparison) -> str:
    """Return the paths and the agent of a pair of loops, in one safe line."""
    node = loop.left or loop.right
    assert node is not None
    other = loop.right if loop.right is not None else node
    path = visible(node.path) if node.path == other.path else f"{visible(node.path)} / {visible(other.path)}"
    return f"{path} ({one_line(node.agent, 40)})"


def step_number(step: Step) -> str:
    """Return the number of a pair of iterations, or both where they differ."""
    numbers = [str(each.number) for each in (step.left, step.right) if each is not None]
    return numbers[0] if len(set(numbers)) == 1 else " / ".join(numbers)


def iteration_words(iteration: IterationNode) -> str:
    """Return what a model said and asked for, in one safe line."""
    calls = [f"{one_line(call.name, 40)}({arguments_line(call.arguments, 60)})" for call in iteration.calls]
    message = iteration.message
    text = one_line((message.text or message.refusal or "") if message is not None else "", 80)
    return " · ".join(part for part in (text, ", ".join(calls)) if part) or "(no answer)"


def measures_text(iteration: IterationNode) -> str:
    """Return what an iteration took: tokens, cost and time."""
    cost = iteration_cost(iteration)
    parts = (tokens_text(iteration.usage), "" if cost is None else f"${cost:.4f}", seconds_text(iteration.seconds))
    return " ".join(part for part in parts if part)


# ── data ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _run_data(run: OpenedRun) -> dict[str, Any]:
    counted = totals(run.timeline, run.source_format)
    return {
        "file": str(run.path),
        "run": None if run.header is None else run.header.run,
        "outcome": outcome_name(run.timeline.root),
        "totals": {name: getattr(counted, name) for name in type(counted).__dataclass_fields__},
    }


def _place_data(loop: LoopComparison, step: Step | None, difference: Difference | None) -> dict[str, Any]:
    return {
        **_paths(loop.left, loop.right),
        "iteration": None if step is None else _numbers(step),
        "what": None if difference is None else difference.what,
    }


def _loop_data(loop: LoopComparison) -> dict[str, Any]:
    return {
        **_paths(loop.left, loop.right),
        "same": loop.same,
        "start": [_difference_data(difference) for difference in loop.start],
        "iterations": [
            {
                **_numbers(step),
                "same": step.same,
                "differences": [_difference_data(difference) for difference in step.differences],
                "measures": [None if each is None else _measures_data(each) for each in (step.left, step.right)],
            }
            for step in loop.steps
        ],
        "end": [_difference_data(difference) for difference in loop.end],
    }


def _paths(left: LoopNode | None, right: LoopNode | None) -> dict[str, str | None]:
    return {"left_loop": left.path if left else None, "right_loop": right.path if right else None}


def _numbers(step: Step) -> dict[str, int | None]:
    return {"left": step.left.number if step.left else None, "right": step.right.number if step.right else None}


def _difference_data(difference: Difference) -> dict[str, str | None]:
    return {"what": difference.what, "left": difference.left, "right": difference.right}


def _measures_data(iteration: IterationNode) -> dict[str, Any]:
    input_tokens, output_tokens = reported_tokens(iteration.usage)
    return {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cost": iteration_cost(iteration),
        "seconds": iteration.seconds,
    }
