"""The divergence doctor: which differences between a recording and today's run are causes, and which follow from them.

A request's fingerprint covers the whole history, so after one change all later ones differ. Here each request is
compared by what entered the history since the one before, so that a change is reported once, where it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loopkit import events as e
from loopkit.core.loop import LoopCore
from loopkit.drivers.alignment import Pair, align
from loopkit.drivers.differences import (
    RESULTS,
    Difference,
    Reach,
    difference_of_derived,
    difference_of_extra,
    difference_of_input,
    difference_of_left_over,
    difference_of_order,
    difference_of_request,
    differences_of_start,
    differs,
)
from loopkit.drivers.drifts import CALLBACK_SETTINGS, Namer
from loopkit.drivers.findings import Diagnosis, Drift, Finding, Following, Suspect
from loopkit.drivers.following import equal_as_recorded
from loopkit.drivers.live_model import call_drifts
from loopkit.events import Event
from loopkit.messages import ToolCall
from loopkit.outcomes import Modify

_NEVER_COMPARED = (e.ToolEndedLate, e.ToolProgressed, e.ToolAttemptFailed)
_NOT_MET_LIVE = (e.Paused, e.Resumed, e.Reopened, e.DecisionRefused, e.EditRefused)
_SCHEMA_DRIFTS = (Drift.TOOL_MISSING, Drift.TOOL_NEW, Drift.TOOL_SCHEMA)
_IN_HISTORY = (
    e.LoopStarted,
    e.ModelReplied,
    e.ResultProcessed,
    e.MessagesInjected,
    e.HistoryEdited,
    *RESULTS,
)


@dataclass
class _Cause:
    finding: Finding
    reach: Reach
    name: str
    follows: list[Following] = field(default_factory=list)


def diagnose(
    recorded: Sequence[Event],
    came: Sequence[Event],
    *,
    stand_ins: frozenset[int] = frozenset(),
    live: bool = False,
    shown: Mapping[int, Event] | None = None,
) -> Diagnosis:
    """Align two logs of a run and say what changed.

    Args:
        recorded: the recording's events.
        came: today's, numbered from 1.
        stand_ins: numbers of those of `came` that stand for something that is not recorded.
        live: tools or model were live, so that results and decisions may come in any order.
        shown: today's events as they were, by number, when `came` has the recorded numbers of iterations and calls.
    """
    return _Doctor(recorded, came, stand_ins, shown or {}, live=live).diagnosis()


def same_course(recorded: Sequence[Event], came: Sequence[Event]) -> bool:
    """Say whether two logs of a live replay are the same to begin with, loop by loop: nothing has to be aligned then."""
    logs: list[dict[str, list[tuple[int, e.Fact]]]] = []
    for events in (recorded, came):
        log: dict[str, list[tuple[int, e.Fact]]] = {}
        for event in events:
            if not isinstance(event.fact, (*_NEVER_COMPARED, *_NOT_MET_LIVE)):
                log.setdefault(event.loop, []).append((event.iteration, event.fact))
        logs.append(log)
    return logs[0] == logs[1]


class _Doctor:
    def __init__(
        self,
        recorded: Sequence[Event],
        came: Sequence[Event],
        stand_ins: frozenset[int],
        shown: Mapping[int, Event],
        *,
        live: bool,
    ) -> None:
        self._shown = shown
        self._pairs = align(recorded, came, ordered=not live)
        self._stand_ins = stand_ins
        self._live = live
        self._namer = Namer(recorded)
        self._today = Namer([*(shown.values() or came)])
        self._requests = _compared_requests(came, self._pairs)
        self._causes: list[_Cause] = []
        self._inputs: dict[str, list[Event]] = {}
        self._asked: dict[str, int] = {}
        self._masked: set[str] = set()
        self._followed: dict[str, tuple[int, _Cause]] = {}
        broken = [
            {event.loop for event in events if isinstance(event.fact, e.CallbackFailed)} for events in (recorded, came)
        ]
        self._broken_off = broken[0] & broken[1]
        self._behind = _predecessors(came)
        self._came_loops = {event.loop for event in came}
        self._last = {event.loop: event.seq for event in recorded}
        ends = (e.LoopFinished, e.LoopFailed)
        self._ended = {event.loop for event in recorded if isinstance(event.fact, ends)}
        self._results = {event.fact.call for event in recorded if isinstance(event.fact, RESULTS)}

    def diagnosis(self) -> Diagnosis:
        aligned = compared = 0
        for pair in self._pairs:
            if isinstance(pair.event.fact, _NEVER_COMPARED) or (self._live and self._is_chance(pair)):
                continue
            compared += pair.recorded is not None
            aligned += self._examine(pair)
        findings = [dataclasses.replace(cause.finding, follows=tuple(cause.follows)) for cause in self._causes]
        return Diagnosis(tuple(findings), aligned, compared)

    def _is_chance(self, pair: Pair) -> bool:
        """Say whether a difference says nothing, since what runs live takes its own time."""
        fact = pair.event.fact
        if isinstance(fact, _NOT_MET_LIVE):
            return True
        alone = pair.recorded is None or pair.came is None
        # other callbacks of the batch may have been faster than the one that raised
        return alone and isinstance(fact, e.Decided) and pair.event.loop in self._broken_off

    def _examine(self, pair: Pair) -> bool:
        """Look at one pair; say whether both are there and the same."""
        recorded, came = pair.recorded, pair.came
        if recorded is not None and _enters_history(recorded.fact):
            self._inputs.setdefault(recorded.loop, []).append(recorded)
        if isinstance(pair.event.fact, e.ResultsMasked):
            self._masked.add(pair.event.loop)
        if recorded is None:
            self._extra(pair, pair.event)
            return False
        if came is None:
            self._left_over(pair, recorded)
            return False
        same = self._compare(pair, recorded, came)
        if same and pair.moved:
            self._explain_or_blame(pair, difference_of_order(recorded, self._behind.get(came.seq), self._namer))
            return False
        return same

    def _compare(self, pair: Pair, recorded: Event, came: Event) -> bool:
        match recorded.fact, came.fact:
            case e.LoopStarted() as before, e.LoopStarted() as after:
                return self._start(pair, before, after)
            case e.AgentChanged() as before, e.AgentChanged() as after if before != after:
                return self._start(pair, _as_start(before), _as_start(after))
            case e.ModelReplied(before), e.ModelReplied(after) if self._live:
                return self._answer(pair, before.tool_calls, after.tool_calls)
            case e.ModelRequested(), e.ModelRequested():
                return self._request(pair, recorded, came)
        if not differs(pair):
            return True
        describe = difference_of_derived if isinstance(recorded.fact, e.Derived) else difference_of_input
        self._explain_or_blame(pair, describe(recorded, came, self._namer))
        return False

    # ── kinds of pairs ───────────────────────────────────────────────────────────────────────────────────────────────

    def _start(self, pair: Pair, recorded: e.LoopStarted, came: e.LoopStarted) -> bool:
        if equal_as_recorded(came, recorded):
            return True
        for difference in differences_of_start(recorded, came):
            self._blame(pair, difference)
        return False

    def _answer(self, pair: Pair, recorded: Sequence[ToolCall], came: Sequence[ToolCall]) -> bool:
        """Compare what a live model asks for; a recorded answer is always the same."""
        drifts = list(call_drifts(recorded, came))
        if drifts and (cause := self._cause_of(pair)) is not None:
            self._follow(cause, pair, "; ".join(drift.what for drift in drifts))
            return False
        for drift in drifts:
            self._blame(pair, Difference(drift.drift, drift.what, Reach.LOOP, drift.before, drift.after))
        return not drifts

    def _request(self, pair: Pair, recorded: Event, came: Event) -> bool:
        loop = recorded.loop
        since, self._asked[loop] = self._asked.get(loop, 0), recorded.seq
        if loop in self._masked:
            # results of any earlier turn left the view, with what a cause had changed in them
            since = 0
            self._masked.discard(loop)
        inputs = tuple(self._inputs.pop(loop, ()))
        if self._requests.get(came.seq, recorded.fact == came.fact):
            return True
        cause = self._cause_in_request(loop, since)
        if cause is not None:
            self._follow(cause, pair, f"{self._namer.event(recorded)} carries something else")
            return False
        self._blame(pair, difference_of_request(recorded, came, inputs, self._namer))
        return False

    def _cause_in_request(self, loop: str, since: int) -> _Cause | None:
        """Return the newest cause that may have changed what a request carries beside the one before it."""
        near = [
            cause
            for cause in reversed(self._causes)
            if cause.reach is not Reach.NOTHING and cause.finding.loop == loop and cause.finding.seq > since
        ]
        # a configuration is in no request by itself
        told = [cause for cause in near if cause.finding.drift is not Drift.CONFIGURATION]
        lasting = [
            cause
            for cause in reversed(self._causes)
            if cause.reach is Reach.LOOP
            and cause.finding.drift is not Drift.HISTORY
            and _related(cause.finding.loop, loop)
        ]
        # what followed from a cause may have brought something into the history, such as a warning
        seq, cause = self._followed.get(loop, (0, None))
        effects = [cause] if cause is not None and seq > since else []
        return next(iter([*told, *near, *effects, *lasting]), None)

    def _left_over(self, pair: Pair, recorded: Event) -> None:
        unstarted = recorded.loop not in self._came_loops and self._cause_of(pair) is None
        difference = difference_of_left_over(recorded, self._namer, live=self._live, unstarted=unstarted)
        self._explain_or_blame(pair, difference)

    def _extra(self, pair: Pair, came: Event) -> None:
        if self._is_beyond_unfinished(pair):
            return
        stands_in = came.seq in self._stand_ins
        difference = difference_of_extra(came, self._as_shown(pair), self._today, stands_in=stands_in)
        self._explain_or_blame(pair, difference)

    def _is_beyond_unfinished(self, pair: Pair) -> bool:
        """Say whether something comes behind the end of an unfinished recording, which says nothing of it."""
        loop = pair.event.loop
        if loop in self._last:
            return loop not in self._ended and pair.before == self._last[loop]
        return e.ROOT not in self._ended and loop.rpartition("#")[0] not in self._results

    # ── causes ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _explain_or_blame(self, pair: Pair, difference: Difference) -> None:
        cause = self._cause_of(pair)
        if cause is not None:
            self._follow(cause, pair, difference.what)
        else:
            self._blame(pair, difference)

    def _cause_of(self, pair: Pair) -> _Cause | None:
        """Return the newest cause that may have brought a difference about."""
        fact, loop = pair.event.fact, pair.event.loop
        by_itself = _is_input_said_otherwise(pair)
        for cause in reversed(self._causes):
            if cause.reach is not Reach.LOOP or not _related(cause.finding.loop, loop):
                continue
            if by_itself and not _changes_input(cause, fact) and not self._changes_check(cause, pair):
                continue
            return cause
        return None

    def _changes_check(self, cause: _Cause, pair: Pair) -> bool:
        """Say whether a decision is the same, and its tool's schema is what says something else of its arguments."""
        recorded, came = (None if event is None else event.fact for event in (pair.recorded, pair.came))
        if not isinstance(recorded, e.Decided) or not isinstance(came, e.Decided):
            return False
        same_decision = dataclasses.replace(recorded, verdict=came.verdict) == came
        return same_decision and cause.finding.drift in _SCHEMA_DRIFTS and cause.name == self._namer.tool(recorded.call)

    def _as_shown(self, pair: Pair) -> Event:
        return self._shown.get(pair.event.seq, pair.event) if pair.recorded is None else pair.event

    def _follow(self, cause: _Cause, pair: Pair, what: str) -> None:
        event = self._as_shown(pair)
        self._followed[pair.event.loop] = pair.seq, cause
        cause.follows.append(Following(pair.seq, event.loop, event.iteration, what))

    def _blame(self, pair: Pair, difference: Difference) -> None:
        event = self._as_shown(pair)
        call = getattr(event.fact, "call", None)
        finding = Finding(
            drift=difference.drift,
            what=difference.what,
            seq=pair.seq,
            loop=event.loop,
            iteration=event.iteration,
            step=(self._today if pair.recorded is None else self._namer).event(event),
            call=call if isinstance(call, str) else None,
            recorded=None if pair.recorded is None else pair.recorded.fact,
            came=None if pair.came is None else pair.came.fact,
            before=difference.before,
            after=difference.after,
            suspects=tuple(Suspect(each.seq, self._namer.event(each)) for each in difference.suspects),
        )
        self._causes.append(_Cause(finding, difference.reach, difference.name))


def _is_input_said_otherwise(pair: Pair) -> bool:
    """Say whether somebody said something else; that the same was said in another iteration is the loop's doing."""
    if pair.recorded is None or pair.came is None or pair.moved:
        return False
    return not isinstance(pair.recorded.fact, (e.Derived, e.ModelReplied)) and pair.recorded.fact != pair.came.fact


def _changes_input(cause: _Cause, fact: e.Fact) -> bool:
    """Say whether a cause changes what a callback or a tool says; mostly that is a change by itself.

    It does when the callback was added or taken away, when the tool asked a changed sub-agent, or when a changed result was
    rewritten.
    """
    call = getattr(fact, "call", None)
    if cause.finding.drift is Drift.CONFIGURATION and cause.name in CALLBACK_SETTINGS:
        return True
    if isinstance(cause.finding.recorded or cause.finding.came, e.ModelReplied):
        # a live model asks for something else
        return True
    if isinstance(call, str) and cause.finding.loop.startswith(f"{call}#"):
        return True
    return isinstance(fact, e.ResultProcessed) and cause.finding.call == call


def _as_start(fact: e.AgentChanged) -> e.LoopStarted:
    """Return the agent that a loop goes on with as one that starts a loop, so that its parts are compared."""
    return e.LoopStarted(
        fact.agent, (), fact.tools, fact.configuration, fact.model, fact.settings, fallbacks=fact.fallbacks
    )


def _enters_history(fact: e.Fact) -> bool:
    return isinstance(fact, _IN_HISTORY) or (isinstance(fact, e.Decided) and isinstance(fact.decision, Modify))


def _related(one: str, other: str) -> bool:
    """Say whether one loop is the other, or above or below it."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _predecessors(events: Sequence[Event]) -> dict[int, Event]:
    """Return what each event comes behind in its loop, by its number."""
    newest: dict[str, Event] = {}
    found: dict[int, Event] = {}
    for event in events:
        if event.loop in newest:
            found[event.seq] = newest[event.loop]
        newest[event.loop] = event
    return found


def _compared_requests(came: Sequence[Event], pairs: Sequence[Pair]) -> dict[int, bool]:
    """Say of each of today's requests whether what was added since the one before is what was recorded."""
    recorded = {
        pair.came.seq: pair.recorded.fact
        for pair in pairs
        if pair.came is not None and pair.recorded is not None and isinstance(pair.recorded.fact, e.ModelRequested)
    }
    if not recorded:
        return {}
    cores: dict[str, LoopCore] = {}
    grown: dict[str, int] = {}
    same: dict[int, bool] = {}
    for event in came:
        if isinstance(event.fact, e.LoopStarted):
            cores[event.loop] = LoopCore.started(event.loop, event.fact)
            continue
        core = cores[event.loop]
        request = recorded.get(event.seq)
        if isinstance(event.fact, e.ModelRequested) and request is not None:
            more = event.fact.message_count - request.message_count
            same[event.seq] = (
                core.state.fingerprint == request.fingerprint
                and more == grown.get(event.loop, 0)
                and (event.fact.attempt, event.fact.binding) == (request.attempt, request.binding)
            )
            grown[event.loop] = more
            core.apply(event)
            # from here on, only what is added counts
            core.state = core.state.changed(fingerprint=request.fingerprint)
        else:
            core.apply(event)
    return same
