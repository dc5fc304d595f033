"""Going through a run, forwards and back: the same commands live, in its recording, and looking back in a live run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopkit import Agent, ScriptedProvider, ToolCall, tool
from loopkit import events as e
from loopkit.debugger.forking import fork_session
from loopkit.debugger.policy import ApproveAll
from loopkit.debugger.session import Session
from loopkit.errors import ConditionError
from loopkit.outcomes import Deny
from tests.debugger.live_runs import Eyes, Held, add, assert_sound, facts_of, started

SUM = ToolCall("c1", "add", {"a": 1, "b": 2})
ASK = ToolCall("d", "delegate", {"task": "one"})


def delegate() -> Any:
    @tool
    async def delegate(task: str) -> str:
        """Ask a helper."""
        helper = Agent(ScriptedProvider([SUM, "helped"]), tools=[add], name="helper")
        return (await helper.run(task)).text

    return delegate


def stand(eyes: Eyes, times: int = 1) -> str:
    """Wait until the run has stood so many times, and stands, or has ended; where it stands."""
    session = eyes.session
    eyes.until(lambda: session.timeline.ended or (session.timeline.paused and stood_in(session) >= times))
    return "end" if session.timeline.ended else session.timeline.paused[0].paused_at or ""


def stood_in(session: Session) -> int:
    return len(facts_of(session, e.Paused))


def go(eyes: Eyes, command: str) -> str:
    """Do a command where the run stands, and wait for where it stands next."""
    times = stood_in(eyes.session)
    getattr(eyes.session, command)()
    return stand(eyes, times + 1)


def held_at_first_gate(path: Path, backend: str) -> Any:
    held = Held()
    script = [ToolCall("w", "wait"), ASK, [SUM, ASK], "done"]
    return held, started(script, path, held.async_tool, delegate(), add, backend=backend, policy=ApproveAll())


@pytest.mark.parametrize(
    ("commands", "places"),
    [
        (["next_iteration"] * 3, ["root/2.request", "root/3.request", "root/4.request"]),
        (
            ["over"] * 7,
            ["root/2.request", "root/2.response", "root/2.1.call", "root/2.1.result", "root/3.request", "root/3.response", "root/3.1.call"],
        ),
        (
            ["next_iteration", "into", "into", "out", "next_iteration"],
            ["root/2.request", "root/2.1#1/1.request", "root/2.1#1/2.request", "root/2.1.result", "root/3.request"],
        ),
        (["next_iteration", "into", "step", "step"], ["root/2.request", "root/2.1#1/1.request", "root/2.1#1/1.response", "root/2.1#1/1.1.call"]),
        (["next_iteration", "into", "next_iteration", "over"], ["root/2.request", "root/2.1#1/1.request", "root/2.1#1/2.request", "root/2.1#1/2.response"]),
        (["out"], ["end"]),
    ],
)  # fmt: skip
def test_commands_reach_the_same_stops_live_and_in_the_recording(
    commands: list[str], places: list[str], backend: str, path: Path
) -> None:
    """`next`, `into`, `over` and `out` of a sub-agent; from the result of the first call, where the run is held."""
    held, run = held_at_first_gate(path, backend)
    with run as (session, eyes):
        held.wait_until_it_began()
        session.pause()
        held.release.set()
        assert stand(eyes) == "root/1.1.result"
        assert [go(eyes, command) for command in commands] == places
        session.resume()
        eyes.until_ended()
    assert_sound(session)

    recorded = Session.open(path)
    while name_of(recorded) != "root/1.1.result":
        recorded.step()
    walked = []
    for command in commands:
        getattr(recorded, command)()
        walked.append(name_of(recorded))
    assert walked == places


def name_of(session: Session) -> str:
    stop = session.place.stop
    if stop is None:
        return "end" if session.place.events == len(session.events) else f"event {session.place.events}"
    return f"{stop.about}.{stop.kind}"


def test_steps_through_a_recording_visit_what_steps_through_the_run_did(
    backend: str, path: Path, tmp_path: Path
) -> None:
    """Stepping live leaves a trace of each stop; a run of the same agent that nobody stepped through has the same stops."""
    held, run = held_at_first_gate(path, backend)
    with run as (session, eyes):
        held.wait_until_it_began()
        session.pause()
        held.release.set()
        stand(eyes)
        while go(eyes, "step") != "end":
            pass
        live = [fact.gate for fact in facts_of(session, e.Paused)]
    free = tmp_path / "free.jsonl"
    other = Held()
    script = [ToolCall("w", "wait"), ASK, [SUM, ASK], "done"]
    with started(script, free, other.async_tool, delegate(), add, backend=backend, policy=ApproveAll()) as (_, eyes):
        other.release.set()
        eyes.until_ended()
    walked = walked_forwards(Session.open(path))
    assert walked[walked.index("root/1.1.result") :] == [*live, "end"]
    # two calls run beside each other, so that their order is the machine's
    freely = walked_forwards(Session.open(free))
    assert sorted(freely) == sorted(walked)
    assert len(live) > 20


def walked_forwards(session: Session) -> list[str]:
    walked: list[str] = []
    while not walked or walked[-1] != "end":
        session.step()
        walked.append(name_of(session))
    return walked


def test_back_visits_the_same_stops_the_other_way(path: Path, backend: str) -> None:
    script = [ASK, [SUM, ASK], "done"]
    with started(script, path, delegate(), add, backend=backend, policy=ApproveAll()) as (_, eyes):
        eyes.until_ended()
    session = Session.open(path)
    forwards = walked_forwards(session)
    backwards = []
    while session.place.events:
        session.back()
        backwards.append(name_of(session))
    assert [*reversed(backwards[:-1]), "end"] == forwards
    assert backwards[-1] == "event 0"


def test_a_live_run_is_looked_at_backwards_while_it_stands(path: Path, backend: str) -> None:
    with started([SUM, SUM, "done"], path, backend=backend) as (session, eyes):
        (one,) = eyes.until_pending()
        session.pause()
        session.approve(one.call, one.version)
        assert stand(eyes) == "root/1.1.result"
        events = len(session.events)
        assert session.place.events == events
        session.back()
        session.back()
        assert (name_of(session), session.walks) == ("root/1.1.decision", True)
        session.back()
        assert name_of(session) == "root/1.response"
        session.step()
        assert name_of(session) == "root/1.1.decision"
        assert session.jump_to_event(2)
        assert name_of(session) == "root/1.request"
        session.next_iteration()
        assert (session.walks, session.place.events) == (False, events)
        session.poll()
        assert len(session.events) == events
        assert go(eyes, "step") == "root/2.request"
        session.reverse_continue()
        assert session.place.events == 0
        session.look_live()
        assert go(eyes, "step") == "root/2.response"
        session.resume()
        eyes.approve_all_to_the_end()
    assert_sound(session)


def test_jumps(path: Path, backend: str) -> None:
    @tool
    async def fails() -> str:
        """Fail."""
        raise ValueError("no")

    with started([SUM, ToolCall("f", "fails"), "done"], path, add, fails, backend=backend) as (session, eyes):
        eyes.approve_all_to_the_end()
    session = Session.open(path)
    assert session.jump_to_iteration(2)
    assert name_of(session) == "root/2.request"
    assert not session.jump_to_iteration(9)
    assert session.jump_to("error")
    assert session.events[session.place.events - 1].type == "ToolFailed"
    assert name_of(session) == "root/2.1.result"
    assert not session.jump_to("error")
    assert session.jump_to("decision", -1)
    assert name_of(session) == "root/2.1.decision"
    assert session.jump_to("decision", -1)
    assert name_of(session) == "root/1.1.decision"
    assert not session.jump_to("decision", -1)
    assert not session.jump_to("warning")
    assert session.jump_to_time(10_000)
    assert session.place.events == len(session.events)
    assert session.jump_to_time(0)
    assert session.place.events == sum(event.t <= 0 for event in session.events)
    assert not session.jump_to_time(-1)
    assert session.jump_where('tool == "fails" and decision')
    assert session.events[session.place.events - 1].type == "Decided"
    assert not session.jump_to_event(10_000)
    with pytest.raises(ConditionError):
        session.jump_where("tol")


# ── breakpoints ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("condition", "gates"),
    [
        ('tool == "add"', ["root/2.1#1/1.1.call", "root/3.1.call", "root/3.2#1/1.1.call"]),
        ("iteration == 2 and depth == 0", ["root/2.request"]),
        ('agent == "helper"', ["root/2.1#1/1.request", "root/3.2#1/1.request"]),
        ('text ~ /^helped$/ and kind == "ModelReplied"', ["root/2.1#1/2.response", "root/3.2#1/2.response"]),
        ('kind == "LoopFinished" and depth == 1', ["root/2.1.result", "root/3.2.result"]),
        ('tool == "delegate" and text == "helped"', ["root/2.1.result", "root/3.2.result"]),
        ("event > 20", "any"),
        ("args.a == 7", []),
    ],
)
def test_a_breakpoint_stops_a_live_run_and_its_recording_at_the_same_gates(
    condition: str, gates: Any, backend: str, path: Path
) -> None:
    """At the next gate after the event, once for each thing that the condition is about; `Paused` says which stopped it."""
    held, run = held_at_first_gate(path, backend)
    with run as (session, eyes):
        held.wait_until_it_began()
        one = session.add_breakpoint(condition)
        held.release.set()
        stood: list[str] = []
        gate = stand(eyes)
        while gate != "end":
            stood.append(gate)
            gate = go(eyes, "resume")
        eyes.until_ended()
        assert {fact.by for fact in facts_of(session, e.Paused)} <= {f"breakpoint {one.number}"}
        if gates != "any":
            assert stood == gates
        assert session.breakpoints[0].hits >= len(stood)
    assert_sound(session)

    recorded = Session.open(path)
    recorded.add_breakpoint(condition)
    walked: list[str] = []
    while not walked or walked[-1] != "end":
        recorded.resume()
        walked.append(name_of(recorded))
    assert walked == [*stood, "end"]
    back = []
    while recorded.place.events:
        recorded.reverse_continue()
        back.append(name_of(recorded))
    assert back == [*reversed(stood), "event 0"]


def test_after_a_breakpoint_everything_else_stands_at_its_next_gate(path: Path, backend: str) -> None:
    """As in other debuggers: who looks at one agent sees the others standing too."""
    calls = [ASK, ToolCall("d2", "delegate", {"task": "two"})]
    with started([calls, "done"], path, delegate(), add, backend=backend) as (session, eyes):
        waiting = eyes.until_pending(2)
        session.add_breakpoint('agent == "helper" and iteration == 1')
        for one in waiting:
            session.approve(one.call, one.version)
        eyes.until(lambda: len(session.timeline.paused) == 2)
        assert [fact.by for fact in facts_of(session, e.Paused)].count("person") <= 1
        assert session.status().state == "paused"
        session.remove_breakpoint(1)
        session.resume()
        eyes.approve_all_to_the_end()
    assert_sound(session)


def test_a_fork_is_stepped_through_and_looked_at_like_any_run(path: Path, backend: str) -> None:
    """The copied part can be looked at, and what is asked of its agents is known from it."""
    with started([SUM, SUM, "done"], path, backend=backend) as (_, eyes):
        eyes.approve_all_to_the_end()
    agent = Agent(ScriptedProvider([SUM, "so"]), tools=[add])
    copy = path.with_name("fork.jsonl")
    session = fork_session(path, "root/2.1", Deny("no"), agent, record=copy, backend=backend)
    try:
        eyes = Eyes(session)
        (one,) = eyes.until_pending()
        assert (one.call, one.iteration) == ("root/3.1", 3)
        parent = Session.open(path)
        parent.add_breakpoint('agent == "agent" and tool == "add" and kind == "ToolReturned"')
        session.use_breakpoints_of(parent)
        session.approve(one.call, one.version)
        assert stand(eyes) == "root/3.1.result"
        assert facts_of(session, e.Paused)[-1].by == "breakpoint 1"
        assert go(eyes, "step") == "root/4.request"
        session.back()
        assert name_of(session) == "root/4.request"
        session.back()
        assert name_of(session) == "root/3.1.result"
        assert session.jump_to_iteration(1)
        assert name_of(session) == "root/1.request"
        session.resume()
        assert name_of(session) == "root/1.1.result"
        session.look_live()
        session.resume()
        eyes.until_ended()
    finally:
        session.close()
    assert_sound(session)
