"""Inputs that a recording holds, found again by what asks for them: never by who comes first (DESIGN §4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopkit import events as e
from loopkit.core.context_tools import PROCESSOR
from loopkit.core.state import AskDecision, AskStopCondition, CallModel, Effect, ProcessResult, ReadClock, RunTool
from loopkit.drivers.watcher_decisions import FORBIDDEN_BY
from loopkit.events import Event

# inputs that no effect asks for: people and callers bring them on their own
SPONTANEOUS = (
    e.MessagesInjected,
    e.HistoryEdited,
    e.AgentChanged,
    e.AnswerEdited,
    e.ResultEdited,
    e.Paused,
    e.Resumed,
    e.Reopened,
    e.StopCommanded,
    e.RunStopped,
    e.DecisionRefused,
    e.EditRefused,
    e.ToolProgressed,
    e.ToolAttemptFailed,
    e.ToolEndedLate,
)


def effect_answered(event: Event) -> Effect | None:
    """Return the effect that an input answers, or None for one that nobody asked for."""
    match event.fact:
        case e.ModelReplied() | e.ModelInterrupted():
            return CallModel(event.iteration, 1)
        case e.ModelAttemptFailed(attempt):
            return CallModel(event.iteration, attempt)
        case e.ClockRead():
            return ReadClock(event.iteration + 1)
        case e.StopAnswered():
            return AskStopCondition(event.iteration)
        case e.Decided(call, version) | e.DecisionExpired(call, version):
            return AskDecision(call, version)
        case e.ToolReturned(call) | e.ToolFailed(call) | e.ToolAbandoned(call):
            return RunTool(call)
        case e.ResultProcessed(call, _, processor):
            return ProcessResult(call, processor)
    return None


class InputIndex:
    """The inputs of a recording by loop and effect; of two that answer the same, the first.

    Attributes:
        effects: what each input answers, by its number.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self.effects: dict[int, Effect] = {}
        self._inputs: dict[tuple[str, Effect], Event] = {}
        attempts: dict[tuple[str, int], int] = {}
        for event in events:
            effect = effect_answered(event)
            if effect is None or not isinstance(event.fact, e.Input):
                continue
            if isinstance(effect, CallModel):
                place = (event.loop, event.iteration)
                if isinstance(event.fact, e.ModelAttemptFailed):
                    attempts[place] = event.fact.attempt + 1
                else:
                    # an answer belongs to the attempt after the failed ones
                    effect = CallModel(event.iteration, attempts.get(place, 1))
            self.effects[event.seq] = effect
            self._inputs.setdefault((event.loop, effect), event)

    def get(self, loop: str, effect: Effect) -> Event | None:
        """Return the recorded input that answers an effect, or None."""
        return self._inputs.get((loop, effect))

    def in_recorded_order(self, loop: str, effects: Iterable[Effect]) -> list[Effect]:
        """Return effects as they were answered, so that a batch completes as it did (spec/faults.md d9)."""

        def number(effect: Effect) -> float:
            event = self.get(loop, effect)
            return float("inf") if event is None else event.seq

        return sorted(effects, key=number)


class RecordedAnswers:
    """The inputs of a recording, for a driver that asks for them by loop and effect.

    Args:
        events: the recording's.
        live_tools: handlers really run; everything else comes from the recording.
        ask_again: what `on_tool_call`, a policy, `stop_when` and `result_processor` said is asked for again.
        live: effects that are performed whatever the recording holds for them.
    """

    def __init__(
        self,
        events: Sequence[Event],
        *,
        live_tools: bool,
        ask_again: bool,
        live: frozenset[tuple[str, Effect]] = frozenset(),
    ) -> None:
        self._index = InputIndex(events)
        self._live_tools = live_tools
        self._ask_again = ask_again
        self._live = live
        self._failed = {
            (event.loop, event.fact.callback) for event in events if isinstance(event.fact, e.CallbackFailed)
        }

    def recorded(self, loop: str, effect: Effect) -> e.Input | None:
        """Return the recorded input for an effect, or None."""
        event = self._index.get(loop, effect)
        return event.fact if event is not None and isinstance(event.fact, e.Input) else None

    def decided(self, loop: str, call: str, version: int) -> e.Decided | None:
        """Return the recorded decision on a version of a call, or None."""
        fact = self.recorded(loop, AskDecision(call, version))
        return fact if isinstance(fact, e.Decided) else None

    def in_order(self, loop: str, effects: Sequence[Effect]) -> Sequence[Effect]:
        """Return effects in the order in which they are to be answered."""
        return effects if len(effects) < 2 else self._index.in_recorded_order(loop, effects)

    def answer(self, loop: str, effect: Effect) -> e.Input | None:
        """Return the recorded input for an effect, or None when it is to be performed.

        Raises:
            MissingAnswer: the recording holds no answer; it is never asked for live instead (spec/faults.md d14).
        """
        if (loop, effect) in self._live or (isinstance(effect, RunTool) and self._live_tools):
            return None
        fact = self.recorded(loop, effect)
        if self._ask_again and (isinstance(fact, e.StopAnswered) or _by_callback(fact)):
            return None
        if fact is None and self._ask_again and (loop, _callback_asked(effect)) in self._failed:
            # it raised then: whether it does again stands in what follows
            return None
        if fact is None:
            raise MissingAnswer(loop, effect)
        return fact


class MissingAnswer(LookupError):
    """A replay asked for something that its recording does not hold."""

    def __init__(self, loop: str, effect: Effect) -> None:
        super().__init__(f"{loop}: nothing is recorded for {effect}")
        self.loop = loop
        self.effect = effect


def _callback_asked(effect: Effect) -> str:
    match effect:
        case AskDecision():
            return "on_tool_call"
        case AskStopCondition():
            return "stop_when"
    return ""


def _by_callback(fact: e.Input | None) -> bool:
    """Say whether a callback said it that may be asked again; an extractor asks models, a cacher stores."""
    if isinstance(fact, e.ResultProcessed):
        return fact.processor == PROCESSOR
    # a policy decides after the callback, which may have something to say today
    return isinstance(fact, e.Decided) and fact.by != "person" and not fact.by.startswith(FORBIDDEN_BY)
