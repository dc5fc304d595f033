"""Going on live from what was recorded: what if, resume, once more, and one thing more to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopkit import Agent, ScriptedProvider
from loopkit import events as e
from loopkit.debugger.comparison import compare_runs
from loopkit.debugger.forking import (
    follow_up_session,
    fork_session,
    resume_session,
    run_again_session,
    started_calls,
)
from loopkit.debugger.library import parent_of
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.runs import check_file
from loopkit.debugger.session import Session
from loopkit.errors import UserError
from loopkit.messages import Message, ToolCall
from loopkit.outcomes import AddMessages, Complete, Deny, EditAnswer, EditResult, ForkEdit, Modify
from tests.debugger.live_runs import Eyes, add, shout, started

SCRIPT: list[Any] = [ToolCall("a", "add", {"a": 1, "b": 2}), ToolCall("b", "shout", {"text": "three"}), "It is THREE."]


def agent(*script: Any, system: str | None = None) -> Agent:
    return Agent(ScriptedProvider(list(script)), tools=[add, shout], system=system)


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    with started(SCRIPT, tmp_path / "parent.jsonl") as (_, eyes):
        eyes.approve_all_to_the_end()
    return tmp_path / "parent.jsonl"


def ended(session: Session) -> Session:
    """Approve what is asked until the end."""
    eyes = Eyes(session)
    eyes.approve_all_to_the_end()
    session.close()
    return session


@pytest.mark.parametrize(
    ("at", "edit", "seen"),
    [
        ("root/1.1", Deny("not that one"), "not that one"),
        ("root/1.1", Modify({"a": 5, "b": 6}), "11"),
        ("root/1.1", EditResult("seven"), "seven"),
        ("root/2", AddMessages((Message.user("and hurry"),)), "and hurry"),
        ("root/1", EditAnswer(Message.assistant("I know it: three.")), "I know it: three."),
    ],
)
def test_what_if_goes_on_live_from_there_and_names_its_parent(
    parent: Path, tmp_path: Path, at: str, edit: ForkEdit, seen: str
) -> None:
    before = parent.read_bytes()
    fork = ended(fork_session(parent, at, edit, agent("Then so."), record=tmp_path / "fork.jsonl"))
    assert parent.read_bytes() == before
    assert parent_of(tmp_path / "fork.jsonl") == parent
    assert fork.timeline.root is not None
    assert fork.timeline.root.reason == Complete()
    assert any(seen in str(event.fact) for event in fork.events)
    assert check_file(tmp_path / "fork.jsonl") == []
    compared = compare_runs(open_recording(parent), open_recording(tmp_path / "fork.jsonl"))
    assert not compared.same
    assert compared.shared


def test_a_person_decides_on_what_comes_after_the_fork(parent: Path, tmp_path: Path) -> None:
    script = [ToolCall("c", "shout", {"text": "new"}), "Done."]
    session = fork_session(parent, "root/1.1", Deny("no"), agent(*script), record=tmp_path / "fork.jsonl")
    try:
        eyes = Eyes(session)
        [one] = eyes.until_pending()
        assert one.arguments == {"text": "new"}
        session.approve(one.call, one.version)
        eyes.until_ended()
        assert session.agent is not None
        assert session.title == "go"
    finally:
        session.close()


def test_a_fork_without_a_change_asks_again_for_nothing_that_was_decided(parent: Path, tmp_path: Path) -> None:
    session = fork_session(parent, "root/1.1", None, agent("Then so."), record=tmp_path / "fork.jsonl")
    try:
        Eyes(session).until_ended()
    finally:
        session.close()


def test_a_fork_is_stopped_while_it_waits_for_its_first_decision(tmp_path: Path) -> None:
    with started(SCRIPT, tmp_path / "stopped.jsonl") as (session, eyes):
        eyes.until_pending()
        session.stop("enough")
        eyes.until_ended()
    place = next(event.seq for event in open_recording(tmp_path / "stopped.jsonl").events
                 if isinstance(event.fact, e.DecisionRequested))  # fmt: skip
    fork = fork_session(tmp_path / "stopped.jsonl", place, None, agent("x"), record=tmp_path / "fork.jsonl")
    eyes = Eyes(fork)
    eyes.until_pending()
    fork.stop("enough again")
    eyes.until_ended()
    fork.close()
    assert check_file(tmp_path / "fork.jsonl") == []


def test_what_cannot_be_forked_is_refused_before_anything_is_written(parent: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing was decided on a call"):
        fork_session(parent, "root/9.9", Deny(), agent("x"), record=tmp_path / "fork.jsonl")
    assert not (tmp_path / "fork.jsonl").exists()


# ── an unfinished recording ──────────────────────────────────────────────────────────────────────────────────────────


def cut_after(path: Path, out: Path, kind: type[e.Fact]) -> Path:
    """Copy a recording up to its first event of a kind."""
    lines = path.read_bytes().splitlines(keepends=True)
    last = next(event.seq for event in open_recording(path).events if isinstance(event.fact, kind))
    out.write_bytes(b"".join(lines[: last + 1]))
    return out


def test_an_unfinished_recording_goes_on_live_in_its_own_file(parent: Path, tmp_path: Path) -> None:
    cut = cut_after(parent, tmp_path / "cut.jsonl", e.ToolStarted)
    assert started_calls(cut) == [("root/1.1", "add", {"a": 1, "b": 2})]
    session = ended(resume_session(cut, agent("Done."), run_again=["root/1.1"]))
    assert session.path == cut
    assert [event.fact.content for event in session.events if isinstance(event.fact, e.ToolReturned)] == ["3"]
    assert check_file(cut) == []


def test_a_call_that_had_started_is_given_up_unless_it_is_to_run_again(tmp_path: Path) -> None:
    with started([ToolCall("a", "shout", {"text": "x"}), "Done."], tmp_path / "p.jsonl") as (_, eyes):
        eyes.approve_all_to_the_end()
    cut = cut_after(tmp_path / "p.jsonl", tmp_path / "cut.jsonl", e.ToolStarted)
    session = ended(resume_session(cut, agent("Done.")))
    assert any(isinstance(event.fact, e.ToolAbandoned) for event in session.events)


def test_a_finished_recording_is_not_resumed(parent: Path) -> None:
    with pytest.raises(UserError):
        resume_session(parent, agent("x"))


# ── once more, and one thing more ────────────────────────────────────────────────────────────────────────────────────


def test_a_follow_up_begins_with_the_whole_conversation_and_changes_nothing(parent: Path, tmp_path: Path) -> None:
    before = parent.read_bytes()
    provider = ScriptedProvider(["It is THREE, I said."])
    asked = Agent(provider, tools=[add, shout], system="Be brief.")
    session = ended(follow_up_session(parent, "Are you sure?", asked, record=tmp_path / "more.jsonl"))
    assert parent.read_bytes() == before
    words = [message.text for message in provider.requests[0].messages]
    assert words[0] == "Be brief."
    assert words[-2:] == ["It is THREE.", "Are you sure?"]
    assert session.title == "Are you sure?"
    assert parent_of(tmp_path / "more.jsonl") == parent


def test_a_run_is_started_once_more_with_its_task(parent: Path, tmp_path: Path) -> None:
    session = ended(run_again_session(parent, agent("At once."), record=tmp_path / "again.jsonl"))
    root = session.timeline.root
    assert root is not None
    assert [message.text for message in root.started.messages] == ["go"]
    assert session.title == "go"
