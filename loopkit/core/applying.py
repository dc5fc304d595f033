"""What each fact does to a loop's state: the only place where state changes, and a fold of the log by construction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loopkit import events as e
from loopkit.core.batch import (
    appended,
    batch_failure,
    calls_of_answer,
    consecutive_errors,
    failed_calls,
    has_no_error_budget,
    last_user_message,
    outcomes,
    past_asked,
    results,
    with_batch_in_history,
)
from loopkit.core.config import LoopAction, LoopRules, next_processor
from loopkit.core.detection import Watch, warning_for_model
from loopkit.core.editing import (
    agent_changed,
    answer_edited,
    history_edited,
    messages_injected,
    reopened,
    result_edited,
)
from loopkit.core.history import History, extend_by_message, extend_fingerprint, sendable_of
from loopkit.core.masking import settled
from loopkit.core.state import (
    AskDecision,
    AskStopCondition,
    CallModel,
    CallPhase,
    CallState,
    Effect,
    LoopState,
    Phase,
    ProcessResult,
    ReadClock,
    RunTool,
    place_of,
)
from loopkit.encoding import encode
from loopkit.messages import UNREPORTED_USAGE, Message
from loopkit.outcomes import Cancelled, LoopDetected, Modify, Timeout

NO_EFFECTS: frozenset[Any] = frozenset()
_BEYOND_START = (CallPhase.RUNNING, CallPhase.PROCESSING, CallPhase.ENDED)


def start(path: str, fact: e.LoopStarted) -> LoopState:
    """Return the state of a loop that just began."""
    history = History(fact.messages)
    sendable = sendable_of(history)
    fingerprint = extend_fingerprint("", [fact.model, fact.settings, [encode(tool) for tool in fact.tools]])
    for message in sendable:
        fingerprint = extend_by_message(fingerprint, message)
    rules = LoopRules.read(fact.configuration)
    detection = rules.detection
    state = LoopState(
        path=path,
        started=fact,
        rules=rules,
        tools={tool.name: tool for tool in fact.tools},
        history=history,
        sendable=sendable,
        fingerprint=fingerprint,
        last_user_message=last_user_message(fact.messages),
        watch=None if detection is None else Watch.of(detection, fact.tools),
    )
    return state.changed(**_turn(state))


def apply(state: LoopState, fact: e.Fact) -> LoopState:
    """Return the state after a fact of the same loop; facts that change nothing leave it as it is."""
    handler = _HANDLERS.get(type(fact))
    return state if handler is None else handler(state, fact)


# ── turns and requests ───────────────────────────────────────────────────────────────────────────────────────────────


def _turn(state: LoopState) -> dict[str, Any]:
    """What changes when a loop comes to its next turn."""
    asks_clock = state.rules.timeout is not None and state.commanded_stop is None
    return {"phase": Phase.TURN, "wants": frozenset({ReadClock(state.iteration + 1)}) if asks_clock else NO_EFFECTS}


def _clock_read(state: LoopState, fact: e.ClockRead) -> LoopState:
    wants = state.wants - {ReadClock(state.iteration + 1)}
    limit = state.rules.timeout
    if limit is not None and fact.loop_seconds >= limit and state.ending is None:
        return state.changed(ending=Timeout(limit), wants=NO_EFFECTS, paused=None, loop_seconds=fact.loop_seconds)
    return state.changed(clock_read_for=state.iteration + 1, wants=wants, loop_seconds=fact.loop_seconds)


def _iteration_started(state: LoopState, _: e.IterationStarted) -> LoopState:
    return state.changed(
        phase=Phase.STARTED,
        iteration=state.iteration + 1,
        attempt=1,
        first_attempt=1,
        retry_delay=0.0,
        response=None,
        stop_answer=None,
        calls=(),
        completed=(),
        requested=0,
        undecided=0,
        next_start=0,
    )


def _results_masked(state: LoopState, fact: e.ResultsMasked) -> LoopState:
    older, queue, placeholders = settled(state, fact.calls)
    fingerprint = extend_fingerprint(state.fingerprint, ["masked", fact.calls, placeholders])
    return state.changed(settled=older, large_results=queue, fingerprint=fingerprint)


def _model_requested(state: LoopState, fact: e.ModelRequested) -> LoopState:
    return state.changed(
        phase=Phase.MODEL,
        requests=state.requests + (fact.attempt == 1),
        wants=frozenset({CallModel(state.iteration, fact.attempt)}),
    )


def _attempt_failed(state: LoopState, fact: e.ModelAttemptFailed) -> LoopState:
    if fact.unreported:
        state = state.changed(usage=state.usage + UNREPORTED_USAGE)
    if fact.retry:
        attempt = fact.attempt + 1
        return state.changed(
            phase=Phase.STARTED,
            attempt=attempt,
            first_attempt=attempt if fact.fallback else state.first_attempt,
            retry_delay=fact.delay,
            binding=state.binding + fact.fallback,
            given_up=(*state.given_up, fact.failure) if fact.fallback else state.given_up,
            wants=NO_EFFECTS,
        )
    return state.changed(phase=Phase.RESPONDED, failure=fact.failure, wants=NO_EFFECTS)


def _model_replied(state: LoopState, fact: e.ModelReplied) -> LoopState:
    calls = calls_of_answer(state, fact.message, fact)
    watch = state.watch
    if calls and watch is not None:
        watch = watch.asked(state.path, state.iteration, fact.message)
    return state.changed(
        phase=Phase.RESPONDED,
        response=fact,
        last_reply=fact,
        calls=calls,
        undecided=len(calls),
        usage=state.usage + (UNREPORTED_USAGE if fact.usage is None else fact.usage),
        watch=watch,
        detected=None,
        wants=frozenset({AskStopCondition(state.iteration)}) if state.rules.has_stop_condition else NO_EFFECTS,
    )


def _model_interrupted(state: LoopState, fact: e.ModelInterrupted) -> LoopState:
    if fact.message is not None and fact.message.parts:
        state = appended(state, (fact.message,))
    return state.changed(phase=Phase.RESPONDED, usage=state.usage + UNREPORTED_USAGE, wants=NO_EFFECTS)


def _stop_answered(state: LoopState, fact: e.StopAnswered) -> LoopState:
    return state.changed(stop_answer=fact, wants=state.wants - {AskStopCondition(state.iteration)})


def _callback_failed(state: LoopState, fact: e.CallbackFailed) -> LoopState:
    return state.changed(failure=fact.failure, wants=NO_EFFECTS, paused=None)


def _repetition_detected(state: LoopState, fact: e.RepetitionDetected) -> LoopState:
    if state.watch is not None:
        state = state.changed(watch=state.watch.reported())
    if fact.action == LoopAction.INJECT_WARNING:
        warning = Message.user(warning_for_model(fact.tool_name, fact.count, fact.detector))
        return state.changed(
            pending_messages=(*state.pending_messages, warning), own_warnings=state.own_warnings.append(warning)
        )
    if fact.action == LoopAction.STOP and state.detected is None:
        return state.changed(detected=LoopDetected(fact.tool_name, fact.count))
    return state


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _call(state: LoopState, key: str) -> CallState:
    call = state.call_state(key)
    if call is None:
        raise ValueError(f"{key} is not a call of the current response of {state.path}")
    return call


def _decision_requested(state: LoopState, fact: e.DecisionRequested) -> LoopState:
    call = _call(state, fact.call).changed(phase=CallPhase.REQUESTED, version=fact.version)
    wants = state.wants | {AskDecision(fact.call, fact.version)}
    requested = past_asked(state.calls, state.requested + 1)
    return state.with_call(call, requested=requested, phase=Phase.DECIDING, wants=wants)


def _decided(state: LoopState, fact: e.Decided) -> LoopState:
    call = _call(state, fact.call)
    problems = fact.verdict.problems if isinstance(fact.decision, Modify) else call.problems
    call = call.changed(phase=CallPhase.DECIDED, decision=fact.decision, problems=problems)
    return _one_more_decided(state, call)


def _decision_expired(state: LoopState, fact: e.DecisionExpired) -> LoopState:
    return _one_more_decided(state, _call(state, fact.call).changed(phase=CallPhase.DECIDED, expired=True))


def _one_more_decided(state: LoopState, call: CallState) -> LoopState:
    undecided = state.undecided - 1
    wants = state.wants - {AskDecision(call.key, call.version)}
    return state.with_call(call, undecided=undecided, wants=wants, **_run_if_all_decided(state, undecided))


def _run_if_all_decided(state: LoopState, undecided: int) -> dict[str, Any]:
    if undecided or state.requested < len(state.calls):
        return {}
    return {"phase": Phase.RUNNING, "next_start": _next_to_start(state, 0)}


def _tool_skipped(state: LoopState, fact: e.ToolSkipped) -> LoopState:
    call = _call(state, fact.call)
    undecided = call.phase is CallPhase.RECEIVED
    call = call.changed(phase=CallPhase.ENDED, content=fact.content, is_error=fact.is_error)
    if undecided:
        counters = {"requested": past_asked(state.calls, state.requested + 1), "undecided": state.undecided - 1}
        state = state.with_call(call, phase=Phase.DECIDING, **counters)
        return _batch_progressed(state.changed(**_run_if_all_decided(state, state.undecided)))
    return _batch_progressed(state.with_call(call, next_start=_after(state, call)))


def _tool_started(state: LoopState, fact: e.ToolStarted) -> LoopState:
    call = _call(state, fact.call).changed(phase=CallPhase.RUNNING, executed=True)
    wants = state.wants | {RunTool(fact.call)}
    return state.with_call(call, running=state.running + 1, wants=wants, next_start=_after(state, call))


def _next_to_start(state: LoopState, place: int) -> int:
    while place < len(state.calls) and state.calls[place].phase in _BEYOND_START:
        place += 1
    return place


def _after(state: LoopState, call: CallState) -> int:
    return _next_to_start(state, place_of(call.key) + 1 if len(state.calls) > 1 else 1)


def _tool_returned(state: LoopState, fact: e.ToolReturned) -> LoopState:
    processor = next_processor(state.rules, fact.content)
    if fact.images:
        state = state.with_call(_call(state, fact.call).changed(images=fact.images))
    return _tool_ended(
        state, fact.call, fact.content, is_error=fact.is_error, failed=fact.is_error, processor=processor
    )


def _tool_failed(state: LoopState, fact: e.ToolFailed) -> LoopState:
    return _tool_ended(state, fact.call, fact.content, is_error=True, failed=True, failure=fact.failure)


def _tool_abandoned(state: LoopState, fact: e.ToolAbandoned) -> LoopState:
    return _tool_ended(state, fact.call, fact.content, is_error=True, failed=True)


def _tool_ended(
    state: LoopState,
    key: str,
    content: str | None,
    *,
    is_error: bool,
    failed: bool,
    failure: e.Failure | None = None,
    processor: str | None = None,
) -> LoopState:
    phase = CallPhase.ENDED if processor is None else CallPhase.PROCESSING
    call = _call(state, key)
    call = call.changed(content=content, is_error=is_error, failed=failed, failure=failure, phase=phase)
    state = _passed_on(state, call, processor, state.wants - {RunTool(key)}, running=state.running - 1)
    if failed and not state.rules.parallel_tool_execution and has_no_error_budget(state) and state.ending is None:
        return state.changed(failure=batch_failure(state), wants=NO_EFFECTS)
    return _batch_progressed(state)


def _passed_on(
    state: LoopState, call: CallState, processor: str | None, wants: frozenset[Effect], **changes: Any
) -> LoopState:
    """Let the next callback rewrite a call's result, unless there is none and the call has ended."""
    if processor is None:
        return state.with_call(call, completed=(*state.completed, call.key), wants=wants, **changes)
    wants |= {ProcessResult(call.key, processor)}
    return state.with_call(call, processing=state.processing + 1, wants=wants, **changes)


def _result_processed(state: LoopState, fact: e.ResultProcessed) -> LoopState:
    call = _call(state, fact.call)
    content = call.content if fact.content is None else fact.content
    wants = state.wants - {ProcessResult(fact.call, fact.processor)}
    state = state.changed(processing=state.processing - 1)
    processor = next_processor(state.rules, content or "", fact.processor)
    call = call.changed(
        content=content,
        images=call.images if fact.images is None else fact.images,
        phase=CallPhase.ENDED if processor is None else CallPhase.PROCESSING,
    )
    return _batch_progressed(_passed_on(state, call, processor, wants))


def _batch_progressed(state: LoopState) -> LoopState:
    """Close the batch once its last call has ended: results enter the history in call order (spec/loop.md 3.14)."""
    all_started = state.phase is Phase.RUNNING and state.next_start >= len(state.calls)
    if not all_started or state.running or state.processing or state.ending is not None or state.failure is not None:
        return state
    failure = batch_failure(state) if has_no_error_budget(state) and failed_calls(state) else None
    answers = results(state)
    return with_batch_in_history(
        state,
        answers,
        **_turn(state),
        watch=state.watch and state.watch.answered(outcomes(state)),
        consecutive_errors=consecutive_errors(state),
        tool_calls_executed=state.tool_calls_executed + sum([call.executed for call in state.calls]),
        last_tool_results=answers,
        failure=failure,
    )


# ── people, commands and ends ────────────────────────────────────────────────────────────────────────────────────────


def _paused(state: LoopState, fact: e.Paused) -> LoopState:
    return state.changed(paused=fact.gate)


def _resumed(state: LoopState, _: e.Resumed) -> LoopState:
    return state.changed(paused=None)


def _stop_commanded(state: LoopState, fact: e.StopCommanded) -> LoopState:
    state = state.changed(commanded_stop=(fact.reason,))
    return state.changed(**_turn(state)) if state.phase is Phase.TURN else state


def _run_stopped(state: LoopState, fact: e.RunStopped) -> LoopState:
    ending = state.ending if state.ending is not None else Cancelled(fact.reason)
    return state.changed(ending=ending, wants=NO_EFFECTS, paused=None)


def _ended(state: LoopState, fact: e.LoopFinished | e.LoopFailed) -> LoopState:
    return with_batch_in_history(state).changed(
        phase=Phase.FINISHED, finished=fact, wants=NO_EFFECTS, paused=None, ending=None
    )


_HANDLERS: dict[type, Callable[[LoopState, Any], LoopState]] = {
    e.ClockRead: _clock_read,
    e.ModelAttemptFailed: _attempt_failed,
    e.ModelReplied: _model_replied,
    e.ModelInterrupted: _model_interrupted,
    e.StopAnswered: _stop_answered,
    e.CallbackFailed: _callback_failed,
    e.Decided: _decided,
    e.DecisionExpired: _decision_expired,
    e.ToolReturned: _tool_returned,
    e.ToolFailed: _tool_failed,
    e.ToolAbandoned: _tool_abandoned,
    e.ResultProcessed: _result_processed,
    e.MessagesInjected: messages_injected,
    e.HistoryEdited: history_edited,
    e.AgentChanged: agent_changed,
    e.AnswerEdited: answer_edited,
    e.ResultEdited: result_edited,
    e.Reopened: reopened,
    e.Paused: _paused,
    e.Resumed: _resumed,
    e.StopCommanded: _stop_commanded,
    e.RunStopped: _run_stopped,
    e.IterationStarted: _iteration_started,
    e.ResultsMasked: _results_masked,
    e.ModelRequested: _model_requested,
    e.RepetitionDetected: _repetition_detected,
    e.DecisionRequested: _decision_requested,
    e.ToolStarted: _tool_started,
    e.ToolSkipped: _tool_skipped,
    e.LoopFinished: _ended,
    e.LoopFailed: _ended,
}
