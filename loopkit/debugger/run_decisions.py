"""How the calls of a live run are decided: by its policy first, then by a person; and what a person changes at a gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from loopkit import events as e
from loopkit.core.editing import PERSON
from loopkit.core.state import AskDecision, CallState
from loopkit.debugger.policy import Policy
from loopkit.debugger.standing import Standing, standing_of
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.drivers.run import Run
from loopkit.errors import DecisionNotAccepted, RecordingError
from loopkit.messages import Message, Problem
from loopkit.outcomes import Approve, Deny, Modify, Respond, ToolApproval
from loopkit.tools.checks import json_problem


class RunDecisions:
    """The part of a live run that decides; commands may come from any thread.

    Args:
        policy: decides before a person is asked; None asks for every call.
        stand_in: decides in the place of a person while nobody is there; None waits for one.
    """

    _run: Run

    def __init__(self, policy: Policy | None, stand_in: Policy | None) -> None:
        self.stand_in = stand_in
        self._policy = policy
        self._asked: dict[AskDecision, LoopDriver] = {}

    # ── called under the run's lock ──────────────────────────────────────────────────────────────────────────────────

    def decide(self, driver: LoopDriver, call: CallState) -> tuple[ToolApproval, str] | None:
        """Let the policy decide; what it leaves open, or fails to decide, waits for a person (DESIGN §5)."""
        decided = self._decision_of(self._policy, driver, call) or self._decision_of(self.stand_in, driver, call)
        if decided is None:
            self._asked[AskDecision(call.key, call.version)] = driver
        return decided

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
            DecisionNotAccepted: late, twice, for another version, or with arguments that don't fit.
        """
        driver = self._driver(loop)
        if driver is None:
            raise DecisionNotAccepted("this call can't be decided any more: its loop has ended")
        verdict = e.CallVerdict()
        if isinstance(decision, Modify):
            state = driver.core.state.call_state(call)
            name = "" if state is None else state.call.name
            verdict = e.CallVerdict(self._problems_of_edit(loop, name, decision.arguments))
        try:
            driver.decide(call, version, decision, PERSON, verdict)
        except RecordingError as error:
            raise DecisionNotAccepted(f"the run has ended, its recording can't be written: {error}") from None

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
