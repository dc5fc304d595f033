"""Who decides on a call: a deny rule, `on_tool_call`, the policy's other rules, then a person; and the queue of what waits."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from loopkit import Agent, ScriptedProvider, ToolCall, ToolLoopConfig, replay, tool
from loopkit import events as e
from loopkit.debugger.nodes import CallStatus
from loopkit.debugger.session import Session
from loopkit.debugger.status import Choice
from loopkit.errors import DecisionNotAccepted, UserError
from loopkit.messages import Message
from loopkit.outcomes import Approve, Deny, Modify, Respond, ToolApproval
from tests.debugger.live_runs import Eyes, add, assert_sound, facts_of, shout, started
from tests.debugger.policies import policy_of

SUM = ToolCall("c1", "add", {"a": 1, "b": 2})
LOUD = ToolCall("c2", "shout", {"text": "loud"})
SOFT = ToolCall("c3", "shout", {"text": "soft"})
QUIET = """
[[rule]]
name = "quiet"
decide = "deny"
arguments.text = "loud*"
reason = "No shouting."

[[rule]]
name = "reads"
decide = "allow"
side_effect = "read"
"""


def deciders(session: Session) -> list[str]:
    return [fact.by for fact in facts_of(session, e.Decided)]


def test_a_deny_rule_comes_before_the_callback_and_the_person_last(backend: str, path: Path, tmp_path: Path) -> None:
    """DESIGN §5: deny rule, `on_tool_call`, policy, person; each names itself."""
    seen: list[str] = []

    def callback(call: ToolCall) -> Any:
        seen.append(str(call.arguments))
        return Respond("by the callback") if call.arguments.get("a") == 7 else None

    config = ToolLoopConfig(on_tool_call=callback)
    calls = [LOUD, ToolCall("s", "add", {"a": 7, "b": 0}), SUM, SOFT]
    provider = ScriptedProvider([calls, "done"])
    policy = policy_of(tmp_path, QUIET)
    with started(provider, path, backend=backend, config=config, policy=policy) as (session, eyes):
        eyes.until(lambda: [one.call for one in session.pending()] == ["root/1.4"])
        session.approve("root/1.4", 1)
        eyes.until_ended()
        by = {fact.call: fact.by for fact in facts_of(session, e.Decided)}
        assert by == {
            "root/1.1": "policy deny: quiet",
            "root/1.2": "on_tool_call",
            "root/1.3": "policy: reads",
            "root/1.4": "person",
        }
        assert "loud" not in str(seen)
        assert provider.requests[1].messages[2].tool_results[0].content == "No shouting."
    assert_sound(session)
    report = replay(path, Agent(ScriptedProvider([]), tools=[add, shout], config=config))
    assert report.same, report.text()


def test_arguments_that_the_callback_edits_pass_the_deny_rules_again(backend: str, path: Path, tmp_path: Path) -> None:
    config = ToolLoopConfig(on_tool_call=lambda call: Modify({"text": "loud and clear"}))
    with started([SOFT, "done"], path, backend=backend, config=config, policy=policy_of(tmp_path, QUIET)) as (
        session,
        eyes,
    ):
        eyes.until_ended()
        assert deciders(session) == ["policy deny: quiet"]
        assert facts_of(session, e.ToolStarted) == []
    assert_sound(session)


def test_arguments_that_a_person_edits_pass_the_deny_rules_again(path: Path, tmp_path: Path) -> None:
    """The refusal is logged, and the call waits on."""
    with started([SOFT, "done"], path, policy=policy_of(tmp_path, QUIET)) as (session, eyes):
        (one,) = eyes.until_pending()
        with pytest.raises(DecisionNotAccepted, match="denied by 'quiet'"):
            session.edit(one.call, one.version, {"text": "loud after all"})
        with pytest.raises(DecisionNotAccepted, match="denied by 'quiet'"):
            session.decide_batch((Choice(one.call, one.version, Modify({"text": "loud!"})),))
        session.edit(one.call, one.version, {"text": "softer"})
        eyes.until_ended()
        assert [fact.by for fact in facts_of(session, e.DecisionRefused)] == ["person", "person"]
        assert session.timeline.calls[one.call].content == "SOFTER"
    assert_sound(session)


def test_calls_of_an_edited_answer_pass_the_rules_too(path: Path, tmp_path: Path) -> None:
    with started([SOFT, "done", "end"], path, policy=policy_of(tmp_path, QUIET)) as (session, eyes):
        (one,) = eyes.until_pending()
        session.pause()
        session.approve(one.call, one.version)
        for _ in range(10):
            eyes.until(lambda: session.timeline.paused)
            (standing,) = session.standing()
            if standing.gate == "response":
                break
            before = len(facts_of(session, e.Resumed))
            session.step()
            eyes.until(lambda before=before: len(facts_of(session, e.Resumed)) > before)  # type: ignore[misc]  # a default binds it
        session.edit_answer("root", standing.seen, Message.assistant("", [LOUD]))
        session.resume()
        eyes.until_ended()
        assert deciders(session) == ["person", "policy deny: quiet"]
    assert_sound(session)


def test_a_broken_rule_asks_the_person_and_says_so(path: Path, tmp_path: Path) -> None:
    policy = policy_of(tmp_path, '[[rule]]\ndecide = "allow"\ntols = "x"\n')
    with started([SUM, "done"], path, policy=policy) as (session, eyes):
        (one,) = eyes.until_pending()
        (told,) = session.broken_rules
        assert "no key 'tols'" in told
        session.approve(one.call, one.version)
        eyes.until_ended()
    assert_sound(session)


# ── nobody answers ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("then", "status", "by"),
    [
        ("deny", CallStatus.EXPIRED, []),
        ("allow", CallStatus.DONE, ["policy: deadline (nobody decided in 0.01 s)"]),
    ],
)
def test_a_deadline_decides_when_nobody_does(
    then: str, status: CallStatus, by: list[str], backend: str, path: Path, tmp_path: Path
) -> None:
    """A call that expired is no denial of a person's (spec/faults.md c10), and the model is told (c19)."""
    provider = ScriptedProvider([SUM, "done"])
    policy = policy_of(tmp_path, f'deadline = 0.01\nthen = "{then}"\n')
    with started(provider, path, backend=backend, policy=policy) as (session, eyes):
        eyes.until_ended()
        call = session.timeline.calls["root/1.1"]
        assert (call.status, deciders(session)) == (status, by)
        if then == "deny":
            assert facts_of(session, e.DecisionExpired) == [e.DecisionExpired("root/1.1", 1)]
            told = provider.requests[1].messages[-1].tool_results[0].content
            assert told == "Not performed: nobody decided on this call in time."
        with pytest.raises(DecisionNotAccepted):
            session.approve("root/1.1", 1)
    assert_sound(session)


def test_a_deadline_may_stop_the_run(backend: str, path: Path, tmp_path: Path) -> None:
    policy = policy_of(tmp_path, '[[rule]]\ndecide = "ask"\ntool = "add"\ndeadline = 0.01\nthen = "stop"\n')
    with started([SUM, "done"], path, backend=backend, policy=policy) as (session, eyes):
        eyes.until_ended()
        assert facts_of(session, e.RunStopped) == [e.RunStopped("policy", "nobody decided in 0.01 s on root/1.1")]
    assert_sound(session)


def test_a_call_that_is_decided_in_time_has_no_deadline_any_more(path: Path, tmp_path: Path) -> None:
    with started([[SUM, SUM], "done"], path, policy=policy_of(tmp_path, "deadline = 1000\n")) as (session, eyes):
        one, two = eyes.until_pending(2)
        assert [(line.call, line.then, line.rule) for line in session.deadlines] == [
            ("root/1.1", "deny", ""),
            ("root/1.2", "deny", ""),
        ]
        assert 900 < session.deadlines[0].at < 1100
        session.approve(one.call, one.version)
        assert [line.call for line in session.deadlines] == [two.call]
        session.approve(two.call, two.version)
        eyes.until_ended()
        assert session.deadlines == ()
    assert_sound(session)


# ── the queue ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_batch_is_decided_as_a_whole(backend: str, path: Path) -> None:
    with started([[SUM, SUM, SOFT, SOFT], "done"], path, backend=backend) as (session, eyes):
        eyes.until_pending(4)
        session.decide_batch(
            (
                Choice("root/1.4", 1, Deny("no")),
                Choice("root/1.1", 1, Approve()),
                Choice("root/1.3", 1, Modify({"text": "x"})),
                Choice("root/1.2", 1, Respond("three")),
            )
        )
        eyes.until_ended()
        contents = [session.timeline.calls[f"root/1.{place}"].content for place in (1, 2, 3, 4)]
        assert contents == ["3", "three", "X", "no"]
    assert_sound(session)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (Choice("root/1.2", 7, Approve()), "the decision was on 7"),
        (Choice("root/1.2", 1, Modify({"a": "x"})), "nothing was decided"),
        (Choice("root/1.1", 1, Deny()), "twice on the same call"),
        (Choice("root/9.1", 1, Approve()), "there is no call"),
        (Choice("root/1.2", True, Approve()), "a whole number"),
        (Choice("root/1.2", 1, "yes"), "a decision is Approve"),  # type: ignore[arg-type]  # as a caller may err
    ],
)
def test_a_batch_with_one_bad_decision_decides_nothing(bad: Choice, words: str, path: Path) -> None:
    """All or none: half of a batch would be what nobody chose."""
    with started([[SUM, SUM], "done"], path) as (session, eyes):
        eyes.until_pending(2)
        with pytest.raises(DecisionNotAccepted, match=words):
            session.decide_batch((Choice("root/1.1", 1, Approve()), bad))
        session.poll()
        assert len(session.pending()) == 2
        eyes.approve_all_to_the_end()
    assert_sound(session)


def test_of_two_batches_at_once_exactly_one_is_taken(backend: str, path: Path) -> None:
    with started([[SUM, SUM], "done"], path, backend=backend) as (session, eyes):
        eyes.until_pending(2)
        together = threading.Barrier(2)
        outcomes: list[str] = []

        def decide(decision: ToolApproval) -> None:
            together.wait(10)
            try:
                session.decide_batch(tuple(Choice(f"root/1.{place}", 1, decision) for place in (1, 2)))
                outcomes.append("taken")
            except DecisionNotAccepted:
                outcomes.append("refused")

        deciding = [threading.Thread(target=decide, args=(one,)) for one in (Approve(), Deny("no"))]
        for thread in deciding:
            thread.start()
        for thread in deciding:
            thread.join(10)
        eyes.until_ended()
        assert sorted(outcomes) == ["refused", "taken"]
        assert len({type(fact.decision) for fact in facts_of(session, e.Decided)}) == 1
    assert_sound(session)


# ── same again ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_same_again_decides_what_waits_and_what_comes_and_is_revoked(backend: str, path: Path) -> None:
    """It covers these arguments only (spec/faults.md c6), names its rule (c21), and can be taken back."""
    other = ToolCall("o", "add", {"a": 9, "b": 9})
    with started([[SUM, SUM, other], SUM, SUM, "done"], path, backend=backend) as (session, eyes):
        first, _, third = eyes.until_pending(3)
        name = session.same_again(first.call, first.version)
        eyes.until(lambda: len(session.pending()) == 1)
        (kept,) = session.kept_rules
        assert (kept.name, kept.scope, kept.decide, kept.tool) == (name, "run", "allow", "add")
        assert kept.about == 'exactly {"a": 1, "b": 2}'
        session.approve(third.call, third.version)
        eyes.until(lambda: "root/3.1" in session.timeline.calls or session.timeline.ended)
        session.forget_rule(name)
        assert session.kept_rules == ()
        with pytest.raises(DecisionNotAccepted, match="no remembered rule"):
            session.forget_rule(name)
        eyes.approve_all_to_the_end()
        session.poll()
        by = deciders(session)
        assert by[:4] == [f"policy: {name}", f"policy: {name}", "person", f"policy: {name}"]
    assert_sound(session)


def test_same_again_for_a_project_holds_in_later_runs(path: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()

    def start(name: str, script: list[Any]) -> Session:
        agent = Agent(ScriptedProvider(script), tools=[add, shout])
        return Session.start(agent, "go", record=path.with_name(name), project=project)

    session = start("one.jsonl", [SOFT, "done"])
    eyes = Eyes(session)
    (one,) = eyes.until_pending()
    name = session.same_again(one.call, one.version, decide="deny", scope="project", patterns={"text": "s*"})
    eyes.until_ended()
    session.close()
    assert session.timeline.calls[one.call].status is CallStatus.DENIED

    session = start("two.jsonl", [ToolCall("n", "shout", {"text": "softly"}), "done"])
    Eyes(session).until_ended()
    assert deciders(session) == [f"policy deny: {name}"]
    assert [(rule.scope, rule.about) for rule in session.kept_rules] == [("project", '{"text": "s*"}')]
    session.forget_rule(name)
    session.close()
    assert "[[rule]]" not in (project / ".loopkit" / "remembered.toml").read_text(encoding="utf-8")


def test_a_project_without_a_folder_remembers_nothing(path: Path) -> None:
    with started([SUM, "done"], path) as (session, eyes):
        (one,) = eyes.until_pending()
        with pytest.raises(DecisionNotAccepted, match="belongs to no project"):
            session.same_again(one.call, one.version, scope="project")
        with pytest.raises(DecisionNotAccepted, match="would not decide on this very call"):
            session.same_again(one.call, one.version, patterns={"a": 99})
        with pytest.raises(DecisionNotAccepted, match="no rule can be made"):
            session.same_again(one.call, one.version, patterns={"a": {"like": 1}})
        with pytest.raises(DecisionNotAccepted, match="the decision was on 3"):
            session.same_again(one.call, 3)
        assert session.kept_rules == ()
        eyes.approve_all_to_the_end()
    assert_sound(session)


def test_a_secret_is_never_remembered_in_a_file(path: Path, tmp_path: Path) -> None:
    @tool
    def login(password: str) -> str:
        """Log in."""
        return "in"

    call = ToolCall("l", "login", {"password": "hunter2hunter2"})
    agent = Agent(ScriptedProvider([[call, call], "done"]), tools=[login])
    session = Session.start(agent, "go", record=path, project=tmp_path)
    eyes = Eyes(session)
    one, _ = eyes.until_pending(2)
    with pytest.raises(DecisionNotAccepted, match="hold a secret"):
        session.same_again(one.call, one.version, scope="project")
    name = session.same_again(one.call, one.version)
    eyes.until_ended()
    session.close()
    assert deciders(session) == [f"policy: {name}"] * 2
    assert not (tmp_path / ".loopkit").exists()


def test_a_projects_policy_holds_where_none_is_given(path: Path, tmp_path: Path) -> None:
    (tmp_path / ".loopkit").mkdir()
    (tmp_path / ".loopkit" / "policy.toml").write_text('[[rule]]\ndecide = "allow"\n', encoding="utf-8")
    agent = Agent(ScriptedProvider([SUM, "done"]), tools=[add])
    session = Session.start(agent, "go", record=path, project=tmp_path)
    Eyes(session).until_ended()
    session.close()
    assert deciders(session) == ["policy: rule 1"]
    (tmp_path / ".loopkit" / "policy.toml").write_text("[[rule", encoding="utf-8")
    with pytest.raises(UserError, match="is no TOML"):
        Session.start(agent, "go", record=path.with_name("two.jsonl"), project=tmp_path)
