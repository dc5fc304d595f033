"""A loop that its caller takes turn by turn (spec/loop.md 10.2)."""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self, TypeAlias, overload

from loopkit import events as e
from loopkit.core.config import ToolLoopConfig
from loopkit.core.depth import LoopDepth, check_depth
from loopkit.drivers.background import BackgroundRun
from loopkit.drivers.parts import parts_of
from loopkit.drivers.result import ToolLoopResult
from loopkit.errors import LoopkitError
from loopkit.events import Event
from loopkit.messages import Message, ToolCall, ToolResult, Usage
from loopkit.outcomes import Continue, Stop
from loopkit.providers.binding import ModelSource
from loopkit.recording.writer import Recorder
from loopkit.tools.registry import ToolRegistry

HANDLE = "handle"


@dataclass(frozen=True)
class InjectMessages:
    """Command of a handle: add messages before the next turn."""

    messages: tuple[Message, ...]

    def __init__(self, messages: Iterable[Message]) -> None:
        object.__setattr__(self, "messages", tuple(messages))


Command: TypeAlias = Continue | Stop | InjectMessages


@dataclass(frozen=True)
class Yielded:
    """A turn in which tools were asked for.

    Args:
        calls: what the model asked for.
        results: what it is told, in call order.
        assistant_content: the words beside the calls.
        iteration: 1-based.
        usage: tokens of the loop so far.
        events: what happened in the turn, sub-agents included.
    """

    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    assistant_content: str
    iteration: int
    usage: Usage
    events: tuple[Event, ...]


@dataclass(frozen=True)
class Completed:
    """The loop ended with a result."""

    result: ToolLoopResult
    events: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Failed:
    """The loop ended with an exception."""

    error: BaseException
    events: tuple[Event, ...] = ()


Turn: TypeAlias = Yielded | Completed | Failed


class LoopHandle:
    """A loop that goes on only when its caller asks for the next turn; takes what `tool_loop` takes.

    Between turns nothing runs and no loop time passes. Use it with `async with`, or close it; one that is dropped ends
    its loop too.

    Raises:
        MaxDepthExceeded: the context is too deep.
    """

    def __init__(  # noqa: PLR0917  # the seed's own signature
        self,
        provider: ModelSource,
        registry: ToolRegistry,
        messages: str | Sequence[Message],
        config: ToolLoopConfig | None = None,
        ctx: LoopDepth | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self._parts = parts_of(provider, registry, messages, config, ctx)
        check_depth(ctx, self._parts.config.max_depth)
        self._recorder = recorder
        self._run: BackgroundRun | None = None
        self._commands: list[Command] = []
        self._terminal: Completed | Failed | None = None
        self.messages = EditedHistory(self)

    async def next_turn(self) -> Turn:
        """Take the next turn; a loop that has ended gives its same terminal again (spec/loop.md 3.2)."""
        if self._terminal is not None:
            return self._terminal
        run = await self._held_run()
        if not run.ended:
            self._apply_commands(run)
            run.may_take_turn = True
            assert run.driver is not None
            run.driver.go_on()
            await _until_held(run)
        events = tuple(item for item in run.happenings if isinstance(item, Event))
        run.happenings.clear()
        if run.ended:
            self._terminal = Failed(run.error, events) if run.error is not None else Completed(_result(run), events)
            return self._terminal
        return _yielded(run, events)

    def resume(self, command: Command) -> None:
        """Say what happens before the next turn: `Continue`, `InjectMessages` or `Stop`; several apply in order."""
        if not isinstance(command, (Continue, Stop, InjectMessages)):
            raise TypeError(f"a handle takes Continue, InjectMessages or Stop, not {command!r}")
        self._commands.append(command)

    async def aclose(self) -> None:
        """End the loop, if it still goes, and wait for its end."""
        if self._run is not None:
            await self._run.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        """End a loop that nobody holds any more."""
        run = getattr(self, "_run", None)
        if run is not None:
            run.abandon()

    async def _held_run(self) -> BackgroundRun:
        if self._run is None:
            self._run = BackgroundRun(self._parts, self._recorder)
            self._run.holds_turns = True
            self._run.may_take_turn = False
            self._run.start()
            await _until_held(self._run)
        return self._run

    def _apply_commands(self, run: BackgroundRun) -> None:
        commands, self._commands = self._commands, []
        assert run.driver is not None
        for command in commands:
            if isinstance(command, Stop):
                run.driver.post(e.StopCommanded(command.reason))
            elif isinstance(command, InjectMessages) and command.messages:
                run.driver.post(e.MessagesInjected(command.messages, HANDLE))

    def _history(self) -> Sequence[Message]:
        run = self._run
        if run is None or run.driver is None:
            return self._parts.messages
        return run.driver.run.originals.messages(run.driver.core.state.history)

    def _edit(self, start: int, stop: int, messages: tuple[Message, ...]) -> None:
        run = self._run
        if run is None:
            history = list(self._parts.messages)
            history[start:stop] = messages
            self._parts = replace(self._parts, messages=tuple(history))
        elif run.ended or not run.at_turn or run.driver is None:
            raise LoopkitError("a handle's messages can only be edited between two turns")
        else:
            run.driver.post(e.HistoryEdited(start, stop, messages, HANDLE))


class EditedHistory(MutableSequence[Message]):
    """A handle's history; edits between turns are events of the run."""

    def __init__(self, handle: LoopHandle) -> None:
        self._handle = handle

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> MutableSequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | MutableSequence[Message]:
        history = self._handle._history()
        return list(history[index]) if isinstance(index, slice) else history[index]

    def __len__(self) -> int:
        return len(self._handle._history())

    def __setitem__(self, index: int | slice, value: Any) -> None:
        start, stop = self._span(index)
        self._handle._edit(start, stop, tuple(value) if isinstance(index, slice) else (value,))

    def __delitem__(self, index: int | slice) -> None:
        start, stop = self._span(index)
        self._handle._edit(start, stop, ())

    def insert(self, index: int, value: Message) -> None:
        start = slice(index, index).indices(len(self))[0]
        self._handle._edit(start, start, (value,))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal by content, which changes

    def __repr__(self) -> str:
        return f"EditedHistory({list(self)!r})"

    def _span(self, index: int | slice) -> tuple[int, int]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise ValueError("only runs of neighbouring messages can be edited at once")
            return start, max(start, stop)
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"message {index} of {len(self)}")
        return place, place + 1


async def _until_held(run: BackgroundRun) -> None:
    while not run.ended and not run.at_turn:
        await run.changed()


def _result(run: BackgroundRun) -> ToolLoopResult:
    assert run.result is not None
    return run.result


def _yielded(run: BackgroundRun, events: tuple[Event, ...]) -> Yielded:
    assert run.driver is not None
    state = run.driver.core.state
    originals = run.driver.run.originals
    assert state.last_reply is not None
    reply = originals.reply(state.last_reply)
    return Yielded(
        reply.message.tool_calls,
        originals.results(state.last_tool_results),
        reply.message.text,
        state.iteration,
        state.usage,
        events,
    )
