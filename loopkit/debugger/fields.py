"""What a condition may speak of: the fields of a moment in a run, and how closely each looks (docs/conditions.md)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["text", "number", "JSON"]


class Scope(IntEnum):
    """What a field is the same for; a breakpoint stops once for each."""

    RUN = 0
    LOOP = 1
    ITERATION = 2
    CALL = 3
    MOMENT = 4


@dataclass(frozen=True, slots=True)
class FieldKind:
    """What is known of a field.

    Args:
        kind: what its values are.
        words: what it says, for people.
    """

    kind: Kind
    scope: Scope
    words: str


FIELDS: dict[str, FieldKind] = {
    "kind": FieldKind("text", Scope.MOMENT, "type of the event, such as ModelReplied or ToolFailed"),
    "event": FieldKind("number", Scope.MOMENT, "number of the event"),
    "time": FieldKind("number", Scope.MOMENT, "seconds since the run started"),
    "tool": FieldKind("text", Scope.CALL, "name of the tool, at every event of a call"),
    "args": FieldKind("JSON", Scope.CALL, "arguments of the call as it runs; args.path.to.it, args.files.0"),
    "decision": FieldKind("text", Scope.CALL, "approved, denied, edited, answered or expired, once decided"),
    "by": FieldKind("text", Scope.CALL, "who decided: person, on_tool_call, default, policy: RULE"),
    "text": FieldKind(
        "text", Scope.MOMENT, "words that came with the event: of the model, a call's arguments, a result"
    ),
    "iteration": FieldKind("number", Scope.ITERATION, "iteration of the loop, from 1"),
    "model": FieldKind("text", Scope.ITERATION, "model that answered, else the loop's own"),
    "depth": FieldKind("number", Scope.LOOP, "levels below the root agent: 0 is the root, 1 its sub-agents"),
    "agent": FieldKind("text", Scope.LOOP, "name of the agent"),
    "loop": FieldKind("text", Scope.LOOP, "path of the loop, such as root/3.2#1"),
    "error": FieldKind("text", Scope.MOMENT, "what went wrong, at the event that tells of it"),
    "warning": FieldKind("text", Scope.MOMENT, "detector of a loop warning, such as identical batches"),
    "duration": FieldKind(
        "number", Scope.MOMENT, "seconds that the answer, tool, decision or loop took that ends here"
    ),
    "tokens.own": FieldKind("number", Scope.MOMENT, "tokens in and out of the answer that came"),
    "tokens.total": FieldKind("number", Scope.RUN, "the same of the whole run so far; tokens alone is this"),
    "cost.own": FieldKind("number", Scope.MOMENT, "US dollars of the answer that came, where its price is known"),
    "cost.total": FieldKind("number", Scope.RUN, "the same of the whole run so far; cost alone is this"),
}
SHORT_NAMES = {"tokens": "tokens.total", "cost": "cost.total"}
