"""The words that came with an event, as recorded, and what it says went wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Protocol

from loopkit import events as e
from loopkit.messages import JSONObject, Message, Reasoning, Refusal, Text, ToolResult

_REFUSALS_OF_CALLS = ("unknown tool", "invalid arguments", "cut off")


class CallWords(Protocol):
    """What a call was asked for with."""

    arguments: JSONObject
    raw_arguments: str | None


def spoken_words(fact: e.Fact, call: CallWords | None) -> tuple[str, ...]:
    """Return the texts that came with an event, empty ones left out.

    Args:
        call: the call whose arguments this event tells of first, or None.
    """
    words = [*_words(fact)]
    if call is not None:
        words.insert(0, call.raw_arguments or json.dumps(call.arguments, ensure_ascii=False, default=str))
    return tuple(text for text in words if text)


def _words(fact: e.Fact) -> Iterable[str]:
    match fact:
        case e.ModelReplied(message) | e.AnswerEdited(message):
            return _of_messages((message,))
        case e.ModelInterrupted(cause, message):
            return (cause, *_of_messages(() if message is None else (message,)))
        case e.LoopStarted() | e.MessagesInjected() | e.HistoryEdited():
            return _of_messages(fact.messages)
        case e.Decided(_, _, decision):
            return (getattr(decision, "reason", ""), getattr(decision, "output", ""))
        case e.LoopFinished(reason):
            return (getattr(reason, "reason", None) or "",)
        case e.Unrecognised(_, data):
            return (json.dumps(data, ensure_ascii=False, default=str),)
    own = [getattr(fact, name, None) for name in ("content", "text", "reason")]
    return [text for text in own if isinstance(text, str)] or (error_words(fact) or "",)


def _of_messages(messages: Iterable[Message]) -> Iterable[str]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, (Text, Reasoning, Refusal)):
                yield part.text
            elif isinstance(part, ToolResult):
                yield part.content


def error_words(fact: e.Fact) -> str | None:
    """Return what an event says went wrong, or None when it tells of nothing wrong; a denied call is none."""
    match fact:
        case e.ToolReturned() if fact.is_error:
            return fact.content
        case e.ToolSkipped() if fact.cause in _REFUSALS_OF_CALLS:
            return fact.content
        case e.ToolAbandoned():
            return fact.content or fact.cause
        case e.ModelInterrupted():
            return fact.cause
        case e.RecordingEnded():
            return fact.reason
    failure = getattr(fact, "failure", None)
    return f"{failure.type_name}: {failure.message}" if isinstance(failure, e.Failure) else None
