"""The rules that hold in a run: those of its policy, and those that a person added with `same again` (DESIGN §5)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from loopkit.core.state import CallState
from loopkit.debugger.policy_file import RulePolicy, remembered_rules, write_remembered
from loopkit.debugger.rule_shown import KeptRule
from loopkit.debugger.rules import Asked, Rule, Ruling, Verdict, read_rule
from loopkit.debugger.spending import Spending
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.errors import DecisionNotAccepted, UserError
from loopkit.messages import ToolCall

Scope: TypeAlias = Literal["run", "project"]


class RuleBook:
    """What is decided without a person.

    A denial of the policy comes before all that a person added; that comes before what the policy allows or asks about.

    Args:
        policy: the rules of a file, or None.
        folder: of the project whose remembered rules hold, or None for none.

    Raises:
        UserError: the remembered rules can't be read.
    """

    def __init__(self, policy: RulePolicy | None, folder: Path | None = None) -> None:
        self.policy = policy
        self._folder = folder
        self._for_run: list[Rule] = []
        self._for_project = [] if folder is None else list(remembered_rules(folder))

    def judge(self, asked: Asked) -> Ruling:
        """Return what is decided on a call, or that a person is asked."""
        ruling = Ruling("ask") if self.policy is None else self.policy.judge(asked)
        if ruling.verdict == "deny":
            return ruling
        for rule in (*self._for_run, *self._for_project):
            kept = rule.ruling(asked)
            if kept is not None and not rule.broken:
                return kept
        return ruling

    # ── same again ───────────────────────────────────────────────────────────────────────────────────────────────────

    def keep(self, call: ToolCall, verdict: Verdict, scope: Scope, patterns: dict[str, Any] | None) -> str:
        """Add a rule for calls like one, and return its name.

        Args:
            patterns: of single arguments, as in a policy; an empty one takes any, None exactly the call's own.

        Raises:
            DecisionNotAccepted: the call or the patterns make no rule, or it can't be kept.
        """
        if call.raw_arguments is not None:
            raise DecisionNotAccepted("the arguments of this call are no JSON object, so that no rule can tell them")
        name = self._new_name(call.name, scope)
        data: dict[str, Any] = {"name": name, "decide": verdict, "tool": _literally(call.name)}
        if patterns is None:
            data["exact_arguments"] = json.dumps(call.arguments, sort_keys=True)
        elif patterns:
            data["arguments"] = patterns
        rule = read_rule(data, 0)
        if rule.broken:
            raise DecisionNotAccepted(f"no rule can be made of this: {rule.broken}")
        if scope == "run":
            self._for_run.append(rule)
            return name
        self._write([*self._for_project, rule])
        return name

    def forget(self, name: str) -> None:
        """Take back a rule that a person added; calls that it decided stay decided.

        Raises:
            DecisionNotAccepted: there is none of this name, or it can't be taken out of the project's file.
        """
        if any(rule.name == name for rule in self._for_run):
            self._for_run = [rule for rule in self._for_run if rule.name != name]
        elif any(rule.name == name for rule in self._for_project):
            self._write([rule for rule in self._for_project if rule.name != name])
        else:
            raise DecisionNotAccepted(f"there is no remembered rule {name!r}")

    @property
    def kept(self) -> tuple[KeptRule, ...]:
        """The rules that were added, oldest first, those of the run before those of the project."""
        scopes: list[tuple[Scope, Sequence[Rule]]] = [("run", self._for_run), ("project", self._for_project)]
        return tuple(_shown(rule, scope) for scope, rules in scopes for rule in rules)

    def _write(self, rules: list[Rule]) -> None:
        if self._folder is None:
            raise DecisionNotAccepted("this run belongs to no project that could remember rules")
        try:
            write_remembered(rules, self._folder)
        except UserError as error:
            raise DecisionNotAccepted(str(error)) from None
        self._for_project = rules

    def _new_name(self, tool: str, scope: Scope) -> str:
        taken = {rule.name for rule in (*self._for_run, *self._for_project)}
        words = "".join(char if char.isprintable() else "?" for char in tool)[:40]
        number = 1
        while (name := f"same again {words} {number} ({scope})") in taken:
            number += 1
        return name


def _literally(name: str) -> str:
    """Return a glob that is one name: what a model calls a tool may hold glob characters."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def _shown(rule: Rule, scope: Scope) -> KeptRule:
    exact, patterns = rule.data.get("exact_arguments"), rule.data.get("arguments")
    about = f"exactly {exact}" if exact is not None else "any" if patterns is None else json.dumps(patterns)
    return KeptRule(rule.name, scope, rule.verdict, str(rule.data.get("tool", "*")), about)


def asked_about(driver: LoopDriver, call: CallState, spending: Spending) -> Asked:
    """Return a call with what rules may ask of it."""
    state = driver.core.state
    return Asked(
        call.call,
        state.tools.get(call.call.name),
        state.started.agent,
        driver.path.count("#"),
        spending.tokens,
        spending.cost,
    )
