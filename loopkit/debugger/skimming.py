"""Says of a recorded line, by its looks, that a condition neither holds for its event nor needs to have seen it.

What stands in a line's envelope is known without decoding it, and that some types of event never say what went wrong,
name no call, or cost nothing. Whatever can't be told so is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Final, Literal, TypeAlias

from loopkit.debugger.conditions import MISSING, All, Condition, Field, Missing, Not, OneOf, Value, fields_of
from loopkit.recording.index_lines import HEAD, place_of, text_of

# a line's event number when it may be passed over, else None
PassesOver: TypeAlias = Callable[[bytes], int | None]

_UNREADABLE = (ValueError, RecursionError)
# fields that an event says by itself, whatever came before it
_OWN = {"kind", "event", "time", "iteration", "loop", "depth", "error", "warning", "tokens.own"}
_WITHOUT_CALL = {"LoopStarted", "IterationStarted", "ModelRequested", "ModelReplied"}
_WITHOUT_FAILURE = _WITHOUT_CALL | {"DecisionRequested", "Decided", "ToolStarted"}
_RESULT = "ToolReturned"
_OF_CALLS = {"ModelRequested", "DecisionRequested", "Decided", "ToolStarted", _RESULT}
# of fields that say what earlier events told: the types that tell them nothing
_WITHOUT_CONSEQUENCE: dict[str, set[str]] = {
    **dict.fromkeys(("tool", "model", "agent", "cost.own", "tokens.total", "cost.total"), _OF_CALLS),
    **dict.fromkeys(("args", "decision", "by"), _OF_CALLS - {"Decided"}),
    "text": {"ModelRequested", _RESULT},
    "duration": {_RESULT},
}
_MISSING_IN: dict[str, set[str]] = {
    "error": _WITHOUT_FAILURE,
    "warning": _WITHOUT_FAILURE | {_RESULT},
    "tokens.own": (_WITHOUT_FAILURE | {_RESULT}) - {"ModelReplied"},
    "cost.own": (_WITHOUT_FAILURE | {_RESULT}) - {"ModelReplied"},
    "text": {"IterationStarted", "ModelRequested"},
    **dict.fromkeys(("tool", "args", "decision", "by"), _WITHOUT_CALL),
}
_KNOWN_TYPES = _WITHOUT_FAILURE | {_RESULT}


class _Unknown(Enum):
    UNKNOWN = "unknown"


_UNKNOWN: Final = _Unknown.UNKNOWN


class _Skimmed:
    """What a line's looks say of its event."""

    def __init__(self, line: bytes, head: re.Match[bytes]) -> None:
        self._line = line
        self._head = head
        self.type = text_of(head[4])

    def value(self, field: Field) -> Value | tuple[str, ...] | Missing:
        """Return what a field says, one of those that are known."""
        found = self.known(field)
        return MISSING if found is _UNKNOWN else found

    def known(self, field: Field) -> Value | Missing | Literal[_Unknown.UNKNOWN]:
        """Return what a field says, or that only decoding would tell."""
        match field.name:
            case "kind":
                return self.type
            case "event":
                return int(self._head[1])
            case "time":
                return float(self._head[2])
            case "iteration":
                return place_of(self._head[3])[1] or MISSING
            case "loop":
                return place_of(self._head[3])[0]
            case "depth":
                return place_of(self._head[3])[0].count("#")
            case "error" if self.type == _RESULT and b'"is_error":true' not in self._line:
                return MISSING
        return MISSING if self.type in _MISSING_IN.get(field.name, ()) else _UNKNOWN


def passing_over(condition: Condition) -> PassesOver:
    """Return what says which lines may be passed over."""
    told = [_WITHOUT_CONSEQUENCE.get(field.name, set()) for field in fields_of(condition) if field.name not in _OWN]
    by_itself = not told
    types = {name.encode() for name in _KNOWN_TYPES.intersection(*told)}
    # a loop whose start is missing begins with the first event that is seen of it
    loops: set[bytes] = set()

    def passed(line: bytes) -> int | None:
        head = HEAD.match(line)
        if head is None:
            return None
        loop, _, _ = head[3].rpartition(b",")
        if head[4] not in types or not (by_itself or loop in loops):
            loops.add(loop)
            return None
        try:
            holds = _may_hold(condition, _Skimmed(line, head))
        except _UNREADABLE:
            return None
        return int(head[1]) if holds is False and line[-2:] == b"}\n" else None

    return passed


def _may_hold(condition: Condition, skimmed: _Skimmed) -> bool | None:
    """Whether a condition holds; None when only decoding would tell."""
    match condition:
        case Not(part):
            found = _may_hold(part, skimmed)
            return None if found is None else not found
        case All(parts):
            each = [_may_hold(part, skimmed) for part in parts]
            return False if False in each else None if None in each else True
        case OneOf(parts):
            each = [_may_hold(part, skimmed) for part in parts]
            return True if True in each else None if None in each else False
    return None if skimmed.known(condition.field) is _UNKNOWN else condition.holds(skimmed)
