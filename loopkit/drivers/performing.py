"""Does what a loop wants: asks the model, the callbacks and the tools, and posts what they said."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

from loopkit import events as e
from loopkit.core.config import ApprovalContext, StopContext
from loopkit.core.state import AskDecision, AskStopCondition, CallModel, Effect, ProcessResult, RunTool
from loopkit.drivers.asking_model import ask_model
from loopkit.drivers.facts import failure_of, verdict_on
from loopkit.drivers.processing import process_result
from loopkit.drivers.result import response_of
from loopkit.drivers.running_tools import run_tool
from loopkit.drivers.watcher_decisions import forbidden
from loopkit.messages import ToolCall
from loopkit.outcomes import Approve, Continue, Deny, Modify, Respond, Stop, ToolApproval

if TYPE_CHECKING:
    from loopkit.drivers.loop_driver import LoopDriver


def perform(driver: LoopDriver, effect: Effect, inline: bool) -> Awaitable[None]:
    """Carry out an effect and post its outcome; exceptions of agents' code are outcomes.

    Args:
        inline: the caller does nothing after this, so what follows may run in its place.
    """
    return _PERFORMERS[type(effect)](driver, effect, inline=inline)


# ── callbacks ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _fail(driver: LoopDriver, fact: e.Input, effect: Effect, error: BaseException, *, inline: bool) -> None:
    """Post what ends the loop, and keep the exception itself if it is the one that does."""
    if driver.answer(fact, effect, inline=inline):
        driver.raised = error


def takes_context(callback: Callable[..., Any]) -> bool:
    """Say whether a callback has room for a second argument."""
    return (_takes_two if isinstance(callback, Hashable) else _takes_two.__wrapped__)(callback)


@functools.lru_cache(maxsize=64)
def _takes_two(callback: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(callback).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) >= 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters)


async def _ask_decision(driver: LoopDriver, effect: AskDecision, *, inline: bool) -> None:
    call = driver.core.state.call_state(effect.call)
    assert call is not None
    call = driver.run.originals.call_state(call)
    tool = driver.registry.get(call.call.name)
    context = ApprovalContext(
        driver.core.state.iteration,
        driver.path,
        effect.call,
        None if tool is None else tool.definition.parameters,
        call.problems,
        driver.run.originals.messages(driver.core.state.messages_so_far),
    )
    try:
        approval = await ask_on_tool_call(driver.config.on_tool_call, call.call, context)
    except Exception as error:  # noqa: BLE001  # an exception in the callback ends the loop with it (4.4)
        _fail(driver, e.CallbackFailed("on_tool_call", failure_of(error)), effect, error, inline=inline)
        return
    if approval is None:
        driver.offer_to_watcher(effect)
        return
    verdict = e.CallVerdict()
    if isinstance(approval, Modify):
        denied = forbidden(driver, effect, approval.arguments)
        if denied is not None:
            driver.answer(denied, effect, inline=inline)
            return
        verdict = verdict_on(driver.registry, call.call.name, approval.arguments)
    driver.answer(e.Decided(effect.call, effect.version, approval, "on_tool_call", verdict), effect, inline=inline)


async def ask_on_tool_call(callback: Any, call: ToolCall, context: ApprovalContext) -> ToolApproval | None:
    """Return what `on_tool_call` says of a call; None leaves the decision to whoever watches (spec/loop.md 4.1).

    Raises:
        TypeError: it said something that is no approval, or holds what JSON does not know.
        ValueError: it edited arguments to hold NaN or an infinity.
    """
    said = callback(call, context) if takes_context(callback) else callback(call)
    if inspect.isawaitable(said):
        said = await said
    match said:
        case None | Approve():
            return said
        case Modify(arguments) if isinstance(arguments, Mapping):
            # a copy, in the form in which the log keeps it: what the callback does to its own later changes nothing
            return Modify(json.loads(json.dumps(dict(arguments), allow_nan=False)))
        case Deny(str()) | Respond(str(), bool()):
            return said
    raise TypeError(f"on_tool_call must return Approve, Deny, Modify, Respond or None, well filled in, not {said!r}")


async def _ask_stop_condition(driver: LoopDriver, effect: AskStopCondition, *, inline: bool) -> None:
    state = driver.core.state
    assert state.response is not None
    originals = driver.run.originals
    context = StopContext(
        state.iteration,
        response_of(originals.reply(state.response)),
        state.usage,
        state.tool_calls_executed,
        originals.results(state.last_tool_results),
    )
    try:
        answer = await ask_stop_when(driver.config.stop_when, context)
    except Exception as error:  # noqa: BLE001  # an exception in the callback ends the loop with it
        _fail(driver, e.CallbackFailed("stop_when", failure_of(error)), effect, error, inline=inline)
        return
    driver.answer(answer, effect, inline=inline)


async def ask_stop_when(callback: Any, context: StopContext) -> e.StopAnswered:
    """Return what `stop_when` says of a response (spec/loop.md 3.8); None, as no callback at all, goes on.

    Raises:
        TypeError: it said something else.
    """
    if callback is None:
        return e.StopAnswered(False)
    said = callback(context)
    if inspect.isawaitable(said):
        said = await said
    match said:
        case None | Continue():
            return e.StopAnswered(False)
        case Stop(str() | None as reason):
            return e.StopAnswered(True, reason)
    raise TypeError(f"stop_when must return Stop, Continue or None, well filled in, not {said!r}")


_PERFORMERS: dict[type[Effect], Callable[..., Awaitable[None]]] = {
    CallModel: ask_model,
    RunTool: run_tool,
    ProcessResult: process_result,
    AskDecision: _ask_decision,
    AskStopCondition: _ask_stop_condition,
}
