"""Events of a run, written one after another as a story would tell them."""

from __future__ import annotations

from collections.abc import Iterable

from loopkit import events as e
from loopkit.debugger.nodes import LoopNode
from loopkit.debugger.rows import RowText, row_text
from loopkit.debugger.timeline import Timeline
from loopkit.messages import Message, ToolCall, Usage
from loopkit.outcomes import Approve, Complete, ToolApproval


class Playbook:
    """Appends facts with their places and numbers; time goes on by a second per event."""

    def __init__(self) -> None:
        self.events: list[e.Event] = []
        self._iterations: dict[str, int] = {}

    def say(self, loop: str, *facts: e.Fact, t: float | None = None) -> Playbook:
        for fact in facts:
            if isinstance(fact, e.LoopStarted):
                self._iterations[loop] = 0
            elif isinstance(fact, e.IterationStarted):
                self._iterations[loop] += 1
            seq = len(self.events) + 1
            self.events.append(e.Event(seq, float(seq) if t is None else t, loop, self._iterations.get(loop, 0), fact))
        return self

    def start(self, loop: str = e.ROOT, agent: str = "main", task: str = "go") -> Playbook:
        parent = loop.rpartition("#")[0] or None
        return self.say(loop, e.LoopStarted(agent, (Message.user(task),), parent_call=parent))

    def ask(
        self,
        loop: str = e.ROOT,
        *tools: str,
        text: str = "",
        usage: Usage | None = Usage(10, 5),  # noqa: B008  # a value
    ) -> Playbook:
        """An iteration whose answer calls the tools."""
        calls = [ToolCall(f"c{place}", name, {"n": place}) for place, name in enumerate(tools, 1)]
        return self.say(
            loop,
            e.IterationStarted(),
            e.ModelRequested(1, 1, "f"),
            e.ModelReplied(Message.assistant(text, calls), usage),
        )

    def decide(self, call: str, decision: ToolApproval | None = None, by: str = "person") -> Playbook:
        loop = loop_of(call)
        return self.say(loop, e.DecisionRequested(call, 1, "tool"), e.Decided(call, 1, decision or Approve(), by))

    def run(self, call: str, content: str = "ok", *, is_error: bool = False) -> Playbook:
        return self.say(loop_of(call), e.ToolStarted(call), e.ToolReturned(call, content, is_error))

    def finish(self, loop: str = e.ROOT) -> Playbook:
        return self.say(loop, e.LoopFinished(Complete(), self._iterations[loop], Usage()))

    @property
    def timeline(self) -> Timeline:
        return Timeline(self.events)


def loop_of(call: str) -> str:
    """The path of the loop that a call belongs to."""
    return call.rpartition("/")[0]


def outline(timeline: Timeline) -> list[str]:
    """The rows as `LEVEL MARK LABEL DETAIL`."""
    return [
        " ".join(part for part in (">" * max(0, row.level), row.mark, row.label, row.detail) if part)
        for row in map(row_text, timeline.rows)
    ]


def dump(timeline: Timeline) -> dict[str, object]:
    """All that a timeline says, as plain data that can be compared."""
    return {
        "rows": [row_text(row) for row in timeline.rows],
        "loops": {path: _loop(loop) for path, loop in timeline.loops.items()},
        "calls": {
            key: (
                *(call.loop.path, call.iteration.number, call.position, call.status, call.version, call.problems),
                *(call.content, call.is_error, call.failure, call.cause, call.ended_late),
                *(tuple(call.rewrites), call.masked_in, tuple(call.progress)),
                *(call.decision, call.decided_by, call.edited_arguments),
                *(call.requested_at, call.decided_at, call.started_at, call.ended_at),
            )
            for key, call in timeline.calls.items()
        },
        "counts": (timeline.warnings, timeline.errors, timeline.denied, timeline.edited, timeline.gaps),
        "now": (timeline.seq, timeline.t, timeline.usage, timeline.depth, timeline.waiting_seconds()),
        "open": ([loop.path for loop in timeline.open_loops], list(timeline.waiting)),
    }


def _loop(loop: LoopNode) -> tuple[object, ...]:
    iterations = [
        (
            it.number,
            it.message,
            it.usage,
            it.stop_reason,
            it.interrupted,
            len(it.attempts),
            [call.id for call in it.calls],
        )
        for it in loop.iterations
    ]
    parent = None if loop.parent is None else loop.parent.id
    return loop.level, parent, loop.agent, loop.usage, loop.subtree_usage, loop.reason, loop.failure, iterations


def texts_of(rows: Iterable[RowText]) -> list[str]:
    """Every string of rows."""
    return [
        text for row in rows for text in (row.number, row.mark, row.label, row.detail, row.state, row.right, row.tone)
    ]
