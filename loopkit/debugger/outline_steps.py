"""What each event does to an outline: the same as the step of the same name in `Timeline` does to its nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from loopkit.debugger.nodes import RowKind
from loopkit.debugger.outline import DECIDED, FAILED, PRICED_FIELDS, REPORTED, UNREPORTED
from loopkit.debugger.outline_facts import NO_FIGURES, Decision, End, Reply
from loopkit.debugger.outline_state import LARGEST_COUNT, Loop, OutlineState
from loopkit.events import call_key


class OutlineSteps(OutlineState):
    """Takes events into an outline one by one, one step per type of event."""

    def model_requested(self, fact: object) -> None:
        self._own_iteration()

    def attempt_failed(self, unreported: bool) -> None:
        loop, _ = self._own_iteration()
        if unreported:
            self._spend(loop, NO_FIGURES)
        self.note(unreported, FAILED)

    def model_replied(self, fact: Reply) -> None:
        outline = self.outline
        tools, usage, model = fact
        loop, group = self._own_iteration()
        self._spend(loop, usage)
        outline.group_answer[group] = UNREPORTED if usage[-1] else REPORTED
        for place, tokens in enumerate(usage[:PRICED_FIELDS], group * PRICED_FIELDS):
            if tokens:
                outline.group_usage[place] = max(0, min(tokens, LARGEST_COUNT))
        outline.group_model[group] = self._name(model)
        self._put_calls(loop, group, tools)

    def _put_calls(self, loop: Loop, group: int, tools: list[str]) -> None:
        """Calls that are there already become those of a later answer."""
        outline = self.outline
        there = outline.group_calls[group]
        for position, tool in enumerate(tools[:there], 1):
            row = outline.call_row(group, position)
            if row < len(outline.row_name):
                outline.row_name[row] = self._name(tool)
        if len(tools) <= there:
            return
        if not there:
            outline.group_call_row[group] = len(outline.row_event)
        outline.group_calls[group] = min(len(tools), 0xFFFF)
        outline.loop_calls[loop.number] += len(tools) - there
        put = self._rows.put_call
        for position, tool in enumerate(tools[there:], there + 1):
            row = put(self._event, self._ordinal, loop.number, (group, position), self._name(tool))
            loop.calls[call_key(self._loop_path, self._iteration, position)] = (group, position, row)
            self._ordinal += 1

    def answer_edited(self, tools: list[str]) -> None:
        loop, group = self._own_iteration()
        self._put_calls(loop, group, tools)
        for position in range(len(tools) + 1, self.outline.group_calls[group] + 1):
            self._mark(self.outline.call_row(group, position), FAILED, on=True)
        self.note(tools)

    def model_interrupted(self, fact: object) -> None:
        loop, group = self._own_iteration()
        self.outline.group_answer[group] = UNREPORTED
        for row in self.outline.rows_of_event(self.outline.group_first[group]):
            if self.outline.kind_of(row) is RowKind.ITERATION:
                self.outline.row_marks[row] |= FAILED
        self._spend(loop, NO_FIGURES)

    def repetition(self, fact: object) -> None:
        loop, _ = self._own_iteration()
        self.outline.warnings += 1
        self._put(RowKind.WARNING, loop)

    def decision_requested(self, call: str) -> None:
        if self._known(call) is not None:
            self._waiting[call] = False
            self._time_waiting()

    def decided(self, fact: Decision) -> None:
        call, by_person_or_rule, edits = fact
        known = self._known(call)
        if known is None:
            return
        self._waiting.pop(call, None)
        self._time_waiting()
        self._mark(known[2], DECIDED, on=by_person_or_rule)
        self.outline.edited += edits

    def decision_expired(self, call: str) -> None:
        self._waiting.pop(call, None)
        self._time_waiting()

    def call_changed(self, call: str) -> None:
        self._known(call)

    def call_noted(self, call: str) -> None:
        if self._known(call) is not None:
            self.note(call)

    def call_ended(self, fact: End) -> None:
        call, status = fact
        known = self._known(call)
        if known is None:
            return
        if call in self._waiting:
            self._waiting[call] = True
        failed = status == "failed"
        if status:
            self.outline.denied += status == "denied"
            self.outline.errors += failed
        self._mark(known[2], FAILED, on=failed)

    def result_processed(self, fact: tuple[str, bool]) -> None:
        call, failed = fact
        if self._known(call) is not None and failed:
            self.note(fact)

    def results_masked(self, calls: list[str]) -> None:
        for call in calls:
            known = self._call(call)
            if known is not None:
                self._note_late(known)
        self.note(calls)

    def injected(self, fact: object) -> None:
        self._put(RowKind.MESSAGE, self._loop())

    def pausing(self, fact: object) -> None:
        self._loop()
        self._paused.add(self._loop_path)
        self._time_waiting()

    def resuming(self, fact: object) -> None:
        self._loop()
        self._paused.discard(self._loop_path)
        self._time_waiting()

    def callback_failed(self, fact: object) -> None:
        self.note(fact, FAILED)

    def finished(self, fact: object) -> None:
        self._end_loop()

    def failed(self, fact: object) -> None:
        self.outline.errors += 1
        self.outline.row_marks[self._end_loop()] |= FAILED

    def nothing(self, fact: object) -> None:
        """It is not shown."""


Step: TypeAlias = Callable[[OutlineSteps, Any], None]

STEPS: dict[str, Step] = {
    "LoopStarted": OutlineSteps.loop_started,
    "IterationStarted": OutlineSteps.iteration_started,
    "ModelRequested": OutlineSteps.model_requested,
    "ModelAttemptFailed": OutlineSteps.attempt_failed,
    "ModelReplied": OutlineSteps.model_replied,
    "ModelInterrupted": OutlineSteps.model_interrupted,
    "RepetitionDetected": OutlineSteps.repetition,
    "DecisionRequested": OutlineSteps.decision_requested,
    "Decided": OutlineSteps.decided,
    "DecisionRefused": OutlineSteps.nothing,
    "DecisionExpired": OutlineSteps.decision_expired,
    "ToolStarted": OutlineSteps.call_changed,
    "ToolProgressed": OutlineSteps.call_changed,
    "ToolAttemptFailed": OutlineSteps.call_noted,
    "ToolSkipped": OutlineSteps.call_ended,
    "ToolReturned": OutlineSteps.call_ended,
    "ToolFailed": OutlineSteps.call_ended,
    "ToolAbandoned": OutlineSteps.call_ended,
    "ToolEndedLate": OutlineSteps.call_changed,
    "ResultProcessed": OutlineSteps.result_processed,
    "ResultsMasked": OutlineSteps.results_masked,
    "MessagesInjected": OutlineSteps.injected,
    "Paused": OutlineSteps.pausing,
    "Resumed": OutlineSteps.resuming,
    "HistoryEdited": OutlineSteps.note,
    "AgentChanged": OutlineSteps.note,
    "AnswerEdited": OutlineSteps.answer_edited,
    "ResultEdited": OutlineSteps.call_noted,
    "EditRefused": OutlineSteps.note,
    "RecordingEnded": OutlineSteps.note,
    "RunStopped": OutlineSteps.note,
    "StopCommanded": OutlineSteps.note,
    "CallbackFailed": OutlineSteps.callback_failed,
    "Reopened": OutlineSteps.note,
    "LoopFinished": OutlineSteps.finished,
    "LoopFailed": OutlineSteps.failed,
    "ClockRead": OutlineSteps.nothing,
    "StopAnswered": OutlineSteps.nothing,
}
