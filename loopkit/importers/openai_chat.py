"""OpenAI chat dumps → neutral steps: role messages, alone or in the runs of a benchmark file (formats.md §4).

Several runs in one file become one loop, one after the other, with a note between them, so that iterations and calls
are those of the whole file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from loopkit.importers.blocks import Block, as_blocks, as_object, as_text, content_text, moment, part_of, token_count
from loopkit.importers.build import build
from loopkit.importers.call_arguments import call_of
from loopkit.importers.session import ForeignSession
from loopkit.importers.source import Source, Unreadable
from loopkit.importers.steps import MAIN, Answer, Note, Prompt, Result, Step, Thread
from loopkit.messages import Message, Part, Reasoning, Refusal, StopReason, ToolCall, Usage
from loopkit.outcomes import Complete, StopCondition, TerminationReason

NAME = "openai-chat"
MESSAGE_KEYS = ("messages", "traj", "history")
ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})

_STOP_REASONS = {
    "stop": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "length": StopReason.MAX_TOKENS,
    "content_filter": StopReason.CONTENT_FILTER,
}


@dataclass(frozen=True, slots=True)
class Run:
    """One conversation of a file, with what the file says about it."""

    messages: list[Any]
    facts: Block


def is_messages(value: Any) -> bool:
    """Whether a value is a list of role messages."""
    return isinstance(value, list) and bool(value) and all(is_message(item) for item in value)


def is_message(value: Any) -> bool:
    """Whether a value is a message of a known role."""
    return isinstance(value, dict) and isinstance(value.get("role"), str) and value["role"] in ROLES


def run_of(value: Any) -> Run | None:
    """Return a conversation that stands under one of the usual keys, or None."""
    if not isinstance(value, dict):
        return None
    for key in MESSAGE_KEYS:
        if is_messages(value.get(key)):
            return Run(value[key], {name: item for name, item in value.items() if name != key})
    return None


def read(source: Source) -> ForeignSession:
    """Read a dump: a list of messages, a run, a list of runs, or lines of messages or runs."""
    reader = _Reader()
    items = list(source.values())
    if source.is_lines:  # of a document, its damage is told by the source itself
        reader.notices += [item.words for item in items if isinstance(item, Unreadable)]
    reader.read(items)
    thread = Thread(MAIN, reader.agent, reader.model, facts={"format": NAME, **reader.facts})
    built = build({MAIN: thread}, reader.steps, reader.ending)
    notices = [*source.notices(), *reader.notices, *built.notices]
    title = reader.title or source.path.stem
    return ForeignSession(NAME, title, reader.agent, reader.model, built.events, notices, built.runs)


@dataclass(slots=True)
class _Reader:
    steps: list[Step] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    facts: Block = field(default_factory=dict)
    agent: str = "agent"
    model: str | None = None
    title: str = ""
    ending: TerminationReason | None = None

    def read(self, items: list[Any]) -> None:
        runs = sum(run_of(item) is not None for item in items)
        number = 0
        for item in items:
            run = run_of(item)
            if run is not None:
                number += 1
                self.run(run, number, runs)
            elif is_message(item):
                self.message(item)
            elif isinstance(item, Unreadable):
                self.steps.append(Note(MAIN, None, "unreadable", item.facts))
            else:
                data = item if isinstance(item, dict) else {"value": item}
                self.steps.append(Note(MAIN, None, "item that is no message", data))
        if runs > 1:
            self.notices.append(f"{runs} runs in this file, shown one after the other")

    def run(self, run: Run, number: int, runs: int) -> None:
        if runs == 1:
            self.facts = run.facts
            self.agent = as_text(run.facts.get("agent")) or self.agent
        else:
            words = f"run {number} of {runs}"
            task = run.facts.get("task_id", run.facts.get("id"))
            self.steps.append(Note(MAIN, None, words if task is None else f"{words}: task {task}", run.facts))
        self.model = self.model or as_text(run.facts.get("model")) or None
        before = len(self.steps)
        for message in run.messages:
            self.message(message)
        self.ending = _harness_ending(self.steps[before:]) if "reward" in run.facts else None

    def message(self, message: Block) -> None:
        at = moment(message.get("timestamp", message.get("created_at")))
        match message["role"]:
            case "assistant":
                self.answer(message, at)
            case "tool" | "function":
                self.result(message, at)
            case role:
                self.prompt(message, at, is_system=role in ("system", "developer"))

    def prompt(self, message: Block, at: float | None, *, is_system: bool) -> None:
        parts: list[Part] = []
        for block in as_blocks(message.get("content")):
            part = part_of(block)
            if part is not None:
                parts.append(part)
            elif block.get("type") == "tool_result":
                content, _ = content_text(block.get("content"))
                call = as_text(block.get("tool_use_id"))
                self.steps.append(Result(MAIN, at, call, content, block.get("is_error") is True))
            else:
                self.steps.append(Note(MAIN, at, f"message block: {as_text(block.get('type'))}", block))
        if parts or not as_blocks(message.get("content")):
            said = Message("system" if is_system else "user", tuple(parts))
            self.steps.append(
                Prompt(MAIN, at, said, "system" if is_system else "person", "context" if is_system else "task")
            )
            if not is_system and not self.title and said.text.strip():
                self.title = said.text.strip().splitlines()[0][:120]

    def answer(self, message: Block, at: float | None) -> None:
        parts: list[Part] = []
        thinking = as_text(message.get("reasoning_content")) or as_text(message.get("reasoning"))
        if thinking:
            parts.append(Reasoning(thinking))
        calls = list(_listed_calls(message))
        for block in as_blocks(message.get("content")):
            part = part_of(block)
            if block.get("type") in ("tool_use", "function_call", "tool_call"):
                call = _call(block, block)
                if not any(_same(call, other) for other in calls):
                    parts.append(call)
            elif part is not None:
                parts.append(part)
            else:
                self.steps.append(Note(MAIN, at, f"answer block: {as_text(block.get('type'))}", block))
        if as_text(message.get("refusal")):
            parts.append(Refusal(message["refusal"]))
        model = as_text(message.get("model")) or None
        self.model = self.model or model
        raw = as_text(message.get("finish_reason")) or None
        reason = None if raw is None else _STOP_REASONS.get(raw, StopReason.UNKNOWN)
        usage = _usage(message.get("usage"))
        self.steps.append(Answer(MAIN, at, (*parts, *calls), usage, reason, raw, model))

    def result(self, message: Block, at: float | None) -> None:
        content, left_out = content_text(message.get("content"))
        is_error = message.get("is_error") is True
        self.steps.append(Result(MAIN, at, as_text(message.get("tool_call_id")), content, is_error))
        for block in left_out:
            self.steps.append(Note(MAIN, at, f"result block: {as_text(block.get('type'))}", block))


def _harness_ending(steps: list[Step]) -> TerminationReason:
    """A run with a reward is over, whatever its last message asks for."""
    spoken = [step for step in steps if isinstance(step, Answer)]
    if spoken and not spoken[-1].calls:
        return Complete()
    return StopCondition("the benchmark ended the run")


def _listed_calls(message: Block) -> Iterator[ToolCall]:
    listed = message.get("tool_calls")
    for item in listed if isinstance(listed, list) else []:
        entry = as_object(item)
        yield _call(entry, as_object(entry.get("function")) or entry)
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        yield _call({}, legacy)


def _call(entry: Block, function: Block) -> ToolCall:
    identity = as_text(entry.get("id")) or as_text(entry.get("call_id"))
    return call_of(identity, as_text(function.get("name")), function.get("arguments", function.get("input")))


def _same(call: ToolCall, other: ToolCall) -> bool:
    if call.id and other.id:
        return call.id == other.id
    return call.name == other.name and call.arguments == other.arguments


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    prompt, completion = (
        as_object(value.get("prompt_tokens_details")),
        as_object(value.get("completion_tokens_details")),
    )
    return Usage(
        token_count(value, "prompt_tokens") or token_count(value, "input_tokens"),
        token_count(value, "completion_tokens") or token_count(value, "output_tokens"),
        token_count(prompt, "cached_tokens"),
        reasoning_tokens=token_count(completion, "reasoning_tokens"),
    )


__all__ = ["MESSAGE_KEYS", "NAME", "ROLES", "Run", "is_message", "is_messages", "read", "run_of"]
