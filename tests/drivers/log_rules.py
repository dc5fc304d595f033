"""What is so in every log, whatever happened: checked by the property tests and after every live test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from loopkit import events as e
from loopkit.core.loop import apply_to
from loopkit.core.state import LoopState
from loopkit.messages import NO_USAGE, UNREPORTED_USAGE, Message

ENDINGS = (e.ToolReturned, e.ToolFailed, e.ToolAbandoned, e.ToolSkipped)
TERMINAL = (e.LoopFinished, e.LoopFailed)


def check_log(events: Sequence[e.Event], *, whole: bool = True) -> dict[str, LoopState]:
    """Assert what holds for every log and return the states after it.

    Args:
        whole: the run has ended.
    """
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    states = _check_requests(events)
    _check_loops(events, whole=whole)
    _check_calls(events)
    _check_attempts(events)
    _check_tool_attempts(events)
    for state in states.values():
        check_results_in_order(state.history)
    if whole:
        _check_usage(events)
    return states


def answers_every_call(messages: Iterable[Message]) -> bool:
    """What providers demand: the calls of a message are answered, once each, before the next message."""
    open_calls: Counter[str] = Counter()
    for message in messages:
        if message.role == "tool":
            for result in message.tool_results:
                if not open_calls[result.tool_call_id]:
                    return False
                open_calls[result.tool_call_id] -= 1
        else:
            if open_calls.total():
                return False
            open_calls = Counter(call.id for call in message.tool_calls)
    return not open_calls.total()


def check_results_in_order(messages: Iterable[Message]) -> None:
    """Results follow their calls in call order (spec/loop.md 3.14)."""
    waiting: list[str] = []
    for message in messages:
        if message.role != "tool":
            waiting = [call.id for call in message.tool_calls]
            continue
        (result,) = message.tool_results
        assert result.tool_call_id in waiting, f"{result} stands in no place of its own"
        waiting = waiting[waiting.index(result.tool_call_id) + 1 :]


def _check_requests(events: Sequence[e.Event]) -> dict[str, LoopState]:
    """Every request is a valid history, and what it says of itself is so (spec/loop.md 3, last part)."""
    states: dict[str, LoopState] = {}
    for event in events:
        if isinstance(event.fact, e.ModelRequested):
            sent = states[event.loop].view
            assert answers_every_call(sent), event
            assert (event.fact.message_count, event.fact.fingerprint) == (len(sent), states[event.loop].fingerprint)
        apply_to(states, event)
    return states


def _check_loops(events: Sequence[e.Event], *, whole: bool) -> None:
    """Each loop starts once and ends once, descendants before what they are below (spec/loop.md 7.4)."""
    started: dict[str, e.LoopStarted] = {}
    ended: dict[str, int] = {}
    call_ended: dict[str, int] = {}
    for event in events:
        if isinstance(event.fact, e.LoopStarted):
            assert event.loop not in started, f"{event.loop} starts twice"
            parent = event.fact.parent_call
            assert parent not in call_ended, f"{event.loop} starts after its call ended"
            started[event.loop] = event.fact
            continue
        assert event.loop in started, f"{event.loop} never started"
        if event.loop in ended:
            assert isinstance(event.fact, e.ToolEndedLate), f"{event} comes after the end of its loop"
        if isinstance(event.fact, TERMINAL):
            ended[event.loop] = event.seq
        if isinstance(event.fact, ENDINGS):
            call_ended[event.fact.call] = event.seq
    if whole:
        assert set(ended) == set(started)
    for loop, fact in started.items():
        call = fact.parent_call
        if call is None:
            continue
        above = call.rpartition("/")[0]
        if call in call_ended and not (loop in ended and ended[loop] < call_ended[call]):
            raise AssertionError(f"{loop} goes on after its call ended")
        if above in ended:
            assert ended[loop] < ended[above], f"{above} ends before {loop} below it"


def _check_calls(events: Sequence[e.Event]) -> None:
    """Each version of a call is requested and decided, each call started and ended at most once."""
    for kinds in ((e.DecisionRequested,), (e.Decided, e.DecisionExpired), (e.ToolStarted,), ENDINGS):
        counts = Counter(
            (event.fact.call, getattr(event.fact, "version", None)) for event in events if isinstance(event.fact, kinds)
        )
        assert max(counts.values(), default=0) <= 1, counts
    starts = {event.fact.call: event.seq for event in events if isinstance(event.fact, e.ToolStarted)}
    for event in events:
        if isinstance(event.fact, (e.ToolReturned, e.ToolFailed, e.ToolAbandoned)):
            assert starts[event.fact.call] < event.seq


def _check_attempts(events: Sequence[e.Event]) -> None:
    """Attempts of an iteration are numbered; a failed one says whether and whom the next one asks (spec/loop.md 8.3, 9.2)."""
    asked: dict[str, int] = {}
    failed: dict[tuple[str, int], e.ModelAttemptFailed] = {}
    for event in events:
        place = (event.loop, event.iteration)
        if isinstance(event.fact, e.ModelRequested):
            before = failed.get(place)
            assert event.fact.attempt == (1 if before is None else before.attempt + 1), event
            assert before is None or before.retry, event
            asked[event.loop] = asked.get(event.loop, 0) + (before is not None and before.fallback)
            assert event.fact.binding == asked[event.loop], event
        elif isinstance(event.fact, e.ModelAttemptFailed):
            assert event.fact.retry or not (event.fact.fallback or event.fact.delay), event
            failed[place] = event.fact


def _check_tool_attempts(events: Sequence[e.Event]) -> None:
    """Failed attempts of a call are numbered from 1 and stand between its start and its end."""
    running: dict[str, int] = {}
    for event in events:
        match event.fact:
            case e.ToolStarted(call):
                running[call] = 0
            case e.ToolAttemptFailed(call, attempt):
                assert attempt == running[call] + 1, event
                running[call] = attempt
            case e.ToolProgressed(call):
                assert call in running, event
            case e.ToolReturned(call) | e.ToolFailed(call) | e.ToolAbandoned(call):
                del running[call]


def _check_usage(events: Sequence[e.Event]) -> None:
    """A loop's usage is the sum of its answers'; what broke has an unknown one (spec/loop.md 3.7)."""
    sums = {event.loop: NO_USAGE for event in events}
    for event in events:
        if isinstance(event.fact, e.ModelReplied):
            sums[event.loop] += event.fact.usage or UNREPORTED_USAGE
        elif isinstance(event.fact, e.ModelInterrupted) or (
            isinstance(event.fact, e.ModelAttemptFailed) and event.fact.unreported
        ):
            sums[event.loop] += UNREPORTED_USAGE
        elif isinstance(event.fact, TERMINAL):
            assert event.fact.usage == sums[event.loop]
