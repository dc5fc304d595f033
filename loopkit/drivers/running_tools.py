"""Runs a call's handler: in the loop or in a worker thread, within its time."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import anyio
from anyio import get_cancelled_exc_class

from loopkit import events as e
from loopkit.core.deciding import unknown_tool_text
from loopkit.core.state import RunTool
from loopkit.drivers.cancelling import cancelled_by_whoever_waits
from loopkit.drivers.facts import failure_of
from loopkit.drivers.run import CallScope, current_call
from loopkit.drivers.threads import run_in_thread
from loopkit.drivers.tool_attempts import Attempts
from loopkit.messages import JSONObject
from loopkit.tools.output import Answer, answer_of, failure_text

if TYPE_CHECKING:
    from loopkit.drivers.loop_driver import LoopDriver
    from loopkit.tools.definition import Tool
    from loopkit.tools.retrying import ToolRetry


async def run_tool(driver: LoopDriver, effect: RunTool, *, inline: bool) -> None:
    """Run the handler of a call and post its outcome; whatever it raises is one (spec/loop.md 9.1)."""
    call = driver.core.state.call_state(effect.call)
    assert call is not None
    tool = driver.registry.get(call.call.name)
    fact: e.Input | None
    if tool is None:
        fact = _tool_gone(driver, effect.call, call.call.name)
    elif tool.retry is None:
        fact = await _attempt(driver, effect, tool, call.arguments, tool.definition.timeout)
    else:
        fact = await _attempts(driver, effect, tool, call.arguments, tool.retry)
    assert fact is not None
    if not driver.answer(fact, effect, inline=inline):
        driver.expect_late_end()
        driver.post_late(effect.call, _late_words(fact))


async def _attempts(
    driver: LoopDriver, effect: RunTool, tool: Tool, arguments: JSONObject, retry: ToolRetry
) -> e.Input:
    seconds = tool.definition.timeout
    attempts = Attempts(driver, effect.call, retry, seconds)

    async def attempt(keeps_limit: bool) -> e.Input | None:
        return await _attempt(driver, effect, tool, arguments, seconds if keeps_limit else None, attempts)

    return await attempts.outcome(attempt)


async def _attempt(  # noqa: PLR0917  # all of one call
    driver: LoopDriver,
    effect: RunTool,
    tool: Tool,
    arguments: JSONObject,
    seconds: float | None,
    attempts: Attempts | None = None,
) -> e.Input | None:
    """Run the handler once; None says that another attempt follows.

    Args:
        seconds: the limit that this has to keep, or None.
    """
    scope = CallScope(driver, effect.call)
    token = current_call.set(scope)
    try:
        if seconds is None:
            return await _outcome(driver, effect, tool, arguments, attempts)
        async with anyio.create_task_group() as timing:
            timing.start_soon(_watch_tool, scope, effect, seconds)
            fact = await _outcome(driver, effect, tool, arguments, attempts)
            timing.cancel_scope.cancel()
        return fact
    finally:
        current_call.reset(token)
        scope.end()


async def _outcome(
    driver: LoopDriver, effect: RunTool, tool: Tool, arguments: JSONObject, attempts: Attempts | None
) -> e.Input | None:
    arguments = driver.run.originals.arguments(arguments)
    missing = driver.run.originals.missing_in(arguments)
    if missing:
        return secret_missing(effect.call, missing)
    try:
        value = await _call_handler(driver, effect, tool, arguments)
        answer = Answer(value) if type(value) is str else answer_of(value)
    except (Exception, SystemExit, get_cancelled_exc_class()) as error:  # a result for the model (9.1, 9.4)
        if cancelled_by_whoever_waits(error):
            raise
        if attempts is not None and attempts.fails(error):
            return None
        if driver.core.state.rules.maximum_consecutive_errors is not None:
            driver.tool_exceptions[effect.call] = error
        return e.ToolFailed(effect.call, failure_of(error), failure_text(error))
    return e.ToolReturned(effect.call, *answer)


async def _call_handler(driver: LoopDriver, effect: RunTool, tool: Tool, arguments: JSONObject) -> Any:
    keywords = tool.arguments(arguments, driver.context)
    if tool.is_async:
        return await tool.function(**keywords)

    def ended_late(error: BaseException | None) -> None:
        driver.post_late(effect.call, "returned" if error is None else f"raised {type(error).__name__}")

    return await run_in_thread(functools.partial(tool.function, **keywords), driver.expect_late_end, ended_late)


async def _watch_tool(scope: CallScope, effect: RunTool, seconds: float) -> None:
    await anyio.sleep(seconds)
    scope.end()
    words = f"The tool did not end within {seconds:g} s and is no longer waited for; it may still take effect."
    scope.driver.post(e.ToolAbandoned(effect.call, "tool timeout", words), effect)


def secret_missing(call: str, missing: tuple[str, ...]) -> e.ToolFailed:
    """Return the outcome of a call whose arguments hold placeholders that nobody gave a value for (DESIGN §3)."""
    words = (
        f"Not run: the recording that this run goes on from does not hold the value of {', '.join(missing)}. "
        "Ask for it, or do without."
    )
    return e.ToolFailed(call, e.Failure("SecretMissing", words), words)


def _tool_gone(driver: LoopDriver, call: str, name: str) -> e.ToolFailed:
    """Return the outcome of a call that had started with another agent's tool, when today's agent has none of that name."""
    words = unknown_tool_text(name, tuple(driver.registry.names))
    return e.ToolFailed(call, e.Failure("UnknownTool", words), words)


def _late_words(fact: e.Input) -> str:
    return f"raised {fact.failure.type_name}" if isinstance(fact, e.ToolFailed) else "returned"
