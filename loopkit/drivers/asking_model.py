"""Sends a loop's request to the model whose turn it is, and says what follows when that fails (spec/loop.md 8.3, 9.2).

The wait before another attempt belongs to that attempt: whatever interrupts a request interrupts the wait too, and it
counts as loop time. A replay takes each attempt's outcome from the recording, so it never waits.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from anyio import get_cancelled_exc_class, sleep

from loopkit import events as e
from loopkit.core.state import CallModel, LoopState
from loopkit.drivers.cancelling import cancelled_by_whoever_waits
from loopkit.drivers.facts import failure_of, verdict_on
from loopkit.errors import ProviderError
from loopkit.messages import ChatResponse, JSONObject, Message, Part, ToolCall, ToolDefinition
from loopkit.providers.binding import BoundModel
from loopkit.providers.protocol import ChatRequest, Delta
from loopkit.tools.checks import json_problem

if TYPE_CHECKING:
    from loopkit.drivers.loop_driver import LoopDriver


async def ask_model(driver: LoopDriver, effect: CallModel, *, inline: bool) -> None:
    """Make one attempt of a request and post its outcome; its exceptions are outcomes."""
    state = driver.core.state
    model = _model_of(driver, state)
    originals = driver.run.originals
    settings = originals.settings(_settings(driver, state, model))
    request = ChatRequest(originals.messages(state.view), _offered(driver, state), settings)
    if state.retry_delay:
        await sleep(state.retry_delay)
    pieces: list[float] = []
    clock = driver.run.clock
    began = clock()
    driver.partial.clear()

    def emit(delta: Delta) -> None:
        pieces.extend((round(clock() - began, 4), len(delta.text)))
        driver.streamed(delta)

    try:
        response = await model.provider.respond(request, emit)
        reply = _reply(driver, response, tuple(pieces), None if state.binding == 0 else model.model)
    except (Exception, get_cancelled_exc_class()) as error:  # whatever a provider raises is an outcome (9.2)
        if cancelled_by_whoever_waits(error):
            raise
        _failed(driver, effect, model, error, inline=inline)
        return
    driver.answer(reply, effect, inline=inline)


def _model_of(driver: LoopDriver, state: LoopState) -> BoundModel:
    chosen = state.started.model
    if state.before_person is not None and chosen is not None and chosen != driver.models[0].model:
        # a person chose another model of the same provider while the run went on
        driver.models = (driver.models[0].asking(chosen), *driver.models[1:])
    # a fork may go on with an agent that has fewer fallbacks than the recorded one
    return driver.models[min(state.binding, len(driver.models) - 1)]


def _offered(driver: LoopDriver, state: LoopState) -> tuple[ToolDefinition, ...]:
    """Return the tools that the request offers: all there are, but for those that a person took away."""
    definitions = driver.registry.definitions
    if len(definitions) == len(state.tools):
        return definitions
    return tuple(tool for tool in definitions if tool.name in state.tools)


def _settings(driver: LoopDriver, state: LoopState, model: BoundModel) -> JSONObject:
    settings = state.started.settings
    if state.binding:
        primary = driver.models[0].settings
        settings = {name: value for name, value in settings.items() if name not in primary} | dict(model.settings)
    if state.iteration > 1 and _forces_tool(settings.get("tool_choice")):
        settings = {name: value for name, value in settings.items() if name != "tool_choice"}
    return settings


def _forces_tool(choice: object) -> bool:
    return choice is not None and choice not in ("auto", "none")


def _failed(driver: LoopDriver, effect: CallModel, model: BoundModel, error: BaseException, *, inline: bool) -> None:
    with driver.run.lock:
        delay, falls_back = _what_follows(driver, effect.attempt, model, error)
        retry = delay is not None or falls_back
        if not retry and isinstance(error, ProviderError):
            error = _told_of_all(driver.core.state, error)
        fact = e.ModelAttemptFailed(
            effect.attempt,
            failure_of(error),
            retry=retry,
            delay=delay or 0.0,
            fallback=falls_back,
            message=driver.partial.message(),
            unread=error.unread if isinstance(error, ProviderError) else None,
            unreported=driver.partial.begun or (isinstance(error, ProviderError) and error.unreported),
        )
        # words of an answer that broke are no part of the next one
        driver.partial.clear()
        if driver.answer(fact, effect, inline=inline) and not retry:
            driver.raised = error


def _what_follows(
    driver: LoopDriver, attempt: int, model: BoundModel, error: BaseException
) -> tuple[float | None, bool]:
    """Return the seconds until the same model is asked again, or None, and whether the next model is."""
    state = driver.core.state
    delay = model.retry.delay(attempt - state.first_attempt + 1, error, driver.run.jitter)
    # another model may do what this one refuses; what is no provider's error is a mistake in somebody's code
    has_next = isinstance(error, ProviderError) and state.binding + 1 < len(driver.models)
    return delay, delay is None and has_next


def _told_of_all(state: LoopState, error: ProviderError) -> ProviderError:
    """Return the error of a model that nobody comes after: it tells of those that were given up before, too."""
    if not state.given_up:
        return error
    names = (state.started.model, *state.started.fallbacks)
    reasons = [*(failure.message for failure in state.given_up), str(error)]
    told = [
        f"{name or f'model {place}'}: {words}"
        for place, (name, words) in enumerate(zip(names, reasons, strict=False), 1)
    ]
    whole = ProviderError(
        f"all {len(reasons)} models failed. {' | '.join(told)}",
        status=error.status,
        retry_after=error.retry_after,
        request_id=error.request_id,
        retryable=error.retryable,
        unreported=error.unreported,
        unread=error.unread,
    )
    whole.__cause__ = error
    return whole


def _reply(
    driver: LoopDriver, response: ChatResponse, pieces: tuple[float, ...], fallback: str | None
) -> e.ModelReplied:
    parts: list[Part] = []
    verdicts: list[e.CallVerdict] = []
    for part in response.parts:
        if isinstance(part, ToolCall):
            call, verdict = _checked(driver, part)
            parts.append(call)
            verdicts.append(verdict)
        else:
            parts.append(part)
    return e.ModelReplied(
        Message("assistant", tuple(parts)),
        response.usage,
        response.stop_reason,
        response.raw_stop_reason,
        response.model or fallback,
        response.request_id,
        tuple(verdicts),
        pieces,
    )


def _checked(driver: LoopDriver, call: ToolCall) -> tuple[ToolCall, e.CallVerdict]:
    """Return a call as a recording can hold it, with its schema check; what is no JSON is kept as text (9.1)."""
    if call.raw_arguments is not None:
        return call, e.CallVerdict()
    verdict = verdict_on(driver.registry, call.name, call.arguments)
    if not verdict.problems and call.name in driver.registry:
        return call, verdict
    try:
        json.dumps(call.arguments, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        problem = str(json_problem(dict(call.arguments)) or "not JSON")
        return replace(call, arguments={}, raw_arguments=repr(call.arguments), problem=problem), e.CallVerdict()
    return call, verdict
