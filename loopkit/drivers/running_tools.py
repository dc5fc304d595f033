"""Runs a call's handler: in the loop or in a worker thread, within its time."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import anyio
from anyio import get_cancelled_exc_class

from loopkit import events as e
from loopkit.core.state import RunTool
from loopkit.drivers.cancelling import cancelled_by_whoever_waits
from loopkit.drivers.facts import failure_of
from loopkit.drivers.run import CallScope, current_call
from loopkit.drivers.threads import run_in_thread
from loopkit.messages import JSONObject
from loopkit.tools.output import failure_text, output_text

if TYPE_CHECKING:
    from loopkit.drivers.loop_driver import LoopDriver
    from loopkit.tools.definition import Tool


async def run_tool(driver: LoopDriver, effect: RunTool, *, inline: bool) -> None:
    """Run the handler of a call and post its outcome; whatever it raises is one (spec/loop.md 9.1)."""
    call = driver.core.state.call_state(effect.call)
    assert call is not None
    tool = driver.registry.get(call.call.name)
    assert tool is not None
    scope = CallScope(driver, effect.call)
    token = current_call.set(scope)
    try:
        if tool.definition.timeout is not None:
            async with anyio.create_task_group() as timing:
                timing.start_soon(_watch_tool, scope, effect, tool.definition.timeout)
                fact = await _outcome(driver, effect, tool, call.arguments)
                timing.cancel_scope.cancel()
        else:
            fact = await _outcome(driver, effect, tool, call.arguments)
    finally:
        current_call.reset(token)
        _end_progress(scope)
    if not driver.answer(fact, effect, inline=inline):
        driver.expect_late_end()
        driver.post_late(effect.call, _late_words(fact))


async def _outcome(driver: LoopDriver, effect: RunTool, tool: Tool, arguments: JSONObject) -> e.Input:
    arguments = driver.run.originals.arguments(arguments)
    missing = driver.run.originals.missing_in(arguments)
    if missing:
        return secret_missing(effect.call, missing)
    try:
        value = await _call_handler(driver, effect, tool, arguments)
        content, is_error = output_text(value)
    except (Exception, SystemExit, get_cancelled_exc_class()) as error:  # a result for the model (9.1, 9.4)
        if cancelled_by_whoever_waits(error):
            raise
        if driver.core.state.rules.maximum_consecutive_errors is not None:
            driver.tool_exceptions[effect.call] = error
        return e.ToolFailed(effect.call, failure_of(error), failure_text(error))
    return e.ToolReturned(effect.call, content, is_error)


async def _call_handler(driver: LoopDriver, effect: RunTool, tool: Tool, arguments: JSONObject) -> Any:
    keywords = tool.arguments(arguments, driver.context)
    if tool.is_async:
        return await tool.function(**keywords)

    def ended_late(error: BaseException | None) -> None:
        driver.post_late(effect.call, "returned" if error is None else f"raised {type(error).__name__}")

    return await run_in_thread(functools.partial(tool.function, **keywords), driver.expect_late_end, ended_late)


async def _watch_tool(scope: CallScope, effect: RunTool, seconds: float) -> None:
    await anyio.sleep(seconds)
    _end_progress(scope)
    words = f"The tool did not end within {seconds:g} s and is no longer waited for; it may still take effect."
    scope.driver.post(e.ToolAbandoned(effect.call, "tool timeout", words), effect)


def _end_progress(scope: CallScope) -> None:
    if scope.progress is not None:
        with scope.driver.run.lock:
            scope.progress.end()


def secret_missing(call: str, missing: tuple[str, ...]) -> e.ToolFailed:
    """Return the outcome of a call whose arguments hold placeholders that nobody gave a value for (DESIGN §3)."""
    words = (
        f"Not run: the recording that this run goes on from does not hold the value of {', '.join(missing)}. "
        "Ask for it, or do without."
    )
    return e.ToolFailed(call, e.Failure("SecretMissing", words), words)


def _late_words(fact: e.Input) -> str:
    return f"raised {fact.failure.type_name}" if isinstance(fact, e.ToolFailed) else "returned"
