"""What must happen next: reads a state, changes nothing (spec/loop.md 3)."""

from __future__ import annotations

from collections.abc import Callable

from loopkit import events as e
from loopkit.core.masking import due_for_masking
from loopkit.core.state import CallState, LoopState, Phase
from loopkit.messages import Problem
from loopkit.outcomes import (
    DENIED_WITHOUT_REASON,
    Complete,
    Deny,
    MaxIterations,
    Respond,
    StopCondition,
    TerminationReason,
    Timeout,
    UnknownTool,
)

CUT_OFF = "This call was cut off before it was complete, so it was not run. Send it again, shorter if it was long."
EXPIRED = "Not performed: nobody decided on this call in time."


def decide(state: LoopState) -> e.Derived | None:
    """Return the derived fact that is due, or None when the loop waits for an input or stands at a gate."""
    if state.finished is not None or state.paused is not None:
        return None
    if state.failure is not None or state.ending is not None:
        return None if state.in_flight else _end(state)
    due = _DUE.get(state.phase)
    return None if due is None else due(state)


def gates(state: LoopState) -> tuple[str, ...]:
    """Return the ids of the gates before what `decide` would say, in the order in which they are passed.

    A gate's id is its iteration or call, a dot, and `request`, `response`, `call` or `result`. A gate is passed once:
    the driver remembers which.
    """
    if state.finished is not None or state.paused is not None or state.ending is not None or state.failure is not None:
        return ()
    passed_results = tuple(f"{call}.result" for call in state.completed)
    match state.phase:
        case Phase.STARTED:
            return (f"{state.path}/{state.iteration}.request",)
        case Phase.RESPONDED:
            return (f"{state.path}/{state.iteration}.response",)
        case Phase.RUNNING:
            due = _run(state)
            return (*passed_results, f"{due.call}.call") if isinstance(due, e.ToolStarted) else passed_results
        case Phase.TURN:
            return passed_results
    return ()


def _finish(state: LoopState, reason: TerminationReason) -> e.LoopFinished:
    return e.LoopFinished(reason, state.requests, state.usage)


def _end(state: LoopState) -> e.Derived:
    if state.failure is not None:
        return e.LoopFailed(state.failure, state.requests, state.usage)
    assert state.ending is not None
    return _finish(state, state.ending)


def _at_turn(state: LoopState) -> e.Derived | None:
    if state.commanded_stop is not None:
        return _finish(state, StopCondition(state.commanded_stop[0]))
    if state.rules.timeout is not None:
        if state.rules.timeout == 0:
            return _finish(state, Timeout(0.0))
        if state.clock_read_for != state.iteration + 1:
            return None
    if state.requests >= state.rules.max_iterations:
        return _finish(state, MaxIterations(state.rules.max_iterations))
    return e.IterationStarted()


def _request(state: LoopState) -> e.Derived:
    return _mask(state) or e.ModelRequested(state.attempt, len(state.sendable), state.fingerprint, state.binding)


def _mask(state: LoopState) -> e.ResultsMasked | None:
    if not state.large_results:
        return None
    calls = tuple(call for batch in due_for_masking(state) for call in batch.calls)
    return e.ResultsMasked(calls) if calls else None


def _responded(state: LoopState) -> e.Derived | None:
    if state.rules.has_stop_condition:
        if state.stop_answer is None:
            return None
        if state.stop_answer.stop:
            return _finish(state, StopCondition(state.stop_answer.reason))
    if not state.calls:
        return _finish(state, Complete())
    if state.rules.terminate_on_unknown_calls:
        unknown = [call.call.name for call in state.calls if call.call.name not in state.tools]
        if unknown:
            return _finish(state, UnknownTool(unknown[0]))
    return _detect(state) or _request_decision(state)


def _detect(state: LoopState) -> e.Derived | None:
    if state.watch is not None and state.watch.due:
        return state.watch.due[0]
    return None if state.detected is None else _finish(state, state.detected)


def _request_decision(state: LoopState) -> e.Derived | None:
    if state.requested >= len(state.calls):
        return None
    call = state.calls[state.requested]
    if call.call.cut_off:
        return e.ToolSkipped(call.key, "cut off", CUT_OFF)
    return e.DecisionRequested(call.key, call.version, call.call.name)


def _run(state: LoopState) -> e.ToolStarted | e.ToolSkipped | None:
    if state.next_start >= len(state.calls):
        return None
    call = state.calls[state.next_start]
    return _skip(state, call) or _start(state, call)


def _start(state: LoopState, call: CallState) -> e.ToolStarted | None:
    if (state.running or state.processing) and not state.rules.parallel_tool_execution:
        return None
    return e.ToolStarted(call.key)


def _skip(state: LoopState, call: CallState) -> e.ToolSkipped | None:
    """Say why a decided call is not run, or None (spec/loop.md 4.2, 4.3, 9.1)."""
    if call.expired:
        return e.ToolSkipped(call.key, "expired", EXPIRED)
    if isinstance(call.decision, Deny):
        return e.ToolSkipped(call.key, "denied", call.decision.reason or DENIED_WITHOUT_REASON)
    if isinstance(call.decision, Respond):
        return e.ToolSkipped(call.key, "responded", call.decision.output, call.decision.is_error)
    if call.call.name not in state.tools:
        return e.ToolSkipped(call.key, "unknown tool", unknown_tool_text(call.call.name, tuple(state.tools)))
    if call.problems:
        return e.ToolSkipped(call.key, "invalid arguments", invalid_arguments_text(call.problems))
    return None


_DUE: dict[Phase, Callable[[LoopState], e.Derived | None]] = {
    Phase.TURN: _at_turn,
    Phase.STARTED: _request,
    Phase.RESPONDED: _responded,
    Phase.DECIDING: _request_decision,
    Phase.RUNNING: _run,
}


def unknown_tool_text(name: str, known: tuple[str, ...]) -> str:
    """Return what the model is told of a tool that isn't there (spec/loop.md 9.1)."""
    return f"Unknown tool: {name}. Known tools: {', '.join(known) if known else 'none'}."


def invalid_arguments_text(problems: tuple[Problem, ...]) -> str:
    """Return what the model is told of arguments that don't fit the schema (spec/loop.md 9.1)."""
    return "Invalid arguments, so the tool was not run. " + "; ".join(f"{p.path}: {p.message}" for p in problems)
