"""Display rows as safe words: the same marks and columns in the terminal, the notebook and `loopkit show`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal, TypeAlias

from loopkit import errors
from loopkit import events as e
from loopkit.debugger.display import arguments_line, one_line
from loopkit.debugger.nodes import CallNode, CallStatus, IterationNode, LoopNode, Row, RowKind
from loopkit.debugger.timeline import task_text
from loopkit.encoding import encode
from loopkit.messages import Usage
from loopkit.outcomes import (
    Cancelled,
    Complete,
    Deny,
    LoopDetected,
    MaxIterations,
    Modify,
    Respond,
    StopCondition,
    TerminationReason,
    Timeout,
    UnknownTool,
)

Tone: TypeAlias = Literal["plain", "good", "bad", "warning", "person", "waiting", "muted", "agent"]

MARKS: dict[CallStatus, tuple[str, Tone]] = {
    CallStatus.RECEIVED: ("○", "muted"),
    CallStatus.WAITING: ("◆", "waiting"),
    CallStatus.DECIDED: ("○", "muted"),
    CallStatus.RUNNING: ("●", "plain"),
    CallStatus.DONE: ("✓", "good"),
    CallStatus.ERROR: ("✗", "bad"),
    CallStatus.DENIED: ("⊘", "person"),
    CallStatus.ANSWERED: ("✎", "person"),
    CallStatus.EXPIRED: ("⊘", "warning"),
    CallStatus.REFUSED: ("✗", "bad"),
    CallStatus.ABANDONED: ("✗", "bad"),
    CallStatus.UNANSWERED: ("○", "muted"),
}

# a call of a batch can be decided while others wait: nothing has happened yet, but what was decided is seen
_DECIDED_WORDS: dict[type, str] = {Deny: "denied", Respond: "answered", Modify: "edited, next"}
_DECIDED_MARKS: dict[type, tuple[str, Tone]] = {
    Deny: MARKS[CallStatus.DENIED],
    Respond: MARKS[CallStatus.ANSWERED],
}

_REPEATED = {
    "identical batches": "{tools} {count}×, same arguments",
    "cycle": "{tools}, round and round {count}×",
    "same call same result": "{tools} {count}×, same arguments and same result",
    "repeated errors": "{tools} failed {count}× in a row",
    "repeated text": "the same words {count}×, now with {tools}",
    "unknown tools": "tools that aren't there {count}× in a row, now {tools}",
}


# what a model server said and what to do about it
_LONGEST_FAILURE = 600
_OWN_ERRORS = frozenset(errors.__all__)


@dataclass(frozen=True, slots=True)
class RowText:
    """One line of the timeline, ready to draw; every string is safe and on one line.

    Args:
        level: levels of agents below the root, for indentation.
        number: the iteration on its first line, else empty.
        mark: one character that carries the state without colour.
        label: what it is (a tool's name, `model`, an agent's name …).
        detail: what it is about.
        state: a word or two on how it stands or ended; may be empty.
        right: a duration or a token count; may be empty.
        tone: what a colour may add.
    """

    level: int
    number: str
    mark: str
    label: str
    detail: str
    state: str
    right: str
    tone: Tone


def row_text(row: Row) -> RowText:
    """Return the words of a timeline row."""
    return _WORDS[row.kind](row)


def seconds_text(seconds: float | None) -> str:
    """Return a duration such as `12 ms`, `2.1 s`, `3:05`; empty when unknown, or nothing, as in untimed sessions."""
    if not seconds or seconds < 0:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def count_text(number: int, singular: str) -> str:
    """Return a number with its noun, such as `1 call` or `1,200 calls`."""
    return f"{number:,} {singular}{'' if number == 1 else 's'}"


def tokens_text(usage: Usage | None) -> str:
    """Return tokens such as `1.2k tok`; `? tok` when no answer reported any."""
    if usage is None:
        return "? tok"
    total = usage.input_tokens + usage.output_tokens
    if not total and usage.unreported:
        return "? tok"
    amount = f"{total}" if total < 1000 else f"{total / 1000:.1f}k" if total < 1_000_000 else f"{total / 1e6:.1f}M"
    return f"{amount} tok"


def outcome_text(loop: LoopNode) -> str:
    """Return how a loop ended, in words."""
    if loop.failure is not None:
        return f"failed: {failure_text(loop.failure.type_name, loop.failure.message)}"
    return reason_text(loop.reason) if loop.reason is not None else "unfinished"


def failure_text(type_name: str, message: str) -> str:
    """Return an exception in words; those of loopkit itself say all there is to say without their class."""
    words = one_line(message, _LONGEST_FAILURE)
    return words if message and type_name in _OWN_ERRORS else f"{one_line(type_name, 60)}: {words}"


def reason_text(reason: TerminationReason) -> str:
    """Return a termination reason in words."""
    match reason:
        case Complete():
            return "complete"
        case StopCondition(words):
            return "stopped by condition" + (f": {one_line(words)}" if words else "")
        case MaxIterations(limit):
            return f"max iterations ({limit})"
        case LoopDetected(tool_name, count):
            return f"loop detected: {one_line(tool_name)} {count}×"
        case Timeout(limit):
            return f"timeout after {limit:g} s"
        case UnknownTool(name):
            return f"unknown tool {one_line(name)}"
        case Cancelled(words):
            return "stopped" + (f": {one_line(words)}" if words else "")


def warning_text(warning: e.RepetitionDetected) -> str:
    """Return a loop warning in words, with its evidence."""
    known = _REPEATED.get(warning.detector)
    words = "{detector}: {tools} {count}×" if known is None else known
    repeated = words.format(
        detector=one_line(warning.detector, 40), tools=one_line(warning.tool_name), count=warning.count
    )
    return f"{repeated}, since iteration {warning.since_iteration}"


def progress_text(fact: e.ToolProgressed) -> str:
    """Return where a tool said that it stands, such as `3/10 · 30 % · reading b.txt`; not yet safe to show."""
    words: list[str] = []
    if fact.done is not None:
        whole = fact.total is not None and fact.total > 0
        if not (whole and fact.total == 1):
            words.append(_amount(fact.done) + (f"/{_amount(fact.total)}" if whole and fact.total else ""))
        if whole and fact.total:
            words.append(f"{100 * fact.done / fact.total:.0f} %")
    if fact.text:
        words.append(fact.text)
    return " · ".join(words)


def _amount(number: float) -> str:
    if abs(number) >= 1e15:
        return f"{number:g}"
    return f"{number:,.0f}" if number == round(number) else f"{number:,.2f}"


def call_state(call: CallNode) -> str:
    """Return how a call stands, in a word or two."""
    if call.status is CallStatus.WAITING:
        return "WAITS"
    if call.status in (CallStatus.RECEIVED, CallStatus.DECIDED):
        return _DECIDED_WORDS.get(type(call.decision), "next")
    if call.status is CallStatus.RUNNING:
        return f"running: {one_line(progress_text(call.progress[-1]), 60)}" if call.progress else "running"
    if call.status in (CallStatus.REFUSED, CallStatus.ABANDONED):
        return one_line(call.cause, 40) if call.cause else call.status.value
    words = [] if call.status is CallStatus.DONE else [call.status.value]
    if call.edited_arguments is not None:
        words.insert(0, "edited")
    if call.images:
        words.append(count_text(len(call.images), "image"))
    if call.given != call.content or call.given_images != call.images:
        words.append("rewritten")
    if call.masked_in is not None:
        words.append("left out")
    return ", ".join(words)


def _task(row: Row) -> RowText:
    words = one_line(task_text(row.loop.started.messages)) or "(no task)"
    return RowText(row.loop.level, "", "»", "task", words, "", "", "plain")


def _iteration(row: Row) -> RowText:
    iteration = row.iteration
    assert iteration is not None
    message = iteration.message
    words = (message.text or message.refusal or "") if message is not None else ""
    if not words and message is not None and message.tool_calls:
        asked = Counter(call.name for call in message.tool_calls)
        words = "asks for " + ", ".join(f"{name} {times}×" if times > 1 else name for name, times in asked.items())
    state, tone = _iteration_state(iteration)
    right = " ".join(
        part
        for part in (
            tokens_text(iteration.usage) if iteration.replied_at is not None else "",
            seconds_text(iteration.seconds),
        )
        if part
    )
    label = one_line(iteration.model or row.loop.started.model or "model", 24)
    return RowText(row.loop.level, str(iteration.number), "▪", label, one_line(words), state, right, tone)


def _iteration_state(iteration: IterationNode) -> tuple[str, Tone]:
    if iteration.interrupted is not None:
        return f"interrupted: {one_line(iteration.interrupted, 40)}", "bad"
    if iteration.message is not None:
        if iteration.message.refusal is not None:
            return "refusal", "warning"
        return "", "plain"
    if iteration.loop.over:
        return "no answer", "bad"
    return ("answering", "plain") if iteration.requested_at is not None else ("", "muted")


def _call(row: Row) -> RowText:
    call = row.call
    assert call is not None
    mark, tone = MARKS[call.status]
    if call.status is CallStatus.DECIDED:
        mark, tone = _DECIDED_MARKS.get(type(call.decision), (mark, tone))
    if call.edited_arguments is not None and call.status is CallStatus.DONE:
        mark, tone = "✎", "person"
    arguments = call.raw_arguments if call.raw_arguments is not None else None
    detail = one_line(arguments) if arguments is not None else arguments_line(call.effective_arguments)
    return RowText(
        row.loop.level, "", mark, one_line(call.name, 40), detail, call_state(call), seconds_text(call.seconds), tone
    )


def _agent(row: Row) -> RowText:
    loop = row.loop
    right = f"{loop.iteration_count} it {tokens_text(loop.subtree_usage)}"
    state = outcome_text(loop) if loop.over else "running"
    tone: Tone = "bad" if loop.failure is not None else "agent"
    return RowText(loop.level - 1, "", "⇢", one_line(loop.agent, 40), "sub-agent", state, right, tone)


def _warning(row: Row) -> RowText:
    assert row.warning is not None
    return RowText(
        row.loop.level, "", "⚠", "loop", warning_text(row.warning), one_line(row.warning.action, 40), "", "warning"
    )


def _message(row: Row) -> RowText:
    assert row.event is not None
    fact = row.event.fact
    assert isinstance(fact, e.MessagesInjected)
    words = one_line(" ".join(message.text for message in fact.messages))
    return RowText(row.loop.level, "", "»", "message", words, f"by {one_line(fact.by, 40)}", "", "person")


def attempt_text(fact: e.ModelAttemptFailed) -> str:
    """Return in words that a request failed, what follows, and why."""
    then = ""
    if fact.fallback:
        then = ", the next model is asked"
    elif fact.retry:
        then = f", asked again after {fact.delay:.1f} s" if fact.delay else ", asked again"
    return f"attempt {fact.attempt} failed{then}: {fact.failure.message}"


def attempt_remains(fact: e.ModelAttemptFailed) -> list[tuple[str, str]]:
    """Return what came before a request failed, with a title each; the texts are not safe to show as they are."""
    message = fact.message
    told = [
        ("reasoning before it broke", "" if message is None else message.reasoning),
        ("words before it broke", "" if message is None else message.text),
        ("what could not be read", fact.unread or ""),
    ]
    return [(title, text) for title, text in told if text]


def tool_attempt_text(fact: e.ToolAttemptFailed) -> str:
    """Return what is said of an attempt of a tool that failed; not yet safe to show."""
    after = f" after {fact.delay:.1f} s" if fact.delay else ""
    failure = fact.failure
    return f"attempt {fact.attempt} failed, run again{after}: {failure.type_name}: {failure.message}"


def _note(row: Row) -> RowText:
    assert row.event is not None
    fact = row.event.fact
    tone: Tone = "muted"
    match fact:
        case e.RunStopped(by, reason):
            words = f"stopped by {by}" + (f": {reason}" if reason else "")
        case e.StopCommanded(reason):
            words = "told to stop" + (f": {reason}" if reason else "")
        case e.ModelAttemptFailed():
            words = attempt_text(fact)
            tone = "bad"
        case e.ToolAttemptFailed():
            words = f"{fact.call.rpartition('/')[2]} {tool_attempt_text(fact)}"
            tone = "bad"
        case e.CallbackFailed(callback, failure):
            words = f"{callback} raised {failure.type_name}: {failure.message}"
            tone = "bad"
        case e.ResultProcessed(_, _, processor, e.Failure(type_name, message)):
            words = f"result_{processor} raised {type_name}: {message}; the result goes on as it was"
            tone = "bad"
        case e.ResultsMasked(calls):
            ids = ", ".join(call.rpartition("/")[2] for call in calls)
            words = f"left out of requests from here on: {count_text(len(calls), 'older result')} ({ids})"
        case e.HistoryEdited() | e.AgentChanged() | e.AnswerEdited() | e.ResultEdited() | e.Reopened():
            words = _edit_text(fact)
        case e.EditRefused(target, what, by, reason):
            words = f"an edit of the {what} of {target.rpartition('/')[2]} by {by} was refused: {reason}"
        case e.RecordingEnded(reason):
            words = f"not recorded from here on, though the run went on: the disk took no more ({reason})"
            tone = "bad"
        case e.Unrecognised(type_name, data):
            words = f"{type_name} {arguments_line(data)}"
        case _:
            words = f"{row.event.type} {arguments_line(encode(fact))}"
    return RowText(row.loop.level, "", "·", "note", one_line(words), "", seconds_text(row.took), tone)


def _edit_text(fact: e.HistoryEdited | e.AgentChanged | e.AnswerEdited | e.ResultEdited | e.Reopened) -> str:
    match fact:
        case e.HistoryEdited(start, stop):
            what = f"messages {start}-{stop} edited"
        case e.AgentChanged(by="person"):
            what = "the model, its settings or its tools changed"
        case e.AgentChanged(agent):
            what = f"goes on as {agent}, which is another agent or another version of it: changed"
        case e.AnswerEdited():
            what = "the answer edited, what the model said is kept"
        case e.ResultEdited(call):
            what = f"the result of {call.rpartition('/')[2]} edited"
        case e.Reopened():
            what = "taken up again"
    return f"{what} by {fact.by}"


def _outcome(row: Row) -> RowText:
    loop = row.loop
    good = isinstance(loop.reason, (Complete, StopCondition))
    ended = loop.ended_at if loop.ended_at is not None else loop.started_at
    right = f"{tokens_text(loop.subtree_usage)} {seconds_text(ended - loop.started_at)}".rstrip()
    tone: Tone = "good" if good else "bad" if loop.failure is not None else "warning"
    return RowText(loop.level, "", "■", "end", outcome_text(loop), "", right, tone)


_WORDS = {
    RowKind.TASK: _task,
    RowKind.ITERATION: _iteration,
    RowKind.CALL: _call,
    RowKind.AGENT: _agent,
    RowKind.WARNING: _warning,
    RowKind.MESSAGE: _message,
    RowKind.NOTE: _note,
    RowKind.OUTCOME: _outcome,
}
