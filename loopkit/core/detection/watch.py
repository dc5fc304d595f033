"""All detectors of one loop: fed turn by turn, a value like the loop's state that it is a part of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from loopkit import events as e
from loopkit.core.detection import settings as names
from loopkit.core.detection.detectors import Detector, RepeatedErrors, RepeatedText, SameResults, UnknownTools
from loopkit.core.detection.rounds import CYCLE_LENGTHS, RepeatedRounds
from loopkit.core.detection.settings import LoopDetectionConfig
from loopkit.core.detection.signatures import batch_signature, digest
from loopkit.core.detection.turns import AskedCall, DetectionRules, Outcomes, Repetition, Turn
from loopkit.messages import Message, ToolDefinition

SHORTEST_TEXT = 40

_FRESH: dict[str, Detector] = {
    names.IDENTICAL_BATCHES: RepeatedRounds.of(names.IDENTICAL_BATCHES, 1),
    names.CYCLE: RepeatedRounds.of(names.CYCLE, *CYCLE_LENGTHS),
    names.SAME_RESULT: SameResults({}),
    names.REPEATED_ERRORS: RepeatedErrors({}),
    names.REPEATED_TEXT: RepeatedText(),
    names.UNKNOWN_TOOLS: UnknownTools(),
}


@dataclass(frozen=True, slots=True)
class Watch:
    """The detectors of one loop.

    Args:
        rules: what is a loop here.
        detectors: those that were asked for.
        turn: the response whose calls have no results yet.
        due: what has to be reported before that response's calls run, in the configuration's order.
    """

    rules: DetectionRules
    detectors: tuple[Detector, ...]
    turn: Turn | None = None
    due: tuple[e.RepetitionDetected, ...] = ()

    @classmethod
    def of(cls, config: LoopDetectionConfig, tools: Iterable[ToolDefinition] | None) -> Watch:
        """Return one that has seen nothing.

        Args:
            tools: those of the loop, or None when they aren't known: then none is unknown, and any may be polling.
        """
        if tools is None:
            return cls._fresh(DetectionRules(config, None, None))
        tools = tuple(tools)
        polling = frozenset(tool.name for tool in tools if tool.polling)
        return cls._fresh(DetectionRules(config, polling, frozenset(tool.name for tool in tools)))

    @classmethod
    def _fresh(cls, rules: DetectionRules) -> Watch:
        return cls(rules, tuple(_FRESH[name] for name in rules.config.detectors))

    def asked(self, loop: str, iteration: int, message: Message) -> Watch:
        """Return it with a response taken in, and what is to be reported of it in `due`.

        Args:
            loop: path of the loop.
            message: the response; one whose calls are all ignored changes nothing.
        """
        turn = self._turn(loop, iteration, message)
        if not turn.calls:
            return replace(self, turn=None, due=())
        detectors: list[Detector] = []
        due: list[e.RepetitionDetected] = []
        for detector in self.detectors:
            after, fired = detector.asked(turn, self.rules)
            detectors.append(after)
            due += [self._report(found, firing) for found, firing in fired]
        return Watch(self.rules, tuple(detectors), turn, tuple(due))

    def answered(self, outcomes: Outcomes) -> Watch:
        """Return it with the results of the last response's calls, by call id."""
        turn = self.turn
        if turn is None:
            return self
        return Watch(self.rules, tuple(one.answered(turn, outcomes) for one in self.detectors))

    def reported(self) -> Watch:
        """Return it without the first report, which was made."""
        return replace(self, due=self.due[1:])

    def restarted(self) -> Watch:
        """Return it as if nothing had happened yet: somebody said something new (spec/faults.md g12)."""
        return self._fresh(self.rules)

    @property
    def repetitions(self) -> tuple[Repetition, ...]:
        """What repeats at the moment, whether it is reported yet or not."""
        return tuple(found for detector in self.detectors for found in detector.standing(self.rules))

    def _report(self, found: Repetition, firing: int) -> e.RepetitionDetected:
        action = self.rules.config.action_at(firing).value
        return e.RepetitionDetected(
            found.detector, found.tool_name, found.count, action, found.since_iteration, found.calls
        )

    def _turn(self, loop: str, iteration: int, message: Message) -> Turn:
        rules = self.rules
        calls = tuple(
            AskedCall(
                e.call_key(loop, iteration, position),
                call.name,
                digest(batch_signature((call,))),
                rules.polls(call.name),
                rules.known is None or call.name in rules.known,
            )
            for position, call in enumerate(message.tool_calls, 1)
            if not rules.ignores(call.name)
        )
        words = " ".join(message.text.split()) if names.REPEATED_TEXT in rules.config.detectors else ""
        return Turn(iteration, calls, digest(words) if len(words) >= SHORTEST_TEXT else "")
