"""A loop played by hand: tell the core what happened, see what it derives. No event loop, no clock, no tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopkit import events as e
from loopkit.core.config import ToolLoopConfig
from loopkit.core.loop import LoopCore, fold
from loopkit.core.state import CallState, LoopState
from loopkit.messages import Message, Problem, StopReason, ToolCall, ToolDefinition, Usage
from loopkit.outcomes import Approve, TerminationReason, ToolApproval

ANYTHING = {"type": "object"}


def call(name: str = "look", _id: str | None = None, **arguments: Any) -> ToolCall:
    """A call whose id is its name unless told otherwise."""
    return ToolCall(_id or name, name, arguments)


def invalid(reason: str = "is required", path: str = "$.path") -> e.CallVerdict:
    """The verdict of a schema check that failed."""
    return e.CallVerdict((Problem(path, reason),))


class Playbook:
    """One loop, told what happens.

    Args:
        messages: the history at the start.
        tools: names of the tools there are, or their definitions.
        stand_at: gates at which somebody stops the loop.
        config: fields of `ToolLoopConfig`.
    """

    def __init__(
        self,
        messages: Iterable[Message] = (Message.user("go"),),
        *,
        tools: Iterable[str | ToolDefinition] = ("look", "write", "ask"),
        stand_at: Iterable[str] = (),
        settings: dict[str, Any] | None = None,
        **config: Any,
    ) -> None:
        started = e.LoopStarted(
            "agent",
            tuple(messages),
            tuple(ToolDefinition(one, "", ANYTHING) if isinstance(one, str) else one for one in tools),
            ToolLoopConfig(**config).description(),
            settings=settings or {},
        )
        self.core = LoopCore.started(e.ROOT, started)
        self.events = [e.Event(1, 0.0, e.ROOT, 0, started)]
        self.stand_at = set(stand_at)
        self.passed: list[str] = []
        self.derived: list[e.Derived] = []
        self._settle()

    # ── what happened ────────────────────────────────────────────────────────────────────────────────────────────────

    def tell(self, *facts: e.Input) -> list[e.Derived]:
        """Let inputs happen; return what followed from the last."""
        news: list[e.Derived] = []
        for fact in facts:
            self._append(fact)
            news = self._settle()
        return news

    def reply(
        self,
        *calls: ToolCall,
        text: str = "",
        verdicts: tuple[e.CallVerdict, ...] | None = None,
        usage: Usage | None = None,
        stop_reason: StopReason | None = None,
    ) -> list[e.Derived]:
        """The model answers."""
        reason = stop_reason or (StopReason.TOOL_CALLS if calls else StopReason.END_TURN)
        verdicts = verdicts or tuple(e.CallVerdict() for _ in calls)
        return self.tell(e.ModelReplied(Message.assistant(text, calls), usage, reason, verdicts=verdicts))

    def decide(
        self, position: int, decision: ToolApproval | None = None, *, verdict: e.CallVerdict | None = None
    ) -> list[e.Derived]:
        """Somebody decides on the call at a position; approves it unless told otherwise."""
        return self.tell(
            e.Decided(self.key(position), 1, decision or Approve(), "person", verdict or e.CallVerdict()),
        )

    def approve(self, *positions: int) -> list[e.Derived]:
        """Somebody approves calls; all of the response when none is named."""
        news: list[e.Derived] = []
        for position in positions or range(1, len(self.state.calls) + 1):
            news = self.decide(position)
        return news

    def end(self, position: int, content: str = "done", *, is_error: bool = False) -> list[e.Derived]:
        """A handler returns."""
        return self.tell(e.ToolReturned(self.key(position), content, is_error))

    def fail(self, position: int, error: str = "ValueError") -> list[e.Derived]:
        """A handler raises."""
        return self.tell(e.ToolFailed(self.key(position), e.Failure(error, "no"), f"{error}: no"))

    def turn(self, *calls: ToolCall, **options: Any) -> list[e.Derived]:
        """A whole turn: the model answers, every call is approved and returns."""
        self.reply(*calls, **options)
        self.approve()
        news: list[e.Derived] = []
        for position, state in enumerate(self.state.calls, 1):
            if state.call.name in self.state.tools:
                news = self.end(position)
        return news

    def stop(self, reason: str | None = None) -> list[e.Derived]:
        """Somebody stops the run: what runs is interrupted, as a driver does it."""
        self._append(e.RunStopped("person", reason))
        if self.state.phase == "model":
            self._append(e.ModelInterrupted("stopped"))
        for running in [state for state in self.state.calls if state.phase == "running"]:
            self._append(e.ToolAbandoned(running.key, "stopped"))
        return self._settle()

    # ── what is so now ───────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def state(self) -> LoopState:
        return self.core.state

    @property
    def messages(self) -> list[Message]:
        return list(self.state.history)

    @property
    def request(self) -> list[Message]:
        """What the next request would hold."""
        return list(self.state.view)

    @property
    def reason(self) -> TerminationReason | None:
        """Why the loop ended with a result, or None."""
        return self.state.finished.reason if isinstance(self.state.finished, e.LoopFinished) else None

    @property
    def failure(self) -> e.Failure | None:
        """What the loop failed with, or None."""
        return self.state.finished.failure if isinstance(self.state.finished, e.LoopFailed) else None

    def key(self, position: int) -> str:
        return e.call_key(e.ROOT, self.state.iteration, position)

    def call(self, position: int) -> CallState:
        return self.state.calls[position - 1]

    def all_of(self, kind: type[e.Fact]) -> list[Any]:
        """Every fact of a class so far."""
        return [event.fact for event in self.events if isinstance(event.fact, kind)]

    # ── mechanics ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _append(self, fact: e.Fact) -> None:
        event = e.Event(len(self.events) + 1, 0.0, e.ROOT, self.core.iteration_of(fact), fact)
        self.core.apply(event)
        self.events.append(event)

    def _settle(self) -> list[e.Derived]:
        news: list[e.Derived] = []
        while (due := self.core.due()) is not None:
            gates = [gate for gate in self.core.gates() if gate not in self.passed]
            self.passed += gates
            held = next((gate for gate in gates if gate in self.stand_at), None)
            if held is not None:
                self._append(e.Paused(held, "person"))
                break
            self._append(due)
            news.append(due)
        self.derived += news
        assert fold(self.events)[e.ROOT] == self.state
        return news


def kinds(facts: Iterable[e.Fact]) -> list[str]:
    """The facts' class names."""
    return [type(fact).__name__ for fact in facts]
