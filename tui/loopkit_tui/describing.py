"""A row of the timeline as a document: what it is, what was decided, what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from loopkit import events as e
from loopkit.debugger.context_use import context_use
from loopkit.debugger.costs import cost_of_loops, cost_text
from loopkit.debugger.display import one_line
from loopkit.debugger.evidence import evidence_of
from loopkit.debugger.nodes import IterationNode, LoopNode, Row, RowKind
from loopkit.debugger.rows import attempt_remains, count_text, outcome_text, seconds_text, warning_text
from loopkit.debugger.timeline import task_text
from loopkit.encoding import encode
from loopkit.messages import Message, Usage
from loopkit_tui.describing_calls import call_facts, describe_call, effect_of, title
from loopkit_tui.widgets.document import Facts, Item, Labelled, Passage, Words
from loopkit_tui.widgets.json_tree import Folds, tree_items


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a row's own record doesn't hold.

    Args:
        partial: the answer that is being streamed into the row's loop.
        waited: seconds in which the run waited for a person.
        recording: path of the recording, or None.
        sent: returns the messages of an iteration's request; raises `UserError` where they can't be known.
    """

    partial: str = ""
    waited: float = 0.0
    recording: str | None = None
    sent: Callable[[IterationNode], Sequence[Message]] = lambda _: ()


def agent_path(loop: LoopNode) -> str:
    """Return the agents from the root to a loop, such as `root › fixer`."""
    names = []
    current: LoopNode | None = loop
    while current is not None:
        names.append(one_line(current.agent, 30))
        current = current.parent.loop if current.parent is not None else None
    return " › ".join(reversed(names))


def row_title(row: Row) -> str:
    """Return what the detail of a row is called."""
    if row.kind is RowKind.CALL and row.call is not None:
        return f"{one_line(row.call.name, 40)} {row.call.iteration.number}.{row.call.position}"
    if row.kind is RowKind.ITERATION and row.iteration is not None:
        return f"iteration {row.iteration.number}"
    if row.kind is RowKind.AGENT:
        return f"sub-agent {one_line(row.loop.agent, 40)}"
    return {RowKind.TASK: "task", RowKind.OUTCOME: "the end", RowKind.WARNING: "warning"}.get(row.kind, row.kind.value)


def describe(row: Row, around: Surroundings, folded: Folds) -> Iterator[Item]:
    """Yield the lines of a row's detail."""
    match row.kind:
        case RowKind.CALL if row.call is not None:
            yield from describe_call(row.call, agent_path(row.loop), folded)
        case RowKind.ITERATION if row.iteration is not None:
            yield from _iteration(row.iteration, around, folded)
        case RowKind.TASK:
            yield from _task(row.loop, folded)
        case RowKind.AGENT:
            yield from _agent(row.loop)
        case RowKind.WARNING if row.warning is not None and row.iteration is not None:
            yield from _warning(row.iteration, row.warning, folded)
        case RowKind.OUTCOME:
            yield from _outcome(row.loop, around)
        case _ if row.event is not None:
            yield from _event(row.event, folded)


def usage_text(usage: Usage) -> str:
    """Return tokens in words, with their parts."""
    parts = [f"{usage.input_tokens:,} in", f"{usage.output_tokens:,} out"]
    if usage.cache_read_tokens or usage.cache_write_tokens:
        parts.append(f"{usage.cache_read_tokens:,} read from cache")
    if usage.reasoning_tokens:
        parts.append(f"{usage.reasoning_tokens:,} reasoning")
    words = ", ".join(parts) + " tokens"
    if usage.unreported:
        words += f"; {count_text(usage.unreported, 'answer')} reported none"
    return words


def _iteration(iteration: IterationNode, around: Surroundings, folded: Folds) -> Iterator[Item]:
    loop = iteration.loop
    yield Facts(
        (agent_path(loop), "agent"),
        (one_line(iteration.model or loop.started.model or "", 40), "plain"),
        (seconds_text(iteration.seconds), "muted"),
        (usage_text(iteration.usage) if iteration.usage is not None else "", "muted"),
        (f"ended: {iteration.stop_reason.value.replace('_', ' ')}" if iteration.stop_reason else "", "muted"),
    )
    yield from _context(iteration)
    for attempt in iteration.attempts:
        failure = attempt.failure
        yield Passage(f"✗ an attempt failed: {failure.type_name}: {failure.message}", indent=0, tone="bad")
        for words, text in attempt_remains(attempt):
            yield Words((words, "muted"))
            yield Passage(text, tone="muted")
    if iteration.interrupted is not None:
        yield Words((f"✗ interrupted: {one_line(iteration.interrupted)}; what had come is shown", "bad"))
    for warning in iteration.warnings:
        yield Words((f"⚠ {warning_text(warning)}", "warning"))
    yield from _answer(iteration, around, folded)
    if iteration.calls:
        yield from title("it asks for")
        for call in iteration.calls:
            yield from call_facts(call)


def _context(iteration: IterationNode) -> Iterator[Item]:
    """How full the model's context was, and what was new in it."""
    use = context_use(iteration)
    if use.tokens is None and use.messages is None:
        return
    filled = f"context: {use.tokens:,} tokens" if use.tokens is not None else "context"
    if use.window is not None and use.share is not None:
        filled += f" of {use.window:,} ({use.share:.1%})"
    more = [f"{use.more_messages:+,} messages"] if use.more_messages is not None else []
    more += [f"{use.more_tokens:+,} tokens"] if use.more_tokens is not None else []
    yield Facts(
        (filled, "muted"),
        (count_text(use.messages, "message") if use.messages is not None else "", "muted"),
        (f"since the request before {', '.join(more)}" if more else "", "plain"),
    )


def _answer(iteration: IterationNode, around: Surroundings, folded: Folds) -> Iterator[Item]:
    message = iteration.message
    if message is None:
        if around.partial:
            yield from title("the model is saying")
            yield Passage(around.partial + " ▏")
        elif not iteration.loop.over:
            yield from title("the model has not answered yet")
        return
    if message.reasoning:
        closed = folded("reasoning", len(message.reasoning) > 400)
        size = count_text(len(message.reasoning), "character")
        yield Words()
        yield Words(("▸ " if closed else "▾ ", "key"), ("reasoning  ", "heading"), (size, "muted"), key="reasoning")
        if not closed:
            yield Passage(message.reasoning, tone="muted", key="reasoning")
    if message.refusal:
        yield from title("the model refuses")
        yield Passage(message.refusal, tone="warning")
    if message.text:
        yield from title("the model says")
        yield Passage(message.text)
    elif not message.refusal:
        yield from title("the model says nothing" + (" beside its calls" if message.tool_calls else ""))


def _task(loop: LoopNode, folded: Folds) -> Iterator[Item]:
    started = loop.started
    yield Facts(
        (agent_path(loop), "agent"),
        (one_line(started.model or "", 40), "plain"),
        (f"depth {started.depth}", "muted"),
        (count_text(len(started.tools), "tool"), "muted"),
    )
    yield from title("what it was asked")
    yield Passage(task_text(started.messages) or "(no task)")
    system = "\n".join(message.text for message in started.messages if message.role == "system")
    if system:
        yield from title("its instructions")
        yield Passage(system)
    if started.tools:
        yield from title("its tools")
        for tool in started.tools:
            effects = ((f"  {words}", tone) for words, tone in effect_of(tool))
            yield Words((f"  {one_line(tool.name, 40)}", "name"), *effects)
            yield Passage(tool.description.strip() or "(no description)", indent=4, tone="muted")
    if started.configuration:
        yield from title("its configuration")
        yield from tree_items(started.configuration, "configuration", folded)


def _agent(loop: LoopNode) -> Iterator[Item]:
    ended = loop.ended_at
    yield Facts(
        (agent_path(loop), "agent"),
        (one_line(loop.started.model or "", 40), "plain"),
        (f"depth {loop.started.depth}", "muted"),
        (seconds_text(ended - loop.started_at) if ended is not None else "", "muted"),
    )
    yield from title("what it was asked")
    yield Passage(task_text(loop.started.messages) or "(no task)")
    yield from title("how it stands")
    yield Words((f"  {outcome_text(loop) if loop.over else 'running'}", "bad" if loop.failure else "plain"))
    yield from _figures(loop)
    yield from _last_words(loop)


def _outcome(loop: LoopNode, around: Surroundings) -> Iterator[Item]:
    seconds = (loop.ended_at or loop.started_at) - loop.started_at
    yield Facts((agent_path(loop), "agent"), (outcome_text(loop), "bad" if loop.failure else "good"))
    if loop.parent is None and around.recording:
        yield from title("recorded in")
        yield Passage(around.recording, tone="key")
    yield from title("in figures")
    waited = f", of which {seconds_text(around.waited)} waiting for a person" if around.waited >= 0.1 else ""
    yield Words((f"  {seconds_text(seconds)}{waited if loop.parent is None else ''}", "plain"))
    yield from _figures(loop)
    if loop.failure is not None:
        yield from title("it failed with")
        yield Passage(f"{loop.failure.type_name}: {loop.failure.message}", tone="bad")
    yield from _last_words(loop)


def _figures(loop: LoopNode) -> Iterator[Item]:
    """What a loop took, and what it took together with all sub-agents below it."""
    loops = loop.subtree()
    if len(loops) == 1:
        yield Passage(f"{_counts(loops)}, {usage_text(loop.usage)}{_spent(loops)}")
        return
    yield Labelled([("  of its own  ", "muted")], f"{_counts([loop])}, {usage_text(loop.usage)}{_spent([loop])}")
    below = count_text(len(loops) - 1, "sub-agent")
    words = f"{_counts(loops)}, {below}, {usage_text(loop.subtree_usage)}{_spent(loops)}"
    yield Labelled([("  whole tree  ", "muted")], words)


def _spent(loops: list[LoopNode]) -> str:
    """The time that their models and tools took, and what is known of their cost."""
    iterations = [iteration for loop in loops for iteration in loop.iterations]
    models = sum(iteration.seconds or 0.0 for iteration in iterations)
    tools = sum(call.seconds or 0.0 for iteration in iterations for call in iteration.calls if not call.children)
    cost = cost_of_loops(loops)
    dollars = cost_text(cost.dollars) if cost.priced else ""
    if dollars and cost.unpriced:
        dollars = f"at least {dollars}"
    words = (
        f"models {seconds_text(models)}" if models else "",
        f"tools {seconds_text(tools)}" if tools else "",
        dollars,
    )
    return "".join(f", {word}" for word in words if word)


def _counts(loops: list[LoopNode]) -> str:
    iterations = [iteration for loop in loops for iteration in loop.iterations]
    calls = sum(len(iteration.calls) for iteration in iterations)
    return f"{count_text(len(iterations), 'iteration')}, {count_text(calls, 'call')}"


def _last_words(loop: LoopNode) -> Iterator[Item]:
    answers = [it.message for it in loop.iterations if it.message is not None and it.message.text]
    if answers:
        yield from title("its last words")
        yield Passage(answers[-1].text)


def _warning(iteration: IterationNode, warning: e.RepetitionDetected, folded: Folds) -> Iterator[Item]:
    yield Facts((agent_path(iteration.loop), "agent"), (one_line(warning.detector, 60), "warning"))
    yield from title("what repeats")
    yield Passage(warning_text(warning), tone="warning")
    told = {
        "warn": "The run goes on; the model is not told.",
        "inject_warning": "The run goes on; the next request tells the model.",
        "stop": "The run ends here; the calls are not executed.",
    }
    yield Passage(told.get(warning.action, warning.action), tone="muted")
    yield from title("the evidence")
    for call in evidence_of(iteration, warning):
        yield from call_facts(call, number=call.iteration.number)
    if iteration.calls:
        yield from title("its arguments")
        for call in iteration.calls:
            yield Words((f"  {one_line(call.name, 40)}", "name"))
            yield from tree_items(call.arguments, f"warning/{call.position}", folded, indent=4)


def _event(event: e.Event, folded: Folds) -> Iterator[Item]:
    fact = event.fact
    yield Facts((event.type, "heading"), (f"event {event.seq}", "muted"), (seconds_text(event.t), "muted"))
    if isinstance(fact, e.MessagesInjected):
        yield from title(f"added by {one_line(fact.by, 60)}")
        for message in fact.messages:
            yield Passage(message.text, tone="person")
        return
    yield from title("what it says")
    data = dict(fact.data) if isinstance(fact, e.Unrecognised) else encode(fact)
    yield from tree_items(data, "event", folded)
