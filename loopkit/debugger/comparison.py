"""Two runs aligned: loop by loop, iteration by iteration, call by call (DESIGN §4).

A loop of one run stands opposite the loop that the aligned call of the other run started, so that an iteration more
or less doesn't tear sub-agents apart. What was measured (tokens, cost, seconds) stands beside and makes no difference.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, TypeAlias, TypeVar

from loopkit.debugger.nodes import CallNode, IterationNode, LoopNode
from loopkit.debugger.recorded import OpenedRun
from loopkit.debugger.report import outcome_name
from loopkit.debugger.rows import outcome_text
from loopkit.encoding import encode
from loopkit.events import LoopStarted
from loopkit.messages import Message, Text
from loopkit.outcomes import Approve, Deny, Modify, Respond

Side: TypeAlias = Literal["both", "left", "right"]
_Node = TypeVar("_Node")
_MOST_COMPARED = 4_000_000


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not the same on both sides.

    Args:
        what: which part, in a few words, such as `system prompt` or `arguments of call 2`.
        left, right: its text as recorded, or None on a side that has none.
    """

    what: str
    left: str | None
    right: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """Two iterations that stand opposite each other, or one that has no counterpart."""

    left: IterationNode | None
    right: IterationNode | None
    differences: tuple[Difference, ...] = ()

    @property
    def side(self) -> Side:
        return "left" if self.right is None else "right" if self.left is None else "both"

    @property
    def same(self) -> bool:
        return self.side == "both" and not self.differences


@dataclass(frozen=True, slots=True)
class LoopComparison:
    """Two loops that stand opposite each other, or one that has no counterpart.

    Args:
        start: how they were set up differently.
        steps: their iterations in order.
        end: how they ended differently.
    """

    left: LoopNode | None
    right: LoopNode | None
    start: tuple[Difference, ...] = ()
    steps: tuple[Step, ...] = ()
    end: tuple[Difference, ...] = ()

    @property
    def same(self) -> bool:
        both = self.left is not None and self.right is not None
        return both and not self.start and not self.end and all(step.same for step in self.steps)


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs, aligned.

    Args:
        loops: pairs of loops, each before those that it started.
        shared: events that the right run took over from the left one as its fork; None when it is no fork of it.
    """

    left: OpenedRun
    right: OpenedRun
    loops: tuple[LoopComparison, ...]
    shared: int | None = None

    @property
    def same(self) -> bool:
        return all(loop.same for loop in self.loops)

    def first_difference(self) -> tuple[LoopComparison, Step | None, Difference | None] | None:
        """Return where the runs part: the loop, the step and what differs there; no step means the loop's start or end."""
        for loop in self.loops:
            if loop.start:
                return loop, None, loop.start[0]
            for step in loop.steps:
                if not step.same:
                    return loop, step, step.differences[0] if step.differences else None
            if not loop.same:
                return loop, None, loop.end[0] if loop.end else None
        return None


def compare_runs(left: OpenedRun, right: OpenedRun) -> RunComparison:
    """Align two runs, ours or foreign ones.

    Args:
        left: the run that the other is compared with; for a fork, its parent.
    """
    found: list[LoopComparison] = []
    waiting: list[tuple[LoopNode | None, LoopNode | None]] = [(left.timeline.root, right.timeline.root)]
    while waiting:
        one, other = waiting.pop()
        if one is None and other is None:
            continue
        loop, below = _compare_loops(one, other)
        found.append(loop)
        waiting.extend(reversed(below))
    shared = None
    if left.header is not None and right.header is not None and right.header.parent == left.header.run:
        shared = right.header.fork_seq
    return RunComparison(left, right, tuple(found), shared)


# ── loops ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _compare_loops(
    left: LoopNode | None, right: LoopNode | None
) -> tuple[LoopComparison, list[tuple[LoopNode | None, LoopNode | None]]]:
    steps: list[Step] = []
    below: list[tuple[LoopNode | None, LoopNode | None]] = []
    pairs = _aligned(
        left.iterations if left is not None else [],
        right.iterations if right is not None else [],
        (_whole_iteration, _names_of_calls),
    )
    for one, other in pairs:
        calls = list(_aligned(one.calls if one else [], other.calls if other else [], (_request_of, _name_of)))
        differences = tuple(_iteration_differences(one, other, calls)) if one and other else ()
        steps.append(Step(one, other, differences))
        for call, counterpart in calls:
            below += _side_by_side(call.children if call else [], counterpart.children if counterpart else [])
    start: tuple[Difference, ...] = ()
    end: tuple[Difference, ...] = ()
    if left is not None and right is not None:
        start = tuple(_start_differences(left.started, right.started))
        end = tuple(_end_differences(left, right))
    return LoopComparison(left, right, start, tuple(steps), end), below


def _start_differences(left: LoopStarted, right: LoopStarted) -> Iterator[Difference]:
    for name in ("agent", "model"):
        yield from _unequal(name, getattr(left, name), getattr(right, name))
    yield from _unequal("fallbacks", _json(left.fallbacks), _json(right.fallbacks))
    for number, (one, other) in enumerate(_side_by_side(left.messages, right.messages), 1):
        roles = {message.role for message in (one, other) if message is not None}
        what = "system prompt" if roles == {"system"} and number == 1 else f"message {number}"
        yield from _unequal(what, _message_text(one), _message_text(other))
    tools, others = ({tool.name: tool for tool in started.tools} for started in (left, right))
    for name in dict.fromkeys([*tools, *others]):
        pair = [None if tool is None else _json(encode(tool), 2) for tool in (tools.get(name), others.get(name))]
        yield from _unequal(f"tool {name}", *pair)
    if tools.keys() == others.keys():
        yield from _unequal("order of the tools", ", ".join(tools), ", ".join(others))
    for group in ("configuration", "settings"):
        ones, twos = getattr(left, group), getattr(right, group)
        for key in dict.fromkeys([*ones, *twos]):
            yield from _unequal(f"{group} {key}", *(_json(each[key]) if key in each else None for each in (ones, twos)))


def _end_differences(left: LoopNode, right: LoopNode) -> Iterator[Difference]:
    for number, (one, other) in enumerate(_side_by_side(left.injected, right.injected), 1):
        yield from _unequal(f"injected message {number}", _message_text(one), _message_text(other))
    if (outcome_name(left), left.reason, left.failure) != (outcome_name(right), right.reason, right.failure):
        yield Difference("outcome", outcome_text(left), outcome_text(right))


# ── iterations and calls ─────────────────────────────────────────────────────────────────────────────────────────────


def _iteration_differences(
    left: IterationNode, right: IterationNode, calls: Sequence[tuple[CallNode | None, CallNode | None]]
) -> Iterator[Difference]:
    one, other = left.message, right.message
    for what in ("reasoning", "text", "refusal"):
        yield from _unequal(what, one and getattr(one, what), other and getattr(other, what))
    for call, counterpart in calls:
        yield from _call_differences(call, counterpart)
    yield from _unequal(
        "stop reason", left.stop_reason and left.stop_reason.value, right.stop_reason and right.stop_reason.value
    )
    yield from _unequal("interrupted", left.interrupted, right.interrupted)
    warned = [_json([encode(warning) for warning in each.warnings], 2) for each in (left, right)]
    yield from _unequal("loop warnings", *warned)


def _call_differences(left: CallNode | None, right: CallNode | None) -> Iterator[Difference]:
    call = left or right
    assert call is not None
    number = f"call {call.position}"
    if left is None or right is None:
        sides = [None if each is None else _request_text(each) for each in (left, right)]
        yield Difference(number, *sides)
        return
    if left.name != right.name:
        yield Difference(number, _request_text(left), _request_text(right))
    else:
        yield from _unequal(f"arguments of {number}", _arguments_text(left), _arguments_text(right))
    if left.decision != right.decision:
        # who decided the same is no difference: a person of then may be a policy of now
        yield Difference(f"decision on {number}", _decision_text(left), _decision_text(right))
    yield from _unequal(f"result of {number}", left.content, right.content)
    if (left.given, right.given) != (left.content, right.content):
        yield from _unequal(f"what the model got of {number}", left.given, right.given)
    yield from _unequal(f"outcome of {number}", left.status.value, right.status.value)


def _unequal(what: str, left: Any, right: Any) -> Iterator[Difference]:
    if left != right:
        yield Difference(what, left, right)


def _request_text(call: CallNode) -> str:
    return f"{call.name} {_arguments_text(call)}"


def _arguments_text(call: CallNode) -> str:
    return _json(call.arguments, 2) if call.raw_arguments is None else call.raw_arguments


def _decision_text(call: CallNode) -> str | None:
    match call.decision:
        case None:
            return None
        case Approve():
            words = "approved"
        case Deny(reason):
            words = f"denied: {reason}" if reason else "denied"
        case Modify(arguments):
            words = f"edited: {_json(arguments, 2)}"
        case Respond(output, is_error):
            words = f"answered with {'an error' if is_error else 'a result'}: {output}"
    return f"{words}\n(by {call.decided_by})"


def _message_text(message: Message | None) -> str | None:
    if message is None:
        return None
    # most messages are words, which read better than JSON
    plain = len(message.parts) == 1 and isinstance(message.parts[0], Text)
    return message.text if plain else _json(encode(message), 2)


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False, default=str)


# ── alignment ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _whole_iteration(iteration: IterationNode) -> Hashable:
    message = iteration.message
    calls = tuple((_request_of(call), call.content) for call in iteration.calls)
    return (message.text if message else None, calls)


def _names_of_calls(iteration: IterationNode) -> Hashable:
    return tuple(call.name for call in iteration.calls)


def _request_of(call: CallNode) -> Hashable:
    return (call.name, call.raw_arguments, json.dumps(call.arguments, sort_keys=True, default=str))


def _name_of(call: CallNode) -> Hashable:
    return call.name


def _aligned(
    left: Sequence[_Node], right: Sequence[_Node], keys: tuple[Any, ...]
) -> Iterator[tuple[_Node | None, _Node | None]]:
    """Pair two sequences in order by the first key, what lies between by the next, and the rest by place."""
    if not keys or not left or not right:
        yield from _side_by_side(left, right)
        return
    key, *rest = keys
    ones_keys, others_keys = [key(node) for node in left], [key(node) for node in right]
    shared = next(
        (place for place, pair in enumerate(zip(ones_keys, others_keys, strict=False)) if pair[0] != pair[1]),
        min(len(left), len(right)),
    )
    yield from zip(left[:shared], right[:shared], strict=True)
    left, right, ones_keys, others_keys = left[shared:], right[shared:], ones_keys[shared:], others_keys[shared:]
    # the same call a hundred times is no noise to a debugger; only where that would take minutes it is taken for some
    matcher = SequenceMatcher(None, ones_keys, others_keys, autojunk=len(left) * len(right) > _MOST_COMPARED)
    for kind, left_from, left_to, right_from, right_to in matcher.get_opcodes():
        ones, others = left[left_from:left_to], right[right_from:right_to]
        if kind == "equal":
            yield from zip(ones, others, strict=True)
        else:
            yield from _aligned(ones, others, tuple(rest))


def _side_by_side(left: Sequence[_Node], right: Sequence[_Node]) -> Iterator[tuple[_Node | None, _Node | None]]:
    for place in range(max(len(left), len(right))):
        yield left[place] if place < len(left) else None, right[place] if place < len(right) else None
