"""What a person does with several calls at once, and once for all: batches, `same again`, and what is revoked of it."""

from __future__ import annotations

from typing import Any, cast

from loopkit.debugger.commanding import command, reported
from loopkit.debugger.deciding import Deciding, require
from loopkit.debugger.rule_shown import KeptRule
from loopkit.debugger.status import Choice, Deadline
from loopkit.errors import DecisionNotAccepted
from loopkit.outcomes import Approve, Deny, Modify, Respond

_SCOPES = ("run", "project")
_VERDICTS = ("allow", "deny")


class Queueing(Deciding):
    """The part of a session that works on the queue of all calls that wait."""

    @command
    def decide_batch(self, choices: tuple[Choice, ...]) -> None:
        """Decide on several calls, of any loops, all at once or not at all.

        Args:
            choices: each bound to the version of its call that was seen.
        """
        for choice in choices:
            require(choice, Choice, "a batch is made of Choices")
            require(choice.version, int, "the version of a call is a whole number")
            if not isinstance(choice.decision, (Approve, Deny, Modify, Respond)):
                raise DecisionNotAccepted("a decision is Approve, Deny, Modify or Respond")
        live = self._deciding_live()
        live.decide_batch([(self._loop_of(choice.call), choice) for choice in choices])

    @command
    def same_again(
        self,
        call: str,
        version: int,
        decide: str = "allow",
        scope: str = "run",
        patterns: dict[str, Any] | None = None,
    ) -> str:
        """Decide on a call, and from now on on all that are like it; what waits already is decided too.

        Args:
            decide: `allow` or `deny`.
            scope: `run`, or `project` for later runs too: then the rule stands in `.loopkit/remembered.toml`.
            patterns: of single arguments, as in a policy; an empty one takes any arguments, None exactly this call's.

        Returns:
            the rule's name, which `Decided.by` names it by.
        """
        require(version, int, "the version of a call is a whole number")
        if decide not in _VERDICTS or scope not in _SCOPES:
            raise DecisionNotAccepted(f"`decide` is one of {_VERDICTS}, `scope` one of {_SCOPES}")
        live, loop = self._deciding_live(), self._loop_of(call)
        return live.remember(loop, call, version, cast("Any", decide), scope=cast("Any", scope), patterns=patterns)

    @command
    def forget_rule(self, name: str) -> None:
        """Revoke what `same_again` added; what it decided stays decided."""
        self._deciding_live().book.forget(name)

    @property
    @reported
    def kept_rules(self) -> tuple[KeptRule, ...]:
        """What `same_again` added, this project's older rules included."""
        return () if self._live is None else self._live.book.kept

    @property
    @reported
    def deadlines(self) -> tuple[Deadline, ...]:
        """Until when calls wait that a policy decides at a deadline, and what it decides then."""
        return () if self._live is None else self._live.deadlines

    @property
    @reported
    def broken_rules(self) -> tuple[str, ...]:
        """What is wrong with rules of the policy that therefore ask, a line each; not safe to show as it is."""
        policy = None if self._live is None else self._live.book.policy
        return () if policy is None else policy.broken
