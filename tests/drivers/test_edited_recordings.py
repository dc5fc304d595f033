"""Recordings that somebody changed by hand: a replay says at which event (DESIGN §4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from loopkit import Agent, LoopAction, LoopDetectionConfig, ScriptedProvider, ToolCall, ToolLoopConfig, tool
from loopkit import events as e
from loopkit.drivers.replay import replay
from loopkit.messages import Usage
from loopkit.outcomes import Approve, Complete
from loopkit.recording.reader import read_recording
from loopkit.recording.writer import Recorder
from tests.drivers.stage import Stage
from tests.drivers.test_replay import of_events, story


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[e.Event]:
    """A run with two calls at once and a sub-agent."""
    path = Path(tmp_path_factory.mktemp("edited")) / "run.jsonl"
    anyio.run(Stage().run, story(timeout=60), Recorder(path))
    return list(read_recording(path).events)


def derived(events: list[e.Event]) -> list[int]:
    return [place for place, event in enumerate(events) if isinstance(event.fact, e.Derived)]


def test_a_derived_event_that_is_missing_shows_in_its_place(events: list[e.Event]) -> None:
    """Every one of them, but for the last of all: then the recording is unfinished."""
    for place in derived(events)[:-1]:
        report = replay(of_events([*events[:place], *events[place + 1 :]]))
        assert report.divergence is not None, events[place]
        assert report.divergence.seq == place + 1, (events[place], report.text())
        assert report.divergence.came == events[place].fact
    unfinished = replay(of_events(events[:-1]))
    assert unfinished.same
    assert not unfinished.finished


def test_a_derived_event_that_comes_twice_shows_at_the_second(events: list[e.Event]) -> None:
    for place in derived(events):
        report = replay(of_events([*events[: place + 1], events[place], *events[place + 1 :]]))
        assert report.divergence is not None, events[place]
        assert report.divergence.seq == place + 2, (events[place], report.text())
        assert report.divergence.recorded == events[place].fact


def test_derived_events_that_changed_places_show_at_the_first(events: list[e.Event]) -> None:
    swapped = 0
    for place in derived(events)[:-1]:
        one, other = events[place], events[place + 1]
        if not isinstance(other.fact, e.Derived) or one.loop != other.loop:
            continue
        swapped += 1
        report = replay(of_events([*events[:place], other, one, *events[place + 2 :]]))
        assert report.divergence is not None
        assert (report.divergence.seq, report.divergence.came) == (place + 1, one.fact)
    assert swapped > 3


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (e.ModelRequested, lambda fact: dataclasses.replace(fact, message_count=99)),
        (e.ModelRequested, lambda fact: dataclasses.replace(fact, fingerprint="0" * 16)),
        (e.DecisionRequested, lambda fact: dataclasses.replace(fact, version=2)),
        (e.DecisionRequested, lambda fact: dataclasses.replace(fact, name="other")),
        (e.ToolStarted, lambda fact: e.ToolStarted("root/7.7")),
        (e.ToolStarted, lambda fact: e.ToolSkipped(fact.call, "denied", "no")),
        (e.LoopFinished, lambda fact: dataclasses.replace(fact, usage=Usage(1, 1))),
        (e.LoopFinished, lambda fact: e.LoopFinished(Complete(), 7, fact.usage)),
    ],
)
def test_a_derived_event_that_was_changed_shows(
    kind: type[e.Fact], change: Callable[[e.Fact], e.Fact], events: list[e.Event]
) -> None:
    for place, event in enumerate(events):
        if isinstance(event.fact, kind):
            changed = dataclasses.replace(event, fact=change(event.fact))
            report = replay(of_events([*events[:place], changed, *events[place + 1 :]]))
            assert report.divergence is not None
            assert report.divergence.seq == place + 1
            assert (report.divergence.recorded, report.divergence.came) == (changed.fact, event.fact)


def test_an_event_of_another_iteration_shows(events: list[e.Event]) -> None:
    for place, event in enumerate(events[1:], 1):
        changed = dataclasses.replace(event, iteration=event.iteration + 1)
        report = replay(of_events([*events[:place], changed, *events[place + 1 :]]))
        assert report.divergence is not None, event
        assert report.divergence.seq == place + 1


def test_an_input_that_was_changed_shows_where_something_follows_from_it(events: list[e.Event]) -> None:
    """A result is in the next request's fingerprint."""
    place = next(place for place, event in enumerate(events) if isinstance(event.fact, e.ToolReturned))
    changed = dataclasses.replace(events[place], fact=e.ToolReturned("root/1.1", "something else"))
    report = replay(of_events([*events[:place], changed, *events[place + 1 :]]))
    assert report.divergence is not None
    assert isinstance(report.divergence.recorded, e.ModelRequested)
    assert report.divergence.iteration == 2
    assert "the request differs" in report.divergence.what


@pytest.mark.parametrize(
    "kind", [e.ModelReplied, e.Decided, e.ToolReturned, e.ClockRead], ids=lambda kind: kind.__name__
)
def test_an_input_that_comes_twice_shows(kind: type[e.Fact], events: list[e.Event]) -> None:
    """Also behind the end of its loop: left-over events are a difference."""
    for place, event in enumerate(events):
        if isinstance(event.fact, kind):
            for later in (place + 1, len(events)):
                report = replay(of_events([*events[:later], event, *events[later:]]))
                assert report.divergence is not None, event
                assert report.divergence.seq == later + 1


@pytest.mark.parametrize(
    "fact",
    [
        e.ToolReturned("root/9.9", "x"),
        e.ToolReturned("nowhere", "x"),
        e.ToolAbandoned("root/1.1", "stopped"),
        e.ToolAbandoned("root/9.9", "stopped"),
        e.Decided("root/1.1", 7, Approve(), "person"),
        e.DecisionExpired("root/9.9", 1),
        e.ResultProcessed("root/9.9", "x", "shorten"),
        e.ModelInterrupted("stopped"),
        e.StopAnswered(True),
        e.CallbackFailed("stop_when", e.Failure("KeyError", "x")),
        e.ClockRead(1.0),
        e.LoopStarted("again", ()),
    ],
    ids=lambda fact: type(fact).__name__,
)
def test_an_input_that_nobody_asked_for_shows(fact: e.Fact, events: list[e.Event]) -> None:
    """Never an exception, wherever it stands."""
    for place in range(1, len(events)):
        event = dataclasses.replace(events[place - 1], fact=fact)
        report = replay(of_events([*events[:place], event, *events[place:]]))
        assert not report.same, place


def test_a_loop_that_never_ends_shows(events: list[e.Event]) -> None:
    """The root has ended, so its sub-agent must have."""
    ends = [place for place, event in enumerate(events) if isinstance(event.fact, e.LoopFinished)]
    child = [event for event in events if event.loop != "root"]
    without_answer = [
        event
        for place, event in enumerate(events)
        if place not in ends[:1] and event is not child[-1] and event is not child[-2]
    ]
    report = replay(of_events(without_answer))
    assert report.divergence is not None
    assert report.divergence.loop == "root/2.1#1"


def test_a_warning_that_follows_from_a_changed_result_is_no_cause(tmp_path: Path) -> None:
    """A detector fires otherwise on it, and its warning enters the history an iteration later."""

    @tool
    async def poll() -> str:
        """Look whether it is done."""
        return "waiting"

    config = LoopDetectionConfig(2, LoopAction.INJECT_WARNING, ("same call same result",))
    agent = Agent(
        ScriptedProvider([ToolCall("c", "poll", {})] * 4 + ["done"]),
        tools=[poll],
        config=ToolLoopConfig(loop_detection=config),
    )
    anyio.run(Stage().run, agent, Recorder(tmp_path / "run.jsonl"))
    events = list(read_recording(tmp_path / "run.jsonl").events)
    place = next(place for place, event in enumerate(events) if isinstance(event.fact, e.ToolReturned))
    events[place] = dataclasses.replace(events[place], fact=e.ToolReturned("root/1.1", "ready"))
    report = replay(of_events(events))
    assert report.diagnosis is not None
    (finding,) = report.diagnosis.findings
    assert place + 1 in [suspect.seq for suspect in finding.suspects]
    assert any("repetition" in each.what for each in finding.follows)
    assert any("carries something else" in each.what for each in finding.follows)
