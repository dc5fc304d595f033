"""A recording's answers for a live model, which may ask for the same calls at other places.

A call is met again by its loop, its tool, its arguments and its occurrence: the second equal call gets what the second
one got, never what happens to come first (features 19). What the recording does not hold is an error, not a live call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from loopkit import events as e
from loopkit.core.context_tools import PROCESSOR
from loopkit.core.detection.signatures import batch_signature
from loopkit.core.state import AskDecision, Effect, ProcessResult, RunTool
from loopkit.drivers.prepared import InputIndex, MissingAnswer
from loopkit.events import Event
from loopkit.messages import ToolCall
from loopkit.outcomes import Approve, Modify


class CallContents:
    """Hears a run's events and knows what each call asked for, and what it runs with."""

    def __init__(self) -> None:
        self.asked: dict[str, ToolCall] = {}
        self.run: dict[str, ToolCall] = {}

    def hear(self, event: Event) -> None:
        """Take in the next event."""
        if isinstance(event.fact, e.ModelReplied):
            for position, call in enumerate(event.fact.message.tool_calls, 1):
                key = e.call_key(event.loop, event.iteration, position)
                self.asked[key] = self.run[key] = call
        elif isinstance(event.fact, e.Decided) and isinstance(event.fact.decision, Modify):
            call = self.asked[event.fact.call]
            self.run[event.fact.call] = ToolCall(call.id, call.name, event.fact.decision.arguments)


class AnswersByContent:
    """What a live model's run gets from a recording.

    Args:
        recorded: the recording's events.
        live_tools: handlers run too; only decisions come from the recording.
    """

    def __init__(self, recorded: Sequence[Event], *, live_tools: bool) -> None:
        self._live_tools = live_tools
        self._index = InputIndex(recorded)
        self._asks_callback = {
            event.loop
            for event in recorded
            if isinstance(event.fact, e.LoopStarted) and event.fact.configuration.get("on_tool_call")
        }
        self._today = CallContents()
        self._asked_before = _Occurrences()
        self._run_before = _Occurrences()
        self._assigned: dict[tuple[str, Effect], Event | None] = {}
        self._recorded_call: dict[str, str] = {}
        contents = CallContents()
        for event in recorded:
            contents.hear(event)
        for call in sorted(contents.asked, key=_place):
            self._asked_before.add(call, contents.asked[call])
            self._run_before.add(call, contents.run[call])

    def hear(self, event: Event) -> None:
        """Take in what happens today."""
        self._today.hear(event)

    def in_order(self, loop: str, effects: Sequence[Effect]) -> Sequence[Effect]:
        """Return effects in the order in which the recorded ones were answered (spec/faults.md d9)."""
        found = {effect: self._found(loop, effect) for effect in effects}

        def number(effect: Effect) -> float:
            event = found[effect]
            return float("inf") if event is None else event.seq

        return sorted(effects, key=number)

    def answer(self, loop: str, effect: Effect) -> e.Input | None:
        """Return the recorded input for an effect, or None when it is to be performed.

        Raises:
            MissingAnswer: the recording holds no such call.
        """
        event = self._found(loop, effect)
        match effect:
            case AskDecision(call, version):
                return self._decision(loop, call, version, event)
            case RunTool(call) if not self._live_tools:
                if event is None:
                    raise MissingAnswer(loop, effect)
                fact = event.fact
                assert isinstance(fact, (e.ToolReturned, e.ToolFailed, e.ToolAbandoned))
                return replace(fact, call=call)
            case ProcessResult(call, processor) if not self._live_tools and processor != PROCESSOR:
                if event is None:
                    raise MissingAnswer(loop, effect)
                assert isinstance(event.fact, e.ResultProcessed)
                return replace(event.fact, call=call)
        return None

    def _decision(self, loop: str, call: str, version: int, event: Event | None) -> e.Input | None:
        fact = None if event is None else event.fact
        if isinstance(fact, e.DecisionExpired):
            return e.DecisionExpired(call, version)
        if isinstance(fact, e.Decided) and fact.by == "person":
            return replace(fact, call=call, version=version)
        if fact is not None or loop in self._asks_callback or self._live_tools:
            return None
        # nothing runs: whether the recording holds its result is asked next
        return e.Decided(call, version, Approve(), "default")

    def decided(self, loop: str, call: str, version: int) -> e.Decided | None:
        """Return the recorded decision on a call of the same content, or None."""
        event = self._found(loop, AskDecision(call, version))
        fact = None if event is None else event.fact
        return fact if isinstance(fact, e.Decided) else None

    def recorded_call(self, call: str) -> str | None:
        """Return the recorded call whose result a call of today got, or None."""
        return self._recorded_call.get(call)

    def _found(self, loop: str, effect: Effect) -> Event | None:
        key = loop, effect
        if key not in self._assigned:
            self._assigned[key] = self._find(loop, effect)
        return self._assigned[key]

    def _find(self, loop: str, effect: Effect) -> Event | None:
        match effect:
            case AskDecision(call, version):
                recorded = self._asked_before.take(call, self._today.asked[call])
                return None if recorded is None else self._index.get(loop, AskDecision(recorded, version))
            case RunTool(call):
                recorded = self._run_before.take(call, self._today.run[call])
                if recorded is not None:
                    self._recorded_call[call] = recorded
                return None if recorded is None else self._index.get(loop, RunTool(recorded))
            case ProcessResult(call, processor):
                recorded = self._recorded_call.get(call)
                return None if recorded is None else self._index.get(loop, ProcessResult(recorded, processor))
        return None


class _Occurrences:
    """Recorded calls by loop and content, each taken once, in call order."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], Iterator[str]] = {}
        self._lists: dict[tuple[str, str], list[str]] = defaultdict(list)

    def add(self, call: str, content: ToolCall) -> None:
        self._lists[_loop_of(call), batch_signature((content,))].append(call)

    def take(self, call: str, content: ToolCall) -> str | None:
        key = _loop_of(call), batch_signature((content,))
        return next(self._calls.setdefault(key, iter(self._lists.get(key, ()))), None)


def _loop_of(call: str) -> str:
    return call.rpartition("/")[0]


def _place(call: str) -> tuple[str, int, int]:
    loop, _, number = call.rpartition("/")
    turn, _, position = number.partition(".")
    return loop, int(turn), int(position)
