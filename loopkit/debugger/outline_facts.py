"""What the steps of an outline need of each type of event, read from its line; a few are decoded, most are not.

Every reader raises a `ValueError`, `KeyError`, `TypeError` or `AttributeError` for a line that is not as expected; the
line is then decoded as a whole, which says whether it is damaged.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

from loopkit.messages import UNREPORTED_USAGE, Usage
from loopkit.recording.index_lines import call_of, object_of, text_of

_USAGE_FIELDS = tuple(field.name for field in fields(Usage))
_APPROVED = re.compile(rb',"call":"[^"\\]*","version":[0-9]+,"decision":\{"type":"Approve"\},"by":"([^"\\]*)"')
_TAIL = 1000
_USAGE, _CALL_PART = b'},"usage":{', b'{"type":"ToolCall","id":'
_TOOL = re.compile(rb'\{"type":"ToolCall","id":"[^"\\]*(?:\\.[^"\\]*)*","name":"([^"\\]*(?:\\.[^"\\]*)*)"')
NO_FIGURES = tuple(getattr(UNREPORTED_USAGE, name) for name in _USAGE_FIELDS)


class Start(NamedTuple):
    """Of `LoopStarted`."""

    parent_call: str | None
    model: str | None


class Reply(NamedTuple):
    """Of `ModelReplied`.

    Args:
        tools: names of the tools that it calls, in call order.
        usage: the fields of `Usage`.
    """

    tools: list[str]
    usage: tuple[int, ...]
    model: str | None


class Decision(NamedTuple):
    """Of `Decided`."""

    call: str
    by_person_or_rule: bool
    edits: bool


class End(NamedTuple):
    """Of an event that ends a call.

    Args:
        status: `failed`, `denied`, or empty.
    """

    call: str
    status: str


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _maybe_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _start(line: bytes, start: int) -> Start:  # noqa: ARG001  # all readers are called alike
    data = object_of(line)
    return Start(_maybe_text(data.get("parent_call")), _maybe_text(data.get("model")))


def _attempt(line: bytes, start: int) -> bool:  # noqa: ARG001  # all readers are called alike
    return object_of(line).get("unreported") is True


def _reply(line: bytes, start: int) -> Reply:
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
    place = line.find(_CALL_PART, start, end)
    while place >= 0:
        tool = _TOOL.match(line, place, end)
        if tool is None:
            return _decoded_reply(line)
        tools.append(text_of(tool[1]))
        place = line.find(_CALL_PART, tool.end(), end)
    if len(tools) != len(data.get("verdicts", ())):
        return _decoded_reply(line)
    return Reply(tools, _figures(data["usage"]), _maybe_text(data.get("model")))


def _decoded_reply(line: bytes) -> Reply:
    data = object_of(line)
    return Reply(
        _tools(data),
        _figures(data.get("usage")),
        _maybe_text(data.get("model")),
    )


def _tools(data: dict[str, Any]) -> list[str]:
    return [_text(part["name"]) for part in data["message"]["parts"] if part["type"] == "ToolCall"]


def _edited_answer(line: bytes, start: int) -> list[str]:  # noqa: ARG001  # all readers are called alike
    return _tools(object_of(line))


def _figures(usage: dict[str, int] | None) -> tuple[int, ...]:
    if usage is None:
        return NO_FIGURES
    figures = tuple([usage.get(name, 0) for name in _USAGE_FIELDS])
    if not all(type(figure) is int for figure in figures):
        raise TypeError("not a number of tokens")
    return figures


def _decided(line: bytes, start: int) -> Decision:
    by = _APPROVED.match(line, start)
    if by is not None:
        return Decision(call_of(line, start), by[1] != b"default", False)
    data = object_of(line)
    return Decision(_text(data["call"]), _text(data["by"]) != "default", data["decision"]["type"] == "Modify")


def _returned(line: bytes, start: int) -> End:
    # within a text the quotes would be escaped; data that a tool returned may hold anything
    failed = b'"is_error":true' in line
    if failed and b'"json":' in line:
        failed = object_of(line).get("is_error") is True
    return End(call_of(line, start), "failed" if failed else "")


def _skipped(line: bytes, start: int) -> End:  # noqa: ARG001  # all readers are called alike
    data = object_of(line)
    return End(_text(data["call"]), {"denied": "denied", "responded": "", "expired": ""}.get(data["cause"], "failed"))


def _ended_badly(line: bytes, start: int) -> End:
    return End(call_of(line, start), "failed")


def _processed(line: bytes, start: int) -> tuple[str, bool]:
    failed = b'"failure":' in line and object_of(line).get("failure") is not None
    return call_of(line, start), failed


def _masked(line: bytes, start: int) -> list[str]:  # noqa: ARG001  # all readers are called alike
    return [_text(call) for call in object_of(line)["calls"]]


READERS: dict[str, Callable[[bytes, int], Any]] = {
    "LoopStarted": _start,
    "ModelAttemptFailed": _attempt,
    "ModelReplied": _reply,
    "Decided": _decided,
    "ToolReturned": _returned,
    "ToolSkipped": _skipped,
    "ToolFailed": _ended_badly,
    "ToolAbandoned": _ended_badly,
    "AnswerEdited": _edited_answer,
    "ResultEdited": call_of,
    "ResultProcessed": _processed,
    "ResultsMasked": _masked,
    "DecisionRequested": call_of,
    "DecisionExpired": call_of,
    "ToolStarted": call_of,
    "ToolProgressed": call_of,
    "ToolAttemptFailed": call_of,
    "ToolEndedLate": call_of,
}
