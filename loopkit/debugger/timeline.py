"""The one read model of a run: a fold of its events into loops, iterations, calls and display rows.

Live runs feed it event by event, recordings all at once; interfaces and `loopkit show` read nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from loopkit import events as e
from loopkit.debugger import rewriting
from loopkit.debugger.nodes import FINAL_STATUSES, CallNode, CallStatus, IterationNode, LoopNode, Row, RowKind
from loopkit.debugger.row_order import RowOrder
from loopkit.messages import NO_USAGE, UNREPORTED_USAGE, Message, Usage
from loopkit.outcomes import Modify

_SKIP_STATUS = {
    "denied": CallStatus.DENIED,
    "responded": CallStatus.ANSWERED,
    "expired": CallStatus.EXPIRED,
}


class Timeline:
    """Loops, iterations, calls and rows of one run.

    Attributes:
        root: the top loop, or None before the first event.
        loops: every loop by its path.
        calls: every call by its id.
        rows: lines in display order: a sub-agent's lines stand under the call that started it.
        usage: tokens of the whole tree.
        seq: number of the last event applied.
        t: its time, seconds since the run started.
        waiting: calls that wait for a decision, in the order they were requested.
        gaps: places where events are missing, as in a damaged recording.
    """

    def __init__(self, events: Iterable[e.Event] = ()) -> None:
        self.root: LoopNode | None = None
        self.loops: dict[str, LoopNode] = {}
        self.calls: dict[str, CallNode] = {}
        self._order = RowOrder()
        self.rows: Sequence[Row] = self._order.rows
        self.usage = NO_USAGE
        self.seq = 0
        self.t = 0.0
        self.gaps = 0
        self.waiting: dict[str, CallNode] = {}
        self._open_loops: dict[str, LoopNode] = {}
        self.warnings = 0
        self.errors = 0
        self.denied = 0
        self.edited = 0
        self.waited_seconds = 0.0
        self._waiting_since: float | None = None
        self._paused: dict[str, LoopNode] = {}
        for event in events:
            self.apply(event)

    def apply(self, event: e.Event) -> None:
        """Take in the next event of the run."""
        self.gaps += event.seq != self.seq + 1
        self.seq = event.seq
        self.t = max(self.t, event.t)
        handler = _HANDLERS.get(type(event.fact))
        if handler is not None:
            try:
                handler(self, event, event.fact)
            except KeyError:
                # the call that it belongs to stood in a missing part (spec/faults.md j4)
                self.note(event)
        elif isinstance(event.fact, e.Unrecognised):
            self.note(event)
        waits = bool(self.waiting or self._paused)
        if waits and self._waiting_since is None:
            self._waiting_since = self.t
        elif not waits and self._waiting_since is not None:
            self.waited_seconds += self.t - self._waiting_since
            self._waiting_since = None

    def close(self) -> None:
        """Take in that no event will come: what is open in an unfinished recording neither runs nor waits any more."""
        for loop in self._open_loops.values():
            loop.cut_off = True
            self._leave_last_calls(loop)

    def waiting_seconds(self, now: float | None = None) -> float:
        """Seconds in which the run waited for a person, up to `now` (seconds since the run started)."""
        since = self._waiting_since
        return self.waited_seconds + (0.0 if since is None else max(0.0, (self.t if now is None else now) - since))

    @property
    def depth(self) -> int:
        """Levels of agents below the root."""
        return max((loop.level for loop in self.loops.values()), default=0)

    @property
    def agents(self) -> int:
        """Loops in the tree."""
        return len(self.loops)

    @property
    def open_loops(self) -> list[LoopNode]:
        """Loops that have not ended, in the order in which they started."""
        return list(self._open_loops.values())

    @property
    def ended(self) -> bool:
        return self.root is not None and self.root.ended

    @property
    def paused(self) -> list[LoopNode]:
        """Loops that stand at a gate."""
        return list(self._paused.values())

    # ── one handler per fact ─────────────────────────────────────────────────────────────────────────────────────────

    def _loop_started(self, event: e.Event, fact: e.LoopStarted) -> None:
        parent = self.calls.get(fact.parent_call) if fact.parent_call else None
        level = parent.loop.level + 1 if parent else 0
        loop = LoopNode(event.loop, level, fact, event.t, parent)
        self.loops[event.loop] = loop
        self._open_loops[event.loop] = loop
        if self.root is None:
            self.root = loop
        if parent is not None:
            parent.children.append(loop)
            self._order.put(Row(RowKind.AGENT, event.seq, loop, call=parent))
        self._order.put(Row(RowKind.TASK, event.seq, loop))

    def _iteration_started(self, event: e.Event, fact: e.IterationStarted) -> None:
        loop = self._loop(event)
        self._leave_last_calls(loop)
        iteration = IterationNode(loop, event.iteration, event.t)
        loop.iterations.append(iteration)
        self._order.put(Row(RowKind.ITERATION, event.seq, loop, iteration))

    def _model_requested(self, event: e.Event, fact: e.ModelRequested) -> None:
        iteration = self.iteration_at(event)
        if iteration.requested_at is None:
            iteration.requested_at = event.t
        iteration.message_count = fact.message_count
        iteration.fingerprint = fact.fingerprint

    def _attempt_failed(self, event: e.Event, fact: e.ModelAttemptFailed) -> None:
        iteration = self.iteration_at(event)
        iteration.attempts.append(fact)
        iteration.retry_at = event.t + fact.delay if fact.retry else None
        if fact.unreported:
            self._spend(iteration.loop, UNREPORTED_USAGE)
        self.note(event)

    def _model_replied(self, event: e.Event, fact: e.ModelReplied) -> None:
        iteration = self.iteration_at(event)
        iteration.replied_at = event.t
        iteration.message = fact.message
        iteration.usage = fact.usage
        iteration.stop_reason = fact.stop_reason
        iteration.raw_stop_reason = fact.raw_stop_reason
        iteration.model = fact.model
        iteration.request_id = fact.request_id
        loop = iteration.loop
        self._spend(loop, UNREPORTED_USAGE if fact.usage is None else fact.usage)
        self.put_calls(event, iteration, fact.message, fact.verdicts)

    def put_calls(
        self, event: e.Event, iteration: IterationNode, message: Message, verdicts: tuple[e.CallVerdict, ...]
    ) -> None:
        """Put the calls of an answer behind it; calls that are there already become those of a later answer."""
        for position, call in enumerate(message.tool_calls, 1):
            key = e.call_key(event.loop, event.iteration, position)
            verdict = verdicts[position - 1] if position <= len(verdicts) else e.CallVerdict()
            node = self.calls.get(key)
            if node is None:
                node = self.calls[key] = CallNode(key, iteration.loop, iteration, position, call.name, call.id, {})
                iteration.calls.append(node)
                self._order.put(Row(RowKind.CALL, event.seq, iteration.loop, iteration, node))
            node.ask(call, verdict.problems)

    def _model_interrupted(self, event: e.Event, fact: e.ModelInterrupted) -> None:
        iteration = self.iteration_at(event)
        iteration.replied_at = event.t
        iteration.message = fact.message
        iteration.interrupted = fact.cause
        self._spend(iteration.loop, UNREPORTED_USAGE)

    def _repetition(self, event: e.Event, fact: e.RepetitionDetected) -> None:
        iteration = self.iteration_at(event)
        iteration.warnings.append(fact)
        self.warnings += 1
        self._order.put(Row(RowKind.WARNING, event.seq, iteration.loop, iteration, warning=fact))

    def _decision_requested(self, event: e.Event, fact: e.DecisionRequested) -> None:
        call = self.calls[fact.call]
        call.version = fact.version
        call.requested_at = event.t
        call.status = CallStatus.WAITING
        self.waiting[call.id] = call

    def _decided(self, event: e.Event, fact: e.Decided) -> None:
        call = self.calls[fact.call]
        call.decision = fact.decision
        call.decided_by = fact.by
        call.decided_at = event.t
        call.status = CallStatus.DECIDED
        self.waiting.pop(call.id, None)
        if isinstance(fact.decision, Modify):
            call.edited_arguments = fact.decision.arguments
            self.edited += 1

    def _decision_refused(self, event: e.Event, fact: e.DecisionRefused) -> None:
        call = self.calls.get(fact.call)
        if call is not None:
            call.refused_decisions.append(f"{fact.by}: {fact.reason}")

    def _decision_expired(self, event: e.Event, fact: e.DecisionExpired) -> None:
        self.waiting.pop(fact.call, None)

    def _tool_started(self, event: e.Event, fact: e.ToolStarted) -> None:
        call = self.calls[fact.call]
        call.started_at = event.t
        call.status = CallStatus.RUNNING

    def _tool_progressed(self, event: e.Event, fact: e.ToolProgressed) -> None:
        self.calls[fact.call].progress.append(fact)

    def _tool_attempt_failed(self, event: e.Event, fact: e.ToolAttemptFailed) -> None:
        self.calls[fact.call].attempts.append(fact)
        self.note(event)

    def _tool_skipped(self, event: e.Event, fact: e.ToolSkipped) -> None:
        status = _SKIP_STATUS.get(fact.cause, CallStatus.REFUSED)
        call = self._end_call(event, fact.call, status, fact.content, is_error=fact.is_error)
        call.cause = fact.cause
        if status is CallStatus.DENIED:
            self.denied += 1
        elif status is CallStatus.REFUSED:
            self.errors += 1

    def _tool_returned(self, event: e.Event, fact: e.ToolReturned) -> None:
        status = CallStatus.ERROR if fact.is_error else CallStatus.DONE
        call = self._end_call(event, fact.call, status, fact.content, is_error=fact.is_error)
        call.json, call.images = fact.json, fact.images
        self.errors += fact.is_error

    def _tool_failed(self, event: e.Event, fact: e.ToolFailed) -> None:
        call = self._end_call(event, fact.call, CallStatus.ERROR, fact.content, is_error=True)
        call.failure = fact.failure
        self.errors += 1

    def _tool_abandoned(self, event: e.Event, fact: e.ToolAbandoned) -> None:
        call = self._end_call(event, fact.call, CallStatus.ABANDONED, fact.content, is_error=True)
        call.cause = fact.cause
        self.errors += 1

    def _tool_ended_late(self, event: e.Event, fact: e.ToolEndedLate) -> None:
        self.calls[fact.call].ended_late = fact.outcome

    def _injected(self, event: e.Event, fact: e.MessagesInjected) -> None:
        loop = self._loop(event)
        loop.injected.extend(fact.messages)
        self._order.put(Row(RowKind.MESSAGE, event.seq, loop, event=event))

    def _pausing(self, event: e.Event, fact: e.Paused) -> None:
        loop = self._loop(event)
        loop.paused_at, loop.paused_by, loop.paused_since = fact.gate, fact.by, event.t
        self._paused[event.loop] = loop

    def _resuming(self, event: e.Event, fact: e.Resumed) -> None:
        loop = self._loop(event)
        loop.paused_at = loop.paused_since = None
        self._paused.pop(event.loop, None)

    def _noted(self, event: e.Event, fact: e.Fact) -> None:
        self.note(event)

    def _finished(self, event: e.Event, fact: e.LoopFinished) -> None:
        self._end_loop(event).reason = fact.reason

    def _failed(self, event: e.Event, fact: e.LoopFailed) -> None:
        self._end_loop(event).failure = fact.failure
        self.errors += 1

    # ── parts of them ────────────────────────────────────────────────────────────────────────────────────────────────

    def _loop(self, event: e.Event) -> LoopNode:
        loop = self.loops.get(event.loop)
        if loop is None:
            # its start stood in a missing part; its path still says which call started it (spec/faults.md j4)
            self._loop_started(event, e.LoopStarted("?", (), parent_call=event.loop.rpartition("#")[0] or None))
            loop = self.loops[event.loop]
        return loop

    def iteration_at(self, event: e.Event) -> IterationNode:
        """Return the iteration that an event belongs to."""
        loop = self._loop(event)
        for iteration in reversed(loop.iterations):
            if iteration.number == event.iteration:
                return iteration
        self._iteration_started(event, e.IterationStarted())
        return loop.iterations[-1]

    def _spend(self, loop: LoopNode, usage: Usage) -> None:
        loop.usage += usage
        self.usage += usage
        above: LoopNode | None = loop
        while above is not None:
            above.subtree_usage += usage
            above = above.parent.loop if above.parent is not None else None

    def _end_call(
        self, event: e.Event, key: str, status: CallStatus, content: str | None, *, is_error: bool
    ) -> CallNode:
        call = self.calls[key]
        call.status = status
        call.content = content
        call.is_error = is_error
        call.ended_at = event.t
        return call

    def _end_loop(self, event: e.Event) -> LoopNode:
        loop = self._loop(event)
        loop.ended_at = event.t
        loop.paused_at = loop.paused_since = None
        self._paused.pop(event.loop, None)
        self._open_loops.pop(event.loop, None)
        self._leave_last_calls(loop)
        self._order.put(Row(RowKind.OUTCOME, event.seq, loop))
        self._order.close(loop)
        return loop

    def _leave_last_calls(self, loop: LoopNode) -> None:
        """Mark the last iteration's calls that nothing answered; foreign sessions go on without (formats.md §0.6)."""
        for call in loop.iterations[-1].calls if loop.iterations else ():
            self._order.close(call)
            if call.status not in FINAL_STATUSES:
                call.status = CallStatus.UNANSWERED
                self.waiting.pop(call.id, None)

    def note(self, event: e.Event) -> None:
        """Give an event a line of its own."""
        loop = self.loops.get(event.loop, self.root)
        if loop is not None:
            self._order.put(Row(RowKind.NOTE, event.seq, loop, event=event, took=rewriting.took(loop, event)))


def task_text(messages: Iterable[Message]) -> str:
    """The last user message's words: what the agent was asked to do."""
    words = ""
    for message in messages:
        if message.role == "user":
            words = message.text
    return words


_HANDLERS: dict[type, Callable[[Timeline, e.Event, Any], None]] = {
    e.LoopStarted: Timeline._loop_started,
    e.IterationStarted: Timeline._iteration_started,
    e.ModelRequested: Timeline._model_requested,
    e.ModelAttemptFailed: Timeline._attempt_failed,
    e.ModelReplied: Timeline._model_replied,
    e.ModelInterrupted: Timeline._model_interrupted,
    e.RepetitionDetected: Timeline._repetition,
    e.DecisionRequested: Timeline._decision_requested,
    e.Decided: Timeline._decided,
    e.DecisionRefused: Timeline._decision_refused,
    e.DecisionExpired: Timeline._decision_expired,
    e.ToolStarted: Timeline._tool_started,
    e.ToolProgressed: Timeline._tool_progressed,
    e.ToolAttemptFailed: Timeline._tool_attempt_failed,
    e.ToolSkipped: Timeline._tool_skipped,
    e.ToolReturned: Timeline._tool_returned,
    e.ToolFailed: Timeline._tool_failed,
    e.ToolAbandoned: Timeline._tool_abandoned,
    e.ToolEndedLate: Timeline._tool_ended_late,
    e.ResultProcessed: rewriting.result_processed,
    e.ResultsMasked: rewriting.results_masked,
    e.MessagesInjected: Timeline._injected,
    e.Paused: Timeline._pausing,
    e.Resumed: Timeline._resuming,
    e.HistoryEdited: Timeline._noted,
    e.AgentChanged: Timeline._noted,
    e.AnswerEdited: rewriting.answer_edited,
    e.ResultEdited: rewriting.result_edited,
    e.EditRefused: Timeline._noted,
    e.RunStopped: Timeline._noted,
    e.StopCommanded: Timeline._noted,
    e.CallbackFailed: Timeline._noted,
    e.Reopened: Timeline._noted,
    e.RecordingEnded: Timeline._noted,
    e.LoopFinished: Timeline._finished,
    e.LoopFailed: Timeline._failed,
}
