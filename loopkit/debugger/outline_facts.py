"""What the steps of an outline need of each type of event, read from its line; a few are decoded, most are not.

Every reader raises a `ValueError`, `KeyError`, `TypeError` or `AttributeError` for a line that is not as expected; the
line is then decoded as a whole, which says whether it is damaged.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple, TypeAlias

from loopkit.messages import UNREPORTED_USAGE, Usage
from loopkit.recording.index_lines import object_of, text_of

_USAGE_FIELDS = tuple(field.name for field in fields(Usage))
_APPROVED = re.compile(rb',"version":[0-9]+,"decision":\{"type":"Approve"\},"by":"([^"\\]*)"')
_TAIL = 1000
_USAGE, _CALL_PART = b'},"usage":{', b'{"type":"ToolCall","id":'
_TOOL = re.compile(rb'\{"type":"ToolCall","id":"[^"\\]*(?:\\.[^"\\]*)*","name":"([^"\\]*(?:\\.[^"\\]*)*)"')
Head: TypeAlias = re.Match[bytes]
NO_TOKENS, _WHOLE_NUMBERS = (0,) * len(_USAGE_FIELDS), {int}
NO_FIGURES = tuple(getattr(UNREPORTED_USAGE, name) for name in _USAGE_FIELDS)


class Start(NamedTuple):
    """Of `LoopStarted`."""

    parent_call: str | None
    model: str | None


# of `ModelReplied`: the names of the tools that it calls, in call order; the fields of `Usage`; the model
Reply: TypeAlias = tuple[list[str], tuple[int, ...], str | None]
# of `Decided`: the call; whether a person or a rule decided; whether arguments were edited
Decision: TypeAlias = tuple[str, bool, bool]
# of an event that ends a call: the call; `failed`, `denied` or empty
End: TypeAlias = tuple[str, str]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _maybe_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _call(line: bytes, head: Head) -> str:
    """The call that an event names right behind its envelope."""
    written = head[5]
    return _text(object_of(line)["call"]) if written is None else written.decode()


def _start(line: bytes, head: Head) -> Start:  # noqa: ARG001  # all readers are called alike
    data = object_of(line)
    return Start(_maybe_text(data.get("parent_call")), _maybe_text(data.get("model")))


def _attempt(line: bytes, head: Head) -> bool:  # noqa: ARG001  # all readers are called alike
    return object_of(line).get("unreported") is True


def _reply(line: bytes, head: Head) -> Reply:
    """Read what stands behind the message, and of the message only what its calls are named.

    A quote within a text is escaped, so the last `},"usage":{` ends the message; a call's arguments may hold what looks
    like a call, so there must be as many as there are verdicts.
    """
    end = line.rfind(_USAGE, -_TAIL)
    try:
        data = object_of(b"{" + line[end + 2 :])
    except ValueError:
        return _decoded_reply(line)
    tools = []
    place = line.find(_CALL_PART, head.end(), end)
    while place >= 0:
        tool = _TOOL.match(line, place, end)
        if tool is None:
            return _decoded_reply(line)
        tools.append(text_of(tool[1]))
        place = line.find(_CALL_PART, tool.end(), end)
    if len(tools) != len(data.get("verdicts", ())):
        return _decoded_reply(line)
    return tools, _figures(data["usage"]), _maybe_text(data.get("model"))


def _decoded_reply(line: bytes) -> Reply:
    data = object_of(line)
    return _tools(data), _figures(data.get("usage")), _maybe_text(data.get("model"))


def _tools(data: dict[str, Any]) -> list[str]:
    return [_text(part["name"]) for part in data["message"]["parts"] if part["type"] == "ToolCall"]


def _edited_answer(line: bytes, head: Head) -> list[str]:  # noqa: ARG001  # all readers are called alike
    return _tools(object_of(line))


def _figures(usage: dict[str, int] | None) -> tuple[int, ...]:
    if usage is None:
        return NO_FIGURES
    figures = tuple(map(usage.get, _USAGE_FIELDS, NO_TOKENS))
    if set(map(type, figures)) != _WHOLE_NUMBERS:
        raise TypeError("not a number of tokens")
    return figures


def _decided(line: bytes, head: Head) -> Decision:
    by = _APPROVED.match(line, head.end())
    if by is not None:
        return _call(line, head), by[1] != b"default", False
    data = object_of(line)
    return _text(data["call"]), _text(data["by"]) != "default", data["decision"]["type"] == "Modify"


def _returned(line: bytes, head: Head) -> End:
    # within a text the quotes would be escaped; data that a tool returned may hold anything
    failed = b'"is_error":true' in line
    if failed and b'"json":' in line:
        failed = object_of(line).get("is_error") is True
    return _call(line, head), "failed" if failed else ""


def _skipped(line: bytes, head: Head) -> End:  # noqa: ARG001  # all readers are called alike
    data = object_of(line)
    return _text(data["call"]), {"denied": "denied", "responded": "", "expired": ""}.get(data["cause"], "failed")


def _ended_badly(line: bytes, head: Head) -> End:
    return _call(line, head), "failed"


def _processed(line: bytes, head: Head) -> tuple[str, bool]:
    failed = b'"failure":' in line and object_of(line).get("failure") is not None
    return _call(line, head), failed


def _masked(line: bytes, head: Head) -> list[str]:  # noqa: ARG001  # all readers are called alike
    return [_text(call) for call in object_of(line)["calls"]]


READERS: dict[str, Callable[[bytes, Head], Any]] = {
    "LoopStarted": _start,
    "ModelAttemptFailed": _attempt,
    "ModelReplied": _reply,
    "Decided": _decided,
    "ToolReturned": _returned,
    "ToolSkipped": _skipped,
    "ToolFailed": _ended_badly,
    "ToolAbandoned": _ended_badly,
    "AnswerEdited": _edited_answer,
    "ResultEdited": _call,
    "ResultProcessed": _processed,
    "ResultsMasked": _masked,
    "DecisionRequested": _call,
    "DecisionExpired": _call,
    "ToolStarted": _call,
    "ToolProgressed": _call,
    "ToolAttemptFailed": _call,
    "ToolEndedLate": _call,
}
