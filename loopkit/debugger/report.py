"""A run as one JSON object and as plain text: what `loopkit show` prints (DESIGN §6).

Both are drawn from the timeline, so that they can't disagree with the interfaces. Values in the JSON object are as
recorded, a duration of nothing is one that nobody measured; the text holds safe words only.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from loopkit.debugger.display import arguments_line, json_text, one_line, visible
from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.nodes import CallNode, IterationNode, LoopNode, Row
from loopkit.debugger.pictures import picture_data, picture_words
from loopkit.debugger.rows import (
    RowText,
    Tone,
    attempt_remains,
    call_state,
    count_text,
    outcome_text,
    progress_text,
    row_text,
    seconds_text,
    tokens_text,
    tool_attempt_text,
)
from loopkit.debugger.rows_as_read import rows_as_read
from loopkit.debugger.timeline import Timeline
from loopkit.debugger.totals import OWN_FORMAT, Totals, reported_tokens, totals
from loopkit.encoding import encode, encode_tagged
from loopkit.events import Event, ToolProgressed, Unrecognised
from loopkit.outcomes import (
    Approve,
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

_OUTCOMES: dict[type, str] = {
    Complete: "complete",
    StopCondition: "stop_condition",
    MaxIterations: "max_iterations",
    LoopDetected: "loop_detected",
    Timeout: "timeout",
    UnknownTool: "unknown_tool",
    Cancelled: "cancelled",
}
_DECISIONS: dict[type, str] = {Approve: "approved", Deny: "denied", Modify: "edited", Respond: "answered"}
_LABEL_CELLS = (12, 28)
_MEASURE_CELLS = 17
_SAMPLED_ROWS = 200


def outcome_name(loop: LoopNode | None) -> str:
    """Return how a loop ended as a word for machines: a termination reason, `failed` or `unfinished`."""
    if loop is None:
        return "unfinished"
    if loop.failure is not None:
        return "failed"
    return "unfinished" if loop.reason is None else reason_name(loop.reason)


def reason_name(reason: TerminationReason) -> str:
    """Return a termination reason as a word for machines, such as `max_iterations`."""
    return _OUTCOMES[type(reason)]


def run_report(timeline: Timeline, run_id: str | None = None, source_format: str = OWN_FORMAT) -> dict[str, Any]:
    """Return the object that `loopkit show --json` prints: `run`, `totals` and the root's `iterations`.

    A call's sub-agents stand in its `runs`, each with its own `iterations`.

    Args:
        run_id: the id in the recording's header, or the foreign session's own; None when there is none.
        source_format: `loopkit`, or the name of a foreign format.
    """
    root = timeline.root
    counted = totals(timeline, source_format)
    return {
        "run": {
            "id": run_id,
            "agent": root.agent if root else None,
            "model": run_model(root),
            "source_format": source_format,
            "outcome": outcome_name(root),
            "outcome_text": outcome_text(root) if root else "unfinished",
        },
        "totals": {name: getattr(counted, name) for name in Totals.__dataclass_fields__},
        "iterations": [iteration_data(iteration) for iteration in root.iterations] if root else [],
    }


def run_model(loop: LoopNode | None) -> str | None:
    if loop is None:
        return None
    answered = (item.model for item in loop.iterations) if loop.counted is None else (loop.counted.model,)
    return loop.started.model or next((model for model in answered if model), None)


def iteration_data(iteration: IterationNode) -> dict[str, Any]:
    """Return one iteration as a JSON object, its calls and their sub-agents included."""
    message = iteration.message
    input_tokens, output_tokens = reported_tokens(iteration.usage)
    return {
        "iteration": iteration.number,
        "model": iteration.model or iteration.loop.started.model,
        "messages": iteration.message_count,
        "text": message.text if message else None,
        "stop_reason": iteration.stop_reason.value if iteration.stop_reason else None,
        "interrupted": iteration.interrupted,
        "failed_attempts": len(iteration.attempts),
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "seconds": iteration.seconds or None,
        "warnings": [encode(warning) for warning in iteration.warnings],
        "calls": [_call_data(call) for call in iteration.calls],
    }


def _call_data(call: CallNode) -> dict[str, Any]:
    decision = call.decision
    return {
        "id": call.id,
        "provider_id": call.provider_id,
        "name": call.name,
        "arguments": call.arguments,
        "raw_arguments": call.raw_arguments,
        "edited_arguments": call.edited_arguments,
        "problems": [str(problem) for problem in call.problems],
        "status": call.status.value,
        "cause": call.cause,
        "decision": None if decision is None else _DECISIONS[type(decision)],
        "decided_by": call.decided_by,
        "failed_attempts": len(call.attempts),
        "progress": [_progress_data(fact) for fact in call.progress],
        "result": call.content,
        "result_json": call.json,
        "images": [picture_data(image) for image in call.images],
        "model_got": call.given if call.given != call.content else None,
        "masked_in": call.masked_in,
        "is_error": call.is_error,
        "seconds": call.seconds or None,
        "waited_seconds": call.waited_seconds or None,
        "runs": [_run_data(loop) for loop in call.children],
    }


def _progress_data(fact: ToolProgressed) -> dict[str, Any]:
    return {"text": fact.text, "done": fact.done, "total": fact.total, "left_out": fact.left_out}


def _run_data(loop: LoopNode) -> dict[str, Any]:
    input_tokens, output_tokens = reported_tokens(loop.subtree_usage)
    return {
        "path": loop.path,
        "agent": loop.agent,
        "model": run_model(loop),
        "outcome": outcome_name(loop),
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "iterations": [iteration_data(iteration) for iteration in loop.iterations],
    }


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def text_report(timeline: Timeline) -> Iterator[str]:
    """Yield the timeline as plain, aligned lines."""
    for words, _ in toned_report(timeline):
        yield words


def toned_report(timeline: Timeline, shows: Callable[[Row], bool] | None = None) -> Iterator[tuple[str, Tone]]:
    """As `text_report`, with what a colour may add to each line.

    Args:
        shows: says which rows are wanted; None wants all.
    """
    if shows is not None:
        yield from _toned_lines([row_text(row) for row in timeline.rows if shows(row)], ())
        return
    # of a large recording the first rows say how wide the labels are
    if isinstance(timeline, LargeTimeline):
        rows = map(row_text, rows_as_read(timeline))
        yield from _toned_lines(list(islice(rows, _SAMPLED_ROWS)), rows)
    else:
        yield from _toned_lines(list(map(row_text, timeline.rows)), ())


def _toned_lines(sample: Sequence[RowText], rest: Iterable[RowText]) -> Iterator[tuple[str, Tone]]:
    least, most = _LABEL_CELLS
    widest = max((2 * words.level + width(words.label) for words in sample), default=0)
    for words in chain(sample, rest):
        yield text_line(words, min(most, max(least, widest))), words.tone


def heading(timeline: Timeline, run_id: str | None = None, source_format: str = OWN_FORMAT) -> str:
    """Return what a run is as one safe line: agent, model, format and id."""
    root = timeline.root
    words = [root.agent if root else "empty run", run_model(root) or "", source_format, run_id or ""]
    return one_line(" · ".join(word for word in words if word), 400)


def text_line(words: RowText, label_cells: int) -> str:
    """Return a row as one plain line: iteration, mark, label, measures, then what it is about.

    Args:
        label_cells: terminal cells of the label's column, its indentation included.
    """
    indent = "  " * words.level
    label = pad(words.label, label_cells - len(indent))
    measures = f"{words.right:>{_MEASURE_CELLS}}"
    state = f"  [{words.state}]" if words.state else ""
    return f"{words.number:>4} {indent}{words.mark} {label} {measures}  {words.detail}{state}".rstrip()


def totals_text(timeline: Timeline, source_format: str = OWN_FORMAT) -> str:
    """Return a run's figures as one line; where there are sub-agents, it says whether they are counted."""
    counted = totals(timeline, source_format)
    words = [count_text(counted.iterations, "iteration"), count_text(counted.tool_calls, "call")]
    if counted.runs:
        words[1] += " (whole tree)" if source_format == OWN_FORMAT else " (root agent only)"
    for number, singular in (
        (counted.runs, "sub-agent"),
        (counted.warnings, "warning"),
        (counted.errors, "error"),
    ):
        if number:
            words.append(count_text(number, singular))
    words += [f"{number} {word}" for number, word in ((counted.denied, "denied"), (counted.edited, "edited")) if number]
    words.append(tokens_text(timeline.usage))
    if counted.cost is not None:
        words.append(f"${counted.cost:.4f}")
    if counted.seconds is not None:
        words.append(seconds_text(counted.seconds))
    return ", ".join(words)


def iteration_report(iteration: IterationNode) -> Iterator[str]:
    """Yield one iteration in full: the answer, and each call with its decision and result."""
    measures = f"{tokens_text(iteration.usage)} {seconds_text(iteration.seconds)}".strip()
    yield f"iteration {iteration.number} of {visible(iteration.loop.path)} ({visible(iteration.loop.agent)}), {measures}"
    if iteration.message_count is not None:
        yield f"request: {count_text(iteration.message_count, 'message')}"
    for attempt in iteration.attempts:
        yield f"attempt failed: {one_line(attempt.failure.message)}"
        for title, text in attempt_remains(attempt):
            yield f"{title}:"
            yield from _indented(visible(text))
    if iteration.interrupted is not None:
        yield f"interrupted: {one_line(iteration.interrupted)}"
    message = iteration.message
    for title, text in (
        ("reasoning", message.reasoning if message else ""),
        ("answer", message.text if message else ""),
        ("refusal", (message.refusal or "") if message else ""),
    ):
        if text:
            yield f"{title}:"
            yield from _indented(visible(text))
    for call in iteration.calls:
        yield ""
        yield from _call_report(call)


def _call_report(call: CallNode) -> Iterator[str]:
    yield f"call {call.iteration.number}.{call.position} {one_line(call.name)}  {call_state(call)}".rstrip()
    yield "  arguments:"
    arguments = json_text(call.arguments) if call.raw_arguments is None else visible(call.raw_arguments)
    yield from _indented(arguments, "    ")
    for problem in call.problems:
        yield f"  problem: {one_line(str(problem))}"
    for words in call.warnings:
        yield f"  warning: {one_line(words)}"
    if call.edited_arguments is not None:
        yield f"  edited by {one_line(call.decided_by or 'somebody')}:"
        yield from _indented(json_text(call.edited_arguments), "    ")
    elif call.decision is not None:
        yield f"  {_DECISIONS[type(call.decision)]} by {one_line(call.decided_by or 'somebody')}"
    for loop in call.children:
        yield f"  sub-agent {visible(loop.path)} ({one_line(loop.agent)}): {outcome_text(loop)}"
    for failed in call.attempts:
        yield f"  {one_line(tool_attempt_text(failed))}"
    if call.progress:
        yield f"  progress: {one_line(progress_text(call.progress[-1]))}"
    yield from _result_report(call)


def _result_report(call: CallNode) -> Iterator[str]:
    if call.content is not None:
        yield "  error:" if call.is_error else "  result:"
        yield from _indented(visible(call.content), "    ")
    if call.json is not None:
        yield "  result as data:"
        yield from _indented(json_text(call.json), "    ")
    for image in call.images:
        yield f"  image: {picture_words(image)}"
    if call.given_images != call.images:
        yield f"  the model got {count_text(len(call.given_images), 'image')}"
    if call.given is not None and call.given != call.content:
        yield "  the model got:"
        yield from _indented(visible(call.given), "    ")
    if call.masked_in is not None:
        yield f"  left out of requests from iteration {call.masked_in} on"


def event_data(event: Event) -> dict[str, Any]:
    """Return an event as a JSON object: envelope first, then its own fields."""
    data = dict(event.fact.data) if isinstance(event.fact, Unrecognised) else encode_tagged(event.fact)
    return {
        "seq": event.seq,
        "t": event.t,
        "loop": event.loop,
        "iteration": event.iteration,
        "type": event.type,
        **{name: value for name, value in data.items() if name != "type"},
    }


def event_line(event: Event) -> str:
    """Return an event as one safe line."""
    data = event.fact.data if isinstance(event.fact, Unrecognised) else encode(event.fact)
    place = pad(f"{one_line(event.loop)} {event.iteration}", 12)
    return f"{event.seq:>6} {event.t:>9.3f}  {place}  {pad(one_line(event.type), 18)} {arguments_line(data)}".rstrip()


def pad(text: str, cells: int) -> str:
    """Fill a text up to a width in terminal cells; wide characters count two."""
    return text + " " * max(0, cells - width(text))


def width(text: str) -> int:
    """Return how many terminal cells a safe text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def _indented(text: str, indent: str = "  ") -> Iterator[str]:
    for line in text.split("\n"):
        yield (indent + line).rstrip()
