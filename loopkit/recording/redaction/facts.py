"""Hides the secrets of an input before it becomes an event: every text of it, each by what it may hold.

Arguments and settings are hidden by name; tool definitions not, whose names only describe. What is opaque (signatures,
pictures, ids) is searched for known values only, so that chance never damages it. Facts that hold no secret are returned
as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from loopkit import events as e
from loopkit.messages import Image, Message, Part, Reasoning, Refusal, Text, ToolCall, ToolDefinition, ToolResult
from loopkit.outcomes import Approve, Deny, Modify, Respond, ToolApproval
from loopkit.recording.redaction.redactor import Redactor

PERSON = "person"
_SHORTEST_QUOTED = 4

F = TypeVar("F", bound=e.Input)


def hidden(redactor: Redactor, fact: F) -> F:
    """Return a fact with placeholders in the place of secrets, the same object if it holds none.

    A secret that shows by its name in one place of a fact is hidden in all others, also before it.
    """
    hide = _HIDERS.get(type(fact))
    if hide is None:
        return fact
    before = redactor.growth
    changed: F = hide(redactor, fact)
    if redactor.growth != before:
        changed = hide(redactor, fact)
    return changed


def _changed(value: Any, **fields: Any) -> Any:
    for name, new in fields.items():
        if getattr(value, name) is not new:
            return replace(value, **fields)
    return value


def _optional(redactor: Redactor, text: str | None) -> str | None:
    return None if text is None else redactor.text(text)


def _all(items: tuple[Any, ...], hide: Callable[[Any], Any]) -> tuple[Any, ...]:
    new = [hide(item) for item in items]
    # a loop, since a generator costs as much as what it looks at
    for one, other in zip(new, items, strict=True):
        if one is not other:
            return tuple(new)
    return items


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _message(redactor: Redactor, message: Message, *, trusted: bool = False, broken_off: bool = False) -> Message:
    parts = _all(message.parts, lambda part: _part(redactor, part, trusted=trusted, broken_off=broken_off))
    return message if parts is message.parts else Message(message.role, parts)


def _part(redactor: Redactor, part: Part, *, trusted: bool, broken_off: bool) -> Part:
    new: Part = part
    match part:
        case Text(text) | Refusal(text):
            new = _changed(part, text=redactor.text(text, trusted=trusted, broken_off=broken_off))
        case ToolCall():
            new = _call(redactor, part, trusted=trusted)
        case ToolResult(call_id, content, _, images):
            new = _changed(
                part,
                images=_images(redactor, images),
                tool_call_id=redactor.values_only(call_id),
                content=redactor.text(content, trusted=trusted),
            )
        case Reasoning(text, signature, encrypted):
            new = _changed(
                part,
                text=redactor.text(text, broken_off=broken_off),
                signature=_opaque(redactor, signature),
                encrypted=_opaque(redactor, encrypted),
            )
        case Image():
            new = _image(redactor, part)
    return new


def _image(redactor: Redactor, image: Image) -> Image:
    changed: Image = _changed(image, data=_opaque(redactor, image.data), url=_optional(redactor, image.url))
    return changed


def _images(redactor: Redactor, images: tuple[Image, ...]) -> tuple[Image, ...]:
    return _all(images, lambda image: _image(redactor, image)) if images else images


def _opaque(redactor: Redactor, text: str | None) -> str | None:
    return None if text is None else redactor.values_only(text)


def _call(redactor: Redactor, call: ToolCall, *, trusted: bool) -> ToolCall:
    changed: ToolCall = _changed(
        call,
        id=redactor.values_only(call.id),
        name=redactor.values_only(call.name),
        arguments=redactor.value(call.arguments, trusted=trusted),
        raw_arguments=_optional(redactor, call.raw_arguments),
        problem=_optional(redactor, call.problem),
        duplicate_keys=_all(call.duplicate_keys, redactor.text),
    )
    return changed


def _verdict(redactor: Redactor, verdict: e.CallVerdict, before: Any, after: Any) -> e.CallVerdict:
    """Hide what the words of a schema check quote of arguments."""
    if not verdict.problems:
        return verdict
    quoted = [] if before is after else list(_pairs(before, after))

    def hide(text: str) -> str:
        # the longest first: one value may be a part of another
        for secret, placeholder in sorted(quoted, key=lambda pair: -len(pair[0])):
            text = text.replace(secret, placeholder)
        return redactor.text(text, trusted=True)

    problems = _all(
        verdict.problems, lambda problem: _changed(problem, path=hide(problem.path), message=hide(problem.message))
    )
    return verdict if problems is verdict.problems else e.CallVerdict(problems)


def _pairs(before: Any, after: Any) -> Any:
    """Yield the texts that were hidden as a whole, with their placeholders."""
    if isinstance(before, str) and isinstance(after, str):
        if before != after and len(before) >= _SHORTEST_QUOTED:
            yield before, after
    elif isinstance(before, int) and isinstance(after, str):
        yield str(before), after
    elif isinstance(before, dict) and isinstance(after, dict):
        for (old_key, old), (new_key, new) in zip(before.items(), after.items(), strict=False):
            yield from _pairs(old_key, new_key)
            yield from _pairs(old, new)
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        for old, new in zip(before, after, strict=False):
            yield from _pairs(old, new)


# ── facts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _started(redactor: Redactor, fact: e.LoopStarted) -> Any:
    return _changed(
        fact,
        agent=redactor.values_only(fact.agent),
        messages=_all(fact.messages, lambda message: _message(redactor, message)),
        tools=_all(fact.tools, lambda tool: _definition(redactor, tool)),
        settings=redactor.value(fact.settings),
    )


def _definition(redactor: Redactor, tool: ToolDefinition, *, trusted: bool = False) -> Any:
    return _changed(
        tool,
        description=redactor.text(tool.description, trusted=trusted),
        parameters=redactor.value(tool.parameters, trusted=trusted, by_name=False),
    )


def _replied(redactor: Redactor, fact: e.ModelReplied, *, trusted: bool = False) -> Any:
    message = _message(redactor, fact.message, trusted=trusted)
    verdicts = fact.verdicts
    if verdicts and verdicts != (e.CallVerdict(),) * len(verdicts):
        calls = zip(fact.message.tool_calls, message.tool_calls, strict=True)
        before_and_after = iter([(dict(before.arguments), dict(after.arguments)) for before, after in calls])
        verdicts = _all(verdicts, lambda verdict: _verdict(redactor, verdict, *next(before_and_after, ({}, {}))))
    request_id = None if fact.request_id is None else redactor.values_only(fact.request_id)
    return _changed(fact, message=message, verdicts=verdicts, request_id=request_id)


def _interrupted(redactor: Redactor, fact: e.ModelInterrupted) -> Any:
    if fact.message is None:
        return fact
    return _changed(fact, message=_message(redactor, fact.message, broken_off=True))


def _failure(redactor: Redactor, failure: e.Failure) -> Any:
    request_id = None if failure.request_id is None else redactor.values_only(failure.request_id)
    return _changed(failure, message=redactor.text(failure.message), request_id=request_id)


def _decided(redactor: Redactor, fact: e.Decided) -> Any:
    if isinstance(fact.decision, Approve) and not fact.verdict.problems:
        return fact
    decision = _decision(redactor, fact.decision, trusted=fact.by == PERSON)
    before, after = (dict(one.arguments) if isinstance(one, Modify) else None for one in (fact.decision, decision))
    return _changed(fact, decision=decision, verdict=_verdict(redactor, fact.verdict, before, after))


def _decision(redactor: Redactor, decision: ToolApproval, *, trusted: bool) -> ToolApproval:
    new: ToolApproval = decision
    match decision:
        case Modify(arguments):
            new = _changed(decision, arguments=redactor.value(arguments, trusted=trusted))
        case Deny(reason):
            new = _changed(decision, reason=redactor.text(reason, trusted=trusted))
        case Respond(output):
            new = _changed(decision, output=redactor.text(output, trusted=trusted))
    return new


def _messages(redactor: Redactor, fact: Any) -> Any:
    trusted = fact.by == PERSON
    return _changed(fact, messages=_all(fact.messages, lambda message: _message(redactor, message, trusted=trusted)))


def _changed_agent(redactor: Redactor, fact: e.AgentChanged) -> Any:
    # what a person leaves as it is stands there as recorded
    trusted = fact.by == PERSON
    return _changed(
        fact,
        agent=redactor.values_only(fact.agent),
        tools=_all(fact.tools, lambda tool: _definition(redactor, tool, trusted=trusted)),
        settings=redactor.value(fact.settings, trusted=trusted),
    )


def _edited_answer(redactor: Redactor, fact: e.AnswerEdited) -> Any:
    as_reply = _replied(redactor, e.ModelReplied(fact.message, verdicts=fact.verdicts), trusted=fact.by == PERSON)
    return _changed(fact, message=as_reply.message, verdicts=as_reply.verdicts)


def _attempt_failed(redactor: Redactor, fact: e.ModelAttemptFailed) -> Any:
    return _changed(
        fact,
        failure=_failure(redactor, fact.failure),
        message=None if fact.message is None else _message(redactor, fact.message, broken_off=True),
        unread=None if fact.unread is None else redactor.text(fact.unread, broken_off=True),
    )


_HIDERS: dict[type, Callable[[Redactor, Any], Any]] = {
    e.LoopStarted: _started,
    e.ModelReplied: _replied,
    e.ModelInterrupted: _interrupted,
    e.ModelAttemptFailed: _attempt_failed,
    e.StopAnswered: lambda redactor, fact: _changed(fact, reason=_optional(redactor, fact.reason)),
    e.CallbackFailed: lambda redactor, fact: _changed(fact, failure=_failure(redactor, fact.failure)),
    e.Decided: _decided,
    e.DecisionRefused: lambda redactor, fact: _changed(fact, reason=redactor.text(fact.reason)),
    e.ToolProgressed: lambda redactor, fact: _changed(fact, text=redactor.text(fact.text)),
    e.ToolAttemptFailed: lambda redactor, fact: _changed(fact, failure=_failure(redactor, fact.failure)),
    e.ToolReturned: lambda redactor, fact: _changed(
        fact,
        content=redactor.text(fact.content),
        json=None if fact.json is None else redactor.value(fact.json),
        images=_images(redactor, fact.images),
    ),
    e.ToolFailed: lambda redactor, fact: _changed(
        fact, failure=_failure(redactor, fact.failure), content=redactor.text(fact.content)
    ),
    e.ToolAbandoned: lambda redactor, fact: _changed(fact, content=_optional(redactor, fact.content)),
    e.ToolEndedLate: lambda redactor, fact: _changed(fact, outcome=redactor.text(fact.outcome)),
    e.ResultProcessed: lambda redactor, fact: _changed(
        fact,
        content=_optional(redactor, fact.content),
        failure=None if fact.failure is None else _failure(redactor, fact.failure),
        images=None if fact.images is None else _images(redactor, fact.images),
    ),
    e.MessagesInjected: _messages,
    e.HistoryEdited: _messages,
    e.AgentChanged: _changed_agent,
    e.AnswerEdited: _edited_answer,
    e.ResultEdited: lambda redactor, fact: _changed(
        fact, content=redactor.text(fact.content, trusted=fact.by == PERSON)
    ),
    e.EditRefused: lambda redactor, fact: _changed(fact, reason=redactor.text(fact.reason)),
    e.StopCommanded: lambda redactor, fact: _changed(fact, reason=_optional(redactor, fact.reason)),
    e.RunStopped: lambda redactor, fact: _changed(fact, reason=_optional(redactor, fact.reason)),
    e.RecordingEnded: lambda redactor, fact: _changed(fact, reason=redactor.text(fact.reason)),
}

__all__ = ["PERSON", "hidden"]
