"""What stands behind a row: short facts and long texts, for the widget and for the saved notebook alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from loopkit import events as e
from loopkit.debugger.display import one_line, visible
from loopkit.debugger.evidence import evidence_of
from loopkit.debugger.nodes import CallNode, IterationNode, LoopNode, Row, RowKind
from loopkit.debugger.pictures import picture_words
from loopkit.debugger.rows import (
    attempt_remains,
    call_state,
    outcome_text,
    progress_text,
    row_text,
    seconds_text,
    tokens_text,
    tool_attempt_text,
    warning_text,
)
from loopkit.debugger.status import agents_text, definition_of
from loopkit.debugger.timeline import task_text
from loopkit.encoding import encode
from loopkit.messages import ToolDefinition
from loopkit.outcomes import Deny

SectionTone = Literal["plain", "bad", "person"]


@dataclass(frozen=True, slots=True)
class Section:
    """One long text of a detail.

    Args:
        name: what it is called in the run's language: `arguments`, `result` …
        text: as it came; it reaches a screen only through `cut`.
        code: its spaces and line ends matter.
    """

    name: str
    text: str
    tone: SectionTone = "plain"
    code: bool = False


@dataclass(frozen=True, slots=True)
class Detail:
    """Everything about one row.

    Args:
        title: one safe line.
        facts: pairs of safe, short words.
        sections: long texts, the most wanted first; empty ones are left out.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]


def cut(text: str, start: int, limit: int) -> tuple[str, int]:
    """Return a safe piece of `text` and the number of characters that follow it.

    Args:
        start: first character, 0-based.
        limit: most characters of `text` in the piece.
    """
    stop = start + limit
    return visible(text[start:stop]), max(0, len(text) - stop)


def row_detail(row: Row, partial: str = "") -> Detail:
    """Return what stands behind a row.

    Args:
        partial: the answer of the row's loop as far as it is streamed.
    """
    title, facts, sections = _PARTS[row.kind](row)
    if partial and row.iteration is not None and row.kind is RowKind.ITERATION and row.iteration.message is None:
        sections = (Section("answer so far", partial),)
    return Detail(
        one_line(title),
        tuple((name, one_line(value)) for name, value in facts if value),
        tuple(section for section in sections if section.text),
    )


_Parts = tuple[str, Iterable[tuple[str, str]], Iterable[Section]]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _task(row: Row) -> _Parts:
    started = row.loop.started
    system = "\n\n".join(message.text for message in started.messages if message.role == "system")
    facts = [
        ("agent", agents_text(row.loop)),
        ("model", started.model or ""),
        ("tools", ", ".join(tool.name for tool in started.tools)),
    ]
    sections = [
        Section("task", task_text(started.messages)),
        Section("system prompt", system),
        Section("configuration", _json(dict(started.configuration)) if started.configuration else "", code=True),
    ]
    return "task", facts, sections


def _iteration(row: Row) -> _Parts:
    iteration = row.iteration
    assert iteration is not None
    facts = [
        ("agent", agents_text(row.loop)),
        ("model", iteration.model or row.loop.started.model or ""),
        ("tokens", _usage_words(iteration)),
        ("took", seconds_text(iteration.seconds)),
        ("ended", iteration.raw_stop_reason or iteration.stop_reason or ""),
        ("messages sent", "" if iteration.message_count is None else str(iteration.message_count)),
        ("interrupted", iteration.interrupted or ""),
    ]
    message = iteration.message
    sections: list[Section] = []
    if message is not None:
        calls = "\n".join(f"{call.name}({_json_line(call)})" for call in iteration.calls)
        sections = [
            Section("answer", message.text),
            Section("refusal", message.refusal or "", "bad"),
            Section("calls", calls, code=True),
            Section("reasoning", message.reasoning),
        ]
    failed = "\n".join(_attempt_words(attempt) for attempt in iteration.attempts)
    return f"iteration {iteration.number}", facts, [*sections, Section("failed attempts", failed, "bad")]


def _attempt_words(attempt: e.ModelAttemptFailed) -> str:
    failure = attempt.failure
    remains = [f"{words}: {text}" for words, text in attempt_remains(attempt)]
    return "\n".join([f"{failure.type_name}: {failure.message}", *remains])


def _usage_words(iteration: IterationNode) -> str:
    usage = iteration.usage
    return "" if usage is None else f"{usage.input_tokens:,} in, {usage.output_tokens:,} out"


def _json_line(call: CallNode) -> str:
    if call.raw_arguments is not None:
        return call.raw_arguments
    return json.dumps(dict(call.effective_arguments), ensure_ascii=False, default=str)


def _call(row: Row) -> _Parts:
    call = row.call
    assert call is not None
    definition = definition_of(call)
    facts = [
        ("agent", agents_text(call.loop)),
        ("state", call_state(call) or call.status.value),
        ("side effect", (definition.side_effect if definition else None) or "undeclared"),
        ("decided by", _decider_words(call)),
        ("took", seconds_text(call.seconds)),
        ("ended late", call.ended_late or ""),
    ]
    return f"{call.name}  {call.id.removeprefix('root/')}", facts, list(_call_sections(call, definition))


def _call_sections(call: CallNode, definition: ToolDefinition | None) -> Iterator[Section]:
    unreadable = call.raw_arguments is not None and call.edited_arguments is None
    shown = call.raw_arguments if unreadable else _json(dict(call.effective_arguments))
    yield Section("arguments", shown or "", code=True)
    if call.edited_arguments is not None:
        asked = call.raw_arguments if call.raw_arguments is not None else _json(dict(call.arguments))
        yield Section("the model asked for", asked, "person", code=True)
    yield Section("problems", "\n".join(str(problem) for problem in call.problems), "bad")
    yield Section("warnings", "\n".join(call.warnings))
    if isinstance(call.decision, Deny):
        yield Section("denied because", call.decision.reason, "person")
    yield Section("result", call.content or "", "bad" if call.is_error else "plain", code=True)
    yield Section("result as data", "" if call.json is None else _json(call.json), code=True)
    yield Section("images", "\n".join(map(picture_words, call.images)))
    if call.given_images != call.images:
        yield Section("the model got these images", "\n".join(map(picture_words, call.given_images)) or "(none)")
    if call.given != call.content:
        yield Section("the model got", call.given or "(nothing)", code=True)
    if call.masked_in is not None:
        yield Section("left out", f"of requests from iteration {call.masked_in} on")
    yield Section("failed attempts", "\n".join(map(tool_attempt_text, call.attempts)), "bad")
    yield Section("progress", "\n".join(map(progress_text, call.progress)), code=True)
    yield Section("refused decisions", "\n".join(call.refused_decisions), "bad")
    yield Section("the model says", call.iteration.message.text if call.iteration.message else "")
    yield Section("what the tool does", definition.description if definition else "")


def _decider_words(call: CallNode) -> str:
    if call.decided_by is None:
        return ""
    waited = seconds_text(call.waited_seconds)
    return call.decided_by + (f", after {waited}" if waited else "")


def _agent(row: Row) -> _Parts:
    loop = row.loop
    facts = [
        ("agent", agents_text(loop)),
        ("iterations", str(len(loop.iterations))),
        ("own tokens", tokens_text(loop.usage)),
        ("with sub-agents", tokens_text(loop.subtree_usage)),
        ("ended", outcome_text(loop) if loop.over else "running"),
    ]
    sections = [Section("task", task_text(loop.started.messages)), Section("answer", _final_text(loop))]
    return f"sub-agent {loop.agent}", facts, sections


def _final_text(loop: LoopNode) -> str:
    message = loop.iterations[-1].message if loop.iterations else None
    return message.text if message is not None else ""


def _warning(row: Row) -> _Parts:
    warning = row.warning
    assert warning is not None
    assert row.iteration is not None
    facts = [("agent", agents_text(row.loop)), ("detector", warning.detector), ("action", warning.action)]
    evidence = "\n".join(_evidence_line(call) for call in evidence_of(row.iteration, warning))
    sections = [Section("what repeats", warning_text(warning)), Section("the evidence", evidence, code=True)]
    return "loop warning", facts, sections


def _evidence_line(call: CallNode) -> str:
    return f"{call.id.removeprefix('root/')}  {call.name} {_json_line(call)}  {call_state(call)}".rstrip()


def _message(row: Row) -> _Parts:
    assert row.event is not None
    fact = row.event.fact
    assert isinstance(fact, e.MessagesInjected)
    sections = [Section(message.role, message.text) for message in fact.messages]
    return "injected message", [("agent", agents_text(row.loop)), ("by", fact.by)], sections


def _note(row: Row) -> _Parts:
    assert row.event is not None
    fact = row.event.fact
    data = dict(fact.data) if isinstance(fact, e.Unrecognised) else encode(fact)
    title = fact.type_name if isinstance(fact, e.Unrecognised) else row.event.type
    facts = [("agent", agents_text(row.loop)), ("event", str(row.seq))]
    return title, facts, [Section("what was recorded", _json(data), code=True)]


def _outcome(row: Row) -> _Parts:
    loop = row.loop
    facts = [
        ("agent", agents_text(loop)),
        ("ended", outcome_text(loop)),
        ("iterations", str(len(loop.iterations))),
        ("tokens", row_text(row).right),
    ]
    failure = f"{loop.failure.type_name}: {loop.failure.message}" if loop.failure is not None else ""
    return "end of the run", facts, [Section("failure", failure, "bad"), Section("answer", _final_text(loop))]


_PARTS = {
    RowKind.TASK: _task,
    RowKind.ITERATION: _iteration,
    RowKind.CALL: _call,
    RowKind.AGENT: _agent,
    RowKind.WARNING: _warning,
    RowKind.MESSAGE: _message,
    RowKind.NOTE: _note,
    RowKind.OUTCOME: _outcome,
}
