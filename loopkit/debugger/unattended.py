"""Decides where no person is: by a policy alone, with a clear end when that would have asked somebody (DESIGN §6)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

from loopkit.core.state import CallState
from loopkit.debugger.policy import HEADLESS_POLICIES, Policy
from loopkit.debugger.policy_file import (
    ALLOW_RULE,
    PROJECT_POLICY,
    RulePolicy,
    decision_of,
    load_policy,
    project_policy,
)
from loopkit.debugger.rows import attempt_text
from loopkit.debugger.rulebook import RuleBook, asked_about
from loopkit.debugger.spending import Spending
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.drivers.watcher_decisions import stop_run_soon
from loopkit.errors import RecordingUnwritable
from loopkit.events import Event, ModelAttemptFailed
from loopkit.outcomes import Deny, ToolApproval
from loopkit.providers.protocol import Delta

Approval: TypeAlias = Literal["all", "reversible", "none", "read-only"]
IfAsked: TypeAlias = Literal["stop", "deny"]


def policy_for(named: str | None) -> RulePolicy | None:
    """Return the policy that a command line names, else the project's in the working folder, or None.

    Raises:
        UserError: it can't be read.
    """
    return load_policy(named) if named is not None else project_policy(Path())


class Unattended:
    """Stands at no gate and decides by policy; implements `drivers.run.Watcher` and `Forbidding`.

    Args:
        approve: the name of a headless policy, a policy of one's own, or rules.
        tell: told in one line why it takes longer: a request failed and is sent again.
        if_asked: what becomes of a run when the rules would ask a person: it stops, or the call is denied.

    Attributes:
        asked: what a person would have been asked about, a line each.
    """

    def __init__(
        self,
        approve: Approval | Policy,
        tell: Callable[[str], None] = lambda _: None,
        if_asked: IfAsked = "stop",
    ) -> None:
        self.asked: list[str] = []
        self._policy: Policy | None = None
        self._book: RuleBook | None = None
        if isinstance(approve, RulePolicy):
            # what a person let a project remember goes with its own policy, and with no other
            folder = Path() if approve.path == PROJECT_POLICY else None
            self._book = RuleBook(approve, folder)
        else:
            self._policy = HEADLESS_POLICIES[approve]() if isinstance(approve, str) else approve
        self._tell = tell
        self._if_asked = if_asked
        self._spending = Spending()

    def stops_at(self, loop: str, gate: str) -> str | None:
        return None

    def forbids(self, driver: LoopDriver, call: CallState) -> tuple[Deny, str] | None:
        """Deny what a rule denies, before `on_tool_call` is asked."""
        denied = self._by_rules(driver, call)
        return (denied[0], denied[1]) if denied is not None and isinstance(denied[0], Deny) else None

    def decide(self, driver: LoopDriver, call: CallState) -> tuple[ToolApproval, str] | None:
        """Decide by policy; what rules would ask about ends the run, or is denied."""
        if self._policy is not None:
            return self._policy.decide(call.call, driver.core.state.tools.get(call.call.name))
        decided = self._by_rules(driver, call)
        if decided is not None:
            return decided
        rule = self._asking_rule(driver, call)
        words = f"would have asked about {call.call.name} ({call.key}){f', as {rule} says' if rule else ''}"
        self.asked.append(words)
        if self._if_asked == "deny":
            return Deny(
                f"Not run: nobody is here to decide on {call.call.name}."
            ), f"{ALLOW_RULE}{rule or 'no rule'} asks"
        if len(self.asked) == 1:
            stop_run_soon(driver, "policy", words)
        return None

    def _by_rules(self, driver: LoopDriver, call: CallState) -> tuple[ToolApproval, str] | None:
        if self._book is None:
            return None
        return decision_of(self._book.judge(asked_about(driver, call, self._spending)))

    def _asking_rule(self, driver: LoopDriver, call: CallState) -> str:
        assert self._book is not None
        ruling = self._book.judge(asked_about(driver, call, self._spending))
        return f"{ruling.rule!r} ({ruling.reason})" if ruling.reason else repr(ruling.rule) if ruling.rule else ""

    def stands_unrecorded(self, error: RecordingUnwritable) -> bool:
        return False

    def happened(self, event: Event) -> None:
        """Count what the run uses, and say that a request is sent again."""
        self._spending.take(event)
        if isinstance(event.fact, ModelAttemptFailed) and event.fact.retry:
            # whoever hears may have gone, and a run outlives that
            with suppress(OSError, ValueError):
                self._tell(attempt_text(event.fact))

    def streamed(self, loop: str, iteration: int, delta: Delta) -> None:
        """Nobody looks."""
