"""Forks: the prefix is the parent's, one thing is changed, the rest is live (DESIGN §4)."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from loopkit import ScriptedProvider, Usage, tool
from loopkit import events as e
from loopkit.core.loop import fold
from loopkit.drivers.fork import fork
from loopkit.errors import RecordingError, UserError
from loopkit.outcomes import (
    Approve,
    Complete,
    Continue,
    Deny,
    MaxIterations,
    Modify,
    Respond,
    ToolApproval,
)
from loopkit.recording.reader import read_recording
from loopkit.recording.writer import Recorder
from tests.drivers.fork_stage import agent, facts, forked, kept, look, middle, parent_of, ran
from tests.drivers.stage import Stage, ask, in_a_thread


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


# ── one call ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("edit", "content", "runs"),
    [
        (Deny("not that"), "not that", []),
        (Modify({"path": "z"}), "looked at z", ["look z"]),
        (Respond("seven"), "seven", []),
        (Approve(), "looked at b", ["look b"]),
        (None, "looked at b", ["look b"]),
    ],
    ids=["deny", "modify", "respond", "approve", "as it was"],
)
def test_one_decision_is_changed(edit: ToolApproval | None, content: str, runs: list[str], tmp_path: Path) -> None:
    """What came before is not run or paid for again."""
    story = agent(ask("look", path="a"), ask("look", path="b"))
    parent = parent_of(story, tmp_path / "run.jsonl")
    result, events = forked(parent, "root/2.1", edit, agent(ask("look", path="a"), ask("look", path="b")))
    assert result.text == f"results: looked at a, {content}"
    assert ran == runs
    (decided,) = [fact for fact in facts(events, e.Decided) if fact.call == "root/2.1"]
    assert decided.by == ("policy: test" if edit is None else "person")
    assert result.total_usage == Usage(9, 6)


def test_the_model_is_asked_only_behind_the_cut(tmp_path: Path) -> None:
    parent = parent_of(agent(ask("look", path="a"), ask("look", path="b")), tmp_path / "run.jsonl")
    today = agent(ask("look", path="a"), ask("look", path="b"))
    forked(parent, "root/2.1", Deny("no"), today)
    assert isinstance(today.provider, ScriptedProvider)
    assert [len(request.messages) for request in today.provider.requests] == [5]


def test_time_goes_on_from_the_prefix(tmp_path: Path) -> None:
    """DESIGN §8"""
    parent = parent_of(agent(ask("look", path="a")), tmp_path / "run.jsonl")
    _, events = forked(parent, "root/1.1", Deny("no"), agent(ask("look", path="a")))
    times = [event.t for event in events]
    assert times == sorted(times)


@pytest.mark.parametrize("position", [1, 2, 3])
def test_siblings_keep_their_decisions_and_results(position: int, tmp_path: Path) -> None:
    """DESIGN §4, spec/faults.md c5: inside a parallel batch; what had run is not run again."""
    calls = [ask("look", path="a"), ask("look", "2", path="b"), ask("look", "3", path="c")]
    stage = Stage(answers={})
    parent = parent_of(agent(calls), tmp_path / "run.jsonl", stage)
    result, events = forked(parent, f"root/1.{position}", Modify({"path": "z"}), agent(calls))
    assert ran == ["look z"]
    expected = [f"looked at {word}" for word in "abc"]
    expected[position - 1] = "looked at z"
    assert result.text == "results: " + ", ".join(expected)
    assert len(facts(events, e.Decided)) == 3


def test_a_sibling_that_was_denied_stays_denied(tmp_path: Path) -> None:
    calls = [ask("look", path="a"), ask("read", path="b")]
    parent = parent_of(agent(calls), tmp_path / "run.jsonl", Stage(answers={"read": Deny("never")}))
    result, _ = forked(parent, "root/1.1", Deny("nor that"), agent(calls))
    assert result.text == "results: nor that, never"
    assert ran == []


def test_a_sibling_without_a_result_runs_again_if_it_only_reads(tmp_path: Path) -> None:
    """DESIGN §4: otherwise its outcome is unknown."""
    calls = [ask("look", path="a"), ask("look", "2", path="b"), ask("read", path="c")]
    parent = parent_of(agent(calls), tmp_path / "run.jsonl")
    events = read_recording(parent).events
    first_end = next(event.seq for event in events if isinstance(event.fact, e.ToolReturned))
    lines = parent.read_bytes().splitlines(keepends=True)
    parent.write_bytes(b"".join(lines[:first_end]))
    result, after = forked(parent, "root/1.1", Respond("mine"), agent(calls))
    assert ran == ["read c"]
    assert [fact.call for fact in facts(after, e.ToolAbandoned)] == ["root/1.2"]
    assert result.text.startswith("results: mine, This call was interrupted")
    assert result.text.endswith("read c")


def test_an_edit_that_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """One line that says where and why; also inside a sub-agent, whose tools are not the root's."""
    parent = parent_of(agent(ask("middle"), tools=[middle]), tmp_path / "run.jsonl")
    with pytest.raises(UserError, match=r"the arguments don't fit look: .*path"):
        forked(parent, "root/1.1#1/1.1", Modify({"wrong": 1}), agent(ask("middle"), tools=[middle]))
    assert not (tmp_path / "fork.jsonl").exists()
    assert ran == []


# ── event numbers, pauses, unfinished runs ───────────────────────────────────────────────────────────────────────────


def test_every_event_number_can_be_gone_on_from(tmp_path: Path) -> None:
    """Up to the end of the run, where there is nothing to go on with."""
    calls = [ask("middle"), ask("look", path="a")]
    parent = parent_of(agent(calls, tools=[middle, look]), tmp_path / "run.jsonl")
    events = read_recording(parent).events
    for number in range(1, len(events)):
        result, after = forked(parent, number, None, agent(calls, tools=[middle, look]))
        assert result.termination_reason == Complete(), events[number - 1]
        assert result.text.startswith("results: ")
        assert kept(parent) == number
        assert fold(after)["root"].finished is not None


def test_a_moment_in_which_the_run_was_being_stopped_is_refused(tmp_path: Path) -> None:
    """It would wait for ever for handlers that nobody runs; what came before can be gone on from."""
    stage = Stage()

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.ToolStarted):
            in_a_thread(lambda: stage.root.stop("person"))

    @tool
    async def hang() -> str:
        """Never return."""
        await anyio.sleep_forever()
        return ""

    stage.on_event = on_event
    parent = parent_of(agent(ask("hang"), tools=[hang]), tmp_path / "run.jsonl", stage)
    stopped = next(event.seq for event in read_recording(parent).events if isinstance(event.fact, e.RunStopped))
    for number in (stopped, stopped + 1):
        with pytest.raises(UserError, match="the run has ended"):
            forked(parent, number, None, agent(ask("hang"), tools=[hang]))
    result, _ = forked(parent, stopped - 1, None, agent(ask("hang"), tools=[hang]))
    assert result.text.startswith("results: This call was interrupted")


@pytest.mark.parametrize("number", [0, -1, 10_000])
def test_a_number_beyond_the_run_is_refused(number: int, tmp_path: Path) -> None:
    parent = parent_of(agent(), tmp_path / "run.jsonl")
    with pytest.raises(UserError, match="has the events 1 to"):
        forked(parent, number, None, agent())


def test_what_cannot_be_forked_is_refused_in_one_line(tmp_path: Path) -> None:
    parent = parent_of(agent(ask("look", path="a")), tmp_path / "run.jsonl")
    last = len(read_recording(parent).events)
    cases: list[tuple[int | str, ToolApproval | None, str]] = [
        (last, None, "the run has ended"),
        (2, Deny("no"), "is of no call"),
        ("root/9.9", Deny("no"), "decided calls: root/1.1"),
    ]
    for at, edit, words in cases:
        with pytest.raises(UserError, match=words) as caught:
            forked(parent, at, edit, agent())
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "fork.jsonl").exists()


def test_a_missing_parent_is_an_error_in_one_line(tmp_path: Path) -> None:
    async def main() -> None:
        await fork(tmp_path / "missing.jsonl", at=1, agent=agent(), recorder=Recorder(tmp_path / "fork.jsonl"))

    with pytest.raises(RecordingError, match=r"missing\.jsonl"):
        anyio.run(main)


def test_a_number_of_a_call_names_its_decision(tmp_path: Path) -> None:
    parent = parent_of(agent(ask("look", path="a")), tmp_path / "run.jsonl")
    ended = next(event.seq for event in read_recording(parent).events if isinstance(event.fact, e.ToolReturned))
    result, _ = forked(parent, ended, Deny("no"), agent(ask("look", path="a")))
    assert result.text == "results: no"


def test_a_paused_moment_goes_on(tmp_path: Path) -> None:
    """Nobody of then is there to resume it."""
    stage = Stage(gates=["root/1.1.call"])

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.Paused):
            in_a_thread(lambda: stage.root.post(e.Resumed("root/1.1.call", "person")))

    stage.on_event = on_event
    calls = [ask("look", path="a"), ask("look", "2", path="b")]
    parent = parent_of(agent(calls), tmp_path / "run.jsonl", stage)
    paused = next(event.seq for event in read_recording(parent).events if isinstance(event.fact, e.Paused))
    result, events = forked(parent, paused, None, agent(calls))
    assert result.text == "results: looked at a, looked at b"
    assert facts(events, e.Resumed) == [e.Resumed("root/1.1.call", "fork")]


@pytest.mark.parametrize("deep", [False, True], ids=["root", "sub-agent"])
def test_a_pending_call_of_an_unfinished_recording(deep: bool, tmp_path: Path) -> None:
    """A run that died while it waited for a person (spec/faults.md c12)."""
    story = (ask("middle"),) if deep else (ask("look", path="a"),)
    call = "root/1.1#1/1.1" if deep else "root/1.1"
    parent = parent_of(agent(*story, tools=[look, middle]), tmp_path / "run.jsonl")
    events = read_recording(parent).events
    asked = next(ev.seq for ev in events if isinstance(ev.fact, e.DecisionRequested) and ev.fact.call == call)
    parent.write_bytes(b"".join(parent.read_bytes().splitlines(keepends=True)[: asked + 1]))
    result, _ = forked(parent, call, Deny("no"), agent(*story, tools=[look, middle]))
    assert "no" in result.text
    result, _ = forked(parent, call, None, agent(*story, tools=[look, middle]))
    assert "looked at" in result.text


def test_a_fork_of_a_fork(tmp_path: Path) -> None:
    story = (ask("look", path="a"), ask("look", path="b"))
    parent = parent_of(agent(*story), tmp_path / "run.jsonl")
    forked(parent, "root/2.1", Deny("no"), agent(*story))
    again = (tmp_path / "fork.jsonl").rename(tmp_path / "second.jsonl")
    result, _ = forked(again, "root/1.1", Respond("one"), agent(*story))
    assert result.text == "results: one, looked at b"


def test_later_calls_are_decided_by_whoever_watches(tmp_path: Path) -> None:
    """DESIGN §4, spec/faults.md d12: a fork asks anew, it takes no old answer for granted."""
    story = (ask("look", path="a"), ask("look", path="b"))
    parent = parent_of(agent(*story), tmp_path / "run.jsonl")
    result, _ = forked(parent, "root/1.1", Approve(), agent(*story), Stage(answers={"look": Deny("by policy")}))
    assert result.text == "results: looked at a, by policy"


def test_a_fork_goes_on_with_todays_limits_and_says_so(tmp_path: Path) -> None:
    """DESIGN §4: today's configuration holds from the cut on; the recorded one stays that of what came before."""
    story = [ask("look", path=word) for word in "abcde"]
    parent = parent_of(agent(*story, max_iterations=3, stop_when=lambda _: Continue()), tmp_path / "run.jsonl")
    result, events = forked(parent, "root/2.1", Deny("no"), agent(*story, max_iterations=4))
    assert result.termination_reason == MaxIterations(4)
    (changed,) = facts(events, e.AgentChanged)
    assert changed.configuration["max_iterations"] == 4
    assert changed.by == "fork"
    assert facts(events, e.LoopStarted)[0].configuration["max_iterations"] == 3
