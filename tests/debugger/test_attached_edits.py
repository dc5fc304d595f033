"""Batches, `same again` and edits at a gate, done from another process as from beside the agent (DESIGN §5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit import ToolCall
from loopkit import events as e
from loopkit.debugger.standing import Standing
from loopkit.debugger.status import Choice
from loopkit.errors import CommandRefused
from loopkit.messages import Message
from loopkit.outcomes import Approve, Deny, Modify
from tests.debugger.attached import served
from tests.debugger.live_runs import Eyes, assert_sound, facts_of

SUM = ToolCall("c1", "add", {"a": 1, "b": 2})


def stand_at(eyes: Eyes, gate: str) -> Standing:
    """Step until the root stands at a gate of this kind."""
    session = eyes.session
    for _ in range(12):
        eyes.until(lambda: session.timeline.paused)
        (standing,) = session.standing()
        if standing.gate == gate:
            return standing
        before = len(facts_of(session, e.Resumed))
        session.step()
        eyes.until(lambda before=before: len(facts_of(session, e.Resumed)) > before)  # type: ignore[misc]  # a default binds it
    raise AssertionError(f"it never stood at {gate}")


def test_a_viewer_decides_a_batch_and_once_for_all(backend: str, path: Path) -> None:
    with served([[SUM, SUM], SUM, SUM, "done"], path, backend=backend) as run:
        session, eyes = run.attach()
        eyes.until_pending(2)
        with pytest.raises(CommandRefused, match="the decision was on 4"):
            session.decide_batch((Choice("root/1.1", 1, Approve()), Choice("root/1.2", 4, Deny())))
        session.decide_batch((Choice("root/1.1", 1, Modify({"a": 5, "b": 5})), Choice("root/1.2", 1, Deny("no"))))
        eyes.until(lambda: "root/2.1" in [one.call for one in session.pending()])
        name = session.same_again("root/2.1", 1)
        eyes.until(lambda: session.kept_rules)
        assert [rule.name for rule in session.kept_rules] == [name]
        eyes.until_ended()
        assert [fact.by for fact in facts_of(session, e.Decided)] == ["person", "person", *[f"policy: {name}"] * 2]
        assert [call.content for call in session.timeline.calls.values()][:2] == ["10", "no"]


def test_a_viewer_edits_what_stands_at_a_gate(backend: str, path: Path) -> None:
    with served([SUM, "done", "end"], path, backend=backend) as run:
        session, eyes = run.attach()
        (one,) = eyes.until_pending()
        session.pause()
        session.inject("be quick")
        session.approve(one.call, one.version)
        (result,) = stand_at(eyes, "result").results
        session.edit_result(result.call, result.seen, "four")
        with pytest.raises(CommandRefused, match="not the one that was seen"):
            session.edit_result(result.call, result.seen, "five")
        standing = stand_at(eyes, "request")
        assert [message.role for message in session.history()] == ["user", "assistant", "tool", "user"]
        session.edit_request(
            "root", standing.seen, messages=(*session.history(), Message.user("more")), settings={"seed": 1}
        )
        answered = stand_at(eyes, "response")
        assert answered.answer == Message.assistant("done")
        session.edit_answer("root", answered.seen, Message.assistant("once more", [SUM]))
        session.resume()
        (again,) = eyes.until_pending()
        session.approve(again.call, again.version)
        eyes.until_ended()
        assert session.timeline.calls["root/1.1"].given == "four"
        assert [fact.messages[-1].text for fact in facts_of(session, e.HistoryEdited)] == ["more"]
        assert facts_of(session, e.AgentChanged)[0].settings == {"seed": 1}
        assert session.timeline.calls["root/2.1"].content == "3"
    assert_sound(session)
