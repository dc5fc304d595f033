"""Runs a loop in the caller's own task, from its start to its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from loopkit import events as e
from loopkit.core.batch import failed_calls
from loopkit.core.config import ToolLoopConfig
from loopkit.core.depth import LoopDepth, check_depth
from loopkit.core.loop import LoopCore
from loopkit.core.state import CallState
from loopkit.drivers.changed_agent import changes_of_agent
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.drivers.orphans import append_to_inherited
from loopkit.drivers.parts import LoopParts, parts_of
from loopkit.drivers.result import ToolLoopResult, response_of
from loopkit.drivers.run import CallScope, Listener, Run, Watcher, current_call, new_header
from loopkit.errors import LoopClosed, LoopkitError, ProviderError, RecordedToolError, ToolError
from loopkit.messages import ChatResponse, Message
from loopkit.providers.binding import ModelSource
from loopkit.recording.writer import Recorder
from loopkit.tools.registry import ToolRegistry

DriverMade: TypeAlias = Callable[[LoopDriver], None]


async def tool_loop(  # noqa: PLR0917  # the seed's own signature
    provider: ModelSource,
    registry: ToolRegistry,
    messages: str | Sequence[Message],
    config: ToolLoopConfig | None = None,
    ctx: LoopDepth | None = None,
    recorder: Recorder | None = None,
) -> ToolLoopResult:
    """Ask the model, run the tools that it asks for, feed the results back, until it ends (spec/loop.md 1, 3).

    Args:
        provider: who answers; a `ModelBinding` brings settings and fallbacks.
        registry: the tools; a plain sequence of functions is fine too.
        messages: a string (one user message) or a history.
        config: limits and callbacks.
        ctx: what handlers get, one level deeper; None is depth 0, never tracked.
        recorder: where the run is kept; a loop started inside a tool call is kept with its parent's.

    Returns:
        how it ended; a timeout, a stop or a detected loop is a result, not an exception.

    Raises:
        MaxDepthExceeded: the context is too deep; nothing else happens then.
        ProviderError: the model's provider failed.
        Exception: whatever a callback of the configuration raised.
    """
    return await run_parts(parts_of(provider, registry, messages, config, ctx), recorder=recorder)


async def run_parts(
    parts: LoopParts,
    *,
    recorder: Recorder | None = None,
    watcher: Watcher | None = None,
    listener: Listener | None = None,
    driver_made: DriverMade | None = None,
) -> ToolLoopResult:
    """Run a loop: as a child of the tool call that this runs in, or as the root of a new run.

    Args:
        listener: hears what happens in the whole run.
        driver_made: called with the driver before its first event.
    """
    check_depth(parts.context, parts.config.max_depth)
    scope = current_call.get()
    if scope is not None:
        if recorder is not None:
            raise LoopkitError("a loop started inside a tool call is recorded with its parent's run: give no recorder")
        return await _run_child(parts, scope, listener, driver_made)
    run = Run(
        new_header(),
        recorder,
        watcher,
        max_runs=parts.config.max_runs,
        max_concurrent_runs=parts.config.max_concurrent_runs,
    )
    if listener is not None:
        run.listeners.append(listener)
    return await run_root(run, parts, driver_made=driver_made)


async def run_root(
    run: Run, parts: LoopParts, *, driver_made: DriverMade | None = None, started: bool = False
) -> ToolLoopResult:
    """Run the root loop of a run that has no events yet.

    Args:
        driver_made: called with the driver before its first event, so that somebody can stop or decide.
        started: the recording's header stands already.
    """
    if not started:
        run.start()
    driver = LoopDriver(run, e.ROOT, parts)
    try:
        if driver_made is not None:
            driver_made(driver)
        driver.begin(parts.started(None))
        await driver.drive()
    finally:
        run.close()
    return outcome(driver)


async def continue_root(run: Run, parts: LoopParts, *, driver_made: DriverMade | None = None) -> ToolLoopResult:
    """Go on, with today's agent, with the root loop that others left."""
    append_to_inherited(run, e.ROOT, *changes_of_agent(run.inherited[e.ROOT], parts, run.gone_on_by, run.originals))
    driver = LoopDriver(run, e.ROOT, parts, LoopCore(run.inherited.pop(e.ROOT)))
    try:
        if driver_made is not None:
            driver_made(driver)
        await driver.drive()
    finally:
        run.close()
    return outcome(driver)


async def _run_child(
    parts: LoopParts, scope: CallScope, listener: Listener | None, driver_made: DriverMade | None
) -> ToolLoopResult:
    run = scope.driver.run
    with run.lock:
        if scope.over:
            raise LoopClosed(
                f"an attempt of the call {scope.call} was given up; a loop can't be started in it any more"
            )
        path = run.admit(scope.driver, scope.call)
        inherited = run.inherited.get(path)
        if inherited is not None and inherited.finished is None:
            append_to_inherited(run, path, *changes_of_agent(inherited, parts, run.gone_on_by, run.originals))
        inherited = run.inherited.pop(path, None)
        driver = LoopDriver(run, path, parts, None if inherited is None else LoopCore(inherited), scope)
        scope.driver.adopt(driver)
        if listener is not None:
            run.listeners.append(listener)
        try:
            if driver_made is not None:
                driver_made(driver)
            if inherited is None:
                driver.begin(parts.started(scope.call))
            elif driver.finished:
                driver.leave()
                return outcome(driver)
        except BaseException:
            driver.leave()
            raise
    try:
        await driver.drive()
    finally:
        if listener is not None:
            with run.lock:
                run.listeners.remove(listener)
    return outcome(driver)


def outcome(driver: LoopDriver) -> ToolLoopResult:
    """Return the result of a loop that has ended.

    Raises:
        BaseException: what the loop failed with.
    """
    state = driver.core.state
    originals = driver.run.originals
    finished = state.finished
    if isinstance(finished, e.LoopFailed):
        raise _exception(driver, finished.failure)
    if finished is None:
        raise driver.run.broken or LoopkitError(f"the loop {driver.path} did not end")
    return ToolLoopResult(
        response=last_response(driver),
        iterations=finished.iterations,
        total_usage=finished.usage,
        termination_reason=originals.reason(finished.reason),
        messages=originals.messages(state.history),
        run_id=driver.run.header.run,
        subtree_usage=driver.subtree_usage,
    )


def last_response(driver: LoopDriver) -> ChatResponse | None:
    """Return the last answer that a model gave in a loop, or None."""
    reply = driver.core.state.last_reply
    return None if reply is None else response_of(driver.run.originals.reply(reply))


def _exception(driver: LoopDriver, failure: e.Failure) -> BaseException:
    """Return the exception that a failed loop raises: as it was raised, several as one group (spec/loop.md 8.6)."""
    if driver.raised is not None:
        return driver.raised
    errors = [_tool_exception(driver, call) for call in failed_calls(driver.core.state)]
    if len(errors) > 1:
        return ExceptionGroup("several tools failed in one iteration", errors)
    return errors[0] if errors else recorded_exception(failure)


def _tool_exception(driver: LoopDriver, call: CallState) -> Exception:
    raised = driver.tool_exceptions.get(call.key)
    if raised is None:
        call = driver.run.originals.call_state(call)
        return ToolError(call.content or "") if call.failure is None else recorded_exception(call.failure)
    return raised if isinstance(raised, Exception) else ToolError(repr(raised))


def recorded_exception(failure: e.Failure) -> Exception:
    """Return what stands for an exception of which only the record is left (DESIGN §4)."""
    if failure.type_name == ProviderError.__name__:
        return ProviderError(
            failure.message,
            status=failure.status,
            retry_after=failure.retry_after,
            request_id=failure.request_id,
        )
    if failure.type_name == ToolError.__name__:
        return ToolError(failure.message)
    return RecordedToolError(failure.type_name, failure.message)
