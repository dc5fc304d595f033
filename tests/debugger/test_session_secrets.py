"""A debugged run whose calls hold secrets: a person sees placeholders and edits beside them (DESIGN §3, §5)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from loopkit import Agent, ScriptedProvider, ToolCall, tool
from loopkit.debugger.session import Session
from loopkit.debugger.status import PendingDecision
from loopkit.errors import DecisionNotAccepted

got: list[tuple[str, int]] = []


@tool
def unlock(door: str, pin_code: int) -> str:
    """Open a door."""
    got.append((door, pin_code))
    return f"opened {door}"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    got.clear()
    provider = ScriptedProvider([ToolCall("c1", "unlock", {"door": "front", "pin_code": 4711}), "open"])
    return Session.start(Agent(provider, tools=[unlock]), "open up", record=tmp_path / "run.jsonl")


def waiting_call(session: Session) -> PendingDecision:
    for _ in range(2000):
        session.poll()
        if session.pending():
            return session.pending()[0]
        time.sleep(0.005)
    raise AssertionError("no call waits")


def test_an_edit_beside_a_placeholder_runs_with_what_it_stands_for(session: Session, tmp_path: Path) -> None:
    try:
        call = waiting_call(session)
        assert call.arguments == {"door": "front", "pin_code": "‹password·1›"}
        assert session.validate(call.call, {"door": "back", "pin_code": "‹password·1›"}) == ()
        assert session.validate(call.call, {"door": "back", "pin_code": "‹password·2›"}) != ()
        with pytest.raises(DecisionNotAccepted):
            session.edit(call.call, call.version, {"door": "back", "pin_code": "none"})
        session.edit(call.call, call.version, {"door": "back", "pin_code": "‹password·1›"})
        assert session.wait(20)
    finally:
        session.close()
    assert got == [("back", 4711)]
    assert "4711" not in (tmp_path / "run.jsonl").read_text()


def test_what_a_person_answers_in_a_tools_place_is_hidden_too(session: Session, tmp_path: Path) -> None:
    try:
        call = waiting_call(session)
        session.respond(call.call, call.version, "the new password is s3cret99")
        assert session.wait(20)
    finally:
        session.close()
    assert got == []
    assert "s3cret99" not in (tmp_path / "run.jsonl").read_text()


def test_a_run_may_be_kept_with_its_secrets(tmp_path: Path) -> None:
    provider = ScriptedProvider(["password=hunter2"])
    session = Session.start(Agent(provider), "password=hunter2", record=tmp_path / "run.jsonl", redacted=False)
    try:
        assert session.wait(20)
        assert session.title == "password=hunter2"
    finally:
        session.close()
    assert "hunter2" in (tmp_path / "run.jsonl").read_text()
