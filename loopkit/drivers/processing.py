"""Lets callbacks rewrite what the model gets of a result (spec/loop.md 2, last row).

Whatever they raise, the result goes on as it was: a tool has run, and its outcome must not be lost for a shortening.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from anyio import get_cancelled_exc_class

from loopkit import events as e
from loopkit.core.config import ToolLoopConfig
from loopkit.core.context_tools import CACHER, EXTRACTOR, PROCESSOR, ExtractionContext
from loopkit.core.state import CallState, LoopState, ProcessResult
from loopkit.drivers.cancelling import cancelled_by_whoever_waits
from loopkit.drivers.facts import failure_of
from loopkit.drivers.originals import Originals
from loopkit.messages import Image, ToolResult
from loopkit.tools.output import picture_problem

if TYPE_CHECKING:
    from loopkit.drivers.loop_driver import LoopDriver


async def process_result(driver: LoopDriver, effect: ProcessResult, *, inline: bool) -> None:
    """Ask one callback to rewrite a result and post what it said."""
    state = driver.core.state
    call = state.call_state(effect.call)
    assert call is not None
    fact = await processed(driver.config, state, call, effect.processor, driver.run.originals)
    driver.answer(fact, effect, inline=inline)


async def processed(
    config: ToolLoopConfig, state: LoopState, call: CallState, processor: str, originals: Originals
) -> e.ResultProcessed:
    """Return what a callback makes of a result; its exceptions are outcomes.

    Args:
        originals: what the callback is shown in the place of placeholders.
    """
    call = originals.call_state(call)
    result = call.result
    assert result is not None
    try:
        said = await _said(config, state, call, processor, originals)
        content, images = _taken(said, result, processor)
    except (Exception, get_cancelled_exc_class()) as error:  # the result goes on as it was
        if cancelled_by_whoever_waits(error):
            raise
        return e.ResultProcessed(call.key, None, processor, failure_of(error))
    return e.ResultProcessed(
        call.key,
        None if content == result.content else content,
        processor,
        images=None if images == result.images else images,
    )


async def _said(
    config: ToolLoopConfig, state: LoopState, call: CallState, processor: str, originals: Originals
) -> object:
    said: object = None
    result = call.result
    assert result is not None
    asked = call.call_as_run
    if processor == PROCESSOR and config.result_processor is not None:
        said = config.result_processor(asked, result)
    elif processor == EXTRACTOR and config.result_extractor is not None:
        words = "" if state.response is None else originals.message(state.response.message).text
        context = ExtractionContext(originals.text(state.last_user_message), words)
        said = config.result_extractor(asked, result, context)
    elif processor == CACHER and config.result_cacher is not None:
        said = config.result_cacher.store(asked, result.content)
    return await said if inspect.isawaitable(said) else said


def _taken(said: object, result: ToolResult, processor: str) -> tuple[str, tuple[Image, ...]]:
    """Return text and pictures of a rewritten result; words alone leave the pictures as they are."""
    match said:
        case None:
            return result.content, result.images
        case str():
            return said, result.images
        case ToolResult(_, str(content), _, images) if picture_problem(images) is None:
            return content, tuple(images)
    raise TypeError(f"result_{processor} must give a string, a ToolResult or None, not {said!r}")
