"""A loop as an asynchronous sequence of what happens (spec/loop.md 10.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeAlias

from loopkit.core.config import ToolLoopConfig
from loopkit.core.depth import LoopDepth, check_depth
from loopkit.drivers.background import BackgroundRun, StreamedDelta
from loopkit.drivers.parts import parts_of
from loopkit.drivers.result import ToolLoopResult
from loopkit.events import Event
from loopkit.messages import Message
from loopkit.providers.binding import ModelSource
from loopkit.recording.writer import Recorder
from loopkit.tools.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class Done:
    """The last item of a stream."""

    result: ToolLoopResult


StreamItem: TypeAlias = Event | StreamedDelta | Done


class ToolLoopStream:
    """What happens in a loop, as it happens: events, pieces of answers, at last `Done`.

    Leave it early by `break`, by `aclose`, or by the end of an `async with`: the loop ends and its log is closed.
    """

    def __init__(self, run: BackgroundRun) -> None:
        self._run = run
        self._done = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamItem:
        run = self._run
        if self._done:
            raise StopAsyncIteration
        if not run.started:
            run.start()
        while not run.happenings:
            if run.ended:
                self._done = True
                if run.error is not None:
                    raise run.error
                assert run.result is not None
                return Done(run.result)
            await run.changed()
        return run.happenings.popleft()

    async def aclose(self) -> None:
        """End the loop, if it still goes, and wait for its end."""
        self._done = True
        await self._run.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        """End a loop that nobody listens to any more, as after a `break`."""
        self._run.abandon()


def tool_loop_stream(  # noqa: PLR0917  # the seed's own signature
    provider: ModelSource,
    registry: ToolRegistry,
    messages: str | Sequence[Message],
    config: ToolLoopConfig | None = None,
    ctx: LoopDepth | None = None,
    recorder: Recorder | None = None,
) -> ToolLoopStream:
    """Run a loop and yield what happens; takes what `tool_loop` takes and runs the same engine.

    Raises:
        MaxDepthExceeded: the context is too deep; other errors come from the iteration.
    """
    parts = parts_of(provider, registry, messages, config, ctx)
    check_depth(ctx, parts.config.max_depth)
    return ToolLoopStream(BackgroundRun(parts, recorder))
