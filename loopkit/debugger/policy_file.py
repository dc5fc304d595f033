"""Policies as TOML files, and the rules that a project remembers (docs/policies.md)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loopkit.debugger.display import one_line
from loopkit.debugger.rules import Asked, Rule, Ruling, Unanswered, read_deadline, read_rule
from loopkit.drivers.watcher_decisions import FORBIDDEN_BY
from loopkit.errors import UserError
from loopkit.messages import ToolCall, ToolDefinition
from loopkit.outcomes import Approve, Deny, ToolApproval

PROJECT_POLICY = Path(".loopkit") / "policy.toml"
REMEMBERED_RULES = Path(".loopkit") / "remembered.toml"
ALLOW_RULE = "policy: "
_TOP_KEYS = ("rule", "deadline", "then")
_REMEMBERED_HEAD = (
    "# Written by loopkit, as a person chose `same again for this project`; delete a rule to revoke it.\n"
)


@dataclass(frozen=True)
class RulePolicy:
    """Rules of one file, in order; the first that matches decides (DESIGN §5).

    Args:
        path: where it was read, or None.
        deadline: seconds after which `then` decides when nobody answers, where a rule says nothing else.
    """

    rules: tuple[Rule, ...] = ()
    path: Path | None = None
    deadline: float | None = None
    then: Unanswered = "deny"

    @property
    def broken(self) -> tuple[str, ...]:
        """What is wrong with it, a line for each rule that therefore asks."""
        where = "" if self.path is None else f"{self.path}: "
        return tuple(f"{where}{rule.name} asks, since {rule.broken}" for rule in self.rules if rule.broken)

    def judge(self, asked: Asked) -> Ruling:
        """Return what the first rule that matches says of a call; where none does, it is asked about."""
        found = next((ruling for rule in self.rules if (ruling := rule.ruling(asked)) is not None), Ruling("ask"))
        if found.verdict != "ask" or found.deadline is not None or self.deadline is None:
            return found
        own = next((rule.then for rule in self.rules if rule.name == found.rule), None)
        return replace(found, deadline=self.deadline, then=own or self.then)

    def decide(self, call: ToolCall, tool: ToolDefinition | None) -> tuple[ToolApproval, str] | None:
        """As `judge`, for whoever knows of a call no more than this; implements `Policy`."""
        return decision_of(self.judge(Asked(call, tool, cost=None)))


def decision_of(ruling: Ruling) -> tuple[ToolApproval, str] | None:
    """Return the decision that a ruling is, with the name of its rule as `Decided.by` has it; None asks."""
    match ruling.verdict:
        case "allow":
            return Approve(), f"{ALLOW_RULE}{ruling.rule}"
        case "deny":
            words = ruling.reason or f"Not run: the policy's rule {ruling.rule!r} denies it."
            return Deny(words), f"{FORBIDDEN_BY}{ruling.rule}"
    return None


def load_policy(path: str | Path) -> RulePolicy:
    """Read a policy.

    Raises:
        UserError: there is no such file, it is no TOML, or its top level can't be understood; in one line.
    """
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: the policy can't be read ({error.strerror or error})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path}: is no TOML: {one_line(str(error), 200)}") from None
    strangers = sorted(data.keys() - set(_TOP_KEYS))
    if strangers:
        raise UserError(f"{path}: there is no key {strangers[0]!r} at the top; there are [[rule]], deadline and then")
    rules = data.get("rule", [])
    if not isinstance(rules, list):
        raise UserError(f"{path}: rules are written as [[rule]], with two brackets")
    deadline, then, wrong = read_deadline(data)
    if wrong:
        raise UserError(f"{path}: {wrong}")
    return RulePolicy(
        _named_apart([read_rule(rule, place) for place, rule in enumerate(rules, 1)]), path, deadline, then or "deny"
    )


def _named_apart(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return rules whose names are unique, so that a name in the log says which one it was."""
    seen: set[str] = set()
    apart = []
    for number, rule in enumerate(rules, 1):
        name = rule.name
        if name in seen:
            name = f"{name} (rule {number})"
        seen.add(name)
        apart.append(rule if name == rule.name else replace(rule, name=name))
    return tuple(apart)


def project_policy(folder: Path) -> RulePolicy | None:
    """Return the policy of a project, or None when it has none.

    Raises:
        UserError: it can't be read.
    """
    path = folder / PROJECT_POLICY
    return load_policy(path) if path.is_file() else None


def remembered_rules(folder: Path) -> tuple[Rule, ...]:
    """Return the rules that a project remembers.

    Raises:
        UserError: they can't be read.
    """
    path = folder / REMEMBERED_RULES
    return load_policy(path).rules if path.is_file() else ()


def write_remembered(rules: Sequence[Rule], folder: Path) -> Path:
    """Write the rules that a project remembers, in one step, and return where.

    Raises:
        UserError: they can't be written.
    """
    path = folder / REMEMBERED_RULES
    beside = path.with_suffix(f".{os.getpid()}")
    try:
        text = _REMEMBERED_HEAD + "".join(_rule_text(rule) for rule in rules)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: what is to be remembered can't be written ({error})") from None
    return path


def _rule_text(rule: Rule) -> str:
    lines = [f"{key} = {_toml(value)}" for key, value in rule.data.items()]
    return "\n".join(["", "[[rule]]", *lines, ""])


def _toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _quoted(value)
        case Mapping():
            return "{" + ", ".join(f"{_quoted(str(key))} = {_toml(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_toml, value)) + "]"
    raise ValueError(f"TOML has no {value!r}")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else f"\\U{ord(char):08X}" for char in escaped) + '"'
