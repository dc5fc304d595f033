"""A run with assertions on what it did, which say what happened when they fail.

They raise plain `AssertionError`s and need no pytest. `called` speaks of what a model asked for, `ran` of what was done:
a call that somebody denied was called and did not run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Self

from loopkit.debugger.costs import Cost
from loopkit.debugger.display import one_line
from loopkit.debugger.nodes import CallNode, CallStatus
from loopkit.debugger.rows import count_text, outcome_text, warning_text
from loopkit.events import ModelAttemptFailed, RepetitionDetected
from loopkit.outcomes import Approve, Deny, Modify, Respond, TerminationReason, ToolApproval
from loopkit.testing.arguments import ArgumentPattern, NamePattern, TextPattern, pattern_words, text_matches
from loopkit.testing.run_view import RunView
from loopkit.testing.wanted_calls import Call, CallLike, Times, call_of, near_misses

_ANY_NAME = re.compile(".*", re.DOTALL)


class Trajectory(RunView):
    """What a run did; each assertion returns the calls that it found, or the run itself.

    Made by `Trajectory.of_file(path)` from a recording, by `Trajectory.of(events)`, by `observe(agent, task)` from a live
    run, and by the fixture `loopkit_replay`. Everything includes the calls of sub-agents unless `agent` or `depth` say
    otherwise; `run.sub_agent("investigator")` is one of them alone.
    """

    # ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def called(
        self,
        name: NamePattern,
        *,
        arguments: ArgumentPattern | None = None,
        exactly: bool = False,
        times: int | None = None,
        at_least: int | None = None,
        at_most: int | None = None,
        agent: NamePattern | None = None,
        depth: int | None = None,
    ) -> list[CallNode]:
        """Expect that a model asked for a tool: once or more, or as often as is said.

        Args:
            name: the tool's name, or a pattern of the whole name.
            arguments: see `Call`.
            exactly: no other arguments may be there.
            times, at_least, at_most: how often.
            agent, depth: see `Call`.

        Raises:
            AssertionError: it did not; the message says what happened.
        """
        __tracebackhide__ = True
        wanted = Call(name, arguments, exactly, agent, depth)
        return self._counted(wanted, "called", _is_any, Times.of(times, at_least, at_most))

    def ran(
        self,
        name: NamePattern,
        *,
        arguments: ArgumentPattern | None = None,
        exactly: bool = False,
        times: int | None = None,
        at_least: int | None = None,
        at_most: int | None = None,
        agent: NamePattern | None = None,
        depth: int | None = None,
    ) -> list[CallNode]:
        """Expect that a tool's handler was run, after whatever was decided; takes what `called` takes."""
        __tracebackhide__ = True
        wanted = Call(name, arguments, exactly, agent, depth)
        return self._counted(wanted, "run", lambda call: call.executed, Times.of(times, at_least, at_most))

    def not_called(
        self,
        name: NamePattern,
        *,
        arguments: ArgumentPattern | None = None,
        agent: NamePattern | None = None,
        depth: int | None = None,
    ) -> Self:
        """Expect that no model asked for a tool."""
        __tracebackhide__ = True
        self._counted(Call(name, arguments, False, agent, depth), "called", _is_any, Times(0, 0))
        return self

    def not_ran(
        self,
        name: NamePattern,
        *,
        arguments: ArgumentPattern | None = None,
        agent: NamePattern | None = None,
        depth: int | None = None,
    ) -> Self:
        """Expect that a tool's handler was never run, whoever asked for it."""
        __tracebackhide__ = True
        self._counted(Call(name, arguments, False, agent, depth), "run", lambda call: call.executed, Times(0, 0))
        return self

    def called_in_order(self, *expected: CallLike) -> list[CallNode]:
        """Expect these calls one after the other; others may stand between them.

        Args:
            expected: names, patterns of names, or `Call(name, arguments)`.
        """
        __tracebackhide__ = True
        found: list[CallNode] = []
        calls = iter(self.calls)
        for place, wanted in enumerate(map(call_of, expected), 1):
            after = f" after {found[-1].id}" if found else ""
            match = next((call for call in calls if self._is(wanted, call)), None)
            if match is None:
                self.fail(f"call {place} of the order, {wanted}, does not come{after}", found)
            found.append(match)
        return found

    def no_tool_errors(self) -> Self:
        """Expect that no call ended with an error, was refused or was given up."""
        __tracebackhide__ = True
        bad = (CallStatus.ERROR, CallStatus.REFUSED, CallStatus.ABANDONED)
        failed = [call for call in self.calls if call.status in bad]
        if failed:
            self.fail(f"{count_text(len(failed), 'call')} went wrong", failed)
        return self

    # ── decisions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def approved(self, name: NamePattern, *, by: str | None = None, times: int | None = None) -> list[CallNode]:
        """Expect that a call was approved as it was.

        Args:
            by: who decided, as in `decided_by`.
        """
        __tracebackhide__ = True
        return self._decided(Approve, "approved", name, None, by, times, _is_any)

    def denied(
        self,
        name: NamePattern,
        *,
        reason: TextPattern | None = None,
        arguments: ArgumentPattern | None = None,
        by: str | None = None,
        times: int | None = None,
    ) -> list[CallNode]:
        """Expect that a call was denied.

        Args:
            reason: what the model was told: a part of it, a compiled pattern, or a predicate.
        """
        __tracebackhide__ = True
        return self._decided(Deny, "denied", name, arguments, by, times, lambda deny: _holds(reason, deny.reason))

    def edited(
        self,
        name: NamePattern,
        *,
        arguments: ArgumentPattern | None = None,
        by: str | None = None,
        times: int | None = None,
    ) -> list[CallNode]:
        """Expect that a call's arguments were edited.

        Args:
            arguments: what they were edited to.
        """
        __tracebackhide__ = True
        return self._decided(Modify, "edited", name, arguments, by, times, _is_any)

    def answered(
        self,
        name: NamePattern,
        *,
        output: TextPattern | None = None,
        by: str | None = None,
        times: int | None = None,
    ) -> list[CallNode]:
        """Expect that somebody answered a call in the tool's place.

        Args:
            output: their answer: a part of it, a compiled pattern, or a predicate.
        """
        __tracebackhide__ = True
        return self._decided(Respond, "answered", name, None, by, times, lambda said: _holds(output, said.output))

    def decided_by(self, who: str, name: NamePattern | None = None, *, times: int | None = None) -> list[CallNode]:
        """Expect that somebody decided on a call.

        Args:
            who: `person`, `on_tool_call`, `default`, `policy: RULE`, or `policy` for any rule.
            name: the tool; None means any.
        """
        __tracebackhide__ = True
        wanted = Call(_ANY_NAME if name is None else name)
        subject = "a call" if name is None else ""
        return self._counted(wanted, f"decided on by {who}", lambda call: _is_by(who, call), Times.of(times), subject)

    # ── warnings, bounds ─────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def loop_warnings(self) -> list[RepetitionDetected]:
        """What the loop detectors found, in all agents."""
        return [warning for loop in self.loops for turn in loop.iterations for warning in turn.warnings]

    def no_loop_warnings(self) -> Self:
        """Expect that no loop detector fired in any agent."""
        __tracebackhide__ = True
        if self.loop_warnings:
            evidence = [self.timeline.calls[key] for found in self.loop_warnings for key in found.calls]
            self.fail("it goes in circles: " + "; ".join(map(warning_text, self.loop_warnings)), evidence)
        return self

    def at_most(
        self,
        *,
        iterations: int | None = None,
        calls: int | None = None,
        tokens: int | None = None,
        cost: float | None = None,
        sub_agents: int | None = None,
        depth: int | None = None,
    ) -> Self:
        """Expect that it took no more than this, sub-agents included.

        Args:
            iterations: answers of models.
            calls: calls that models asked for.
            tokens: input and output.
            cost: US dollars; a cost that is not known is a failure.
            sub_agents: on all levels.
            depth: levels of agents below it.
        """
        __tracebackhide__ = True
        usage, unit = self.usage, ("" if not self.usage.unreported else " or more, since some answers reported none")
        figures: list[tuple[str, float | None, float | None, str]] = [
            ("iterations", sum(len(loop.iterations) for loop in self.loops), iterations, ""),
            ("calls", len(self.calls), calls, ""),
            ("tokens", usage.input_tokens + usage.output_tokens, tokens, unit),
            ("dollars", None if cost is None else self.cost.total, cost, ""),
            ("sub-agents", len(self.loops) - 1, sub_agents, ""),
            ("levels of sub-agents", self.depth, depth, ""),
        ]
        for noun, figure, bound, remark in figures:
            if bound is not None and figure is None:
                self.fail(f"what it cost is not known, expected at most {bound:g} dollars: {_unknown(self.cost)}")
            if bound is not None and figure is not None and (figure > bound or remark):
                self.fail(f"it took {figure:,.6g} {noun}{remark}, expected at most {bound:,.6g}")
        return self

    # ── how it went with the model, and how it ended ─────────────────────────────────────────────────────────────────

    @property
    def failed_attempts(self) -> list[ModelAttemptFailed]:
        """The model requests that failed, in all agents."""
        return [failed for loop in self.loops for turn in loop.iterations for failed in turn.attempts]

    def retried(self, *, times: int | None = None) -> Self:
        """Expect that requests that failed were sent again to the same model: once or more, or as often as is said."""
        __tracebackhide__ = True
        count = sum(failed.retry and not failed.fallback for failed in self.failed_attempts)
        if not Times.of(times).holds(count):
            self.fail(f"requests were sent again {count}×, expected {Times.of(times)}")
        return self

    def fell_back(self, *, times: int | None = None) -> Self:
        """Expect that a model was given up and the next one asked."""
        __tracebackhide__ = True
        count = sum(failed.fallback for failed in self.failed_attempts)
        if not Times.of(times).holds(count):
            self.fail(f"another model was asked {count}×, expected {Times.of(times)}")
        return self

    def ended(self, outcome: str | type[TerminationReason] | TerminationReason) -> Self:
        """Expect how its own loop ended.

        Args:
            outcome: a word such as `complete`, `max_iterations`, `timeout`, `loop_detected` or `failed`; a termination
                reason such as `MaxIterations(3)`, or its class.
        """
        __tracebackhide__ = True
        reason = self._top.reason
        if isinstance(outcome, str):
            as_expected = outcome == self.outcome
        else:
            as_expected = isinstance(reason, outcome) if isinstance(outcome, type) else reason == outcome
        if not as_expected:
            expected = outcome.__name__ if isinstance(outcome, type) else outcome
            self.fail(f"it ended: {outcome_text(self._top)}, expected {one_line(str(expected))}")
        return self

    def failed_with(self, type_name: str, message: TextPattern | None = None) -> Self:
        """Expect that its own loop ended with an exception.

        Args:
            type_name: the name of its class.
            message: its text: a part of it, a compiled pattern, or a predicate.
        """
        __tracebackhide__ = True
        failure = self._top.failure
        if failure is None or failure.type_name != type_name or not _holds(message, failure.message):
            words = one_line(type_name) + ("" if message is None else f" with {pattern_words(message)}")
            self.fail(f"it ended: {outcome_text(self._top)}, expected {words}")
        return self

    def said(self, text: TextPattern) -> Self:
        """Expect the last answer of its own loop: a part of it, a compiled pattern, or a predicate."""
        __tracebackhide__ = True
        if not text_matches(text, self.text):
            self.fail(f"its last answer is not as expected, {pattern_words(text)}: {one_line(self.text, 400)}")
        return self

    # ── parts of them ────────────────────────────────────────────────────────────────────────────────────────────────

    def _is(self, wanted: Call, call: CallNode) -> bool:
        return wanted.is_named_by(call, self._top) and not wanted.differences(call)

    def _counted(
        self, wanted: Call, verb: str, counts: Callable[[CallNode], bool], times: Times, subject: str = ""
    ) -> list[CallNode]:
        __tracebackhide__ = True
        named = [call for call in self.calls if wanted.is_named_by(call, self._top)]
        found = [call for call in named if counts(call) and not wanted.differences(call)]
        if not times.holds(len(found)):
            lines = [f"{subject or wanted} was {verb} {len(found)}×, expected {times}"]
            lines += near_misses(wanted, named) if len(found) < times.least else []
            self.fail("\n".join(lines), found or named)
        return found

    def _decided(  # noqa: PLR0917  # what four assertions have in common
        self,
        kind: type[ToolApproval],
        verb: str,
        name: NamePattern,
        arguments: ArgumentPattern | None,
        by: str | None,
        times: int | None,
        holds: Callable[..., bool],
    ) -> list[CallNode]:
        __tracebackhide__ = True

        def counts(call: CallNode) -> bool:
            decision = call.decision
            return isinstance(decision, kind) and holds(decision) and (by is None or _is_by(by, call))

        words = verb if by is None else f"{verb} by {by}"
        return self._counted(Call(name, arguments), words, counts, Times.of(times))


def _is_any(_: object) -> bool:
    return True


def _is_by(who: str, call: CallNode) -> bool:
    return call.decided_by is not None and (call.decided_by == who or call.decided_by.startswith(f"{who}: "))


def _holds(pattern: TextPattern | None, text: str) -> bool:
    return pattern is None or text_matches(pattern, text)


def _unknown(cost: Cost) -> str:
    return f"{count_text(cost.unpriced, 'answer')} without a price" if cost.unpriced else "no answers"
