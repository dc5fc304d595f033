"""Neutral steps → our events, well-formed loop by loop: the shared half of every importer.

Every answer becomes one iteration, every thread one loop under the call that started it. Order is that of the steps;
times only decorate it, and never run backwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loopkit import events as e
from loopkit.encoding import encode
from loopkit.importers.pairing import CallSlot
from loopkit.importers.plan import plan, session_ending
from loopkit.importers.steps import MAIN, Answer, Ended, Note, Progress, Prompt, Result, Step, Thread
from loopkit.messages import NO_USAGE, UNREPORTED_USAGE, ChatResponse, Message, Usage
from loopkit.outcomes import Cancelled, Deny, TerminationReason

NEVER_ENDED = Cancelled("its end is not in the session")


@dataclass(frozen=True, slots=True)
class Built:
    """What came of the steps.

    Args:
        events: numbered from 1 without a gap, the top loop's start first.
        notices: one line each on what was guessed.
        runs: loops below the top one.
    """

    events: list[e.Event]
    notices: list[str]
    runs: int


def build(
    threads: Mapping[str, Thread], steps: Sequence[Step], ending: TerminationReason | e.Failure | None = None
) -> Built:
    """Turn a session's steps into events.

    Args:
        threads: by key; `MAIN` is among them, and every other one's parent.
        steps: in the order of the file; all of their threads are in `threads`.
        ending: how the session ended when the format says so, or what it failed of; None leaves it to the last words.
    """
    builder = _Builder(threads, steps)
    builder.run(ending if ending is not None else session_ending(steps))
    guessed = builder.plan.pairing.by_position
    notices = [f"results paired with calls by order, their ids fit no call: {guessed}"] if guessed else []
    return Built(builder.events, notices, len(builder.loops) - 1)


@dataclass(slots=True, eq=False)
class _Loop:
    path: str
    parent: _Loop | None = None
    iteration: int = 0
    history: int = 0
    usage: Usage = NO_USAGE
    ended: bool = False
    ordinals: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    children: list[_Loop] = field(default_factory=list)

    @property
    def level(self) -> int:
        return 0 if self.parent is None else self.parent.level + 1


class _Builder:
    def __init__(self, threads: Mapping[str, Thread], steps: Sequence[Step]) -> None:
        self.threads = threads
        self.steps = steps
        self.plan = plan(threads, steps)
        self.events: list[e.Event] = []
        self.loops: dict[str, _Loop] = {}
        self.iterations: dict[int, tuple[_Loop, int]] = {}
        self.t = 0.0
        self.origin = next((step.at for step in steps if step.at is not None), 0.0)

    def run(self, ending: TerminationReason | e.Failure | None) -> None:
        main = self.start(MAIN, None)
        for index, step in enumerate(self.steps):
            if step.at is not None:
                self.t = max(self.t, round(step.at - self.origin, 3))
            loop = self.loop_of(step)
            if loop is None:
                self.emit(main, e.Unrecognised(f"{type(step).__name__} of a sub-agent without its call", encode(step)))
                continue
            self.take(loop, index, step)
            if index in self.plan.asks_after:
                self.ask(loop)
            for key, reason in self.plan.endings.get(index, ()):
                self.close(self.loops[key], reason)
        if ending is not None:
            self.close(main, ending)

    def loop_of(self, step: Step) -> _Loop | None:
        loop = self.loops.get(step.thread)
        if loop is None and step.thread in self.plan.parents:
            return self.start(step.thread, self.plan.parents[step.thread])
        return loop

    def start(self, key: str, slot: CallSlot | None) -> _Loop:
        thread = self.threads[key]
        loop = _Loop(e.ROOT)
        call = None
        if slot is not None:
            parent, call = self.place(slot)
            parent.ordinals[call] += 1
            parent.children.append(loop)
            loop.path, loop.parent = e.child_path(call, parent.ordinals[call]), parent
        self.loops[key] = loop
        messages = tuple(self.opening(key))
        loop.history = len(messages)
        self.emit(
            loop,
            e.LoopStarted(
                thread.agent,
                messages,
                configuration=thread.facts,
                model=thread.model,
                depth=loop.level,
                parent_call=call,
            ),
        )
        return loop

    def opening(self, key: str) -> list[Message]:
        steps = [self.steps[index] for index in self.plan.opening.get(key, ())]
        return [step.message for step in steps if isinstance(step, Prompt)]

    def emit(self, loop: _Loop, fact: e.Fact, slot: CallSlot | None = None) -> None:
        iteration = loop.iteration if slot is None else self.iterations[slot.answer][1]
        self.events.append(e.Event(len(self.events) + 1, self.t, loop.path, iteration, fact))

    def place(self, slot: CallSlot) -> tuple[_Loop, str]:
        """Return the loop of a call and the call's own id."""
        loop, iteration = self.iterations[slot.answer]
        return loop, e.call_key(loop.path, iteration, slot.position)

    def close(self, loop: _Loop, reason: TerminationReason | e.Failure) -> None:
        for child in loop.children:
            if not child.ended:
                self.close(child, NEVER_ENDED)
        loop.ended = True
        if isinstance(reason, e.Failure):
            self.emit(loop, e.LoopFailed(reason, loop.iteration, loop.usage))
        else:
            self.emit(loop, e.LoopFinished(reason, loop.iteration, loop.usage))

    # ── one step ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def take(self, loop: _Loop, index: int, step: Step) -> None:
        match step:
            case Prompt():
                if index not in self.plan.opening.get(step.thread, ()):
                    loop.history += 1
                    self.emit(loop, e.MessagesInjected((step.message,), step.by))
            case Answer():
                self.answer(loop, index, step)
            case Result():
                self.result(loop, index, step)
            case Progress():
                self.progress(loop, index, step)
            case Note():
                self.emit(loop, e.Unrecognised(step.type_name, step.data))
            case Ended():
                pass  # planned ahead: a thread ends after its last step

    def ask(self, loop: _Loop) -> None:
        loop.iteration += 1
        self.emit(loop, e.IterationStarted())
        self.emit(loop, e.ModelRequested(1, loop.history, ""))

    def answer(self, loop: _Loop, index: int, step: Answer) -> None:
        if index not in self.plan.asked:
            self.ask(loop)
        self.iterations[index] = (loop, loop.iteration)
        loop.history += 1
        loop.usage += UNREPORTED_USAGE if step.usage is None else step.usage
        self.emit(loop, _reply(step))
        for slot in self.plan.pairing.of_answer[index]:
            if self.ran(slot):
                self.emit(loop, e.ToolStarted(self.place(slot)[1]))

    def ran(self, slot: CallSlot) -> bool:
        """Whether anything says that the call was started."""
        if slot.result is None:
            return slot in self.plan.started
        result = self.steps[slot.result]
        return isinstance(result, Result) and result.denied_by is None

    def result(self, loop: _Loop, index: int, step: Result) -> None:
        slot = self.plan.pairing.of_result.get(index)
        if slot is None:
            self.emit(loop, e.Unrecognised("result without its call", encode(step)))
            return
        loop.history += 1
        call = self.place(slot)[1]
        if step.denied_by is None:
            self.emit(loop, e.ToolReturned(call, step.content, step.is_error), slot)
            return
        self.emit(loop, e.Decided(call, 1, Deny(step.reason), step.denied_by), slot)
        self.emit(loop, e.ToolSkipped(call, "denied", step.content), slot)

    def progress(self, loop: _Loop, index: int, step: Progress) -> None:
        slot = self.plan.called.get(index)
        if slot is None:
            self.emit(loop, e.Unrecognised("progress without its call", encode(step)))
        else:
            self.emit(loop, e.ToolProgressed(self.place(slot)[1], step.text), slot)


def _reply(step: Answer) -> e.ModelReplied:
    response = ChatResponse(parts=step.parts, stop_reason=step.stop_reason)
    return e.ModelReplied(
        response.message,
        step.usage,
        response.stop_reason,
        step.raw_stop_reason,
        step.model,
        step.request_id,
    )
