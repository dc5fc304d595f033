"""Pausing and stepping: where a live run stands, and how it goes on."""

from __future__ import annotations

from pathlib import Path

from loopkit import Agent, ScriptedProvider, ToolCall, tool
from loopkit import events as e
from loopkit.debugger.session import Session
from tests.debugger.live_runs import Held, add, assert_sound, facts_of, started

SUM = ToolCall("c1", "add", {"a": 1, "b": 2})


def gates_passed(session: Session) -> list[str]:
    return [fact.gate for fact in facts_of(session, e.Paused)]


def test_a_pause_lets_the_answer_come_to_its_end_and_stands_at_the_next_gate(backend: str, path: Path) -> None:
    """A running response isn't cut, the run stands behind it (DESIGN §5)."""
    held = Held()
    with started(held, path, backend=backend) as (session, eyes):
        held.wait_until_it_began()
        eyes.until(lambda: session.partial() == "half an ")
        assert session.status().waits_for == "the model (agent)"
        assert session.stands_next == ""
        session.next_iteration()
        assert session.stands_next == "before the next request"
        session.pause()
        assert session.stands_next == "at the next gate"
        held.release.set()
        assert eyes.until_paused() == "root/1.response"
        assert session.partial() == ""
        assert session.timeline.loops["root"].iterations[0].message is not None
        assert session.status().state == "paused"
        assert session.status().waits_for == "you: paused after the response of iteration 1 (agent)"
        session.resume()
        eyes.until_ended()
    assert session.stands_next == ""
    assert_sound(session)


def test_steps_stand_at_every_gate_in_order(backend: str, path: Path) -> None:
    """Before the request, after the response, before a call (the decision), after a result (spec/loop.md 3)."""
    held = Held()
    with started([ToolCall("w", "wait"), [SUM, SUM], "done"], path, held.async_tool, add, backend=backend) as (
        session,
        eyes,
    ):
        (one,) = eyes.until_pending()
        session.pause()
        session.approve(one.call, one.version)
        held.wait_until_it_began()
        assert session.status().waits_for in ("tool wait", "your decision on agent › wait")
        held.release.set()
        stood = []
        for _ in range(20):
            eyes.until(lambda: session.timeline.paused or session.pending() or session.timeline.ended)
            if session.timeline.ended:
                break
            if session.pending():
                stood.append("decision")
                for waiting in session.pending():
                    session.approve(waiting.call, waiting.version)
                continue
            stood.append(eyes.until_paused())
            session.step()
            eyes.until(lambda: not session.timeline.paused or session.timeline.paused[0].paused_at != stood[-1])
        eyes.until_ended()
        assert [gate for gate in stood if gate != "root/2.2.result"] == [
            "root/1.1.result",
            "root/2.request",
            "root/2.response",
            "decision",
            "root/2.1.result",
            "root/3.request",
            "root/3.response",
        ]
    assert_sound(session)


def test_a_step_from_a_gate_lets_nothing_through_that_comes_later(path: Path) -> None:
    provider = ScriptedProvider([SUM, "done"])
    with started(provider, path, add) as (session, eyes):
        (one,) = eyes.until_pending()
        session.pause()
        session.approve(one.call, one.version)
        assert eyes.until_paused() == "root/1.1.result"
        session.step()
        eyes.until(lambda: session.timeline.paused and session.timeline.paused[0].paused_at == "root/2.request")
        assert len(provider.requests) == 1
        assert session.status().waits_for == "you: paused before the request of iteration 2 (agent)"


def test_next_iteration_stands_before_each_request_only(backend: str, path: Path) -> None:
    with started([SUM, SUM, "done"], path, backend=backend) as (session, eyes):
        (one,) = eyes.until_pending()
        session.next_iteration()
        session.approve(one.call, one.version)
        assert eyes.until_paused() == "root/2.request"
        session.next_iteration()
        (two,) = eyes.until_pending()
        session.approve(two.call, two.version)
        eyes.until(lambda: session.timeline.paused and session.timeline.paused[0].paused_at == "root/3.request")
        session.resume()
        eyes.until_ended()
        assert gates_passed(session) == ["root/2.request", "root/3.request"]
    assert_sound(session)


def test_resume_takes_a_pause_back_that_nothing_reached(path: Path) -> None:
    with started([SUM, "done"], path) as (session, eyes):
        (one,) = eyes.until_pending()
        session.pause()
        session.resume()
        session.approve(one.call, one.version)
        eyes.until_ended()
        assert gates_passed(session) == []


def test_a_pause_holds_every_agent_of_the_tree_and_a_step_moves_each(backend: str, path: Path) -> None:
    held = Held()

    @tool
    async def delegate(task: str) -> str:
        """Ask a helper."""
        return (await Agent(held, name=task).run(task)).text

    calls = [ToolCall("d", "delegate", {"task": "one"}), ToolCall("d", "delegate", {"task": "two"})]
    with started([calls, "done"], path, delegate, backend=backend) as (session, eyes):
        for one in eyes.until_pending(2):
            session.approve(one.call, one.version)
        eyes.until(lambda: session.partial("root/1.1#1") and session.partial("root/1.2#1"))
        session.pause()
        held.release.set()
        eyes.until(lambda: len(session.timeline.paused) == 2)
        assert {loop.paused_at for loop in session.timeline.paused} == {
            "root/1.1#1/1.response",
            "root/1.2#1/1.response",
        }
        session.resume()
        eyes.until_ended()
    assert_sound(session)


def test_waiting_and_pausing_are_counted_as_waiting(path: Path) -> None:
    with started([SUM, "done"], path) as (session, eyes):
        eyes.until_pending()
        first = session.status()
        assert 0 <= first.waited <= first.elapsed
        assert first.max_iterations == 10
        assert first.recording == str(path)
        session.approve("root/1.1", 1)
        eyes.until_ended()
        last = session.status()
        assert first.waited <= last.waited <= last.elapsed
        assert session.status() == last
