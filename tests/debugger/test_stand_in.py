"""A policy that stands in for a person who has gone: also for what waits already, and only as long."""

from __future__ import annotations

from pathlib import Path

from loopkit import ToolCall
from loopkit import events as e
from loopkit.debugger.policy import ApproveAll, DenyAll, ReadOnly
from tests.debugger.live_runs import assert_sound, facts_of, started

SUM = ToolCall("c1", "add", {"a": 1, "b": 2})
LOUD = ToolCall("c2", "shout", {"text": "hi"})


def test_it_decides_what_waits_when_the_person_goes(backend: str, path: Path) -> None:
    with started([[SUM, LOUD], "done"], path, backend=backend) as (session, eyes):
        eyes.until_pending(2)
        assert session._live is not None
        session._live.leave_to(ReadOnly())
        eyes.until_ended()
        decided = [(fact.call, type(fact.decision).__name__, fact.by) for fact in facts_of(session, e.Decided)]
        assert decided == [
            ("root/1.1", "Approve", "policy: read-only"),
            ("root/1.2", "Deny", "policy: read-only"),
        ]
    assert_sound(session)


def test_a_gate_where_the_person_stood_is_left(backend: str, path: Path) -> None:
    with started([SUM, "done"], path, backend=backend) as (session, eyes):
        eyes.until_pending()
        session.pause()
        session.approve("root/1.1", 1)
        eyes.until_paused()
        assert session._live is not None
        session._live.leave_to(DenyAll())
        eyes.until_ended()
        assert len(facts_of(session, e.Paused)) == len(facts_of(session, e.Resumed)) == 1
    assert_sound(session)


def test_the_person_is_asked_again_after_coming_back(backend: str, path: Path) -> None:
    with started([SUM, LOUD, "done"], path, backend=backend) as (session, eyes):
        eyes.until_pending()
        assert session._live is not None
        session._live.leave_to(None)
        assert len(session.pending()) == 1
        session.approve("root/1.1", 1)
        (one,) = eyes.until_pending()
        assert one.call == "root/2.1"
        session._live.leave_to(ApproveAll())
        eyes.until_ended()
        assert [fact.by for fact in facts_of(session, e.Decided)] == ["person", "policy: approve all"]
    assert_sound(session)
