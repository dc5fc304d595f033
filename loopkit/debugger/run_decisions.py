"""How the calls of a live run are decided: by rules and its policy first, then by a person, by a deadline at last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from loopkit import events as e
from loopkit.core.editing import PERSON
from loopkit.core.state import AskDecision, CallState
from loopkit.debugger.deadlines import Deadlines
from loopkit.debugger.policy import Policy
from loopkit.debugger.policy_file import ALLOW_RULE, RulePolicy, decision_of
from loopkit.debugger.rulebook import RuleBook, Scope, asked_about
from loopkit.debugger.rules import Ruling, Verdict
from loopkit.debugger.spending import Spending
from loopkit.debugger.standing import Standing, standing_of
from loopkit.debugger.status import Choice, Deadline
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.drivers.run import Run
from loopkit.drivers.watcher_decisions import asked_call, forbidden, stop_run_soon
from loopkit.errors import DecisionNotAccepted, RecordingError
from loopkit.messages import Message, Problem
from loopkit.outcomes import Approve, Deny, Modify, Respond, ToolApproval
from loopkit.tools.checks import json_problem


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A call that is asked about.

    Args:
        until: seconds since the run started at which `ruling.then` decides, or None.
    """

    driver: LoopDriver
    ruling: Ruling
    until: float | None = None


class RunDecisions:
    """The part of a live run that decides; commands may come from any thread.

    Args:
        policy: decides before a person is asked; None asks for every call.
        stand_in: decides in the place of a person while nobody is there; None waits for one.
        project: the folder whose remembered rules hold, or None.

    Raises:
        UserError: what the project remembers can't be read.
    """

    _run: Run

    def __init__(self, policy: Policy | None, stand_in: Policy | None, project: Path | None = None) -> None:
        self.stand_in = stand_in
        self.book = RuleBook(policy if isinstance(policy, RulePolicy) else None, project)
        self._policy = None if isinstance(policy, RulePolicy) else policy
        self._spending = Spending()
        self._deadlines: Deadlines[AskDecision] = Deadlines(self._deadline_passed)
        self._waiting: dict[AskDecision, _Waiting] = {}

    # ── called under the run's lock ──────────────────────────────────────────────────────────────────────────────────

    def forbids(self, driver: LoopDriver, call: CallState) -> tuple[Deny, str] | None:
        """Deny what a rule of the policy denies, before anybody is asked (DESIGN §5)."""
        denied = decision_of(self._ruling(driver, call))
        return (denied[0], denied[1]) if denied is not None and isinstance(denied[0], Deny) else None

    def decide(self, driver: LoopDriver, call: CallState) -> tuple[ToolApproval, str] | None:
        """Let rules and the policy decide; what they leave open, or fail to decide, waits for a person (DESIGN §5)."""
        ruling = self._ruling(driver, call)
        decided = decision_of(ruling)
        if decided is None:
            decided = self._decision_of(self._policy, driver, call) or self._decision_of(self.stand_in, driver, call)
        if decided is None:
            self._wait(AskDecision(call.key, call.version), driver, ruling)
        return decided

    def _ruling(self, driver: LoopDriver, call: CallState) -> Ruling:
        try:
            return self.book.judge(asked_about(driver, call, self._spending))
        except Exception as error:  # noqa: BLE001  # a broken rule asks
            return Ruling("ask", reason=f"the rules can't be used ({type(error).__name__})")

    def _decision_of(
        self, policy: Policy | None, driver: LoopDriver, call: CallState
    ) -> tuple[ToolApproval, str] | None:
        if policy is None:
            return None
        try:
            decided = policy.decide(call.call, driver.core.state.tools.get(call.call.name))
        except Exception:  # noqa: BLE001  # a broken rule asks
            return None
        if not _is_decision(decided):
            return None
        if isinstance(decided[0], Modify):
            fits = not self._problems_of_edit(driver.path, call.call.name, decided[0].arguments)
            return decided if fits else None
        return decided

    def _wait(self, asked: AskDecision, driver: LoopDriver, ruling: Ruling) -> None:
        if asked in self._waiting:
            return
        until = None
        if ruling.deadline is not None:
            until = self._run.clock() - self._run.started_at + ruling.deadline
            self._deadlines.set(asked, ruling.deadline)
        self._waiting[asked] = _Waiting(driver, ruling, until)

    def _hear(self, event: e.Event) -> None:
        """Take in an event of the run."""
        fact = event.fact
        self._spending.take(event)
        if isinstance(fact, (e.Decided, e.DecisionExpired)):
            asked = AskDecision(fact.call, fact.version)
            waiting = self._waiting.pop(asked, None)
            if waiting is not None and waiting.until is not None:
                self._deadlines.drop(asked)
        elif isinstance(fact, (e.LoopFinished, e.LoopFailed)):
            for asked in [asked for asked, waiting in self._waiting.items() if waiting.driver.path == event.loop]:
                del self._waiting[asked]
                self._deadlines.drop(asked)

    # ── nobody answers ───────────────────────────────────────────────────────────────────────────────────────────────

    def _deadline_passed(self, asked: AskDecision) -> None:
        """Decide as the policy says of calls that nobody decides on (spec/faults.md c10)."""
        with self._run.lock, suppress(RecordingError):
            waiting = self._waiting.get(asked)
            if waiting is None:
                return
            driver, ruling = waiting.driver, waiting.ruling
            words = f"nobody decided in {ruling.deadline:g} s"
            match ruling.then:
                case "allow":
                    by = f"{ALLOW_RULE}{ruling.rule or 'deadline'} ({words})"
                    driver.post(e.Decided(asked.call, asked.version, Approve(), by), asked)
                case "deny":
                    driver.post(e.DecisionExpired(asked.call, asked.version), asked)
                case "stop":
                    stop_run_soon(driver, "policy", f"{words} on {asked.call}")

    @property
    def deadlines(self) -> tuple[Deadline, ...]:
        """What waits for a decision that has to come by a moment, in the order in which it was asked."""
        with self._run.lock:
            return tuple(
                Deadline(asked.call, asked.version, waiting.until, waiting.ruling.then, waiting.ruling.rule)
                for asked, waiting in self._waiting.items()
                if waiting.until is not None
            )

    # ── what a session asks, from any thread ─────────────────────────────────────────────────────────────────────────

    def problems(self, loop: str, tool: str, arguments: object) -> tuple[Problem, ...] | None:
        """Return the schema check of arguments by the agent's own tool, or None when that is not there."""
        driver = self._driver(loop)
        found = None if driver is None else driver.registry.get(tool)
        if driver is None or found is None:
            return None
        return found.problems(driver.run.originals.arguments(arguments) if isinstance(arguments, dict) else arguments)

    def decide_call(self, loop: str, call: str, version: int, decision: ToolApproval) -> None:
        """Take a person's decision.

        Raises:
            DecisionNotAccepted: late, twice, for another version, with arguments that don't fit, or that a rule denies.
        """
        driver = self._driver(loop)
        if driver is None:
            raise DecisionNotAccepted("this call can't be decided any more: its loop has ended")
        verdict = e.CallVerdict()
        if isinstance(decision, Modify):
            verdict = self._verdict_on_edit(driver, call, version, decision)
        try:
            driver.decide(call, version, decision, PERSON, verdict)
        except RecordingError as error:
            raise DecisionNotAccepted(f"the run has ended, its recording can't be written: {error}") from None

    def decide_batch(self, choices: Sequence[tuple[str, Choice]]) -> None:
        """Take several decisions of a person, all of them or none.

        Args:
            choices: each with the path of its loop.

        Raises:
            DecisionNotAccepted: one of them can't be taken; which one, and why, is logged as for a single one.
        """
        with self._run.lock:
            if len({choice.call for _, choice in choices}) < len(choices):
                raise DecisionNotAccepted("the batch decides twice on the same call: nothing was decided")
            for loop, choice in choices:
                driver = self._driver(loop)
                if driver is None or AskDecision(choice.call, choice.version) not in driver.core.wants:
                    # a decision that can't be taken is refused, and logged, as it is by itself
                    self.decide_call(loop, choice.call, choice.version, choice.decision)
                elif isinstance(choice.decision, Modify):
                    verdict = self._verdict_on_edit(driver, choice.call, choice.version, choice.decision)
                    if verdict.problems:
                        words = "; ".join(str(problem) for problem in verdict.problems)
                        raise DecisionNotAccepted(f"{choice.call}: {words}: nothing was decided")
            for loop, choice in choices:
                self.decide_call(loop, choice.call, choice.version, choice.decision)

    def remember(
        self, loop: str, call: str, version: int, verdict: Verdict, *, scope: Scope, patterns: dict[str, Any] | None
    ) -> str:
        """Decide on a waiting call and on all like it from now on; see `Queueing.same_again`."""
        with self._run.lock:
            driver = self._driver(loop)
            asked = AskDecision(call, version)
            if driver is None or asked not in driver.core.wants:
                self.decide_call(loop, call, version, Approve() if verdict == "allow" else Deny())
                raise DecisionNotAccepted("this call does not wait for a decision any more")
            if forbidden(driver, asked) is not None:
                raise DecisionNotAccepted("a rule of the policy denies this call")
            state = asked_call(driver, call)
            held = driver.core.state.call_state(call)
            if (
                scope == "project"
                and held is not None
                and patterns is None
                and held.call.arguments != state.call.arguments
            ):
                raise DecisionNotAccepted("the arguments hold a secret, which no file may: remember it for this run")
            name = self.book.keep(state.call, verdict, scope, patterns)
            ruling = self._ruling(driver, state)
            if ruling.rule != name:
                self.book.forget(name)
                raise DecisionNotAccepted("the rule would not decide on this very call: nothing was remembered")
            self.offer_again()
            return name

    def offer_again(self) -> None:
        """Let rules and policies decide on what waits, since they may decide otherwise now; under the run's lock."""
        for asked, waiting in list(self._waiting.items()):
            waiting.driver.offer_to_watcher(asked)

    def _verdict_on_edit(self, driver: LoopDriver, call: str, version: int, decision: Modify) -> e.CallVerdict:
        """Check arguments against the schema and, once more, against the rules that deny."""
        state = driver.core.state.call_state(call)
        problems = self._problems_of_edit(driver.path, "" if state is None else state.call.name, decision.arguments)
        if problems or state is None:
            return e.CallVerdict(problems)
        edited = driver.run.originals.arguments(decision.arguments)
        with self._run.lock:
            denied = forbidden(driver, AskDecision(call, version), edited)
            if denied is not None:
                reason = (
                    f"the arguments are denied by {denied.by.removeprefix('policy deny: ')!r}, a rule of the policy"
                )
                with suppress(RecordingError):
                    driver.post(e.DecisionRefused(call, version, PERSON, reason))
                raise DecisionNotAccepted(reason)
        return e.CallVerdict()

    def history(self, loop: str) -> tuple[Message, ...]:
        """Return the history of a loop that is on its way, as recorded; empty for any other."""
        driver = self._driver(loop)
        return () if driver is None else tuple(driver.core.state.history)

    def standing(self) -> tuple[Standing, ...]:
        """Return the loops that stand at a gate, the root first."""
        with self._run.lock:
            drivers = sorted(self._run.drivers, key=lambda driver: (driver.path.count("#"), driver.path))
            found = [standing_of(driver.core.state) for driver in drivers]
        return tuple(standing for standing in found if standing is not None)

    def change(self, loop: str, change: Callable[[LoopDriver], None]) -> None:
        """Let a person's edit change a loop that is on its way.

        Raises:
            DecisionNotAccepted: it isn't.
        """
        driver = self._driver(loop)
        if driver is None:
            raise DecisionNotAccepted("nothing can be changed any more: there is no such loop on its way")
        change(driver)

    def _problems_of_edit(self, loop: str, tool: str, arguments: object) -> tuple[Problem, ...]:
        found = self.problems(loop, tool, arguments)
        if found is not None:
            return found
        # there is no schema for a tool that isn't there, but the recording takes nothing else than JSON
        if not isinstance(arguments, dict):
            return (Problem("$", "the arguments must be a JSON object"),)
        problem = json_problem(arguments)
        return () if problem is None else (problem,)

    def _driver(self, loop: str) -> LoopDriver | None:
        with self._run.lock:
            # a copy: the run's thread adds sub-agents without the lock
            return next((driver for driver in list(self._run.drivers) if driver.path == loop), None)


def _is_decision(decided: object) -> TypeGuard[tuple[ToolApproval, str]]:
    match decided:
        case (Approve() | Deny() | Modify() | Respond(), str()):
            return True
    return False
