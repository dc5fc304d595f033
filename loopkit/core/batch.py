"""What a closed batch of calls leaves behind, and how histories grow (spec/loop.md 3.14, 4.3, 8.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from loopkit import events as e
from loopkit.core.detection import Outcome, told
from loopkit.core.history import History, extend_by_message, extend_fingerprint, needs_pairing, sendable_of
from loopkit.core.masking import kept_of_view, large_results
from loopkit.core.state import CallPhase, CallState, LoopState
from loopkit.messages import Message, Part, Problem, StopReason, ToolCall, ToolResult
from loopkit.outcomes import Approve, Deny, Modify


def consecutive_errors(state: LoopState) -> int:
    """Count iterations in which a handler failed, in a row (spec/loop.md 8.5)."""
    if failed_calls(state):
        return state.consecutive_errors + 1
    if not state.consecutive_errors:
        return 0
    all_denied = all(call.expired or isinstance(call.decision, Deny) for call in state.calls)
    return state.consecutive_errors if all_denied else 0


def results(state: LoopState) -> tuple[ToolResult, ...]:
    """Return the results there are of the calls of the response, in call order (spec/loop.md 3.14)."""
    return tuple([result for call in state.calls if (result := call.result) is not None])


def failed_calls(state: LoopState) -> list[CallState]:
    """Return the calls of the response whose handlers failed, in call order (spec/loop.md 8.5)."""
    return [call for call in state.calls if call.executed and call.failed]


def has_no_error_budget(state: LoopState) -> bool:
    """Say whether one more iteration that fails ends the loop (spec/loop.md 8.6)."""
    limit = state.rules.maximum_consecutive_errors
    return limit is not None and state.consecutive_errors >= limit


def batch_failure(state: LoopState) -> e.Failure:
    """Return what a loop over its error limit fails with (spec/loop.md 8.6)."""
    failures = failed_calls(state)
    if len(failures) == 1:
        return failures[0].failure or e.Failure("ToolError", failures[0].content or "")
    return e.Failure("ExceptionGroup", f"{len(failures)} tools failed: {', '.join(c.call.name for c in failures)}")


def outcomes(state: LoopState) -> dict[str, Outcome]:
    """Return how the calls of the response ended, as loop detection sees it (spec/loop.md 6.5)."""
    return {call.key: Outcome(told(call.content, call.images), _failed(state, call)) for call in state.calls}


def _failed(state: LoopState, call: CallState) -> bool | None:
    if call.executed:
        return call.failed
    let_run = isinstance(call.decision, (Approve, Modify)) and call.call.name in state.tools
    return True if let_run and call.problems else None


def calls_of_answer(state: LoopState, message: Message, answer: e.ModelReplied) -> tuple[CallState, ...]:
    """Return the calls of an answer as they stand when it came, those that were cut off marked (spec/loop.md 3.9).

    Args:
        answer: whose verdicts and stop reason they are.
    """
    calls = message.tool_calls
    states = []
    for position, call in enumerate(calls, 1):
        cut_off = call.cut_off or (answer.stop_reason is StopReason.MAX_TOKENS and position == len(calls))
        verdict = answer.verdicts[position - 1] if position <= len(answer.verdicts) else e.CallVerdict()
        key = e.call_key(state.path, state.iteration, position)
        problems = (*_unusable(call), *verdict.problems)
        states.append(CallState(key, replace(call, cut_off=True) if cut_off else call, problems))
    return tuple(states)


def past_asked(calls: Sequence[CallState], place: int) -> int:
    """Return the next place from which a call's decision is still to be asked for."""
    while place < len(calls) and calls[place].phase is not CallPhase.RECEIVED:
        place += 1
    return place


def _unusable(call: ToolCall) -> tuple[Problem, ...]:
    if call.problem is not None:
        return (Problem("$", call.problem),)
    return () if call.raw_arguments is None else (Problem("$", "the arguments are not a JSON object"),)


def with_batch_in_history(state: LoopState, answers: tuple[ToolResult, ...] | None = None, **changes: Any) -> LoopState:
    """Put the response and the results there are into the history, then what waited behind them; with other changes.

    Args:
        answers: these results, where the caller has them already.
    """
    response = state.response
    if response is None:
        messages: tuple[Message, ...] = state.pending_messages
    else:
        changed = [call for call in state.calls if isinstance(call.decision, Modify)]
        message = _with_calls_as_run(state, response.message) if changed else response.message
        if answers is None:
            answers = results(state)
        messages = (message, *[Message.tool(result) for result in answers], *state.pending_messages)
    queue = state.large_results if response is None else large_results(state, len(state.sendable) + 1)
    grown = appended(state, messages, large_results=queue, response=None, pending_messages=(), **changes)
    # somebody may have injected calls or results, which have to find their other halves
    return rebuilt(grown, list(grown.history)) if needs_pairing(state.pending_messages) else grown


def _with_calls_as_run(state: LoopState, message: Message) -> Message:
    """Show edited calls with the arguments that ran; an edit that the schema refused never ran."""
    calls = iter(state.calls)
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            call = next(calls)
            parts.append(call.call_as_run if call.executed else part)
        else:
            parts.append(part)
    return Message(message.role, tuple(parts))


def appended(state: LoopState, messages: tuple[Message, ...], **changes: Any) -> LoopState:
    """Return the state with more messages in its history, and with other changes."""
    history = state.history.append(*messages)
    sendable = history if state.sendable is state.history else state.sendable.append(*messages)
    fingerprint = state.fingerprint
    for message in messages:
        fingerprint = extend_by_message(fingerprint, message)
    return state.changed(history=history, sendable=sendable, fingerprint=fingerprint, **changes)


def last_user_message(messages: Sequence[Message], warnings: Sequence[Message] = (), before: str = "") -> str:
    """Return the words of the newest user message that is none of the injected warnings, or what they were before."""
    for message in reversed(messages):
        if message.role == "user" and message not in warnings:
            return message.text
    return before


def rebuilt(state: LoopState, messages: list[Message]) -> LoopState:
    """Return the state with its whole history replaced."""
    history = History(messages)
    sendable = sendable_of(history)
    older, queue = kept_of_view(state, sendable)
    fingerprint = extend_fingerprint(state.fingerprint, "edited")
    for message in (*older, *sendable[len(older) :]):
        fingerprint = extend_by_message(fingerprint, message)
    return state.changed(
        history=history,
        sendable=sendable,
        last_user_message=last_user_message(messages, state.own_warnings),
        settled=older,
        large_results=queue,
        fingerprint=fingerprint,
    )
