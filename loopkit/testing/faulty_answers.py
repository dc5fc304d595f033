"""A recording's answers with faults among them, for a loop of today's agent that runs on them.

The model answers turn by turn as it did; calls are met by name, arguments and occurrence, since a fault may move them
(features 19). What the recording does not hold is an error, never a live call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio

from loopkit import events as e
from loopkit.core.state import CallModel, Effect, RunTool
from loopkit.drivers.by_content import AnswersByContent, CallContents
from loopkit.drivers.prepared import InputIndex, MissingAnswer
from loopkit.drivers.result import response_of
from loopkit.drivers.run import CallScope
from loopkit.drivers.tool_loop import recorded_exception
from loopkit.drivers.waking import spawn_background
from loopkit.errors import ProviderError, ToolError, UserError
from loopkit.events import Event
from loopkit.messages import ChatResponse, ToolCall, ToolOutput
from loopkit.providers.assembly import whole_call
from loopkit.providers.protocol import Emit, deltas_of
from loopkit.testing.faults import (
    FailingModel,
    FailingTool,
    Fault,
    GarbledAnswer,
    GarbledResult,
    LateResult,
    ModelFault,
    SlowModel,
    SlowTool,
    ToolFault,
)
from loopkit.testing.virtual_time import VirtualTime


@dataclass(frozen=True)
class FaultyResponse:
    """What the model does when it is asked next.

    Args:
        seconds: how long that takes.
        said: an answer, or what is raised.
    """

    seconds: float
    said: ChatResponse | Exception


class FaultyAnswers:
    """A recording's answers with faults; implements what `drivers.live_replay.run_with` asks for.

    Attributes:
        struck: the faults that came about.
        next_response: what the model does when it is really asked.
    """

    def __init__(self, recorded: Sequence[Event], faults: Sequence[Fault], passing: VirtualTime) -> None:
        self.struck: set[int] = set()
        self.next_response: FaultyResponse | None = None
        self._faults = list(enumerate(faults))
        self._time = passing
        self._index = InputIndex(recorded)
        self._by_content = AnswersByContent(recorded, live_tools=False)
        self._today = CallContents()
        self._runs: Counter[str] = Counter()
        self._place: dict[str, int] = {}
        self._attempts: Counter[str] = Counter()
        self._garbled: set[int] = set()
        self._late: list[anyio.Event] = []
        self._waits = 0

    # ── what happens today ───────────────────────────────────────────────────────────────────────────────────────────

    def hear(self, event: Event) -> None:
        """Take in what happens today."""
        self._today.hear(event)
        self._by_content.hear(event)
        match event.fact:
            case e.ToolStarted(call):
                name = self._today.run[call].name
                self._runs[name] += 1
                self._place[call] = self._runs[name]
            case e.ModelAttemptFailed() if self._model_faults(event.iteration):
                self._wait_for_attempt(event.fact.delay)
            case e.ToolAttemptFailed():
                self._wait_for_attempt(event.fact.delay)

    def _wait_for_attempt(self, delay: float) -> None:
        if delay:
            self._waits += 1
            self._time.skip(1)

    def asked_again(self) -> None:
        """Take in that a wait between two attempts is over."""
        self._time.skip(-self._waits)
        self._waits = 0

    async def late_ends(self) -> None:
        """Wait for what comes too late."""
        for ended in self._late:
            await ended.wait()

    def recorded_call(self, call: str) -> str | None:
        """Return the recorded call whose result a call of today got, or None."""
        return self._by_content.recorded_call(call)

    # ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def decided(self, loop: str, call: str, version: int) -> e.Decided | None:
        """Return the recorded decision on a call of the same content, or None."""
        return self._by_content.decided(loop, call, version)

    def in_order(self, loop: str, effects: Sequence[Effect]) -> Sequence[Effect]:
        """Return effects in the order in which the recorded ones were answered."""
        return self._by_content.in_order(loop, effects)

    def answer(self, loop: str, effect: Effect) -> e.Input | None:
        """Return the recorded input for an effect, or None when it is to be performed: a callback, or a fault.

        Raises:
            MissingAnswer: the recording holds no answer.
        """
        if isinstance(effect, CallModel):
            return self._model_answer(loop, effect)
        if isinstance(effect, RunTool) and self._tool_faults(effect.call):
            return None
        return self._by_content.answer(loop, effect)

    def _model_answer(self, loop: str, effect: CallModel) -> e.Input | None:
        faults = self._model_faults(effect.iteration)
        if not faults:
            return self._recorded(loop, effect, effect.attempt)
        self.struck.update(number for number, _ in faults)
        self.next_response = self._faulty_response(loop, effect, [fault for _, fault in faults])
        return None

    def _model_faults(self, turn: int) -> list[tuple[int, ModelFault]]:
        return [(number, fault) for number, fault in self._faults if isinstance(fault, ModelFault) and fault.at == turn]

    def _faulty_response(self, loop: str, effect: CallModel, faults: Sequence[ModelFault]) -> FaultyResponse:
        seconds = sum(fault.seconds for fault in faults if isinstance(fault, SlowModel) and effect.attempt == 1)
        failed = 0
        for fault in faults:
            if isinstance(fault, FailingModel):
                failed += fault.times
                if effect.attempt <= failed:
                    return FaultyResponse(seconds, fault.raised)
        recorded = self._recorded(loop, effect, effect.attempt - failed)
        if isinstance(recorded, e.ModelAttemptFailed):
            error = recorded_exception(recorded.failure)
            if isinstance(error, ProviderError):
                error.retryable = recorded.retry
            return FaultyResponse(seconds, error)
        assert isinstance(recorded, e.ModelReplied)
        response = response_of(recorded)
        garbled = next((fault for fault in faults if isinstance(fault, GarbledAnswer)), None)
        if garbled is not None:
            self._garbled.add(effect.iteration)
            response = _garbled(response, garbled)
        return FaultyResponse(seconds, response)

    async def respond(self, emit: Emit) -> ChatResponse:
        """Stand in for the model: do what the turn's faults say, then what was recorded."""
        self.asked_again()
        response = self.next_response
        assert response is not None
        if response.seconds:
            with self._time.skipped():
                await anyio.sleep(response.seconds)
        if isinstance(response.said, Exception):
            raise response.said
        for piece in deltas_of(response.said.parts, None):
            emit(piece)
        return response.said

    def _recorded(self, loop: str, effect: CallModel, attempt: int) -> e.Input:
        # a garbled answer took a turn of its own, so that recorded ones come later
        turn = effect.iteration - sum(place < effect.iteration for place in self._garbled)
        event = self._index.get(loop, CallModel(turn, attempt))
        if event is None or not isinstance(event.fact, (e.ModelReplied, e.ModelAttemptFailed)):
            raise MissingAnswer(loop, effect)
        return event.fact

    # ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _tool_faults(self, call: str) -> list[tuple[int, ToolFault]]:
        name, place = self._today.run[call].name, self._place[call]
        return [
            (number, fault)
            for number, fault in self._faults
            if isinstance(fault, ToolFault) and (fault.tool, fault.at) == (name, place)
        ]

    def has_faults_of(self, tool: str) -> bool:
        """Say whether a tool may have to be run."""
        return any(isinstance(fault, ToolFault) and fault.tool == tool for _, fault in self._faults)

    async def run_tool(self, scope: CallScope) -> object:
        """Stand in for a handler: do what the faults say, then what was recorded."""
        call = scope.call
        self.asked_again()
        self._attempts[call] += 1
        for number, fault in self._tool_faults(call):
            if self._attempts[call] > fault.times:
                continue
            self.struck.add(number)
            match fault:
                case SlowTool():
                    with self._time.skipped():
                        await anyio.sleep(fault.seconds)
                case LateResult():
                    await self._come_late(scope, fault.seconds)
                case FailingTool():
                    raise fault.raised
                case GarbledResult():
                    return ToolOutput(fault.text, fault.is_error)
        return self._recorded_result(scope)

    def _recorded_result(self, scope: CallScope) -> object:
        fact = self._by_content.answer(scope.driver.path, RunTool(scope.call))
        if isinstance(fact, e.ToolFailed):
            raise recorded_exception(fact.failure)
        if isinstance(fact, e.ToolAbandoned):
            raise ToolError(fact.content or "")
        assert isinstance(fact, e.ToolReturned)
        return ToolOutput(is_error=fact.is_error, text=fact.content, json=fact.json, images=fact.images)

    async def _come_late(self, scope: CallScope, seconds: float) -> None:
        """Wait in a task that nobody can interrupt, as in a thread; if nobody waits any more, say that it ended."""
        ended = anyio.Event()
        self._late.append(ended)
        unwanted = False

        async def work() -> None:
            with self._time.skipped():
                await anyio.sleep(seconds)
            if unwanted:
                scope.driver.post_late(scope.call, "returned")
            ended.set()

        spawn_background(work)
        try:
            await ended.wait()
        except anyio.get_cancelled_exc_class():
            unwanted = True
            scope.driver.expect_late_end()
            raise


def _garbled(response: ChatResponse, fault: GarbledAnswer) -> ChatResponse:
    if fault.text is not None:
        return ChatResponse(fault.text, usage=response.usage, model=response.model)
    call = next((part for part in response.parts if isinstance(part, ToolCall)), None)
    if call is None or fault.arguments is None:
        raise UserError(f"{fault}: there is no call in this answer whose arguments could be garbled")
    # read as any provider's text is
    return replace(response, parts=(whole_call(1, call.id, call.name, fault.arguments),))
