"""What a person changes while a run stands at a gate: results, answers, requests, and messages more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopkit import Agent, ScriptedProvider, ToolCall, replay, tool
from loopkit import events as e
from loopkit.debugger.rows import row_text, seconds_text
from loopkit.debugger.session import Session
from loopkit.debugger.standing import Standing
from loopkit.errors import DecisionNotAccepted
from loopkit.messages import Message
from tests.debugger.live_runs import Eyes, Held, add, assert_sound, facts_of, shout, started

SUM = ToolCall("c1", "add", {"a": 1, "b": 2})


def until_standing(session: Session, eyes: Eyes, gate: str) -> Standing:
    """Step until the root stands at a gate of this kind, and approve what is asked on the way."""
    for _ in range(30):
        eyes.until(lambda: session.timeline.paused or session.pending() or session.timeline.ended)
        for one in session.pending():
            session.approve(one.call, one.version)
        if session.timeline.paused:
            (standing,) = session.standing()
            if standing.gate == gate:
                return standing
            before = len(facts_of(session, e.Resumed))
            session.step()
            eyes.until(lambda before=before: len(facts_of(session, e.Resumed)) > before)  # type: ignore[misc]  # a default binds it
    raise AssertionError(f"it never stood at {gate}: {session.status()}")


def paused_at_first_decision(session: Session, eyes: Eyes) -> None:
    """Pause a run whose first call waits, so that it stands behind that call."""
    eyes.until_pending()
    session.pause()


def to_the_end(session: Session, eyes: Eyes) -> None:
    session.resume()
    eyes.approve_all_to_the_end()
    session.poll()


def test_an_edited_result_is_what_the_model_gets_and_the_original_stays(backend: str, path: Path) -> None:
    provider = ScriptedProvider([SUM, "done"])
    with started(provider, path, backend=backend) as (session, eyes):
        paused_at_first_decision(session, eyes)
        standing = until_standing(session, eyes, "result")
        (result,) = standing.results
        assert (standing.place, result.call, result.name, result.content) == ("root/1.1", "root/1.1", "add", "3")
        session.edit_result(result.call, result.seen, "about 4", True)
        to_the_end(session, eyes)
        call = session.timeline.calls["root/1.1"]
        assert (call.content, call.given) == ("3", "about 4")
        assert facts_of(session, e.ResultEdited) == [e.ResultEdited("root/1.1", "about 4", "person", True)]
        told = provider.requests[1].messages[-1].tool_results[0]
        assert (told.content, told.is_error) == ("about 4", True)
        (row,) = [row for row in session.timeline.rows if "edited by person" in row_text(row).detail]
        paused = [event.t for event in session.events if isinstance(event.fact, e.Paused)][-1]
        edited = [event.t for event in session.events if isinstance(event.fact, e.ResultEdited)][-1]
        assert row.took == edited - paused
        assert row_text(row).right == seconds_text(row.took)
    assert_sound(session)


def test_an_edited_answer_takes_the_place_of_the_models_calls_included(backend: str, path: Path) -> None:
    provider = ScriptedProvider([SUM, "I am done", "really done"])
    with started(provider, path, backend=backend) as (session, eyes):
        paused_at_first_decision(session, eyes)
        standing = until_standing(session, eyes, "response")
        assert standing.answer == Message.assistant("I am done")
        other = Message.assistant("one more", [ToolCall("mine", "add", {"a": 5, "b": 5})])
        session.edit_answer("root", standing.seen, other)
        to_the_end(session, eyes)
        iteration = session.timeline.loops["root"].iterations[1]
        assert (iteration.original, iteration.message) == (Message.assistant("I am done"), other)
        assert session.timeline.calls["root/2.1"].content == "10"
        assert provider.requests[2].messages[-2] == other
    assert_sound(session)


def test_an_edited_answer_is_checked_against_the_schemas(path: Path) -> None:
    """Invalid arguments of a person's are a result for the model, as the model's own are (spec/loop.md 9.1)."""
    with started([SUM, "done", "done"], path) as (session, eyes):
        paused_at_first_decision(session, eyes)
        standing = until_standing(session, eyes, "response")
        session.edit_answer("root", standing.seen, Message.assistant("", [ToolCall("x", "add", {"a": "no"})]))
        to_the_end(session, eyes)
        assert session.timeline.calls["root/2.1"].cause == "invalid arguments"
        (edited,) = facts_of(session, e.AnswerEdited)
        assert edited.verdicts[0].problems
    assert_sound(session)


def test_an_edited_request_reaches_the_model_part_by_part(backend: str, path: Path) -> None:
    """Messages, prompt, model, tools and sampling, in this request and in later ones."""
    provider = ScriptedProvider([SUM, SUM, "done"])
    agent = Agent(provider, tools=[add, shout], system="Be brief.", temperature=0.1, seed=7)
    session = Session.start(agent, "go", record=path, backend=backend)
    eyes = Eyes(session)
    try:
        paused_at_first_decision(session, eyes)
        standing = until_standing(session, eyes, "request")
        assert (standing.model, standing.tools, standing.settings) == (
            "scripted",
            ("add", "shout"),
            {"temperature": 0.1, "seed": 7},
        )
        assert [message.role for message in session.history()] == ["system", "user", "assistant", "tool"]
        messages = list(session.history())
        messages[1] = Message.user("go on")
        session.edit_request(
            "root",
            standing.seen,
            messages=tuple(messages),
            system="Be kind.",
            model="other",
            tools=("add",),
            settings={"temperature": 0.9, "seed": None},
        )
        to_the_end(session, eyes)
        for request in provider.requests[1:]:
            assert [message.text for message in request.messages[:2]] == ["Be kind.", "go on"]
            assert [definition.name for definition in request.tools] == ["add"]
            assert request.settings == {"temperature": 0.9}
        (edited,) = facts_of(session, e.HistoryEdited)
        assert (edited.start, edited.stop, len(edited.messages), edited.by) == (0, 2, 2, "person")
        (changed,) = facts_of(session, e.AgentChanged)
        assert (changed.model, changed.by) == ("other", "person")
        replies = facts_of(session, e.ModelReplied)
        assert len(replies) == 3
    finally:
        session.close()
    assert_sound(session)
    report = replay(path, agent)
    assert report.same, report.text()


def test_a_tool_that_was_taken_away_is_unknown_and_comes_back(path: Path) -> None:
    provider = ScriptedProvider(
        [SUM, ToolCall("s", "shout", {"text": "a"}), ToolCall("s", "shout", {"text": "b"}), "end"]
    )
    with started(provider, path) as (session, eyes):
        paused_at_first_decision(session, eyes)
        session.edit_request("root", until_standing(session, eyes, "request").seen, tools=("add",))
        session.step()
        eyes.until(lambda: not session.timeline.paused)
        standing = until_standing(session, eyes, "request")
        assert session.timeline.calls["root/2.1"].cause == "unknown tool"
        session.edit_request("root", standing.seen, tools=("shout", "add"))
        to_the_end(session, eyes)
        assert session.timeline.calls["root/3.1"].content == "B"
        assert [definition.name for definition in provider.requests[2].tools] == ["add", "shout"]
    assert_sound(session)


def test_a_message_is_added_at_any_moment(backend: str, path: Path) -> None:
    """It stands behind results that are on their way, so that the history stays valid (spec/loop.md 3)."""
    provider = ScriptedProvider([SUM, "done"])
    with started(provider, path, backend=backend) as (session, eyes):
        (one,) = eyes.until_pending()
        session.inject("use metres")
        session.approve(one.call, one.version)
        to_the_end(session, eyes)
        assert [message.role for message in provider.requests[1].messages] == ["user", "assistant", "tool", "user"]
        assert provider.requests[1].messages[-1] == Message.user("use metres")
        assert facts_of(session, e.MessagesInjected)[0].by == "person"
    assert_sound(session)


def test_a_second_edit_of_what_was_seen_once_is_refused_and_logged(path: Path) -> None:
    """Stale and duplicate edits never land on something else than what was seen (spec/faults.md c)."""
    with started([SUM, "done"], path) as (session, eyes):
        paused_at_first_decision(session, eyes)
        (result,) = until_standing(session, eyes, "result").results
        session.edit_result(result.call, result.seen, "first")
        with pytest.raises(DecisionNotAccepted, match="not the one that was seen any more"):
            session.edit_result(result.call, result.seen, "second")
        standing = until_standing(session, eyes, "request")
        session.inject("more")
        with pytest.raises(DecisionNotAccepted, match="not the one that was seen any more"):
            session.edit_request("root", standing.seen, system="x")
        with pytest.raises(DecisionNotAccepted, match="the model has got it"):
            session.edit_result(result.call, result.seen, "third")
        answered = until_standing(session, eyes, "response")
        session.edit_answer("root", answered.seen, Message.assistant("mine"))
        with pytest.raises(DecisionNotAccepted, match="not the one that was seen any more"):
            session.edit_answer("root", answered.seen, Message.assistant("again"))
        to_the_end(session, eyes)
        refused = [(fact.target, fact.what, fact.by) for fact in facts_of(session, e.EditRefused)]
        assert refused == [
            ("root/1.1", "result", "person"),
            ("root/2", "request", "person"),
            ("root/1.1", "result", "person"),
            ("root/2", "answer", "person"),
        ]
        assert any("was refused" in str(row_text(row)) for row in session.timeline.rows)
    assert_sound(session)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda s: s.edit_answer("root", "x", Message.user("no")), "a message of the assistant"),
        (lambda s: s.edit_answer("root", "x", "no"), "an answer is a Message, not str"),
        (lambda s: s.edit_result("root/9.1", "x", "no"), "there is no call root/9.1"),
        (lambda s: s.edit_result("root/1.1", "x", 5), "a result is text, not int"),
        (lambda s: s.edit_request("root/7", "x", system="no"), "no such loop"),
        (lambda s: s.edit_request("root", "x", messages=["no"]), "a history is made of Messages"),
        (lambda s: s.inject(5), "a message is text, not int"),
    ],
)
def test_what_can_not_be_an_edit_is_refused_in_one_line(
    edit: Callable[[Session], None], words: str, path: Path
) -> None:
    with started([SUM, "done"], path) as (session, eyes):
        eyes.until_pending()
        with pytest.raises(DecisionNotAccepted, match=words) as refusal:
            edit(session)
        assert "\n" not in str(refusal.value)
        to_the_end(session, eyes)
    assert_sound(session)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tools": ("nope",)}, "no tool 'nope'"),
        ({"model": " "}, "can't ask another model"),
        ({"settings": {"x": float("nan")}}, "settings are JSON"),
        ({"settings": {"x": object()}}, "settings are JSON"),
        ({"messages": []}, "needs a message"),
        ({"system": 5}, "the system is text"),
    ],
)
def test_a_request_that_could_not_be_sent_is_refused_and_nothing_of_it_is_taken(
    changes: dict[str, Any], words: str, path: Path
) -> None:
    with started([SUM, "done"], path) as (session, eyes):
        paused_at_first_decision(session, eyes)
        standing = until_standing(session, eyes, "request")
        with pytest.raises(DecisionNotAccepted, match=words):
            session.edit_request("root", standing.seen, **{"settings": {"fine": 1}, **changes})
        to_the_end(session, eyes)
        assert facts_of(session, e.AgentChanged) == []
    assert_sound(session)


def test_of_two_who_edit_at_once_one_is_refused(backend: str, path: Path) -> None:
    with started([SUM, "done"], path, backend=backend) as (session, eyes):
        paused_at_first_decision(session, eyes)
        (result,) = until_standing(session, eyes, "result").results
        together = threading.Barrier(2)
        refused: list[str] = []

        def edit(text: str) -> None:
            together.wait(10)
            try:
                session.edit_result(result.call, result.seen, text)
            except DecisionNotAccepted:
                refused.append(text)

        editors = [threading.Thread(target=edit, args=(text,)) for text in ("one", "two")]
        for editor in editors:
            editor.start()
        for editor in editors:
            editor.join(10)
        to_the_end(session, eyes)
        (taken,) = [fact.content for fact in facts_of(session, e.ResultEdited)]
        assert {taken, *refused} == {"one", "two"}
        assert len(facts_of(session, e.EditRefused)) == 1
    assert_sound(session)


def test_nothing_of_a_running_loop_or_a_recording_can_be_edited(path: Path) -> None:
    held = Held()
    with started(held, path) as (session, eyes):
        held.wait_until_it_began()
        assert session.standing() == ()
        with pytest.raises(DecisionNotAccepted, match="does not stand before a request"):
            session.edit_request("root", "x", system="no")
        held.release.set()
        eyes.until_ended()
        with pytest.raises(DecisionNotAccepted):
            session.inject("late")
    opened = Session.open(path)
    assert opened.standing() == ()
    with pytest.raises(DecisionNotAccepted, match="fork it to go on"):
        opened.inject("x")
    with pytest.raises(DecisionNotAccepted, match="fork it to go on"):
        opened.edit_answer("root", "x", Message.assistant("x"))


def test_a_message_after_the_last_answer_is_refused(path: Path) -> None:
    """No request would carry it: whoever wants to go on edits the answer, or asks anew."""
    with started([SUM, "bye"], path) as (session, eyes):
        paused_at_first_decision(session, eyes)
        until_standing(session, eyes, "response")
        with pytest.raises(DecisionNotAccepted, match="ends with this answer"):
            session.inject("wait")
        to_the_end(session, eyes)
    assert_sound(session)


def test_secrets_stay_hidden_in_what_is_edited_and_real_in_what_is_sent(path: Path) -> None:
    """The person sees placeholders and may leave them where they are; the model gets what they stand for (DESIGN §3)."""
    secret = "sk-live-" + "A1b2C3d4E5f6G7h8" * 2

    @tool
    def fetch() -> str:
        """Read the settings."""
        return f"password={secret} host=db"

    provider = ScriptedProvider([ToolCall("f", "fetch", {}), "done"])
    with started(provider, path, fetch) as (session, eyes):
        paused_at_first_decision(session, eyes)
        (result,) = until_standing(session, eyes, "result").results
        assert secret not in result.content
        session.edit_result(result.call, result.seen, result.content.replace("host=db", "host=web"))
        standing = until_standing(session, eyes, "request")
        session.edit_request("root", standing.seen, settings={"user": "me"}, tools=())
        to_the_end(session, eyes)
        assert provider.requests[1].messages[-1].tool_results[0].content == f"password={secret} host=web"
    assert secret not in path.read_text(encoding="utf-8")
    assert_sound(session)
