"""Where a fork leaves its parent, and what is changed there (DESIGN §4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loopkit import events as e
from loopkit.core.editing import result_can_be_edited
from loopkit.core.loop import fold
from loopkit.core.state import LoopState
from loopkit.drivers.facts import verdicts_by_schema
from loopkit.drivers.originals import Originals
from loopkit.errors import UserError
from loopkit.events import Event
from loopkit.messages import Message
from loopkit.outcomes import AddMessages, EditAnswer, EditMessage, EditResult, ForkEdit, Modify, ToolApproval
from loopkit.recording.reader import Recording
from loopkit.tools.checks import SchemaCheck

FORK = "fork"
_ITERATION = re.compile(r"(?P<loop>.+)/(?P<number>[1-9]\d*)")
_ENDS = (e.ToolReturned, e.ToolFailed, e.ToolAbandoned, e.ToolSkipped, e.ResultProcessed)


@dataclass(frozen=True)
class ForkPoint:
    """Where a fork leaves its parent.

    Args:
        prefix: the events that are copied.
        loop: path of the loop that goes on there.
        call: the call whose decision comes next there, or None.
        decided: that decision; None asks for it again.
        facts: what is changed there in the loop, in order.
        is_edited: somebody decides on the call anew.
    """

    prefix: tuple[Event, ...]
    loop: str
    call: str | None = None
    decided: e.Decided | None = None
    facts: tuple[e.Input, ...] = ()
    is_edited: bool = False

    @property
    def asks_otherwise(self) -> bool:
        """Whether the calls of the response are not those of the parent."""
        return any(isinstance(fact, e.AnswerEdited) for fact in self.facts)


def find_fork_point(
    parent: Recording, at: int | str, edit: ForkEdit | None, originals: Originals | None = None
) -> ForkPoint:
    """Return where a fork leaves its parent.

    Args:
        at: a call's id (`root/3.2`), an iteration (`root/3`), or the number of the last event to keep.
        originals: what the parent's placeholders stand for.

    Raises:
        UserError: no such event, iteration or call, or nothing can go on from there.
    """
    originals = originals or Originals()
    match edit:
        case EditMessage() | AddMessages():
            return _at_start_of_iteration(parent, *_iteration_named(parent, at), edit)
        case EditAnswer(message):
            return _at_answer(parent, _iteration_named(parent, at), message, originals)
        case EditResult():
            return _at_result(parent, _call_named(parent, at), edit)
    if isinstance(at, str):
        named = _ITERATION.fullmatch(at)
        if named is not None and edit is None and named["loop"] in _loops(parent):
            return _at_start_of_iteration(parent, *_iteration_named(parent, at))
        return _at_call(parent, at, edit, originals)
    event = _event(parent, at)
    if edit is not None:
        return _at_call(parent, _call_named(parent, at), edit, originals)
    prefix = parent.events[:at]
    root = fold(prefix)[e.ROOT]
    if root.finished is not None or root.ending is not None:
        raise UserError(f"the run has ended at event {at}: choose an earlier one")
    return ForkPoint(prefix, event.loop)


# ── names of places ──────────────────────────────────────────────────────────────────────────────────────────────────


def _loops(parent: Recording) -> set[str]:
    return {event.loop for event in parent.events}


def _event(parent: Recording, at: int) -> Event:
    if not 1 <= at <= len(parent.events):
        raise UserError(f"{parent.path} has the events 1 to {len(parent.events)}, not {at}")
    return parent.events[at - 1]


def _call_named(parent: Recording, at: int | str) -> str:
    if isinstance(at, str):
        return at
    event = _event(parent, at)
    call = getattr(event.fact, "call", None)
    if not isinstance(call, str):
        raise UserError(f"event {at} ({event.type}) is of no call: name a call, such as root/3.1")
    return call


def _iteration_named(parent: Recording, at: int | str) -> tuple[str, int]:
    if isinstance(at, int):
        event = _event(parent, at)
        return event.loop, max(1, event.iteration)
    named = _ITERATION.fullmatch(at)
    loop, number = (named["loop"], int(named["number"])) if named is not None else (at, 0)
    last = max((event.iteration for event in parent.events if event.loop == loop), default=0)
    if not 1 <= number <= last:
        known = f"{loop} has the iterations 1 to {last}" if last else "name one as root/3"
        raise UserError(f"{parent.path} has no iteration {at!r}: {known}")
    return loop, number


# ── places ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _at_start_of_iteration(
    parent: Recording, loop: str, number: int, edit: EditMessage | AddMessages | None = None
) -> ForkPoint:
    for event in parent.events:
        if event.loop == loop and event.iteration == number and isinstance(event.fact, e.IterationStarted):
            prefix = parent.events[: event.seq - 1]
            facts = () if edit is None else (_message_fact(edit, fold(prefix)[loop]),)
            return ForkPoint(prefix, loop, facts=facts)
    raise UserError(f"{parent.path} has no start of iteration {number} of {loop}")


def _message_fact(edit: EditMessage | AddMessages, state: LoopState) -> e.Input:
    if isinstance(edit, AddMessages):
        return e.MessagesInjected(edit.messages, FORK)
    messages = len(state.history)
    place = edit.place + messages if edit.place < 0 else edit.place
    if not 0 <= place < messages:
        raise UserError(f"there are the messages 0 to {messages - 1} before that iteration, not {edit.place}")
    return e.HistoryEdited(place, place + 1, () if edit.message is None else (edit.message,), FORK)


def _at_answer(parent: Recording, place: tuple[str, int], message: Message, originals: Originals) -> ForkPoint:
    loop, number = place
    for event in parent.events:
        if event.loop == loop and event.iteration == number and isinstance(event.fact, e.ModelReplied):
            prefix = parent.events[: event.seq]
            verdicts = verdicts_by_schema(fold(prefix)[loop].tools, originals.message(message))
            return ForkPoint(prefix, loop, facts=(e.AnswerEdited(message, FORK, verdicts),))
    raise UserError(f"{parent.path} has no answer of a model in iteration {number} of {loop}")


def _at_result(parent: Recording, call: str, edit: EditResult) -> ForkPoint:
    ends = [event for event in parent.events if isinstance(event.fact, _ENDS) and event.fact.call == call]
    if not ends:
        raise UserError(f"{parent.path} has no result of a call {call!r}")
    prefix = parent.events[: ends[-1].seq]
    if not result_can_be_edited(fold(prefix)[ends[-1].loop], call):
        raise UserError(f"the run ended with {call}, so its result can't be changed: choose an earlier call")
    fact = e.ResultEdited(call, edit.content, FORK, edit.is_error)
    return ForkPoint(prefix, ends[-1].loop, facts=(fact,))


def _at_call(parent: Recording, call: str, edit: ToolApproval | None, originals: Originals) -> ForkPoint:
    events = parent.events
    for event in events:
        if isinstance(event.fact, e.Decided | e.DecisionExpired) and event.fact.call == call:
            prefix = events[: event.seq - 1]
            recorded = event.fact if isinstance(event.fact, e.Decided) else None
            decided = recorded if edit is None else _edited(prefix, event, call, edit, originals)
            return ForkPoint(prefix, event.loop, call, decided, is_edited=edit is not None)
    for event in events:
        if isinstance(event.fact, e.DecisionRequested) and event.fact.call == call:
            states = fold(events)
            if states[event.loop].call_state(call) is None or states[e.ROOT].ending is not None:
                break
            decided = None if edit is None else _edited(events, event, call, edit, originals)
            return ForkPoint(events, event.loop, call, decided, is_edited=edit is not None)
    known = [event.fact.call for event in events if isinstance(event.fact, e.Decided)]
    shown = ", ".join(known[:8]) + (" …" if len(known) > 8 else "")
    raise UserError(f"nothing was decided on a call {call!r} in {parent.path}; decided calls: {shown or 'none'}")


def _edited(prefix: Sequence[Event], event: Event, call: str, edit: ToolApproval, originals: Originals) -> e.Decided:
    state = fold(prefix)[event.loop]
    asked = state.call_state(call)
    assert asked is not None
    tool = state.tools.get(asked.call.name)
    if isinstance(edit, Modify) and tool is not None:
        problems = SchemaCheck(tool.parameters).problems(originals.arguments(edit.arguments))
        if problems:
            raise UserError(f"the arguments don't fit {tool.name}: {'; '.join(str(problem) for problem in problems)}")
    return originals.hidden(e.Decided(call, asked.version, edit, "person"))
