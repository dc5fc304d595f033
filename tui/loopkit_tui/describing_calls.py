"""A tool call as a document: arguments, decision, what an edit changed, result."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from loopkit.debugger.display import arguments_line, one_line
from loopkit.debugger.nodes import CallNode, CallStatus
from loopkit.debugger.pictures import picture_words
from loopkit.debugger.rows import (
    MARKS,
    call_state,
    count_text,
    outcome_text,
    progress_text,
    seconds_text,
    tokens_text,
    tool_attempt_text,
)
from loopkit.messages import ToolDefinition
from loopkit.outcomes import Approve, Deny, Modify, Respond
from loopkit_tui.widgets.document import Facts, Item, Passage, Words
from loopkit_tui.widgets.json_tree import Folds, parsed, tree_items

_LONGEST_DIFF = 4_000
_MOST_REPORTS = 20
_BY = {"person": "you", "default": "the default", "on_tool_call": "the agent's on_tool_call"}


def title(words: str, *beside: tuple[str, str]) -> Iterator[Item]:
    """Yield a heading with air above it."""
    yield Words()
    yield Words((words, "heading"), *beside)


def definition_of(call: CallNode) -> ToolDefinition | None:
    """The tool that a call names, as its loop knew it."""
    return next((tool for tool in call.loop.started.tools if tool.name == call.name), None)


def call_facts(call: CallNode, *, number: int | None = None) -> Iterator[Item]:
    """Yield a call in one line."""
    mark, tone = MARKS[call.status]
    where = f"{number:>4} " if number is not None else ""
    yield Words(
        (f"  {where}{mark} ", tone),
        (f"{one_line(call.name, 40)}  ", "name"),
        (arguments_line(call.effective_arguments, 80), "muted"),
        (f"  {call_state(call)}", tone),
    )


def describe_call(call: CallNode, path: str, folded: Folds) -> Iterator[Item]:
    """Yield the lines of a call's detail.

    Args:
        path: the agents from the root to the one that asks.
    """
    tool = definition_of(call)
    yield Facts(
        (f"asked by {path}", "agent"),
        (f"iteration {call.iteration.number}", "muted"),
        *effect_of(tool),
        (seconds_text(call.seconds), "muted"),
    )
    if tool is not None and tool.description:
        yield Passage(tool.description.strip(), indent=0, tone="muted")
    yield from _decision(call)
    yield from _arguments(call, tool, folded)
    if call.edited_arguments is not None:
        yield from title("what changed", ("  asked → ran", "muted"))
        yield from difference(call.arguments, call.edited_arguments)
    for child in call.children:
        yield from title("sub-agent", (f"  {one_line(child.agent, 40)}", "agent"))
        state = outcome_text(child) if child.over else "running"
        words = f"  {state} · {count_text(len(child.iterations), 'iteration')} · {tokens_text(child.subtree_usage)}"
        yield Words((words, "plain"))
    for failed in call.attempts:
        yield Passage(f"✗ {tool_attempt_text(failed)}", indent=0, tone="bad")
    if call.progress:
        yield from title("on its way")
        shown = call.progress[-_MOST_REPORTS:]
        earlier = len(call.progress) - len(shown) + sum(fact.left_out for fact in call.progress)
        if earlier:
            yield Words((f"  {count_text(earlier, 'report')} more", "muted"))
        for fact in shown:
            yield Passage(progress_text(fact), tone="muted")
    yield from _result(call, folded)
    if call.iteration.message is not None and call.iteration.message.text:
        yield from title("the model says")
        yield Passage(call.iteration.message.text, tone="muted")


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Item]:
    """Yield a unified diff of arguments: what they were, and what they are."""
    old, new = _lines(before), _lines(after)
    if len(old) + len(new) > _LONGEST_DIFF:
        yield Words(("  too long to compare line by line; both stand in the recording", "muted"))
        return
    same = True
    for index, line in enumerate(difflib.unified_diff(old, new, lineterm="", n=2)):
        if index < 2:
            continue
        same = False
        if line.startswith("@@"):
            if index > 2:
                yield Words(("  ⋯", "muted"))
            continue
        tone = {"+": "good", "-": "bad"}.get(line[0], "muted")
        yield Passage(line[1:], indent=2, tone=tone, lead=f"{line[0]} ", lead_tone=tone)
    if same:
        yield Words(("  nothing", "muted"))


def _lines(value: Mapping[str, Any]) -> list[str]:
    """Each argument's JSON; a text of several lines is compared line by line."""
    lines: list[str] = []
    for name, part in value.items():
        if isinstance(part, str) and "\n" in part:
            lines += [f"{name}:", *(f"  {line}" for line in part.split("\n"))]
        else:
            lines += f"{name}: {json.dumps(part, ensure_ascii=False, indent=2, default=str)}".split("\n")
    return lines


def effect_of(tool: ToolDefinition | None) -> Iterator[tuple[str, str]]:
    if tool is None:
        yield "no such tool", "bad"
    elif tool.side_effect == "irreversible":
        yield "⚠ can't be undone", "warning"
    elif tool.side_effect is not None:
        yield {"read": "only reads", "idempotent": "safe to repeat"}[tool.side_effect], "good"


def _decision(call: CallNode) -> Iterator[Item]:
    who = _BY.get(call.decided_by or "", one_line(call.decided_by or "", 60))
    after = f" after {seconds_text(call.waited_seconds)}" if (call.waited_seconds or 0) >= 0.1 else ""
    match call.decision:
        case None if call.status is CallStatus.WAITING:
            yield Words(("◆ waits for you", "waiting"), ("   nothing has run yet", "muted"))
        case Approve() if call.decided_by == "default":
            pass
        case Approve():
            yield Words((f"✓ approved by {who}{after}", "good"))
        case Modify():
            yield Words((f"✎ edited by {who}{after}", "person"))
        case Deny(reason):
            yield Words((f"⊘ denied by {who}{after}", "person"))
            yield Passage(reason, tone="person", lead="│ ")
        case Respond():
            yield Words((f"✎ answered by {who} in the tool's place{after}", "person"))
    for refused in call.refused_decisions:
        yield Passage(f"a decision was refused: {refused}", indent=0, tone="warning")
    if call.ended_late:
        yield Passage(f"it ended late: {call.ended_late}", indent=0, tone="warning")


def _arguments(call: CallNode, tool: ToolDefinition | None, folded: Folds) -> Iterator[Item]:
    if call.raw_arguments is not None:
        yield from title("arguments", ("  ✗ not JSON", "bad"))
        yield Passage(call.raw_arguments, tone="bad")
    else:
        fits = ("  ✗ don't fit the schema", "bad") if call.problems else ("  schema ✓", "good")
        asked = call.edited_arguments is not None
        yield from title("arguments that ran" if asked else "arguments", fits if tool and not asked else ("", "plain"))
        yield from tree_items(call.effective_arguments, "arguments", folded)
    for problem in call.problems:
        yield Passage(str(problem), tone="bad", lead="✗ ")
    for words in call.warnings:
        yield Passage(words, tone="warning", lead="⚠ ")


def _result(call: CallNode, folded: Folds) -> Iterator[Item]:
    if call.content is None:
        if call.status is CallStatus.RUNNING:
            yield from title("it is running")
        return
    size = f"  {count_text(len(call.content), 'character')}" if len(call.content) > 200 else ""
    got = "as the model got it" if call.given == call.content else "as the tool gave it"
    words = f"error, {got}" if call.is_error else f"result, {got}"
    if call.status is CallStatus.ANSWERED:
        words = "your answer, as the model got it"
    yield from title(words, (size, "muted"))
    value = parsed(call.content)
    if value is None:
        yield Passage(call.content or "(nothing)", tone="bad" if call.is_error else "plain")
    else:
        yield from tree_items(value, "result", folded)
    if call.json is not None:
        yield from title("result as data")
        yield from tree_items(call.json, "data", folded)
    for number, image in enumerate(call.images, 1):
        yield Words((f"  image {number}  ", "name"), (picture_words(image), "muted"))
    if call.given_images != call.images:
        yield Words((f"  the model got {count_text(len(call.given_images), 'image')}", "muted"))
    if call.failure is not None:
        yield Words((f"  raised {one_line(call.failure.type_name, 60)}", "bad"))
    yield from _as_given(call)


def _as_given(call: CallNode) -> Iterator[Item]:
    """Yield what callbacks made of a result, and since when requests leave it out."""
    for fact in call.rewrites:
        name = one_line(f"result_{fact.processor}", 40)
        if fact.failure is not None:
            yield from title(f"{name} raised {one_line(fact.failure.type_name, 60)}")
            yield Passage(fact.failure.message, tone="bad")
        elif fact.content is not None:
            yield from title(f"what the model got, from {name}")
            yield Passage(fact.content or "(nothing)")
    if call.edited_result is not None:
        yield from title(f"what the model got, edited by {one_line(call.edited_result.by, 40)}")
        yield Passage(call.edited_result.content or "(nothing)")
    if call.masked_in is not None:
        yield Words((f"  left out of requests from iteration {call.masked_in} on", "muted"))
