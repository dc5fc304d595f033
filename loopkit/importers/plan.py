"""What a builder must know ahead of a step: which call starts a thread, when a request went out, where loops end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loopkit.importers.pairing import CallSlot, Pairing, pair
from loopkit.importers.steps import MAIN, Answer, Ended, Note, Progress, Prompt, Result, Step, Thread
from loopkit.outcomes import Cancelled, Complete, TerminationReason

WENT_ON = Cancelled("the session went on without its result")
CALL_FAILED = Cancelled("its call ended with an error")


@dataclass(slots=True)
class Plan:
    """Facts about a session's steps that only a look ahead can tell; steps are named by their index.

    Args:
        pairing: calls and their results.
        opening: the prompts that each thread starts with.
        asks_after: steps after which their thread's next request went out.
        asked: answers whose request went out after such a step.
        parents: the call that started each thread below the top.
        endings: threads that end after a step, inner ones first.
        called: the call that a progress report belongs to.
        started: calls that did something, answered or not.
    """

    pairing: Pairing
    opening: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    asks_after: set[int] = field(default_factory=set)
    asked: set[int] = field(default_factory=set)
    parents: dict[str, CallSlot] = field(default_factory=dict)
    endings: dict[int, list[tuple[str, TerminationReason]]] = field(default_factory=lambda: defaultdict(list))
    called: dict[int, CallSlot] = field(default_factory=dict)
    started: set[CallSlot] = field(default_factory=set)


def plan(threads: Mapping[str, Thread], steps: Sequence[Step]) -> Plan:
    """Look through the steps of a session once, before its events are made."""
    ahead = Plan(pair(steps))
    _plan_calls(ahead, threads, steps)
    _plan_requests(ahead, steps)
    _plan_endings(ahead, threads, steps)
    return ahead


def session_ending(steps: Sequence[Step]) -> TerminationReason | None:
    """Return how the top thread ended as its last words tell, or None when something still waits for an answer."""
    for step in reversed(steps):
        if step.thread != MAIN or isinstance(step, (Note, Progress, Ended)):
            continue
        match step:
            case Prompt(kind="interrupt"):
                return Cancelled("interrupted by the user")
            case Prompt(kind="task") | Result():
                return None
            case Answer():
                return None if step.calls else Complete()
    return None


def _plan_calls(ahead: Plan, threads: Mapping[str, Thread], steps: Sequence[Step]) -> None:
    known: dict[tuple[str, str], CallSlot] = {}
    started = {MAIN}
    for index, step in enumerate(steps):
        if step.thread not in started:
            started.add(step.thread)
            thread = threads[step.thread]
            slot = known.get((thread.parent or MAIN, thread.parent_call))
            if slot is not None and (thread.parent == MAIN or thread.parent in ahead.parents):
                ahead.parents[step.thread] = slot
                ahead.started.add(slot)
        if isinstance(step, Progress) and (step.thread, step.call) in known:
            ahead.called[index] = known[step.thread, step.call]
            ahead.started.add(ahead.called[index])
        for slot in ahead.pairing.of_answer.get(index, ()):
            known[step.thread, slot.id] = slot


def _plan_requests(ahead: Plan, steps: Sequence[Step]) -> None:
    before: dict[str, int] = {}
    answered: set[str] = set()
    opened: set[str] = set()
    for index, step in enumerate(steps):
        if isinstance(step, Ended):
            continue
        if isinstance(step, Answer):
            answered.add(step.thread)
            if step.thread in before:
                ahead.asks_after.add(before[step.thread])
                ahead.asked.add(index)
        elif isinstance(step, Prompt) and step.thread not in answered | opened:
            ahead.opening[step.thread].append(index)
            if step.kind == "task" and step.message.role == "user":
                opened.add(step.thread)
        before[step.thread] = index


def _plan_endings(ahead: Plan, threads: Mapping[str, Thread], steps: Sequence[Step]) -> None:
    last: dict[str, int] = {}
    last_answer: dict[str, int] = {}
    declared: dict[str, TerminationReason] = {}
    for index, step in enumerate(steps):
        last[step.thread] = index
        if isinstance(step, Answer):
            last_answer[step.thread] = index
        elif isinstance(step, Ended):
            declared[step.thread] = step.reason
    order = sorted(ahead.parents, key=lambda key: _level(threads, key), reverse=True)
    for key in order:
        parent = threads[key].parent or MAIN
        if parent != MAIN and parent in last:
            last[parent] = max(last[parent], last[key])
    for key in order:
        slot = ahead.parents[key]
        if key in declared:
            ahead.endings[last[key]].append((key, declared[key]))
        elif slot.result is not None:
            if not threads[key].background:
                result = steps[slot.result]
                failed = isinstance(result, Result) and (result.is_error or result.denied_by is not None)
                ahead.endings[max(last[key], slot.result)].append((key, CALL_FAILED if failed else Complete()))
        elif last_answer[threads[key].parent or MAIN] > max(slot.answer, last[key]):
            ahead.endings[last[key]].append((key, WENT_ON))


def _level(threads: Mapping[str, Thread], key: str) -> int:
    level = 0
    while (parent := threads[key].parent) is not None:
        key = parent
        level += 1
    return level
