"""Which parts of two facts differ, with their values, and how events are called in a report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from loopkit import events as e
from loopkit.drivers.findings import Drift
from loopkit.encoding import encode
from loopkit.events import Event
from loopkit.messages import Message, ToolCall, ToolDefinition
from loopkit.outcomes import Approve, Deny, Modify, Respond

CALLBACK_SETTINGS = ("on_tool_call", "stop_when", "result_processor", "result_extractor", "result_cacher")


@dataclass(frozen=True, slots=True)
class PartDrift:
    """One part that differs.

    Args:
        name: which one of its kind, such as a tool's name; may be empty.
        before, after: its recorded value and today's, a text or plain JSON.
    """

    drift: Drift
    name: str
    before: Any
    after: Any


def drifts_of_start(recorded: e.LoopStarted, came: e.LoopStarted) -> Iterator[PartDrift]:
    """Yield what differs between two starts of a loop."""
    yield from _named(Drift.AGENT, "", recorded.agent, came.agent)
    yield from _drifts_of_messages(recorded.messages, came.messages)
    yield from _drifts_of_tools(recorded, came)
    for key in dict.fromkeys([*recorded.configuration, *came.configuration]):
        yield from _named(Drift.CONFIGURATION, key, recorded.configuration.get(key), came.configuration.get(key))
    yield from _named(Drift.MODEL, "", recorded.model, came.model)
    yield from _named(Drift.FALLBACKS, "", list(recorded.fallbacks), list(came.fallbacks))
    for key in dict.fromkeys([*recorded.settings, *came.settings]):
        yield from _named(Drift.SETTINGS, key, recorded.settings.get(key), came.settings.get(key))
    yield from _named(Drift.DEPTH, "", recorded.depth, came.depth)


def _named(drift: Drift, name: str, before: Any, after: Any) -> Iterator[PartDrift]:
    # what a file holds: a tuple comes back as a list
    if before != after and not (isinstance(after, tuple) and before == list(after)):
        label = f"{name}: " if name else ""
        yield PartDrift(drift, name, _shown(label, before), _shown(label, after))


def _shown(label: str, value: Any) -> Any:
    if isinstance(value, Mapping) or (isinstance(value, list) and len(value) > 3):
        return value
    return f"{label}{value!r}" if isinstance(value, str) else f"{label}{value}"


def _drifts_of_messages(recorded: tuple[Message, ...], came: tuple[Message, ...]) -> Iterator[PartDrift]:
    prompts = [messages[0] if messages and messages[0].role == "system" else None for messages in (recorded, came)]
    if prompts[0] != prompts[1]:
        before, after = (None if prompt is None else prompt.text for prompt in prompts)
        yield PartDrift(Drift.SYSTEM_PROMPT, "", before, after)
    rest = [messages[prompt is not None :] for messages, prompt in zip((recorded, came), prompts, strict=True)]
    if rest[0] != rest[1]:
        yield PartDrift(Drift.MESSAGES, "", *([encode(message) for message in messages] for messages in rest))


def _drifts_of_tools(recorded: e.LoopStarted, came: e.LoopStarted) -> Iterator[PartDrift]:
    before, after = ({tool.name: tool for tool in fact.tools} for fact in (recorded, came))
    for name, tool in before.items():
        if name not in after:
            yield PartDrift(Drift.TOOL_MISSING, name, f"{name}: {tool.description}", None)
        else:
            yield from _drifts_of_tool(tool, after[name])
    for name, tool in after.items():
        if name not in before:
            yield PartDrift(Drift.TOOL_NEW, name, None, f"{name}: {tool.description}")
    common = [name for name in before if name in after]
    if common != [name for name in after if name in before]:
        yield PartDrift(Drift.TOOL_ORDER, "", "\n".join(before), "\n".join(after))


def _drifts_of_tool(before: ToolDefinition, after: ToolDefinition) -> Iterator[PartDrift]:
    if before.description != after.description:
        yield PartDrift(Drift.TOOL_DESCRIPTION, before.name, before.description, after.description)
    if before.parameters != after.parameters:
        yield PartDrift(Drift.TOOL_SCHEMA, before.name, before.parameters, after.parameters)
    traits = [
        {"side_effect": tool.side_effect, "polling": tool.polling, "timeout": tool.timeout} for tool in (before, after)
    ]
    if traits[0] != traits[1]:
        yield PartDrift(Drift.TOOL_TRAITS, before.name, *traits)


def decision_in_words(fact: e.Fact | None) -> str:
    """Return what was decided on a call, in a few words."""
    if isinstance(fact, e.DecisionExpired):
        return "nobody decided in time"
    if not isinstance(fact, e.Decided):
        return "nothing"
    match fact.decision:
        case Approve():
            what = "approve"
        case Deny(reason):
            what = f"deny: {reason}"
        case Modify(arguments):
            what = f"approve with {json.dumps(dict(arguments), ensure_ascii=False, default=str)}"
        case Respond(output):
            what = f"answer in the tool's place: {output}"
    return f"{what} (by {fact.by})"


def call_in_words(call: ToolCall) -> str:
    """Return what a call asks for, in one line."""
    if call.raw_arguments is not None:
        return f"{call.name} {call.raw_arguments}"
    return f"{call.name} {json.dumps(dict(call.arguments), ensure_ascii=False, default=str)}"


class Namer:
    """Names events for people, calls with their tools."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._tools: dict[str, str] = {}
        for event in events:
            if isinstance(event.fact, e.ModelReplied):
                for position, call in enumerate(event.fact.message.tool_calls, 1):
                    self._tools.setdefault(e.call_key(event.loop, event.iteration, position), call.name)
            elif isinstance(event.fact, e.DecisionRequested):
                self._tools.setdefault(event.fact.call, event.fact.name)

    def tool(self, call: str) -> str | None:
        """Return the name of the tool that a call asks for, None when nothing tells it."""
        return self._tools.get(call)

    def call(self, call: str) -> str:
        """Return a call's id with its tool's name."""
        name = self.tool(call)
        return call if name is None else f"{call} {name}"

    def event(self, event: Event) -> str:
        """Return what happened, in a few words."""
        fact = event.fact
        call = getattr(fact, "call", None)
        if isinstance(call, str):
            words = _OF_CALLS.get(type(fact))
            return f"{event.type} of {self.call(call)}" if words is None else words.format(self.call(call))
        words = _OF_ITERATIONS.get(type(fact))
        return event.type if words is None else words.format(event.iteration)


_OF_CALLS: dict[type[e.Fact], str] = {
    e.DecisionRequested: "{} waits for a decision",
    e.Decided: "the decision on {}",
    e.DecisionExpired: "the time to decide on {} runs out",
    e.ToolStarted: "{} starts",
    e.ToolSkipped: "{} is not run",
    e.ToolReturned: "the result of {}",
    e.ToolFailed: "the failure of {}",
    e.ToolAbandoned: "the end of waiting for {}",
    e.ResultProcessed: "the rewriting of the result of {}",
}
_OF_ITERATIONS: dict[type[e.Fact], str] = {
    e.LoopStarted: "the start of the loop",
    e.ClockRead: "the clock reading before iteration {}",
    e.IterationStarted: "iteration {} starts",
    e.ModelRequested: "the request of iteration {}",
    e.ModelReplied: "the model's answer of iteration {}",
    e.ModelInterrupted: "the interruption of the answer of iteration {}",
    e.ModelAttemptFailed: "a failed attempt of iteration {}",
    e.StopAnswered: "what stop_when says of iteration {}",
    e.CallbackFailed: "a callback raises in iteration {}",
    e.RepetitionDetected: "a repetition is found in iteration {}",
    e.ResultsMasked: "old results leave the view in iteration {}",
    e.LoopFinished: "the loop ends",
    e.LoopFailed: "the loop fails",
}
