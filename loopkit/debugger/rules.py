"""Rules of a policy as data: what a call has to be, and what is decided on it then (docs/policies.md).

Rules are read one after the other and the first that matches decides; where none does, a person is asked. A rule that
can't be understood, or whose condition can't be told, asks about every call that it may be about.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from loopkit.core.detection.signatures import same_json
from loopkit.debugger import rule_patterns as patterns
from loopkit.debugger.rule_patterns import BrokenRule, Test
from loopkit.messages import ToolCall, ToolDefinition

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
Unanswered: TypeAlias = Literal["allow", "deny", "stop"]
UNDECLARED = "undeclared"
_SIDE_EFFECTS = ("read", "idempotent", "irreversible", UNDECLARED)
_VERDICTS = ("allow", "ask", "deny")
_UNANSWERED = ("allow", "deny", "stop")


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that somebody has to decide on, with what rules may ask of it.

    Args:
        tool: its tool's definition, or None when there is no such tool.
        agent: the asking agent's name.
        depth: levels of agents above it; 0 is the root.
        tokens: what the run has used so far, in and out, of the whole tree.
        cost: the same in US dollars, or None when a price is unknown.
    """

    call: ToolCall
    tool: ToolDefinition | None = None
    agent: str = ""
    depth: int = 0
    tokens: int = 0
    cost: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Ruling:
    """What rules say of a call.

    Args:
        rule: name of the rule that decides; empty where none matched, so that a person is asked.
        reason: for a denial what the model gets, else why it is asked where a rule could not be used.
        deadline: seconds after which `then` decides when nobody answers, or None to wait.
    """

    verdict: Verdict
    rule: str = ""
    reason: str = ""
    deadline: float | None = None
    then: Unanswered = "deny"


@dataclass(frozen=True)
class Rule:
    """One rule.

    Args:
        name: names it in the log; unique in its file.
        verdict: what it decides.
        tests: its conditions by key; all have to hold.
        reason: what the model gets of a denial; empty for words of our own.
        broken: why it can't be used, so that it asks; empty when it can.
        data: what stands in the file.
    """

    name: str
    verdict: Verdict
    tests: Mapping[str, Test] = field(default_factory=dict)
    reason: str = ""
    deadline: float | None = None
    then: Unanswered | None = None
    broken: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    def ruling(self, asked: Asked) -> Ruling | None:
        """Return what it says of a call, or None when it is about others."""
        verdict, reason = self.verdict, self.reason
        for key, test in self.tests.items():
            try:
                if not test(_VALUES[key](asked)):
                    return None
            except _Unknown as unknown:
                verdict, reason = "ask", str(unknown)
        if self.broken:
            verdict, reason = "ask", self.broken
        return Ruling(verdict, self.name, reason, self.deadline, self.then or "deny")


class _Unknown(Exception):
    """What a condition asks for is not known."""


def _cost(asked: Asked) -> float:
    if asked.cost is None:
        raise _Unknown("what the run has cost so far is not known")
    return asked.cost


def _arguments(asked: Asked) -> object:
    # what is no JSON object runs with nothing, so no pattern may take it for anything
    return None if asked.call.raw_arguments is not None else asked.call.arguments


def _side_effect(asked: Asked) -> str:
    declared = None if asked.tool is None else asked.tool.side_effect
    return declared or UNDECLARED


_VALUES: dict[str, Callable[[Asked], Any]] = {
    "tool": lambda asked: asked.call.name,
    "arguments": _arguments,
    "exact_arguments": _arguments,
    "agent": lambda asked: asked.agent,
    "depth": lambda asked: asked.depth,
    "side_effect": _side_effect,
    "tokens": lambda asked: asked.tokens,
    "cost": _cost,
}


def _exact_arguments(key: str, value: object) -> Test:
    try:
        wanted = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        wanted = None
    if not isinstance(wanted, dict):
        raise BrokenRule(f"{key} is the text of a JSON object")
    return lambda given: given is not None and same_json(given, wanted)


_READERS: dict[str, Callable[[str, object], Test]] = {
    "tool": patterns.globs,
    "agent": patterns.globs,
    "arguments": patterns.arguments,
    "exact_arguments": _exact_arguments,
    "depth": patterns.comparison,
    "side_effect": lambda key, value: patterns.one_of(key, value, _SIDE_EFFECTS),
    "tokens": patterns.comparison,
    "cost": patterns.comparison,
}
_OTHER_KEYS = ("name", "decide", "reason", "deadline", "then")


def read_rule(data: object, number: int) -> Rule:
    """Read one rule of a file; one that can't be understood asks about what its readable conditions allow.

    Args:
        number: its place in the file, from 1.
    """
    if not isinstance(data, Mapping):
        return Rule(f"rule {number}", "ask", broken="it is no table of keys")
    name = data.get("name", f"rule {number}")
    broken = "" if isinstance(name, str) and name.strip() and name.isprintable() else "its name is no line of text"
    tests: dict[str, Test] = {}
    for key, value in data.items():
        if key in _READERS:
            try:
                tests[key] = _READERS[key](key, value)
            except BrokenRule as error:
                broken = broken or str(error)
        elif key not in _OTHER_KEYS:
            broken = broken or f"there is no key {key!r}: {', '.join((*_OTHER_KEYS, *_READERS))}"
    verdict = data.get("decide")
    if verdict not in _VERDICTS:
        broken = broken or f"decide is one of {', '.join(_VERDICTS)}"
    reason = data.get("reason", "")
    if not isinstance(reason, str):
        broken = broken or "reason is text"
    deadline, then, wrong = read_deadline(data)
    return Rule(
        name if isinstance(name, str) and name.strip() and name.isprintable() else f"rule {number}",
        cast("Verdict", verdict) if verdict in _VERDICTS else "ask",
        tests,
        reason if isinstance(reason, str) else "",
        deadline,
        then,
        broken or wrong,
        dict(data),
    )


def read_deadline(data: Mapping[str, Any]) -> tuple[float | None, Unanswered | None, str]:
    """Return the seconds of a deadline, what decides then, each None where nothing is said, and what is wrong."""
    deadline, then = data.get("deadline"), data.get("then")
    if deadline is not None and (isinstance(deadline, bool) or not isinstance(deadline, (int, float)) or deadline < 0):
        return None, None, "deadline is a number of seconds"
    if then is not None and then not in _UNANSWERED:
        return None, None, f"then is one of {', '.join(_UNANSWERED)}"
    return None if deadline is None else float(deadline), then, ""
