"""Forks that change more than a decision: messages, answers, results, prompts, models and tools (DESIGN §4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopkit import Agent, ScriptedProvider, ToolCall, ToolLoopConfig, Usage, tool
from loopkit import events as e
from loopkit.core.loop import fold
from loopkit.drivers.replay import replay
from loopkit.errors import UserError
from loopkit.messages import Message
from loopkit.outcomes import AddMessages, Complete, Continue, Deny, EditAnswer, EditMessage, EditResult, Modify, Stop
from tests.drivers.fork_stage import agent, facts, forked, kept, look, middle, model, parent_of, ran, read
from tests.drivers.stage import ask


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


def story(**config: Any) -> Agent:
    return agent(ask("look", path="a"), ask("look", path="b"), **config)


# ── history ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("at", ["root/2", 12])
def test_a_message_of_the_history_is_another_one_from_there_on(at: int | str, tmp_path: Path) -> None:
    """The original stands in the prefix, so both are in the log."""
    parent = parent_of(story(), tmp_path / "run.jsonl")
    today = story()
    result, events = forked(parent, at, EditMessage(0, Message.user("do something else")), today)
    assert isinstance(today.provider, ScriptedProvider)
    assert today.provider.requests[0].messages[0] == Message.user("do something else")
    assert result.messages[0] == Message.user("do something else")
    assert facts(events, e.LoopStarted)[0].messages == (Message.user("go"),)
    assert ran == ["look b"]


def test_a_message_can_be_taken_out(tmp_path: Path) -> None:
    parent = parent_of(story(), tmp_path / "run.jsonl")
    result, _ = forked(parent, "root/1", AddMessages((Message.user("hurry"),)), story())
    assert [message.text for message in result.messages[:2]] == ["go", "hurry"]
    grandparent = parent.with_name("fork.jsonl").rename(parent.with_name("with-hurry.jsonl"))
    result, _ = forked(grandparent, "root/2", EditMessage(1, None), story())
    assert "hurry" not in [message.text for message in result.messages]


def test_a_place_that_is_not_there_is_named(tmp_path: Path) -> None:
    parent = parent_of(story(), tmp_path / "run.jsonl")
    with pytest.raises(UserError, match="messages 0 to 2 before that iteration, not 7"):
        forked(parent, "root/2", EditMessage(7, None), story())
    with pytest.raises(UserError, match="root has the iterations 1 to 3"):
        forked(parent, "root/9", EditMessage(0, None), story())
    with pytest.raises(UserError, match="name one as root/3"):
        forked(parent, "nowhere", AddMessages(()), story())


def test_an_iteration_can_be_taken_again_as_it_was(tmp_path: Path) -> None:
    parent = parent_of(story(), tmp_path / "run.jsonl")
    result, events = forked(parent, "root/2", None, story())
    assert result.text == "results: looked at a, looked at b"
    assert ran == ["look b"]
    assert not facts(events, e.HistoryEdited)


# ── answers and results ──────────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_is_replaced_and_its_calls_run(tmp_path: Path) -> None:
    """The model's own stays in the log; its tokens were paid for once."""
    parent = parent_of(story(), tmp_path / "run.jsonl")
    answer = Message.assistant("Rather this.", [ToolCall("x", "read", {"path": "z"}), ToolCall("y", "nobody", {})])
    result, events = forked(parent, "root/2", EditAnswer(answer), story())
    assert ran == ["read z"]
    assert result.text.startswith("results: looked at a, read z, Unknown tool: nobody.")
    assert result.total_usage == Usage(9, 6)
    (edited,) = facts(events, e.AnswerEdited)
    assert (edited.message, edited.by) == (answer, "fork")


def test_an_answer_without_calls_ends_the_run(tmp_path: Path) -> None:
    parent = parent_of(story(), tmp_path / "run.jsonl")
    result, _ = forked(parent, "root/2", EditAnswer(Message.assistant("That is enough.")), story())
    assert (result.text, result.termination_reason) == ("That is enough.", Complete())
    assert ran == []


def test_calls_of_an_edited_answer_are_checked_against_their_schemas(tmp_path: Path) -> None:
    """spec/loop.md 9.1"""
    parent = parent_of(story(), tmp_path / "run.jsonl")
    answer = Message.assistant("", [ToolCall("x", "look", {"path": 7})])
    result, _ = forked(parent, "root/2", EditAnswer(answer), story())
    assert "Invalid arguments" in result.text
    assert ran == []


def test_stop_when_sees_the_edited_answer(tmp_path: Path) -> None:
    """spec/loop.md 3.8: it is asked about the answer that counts."""
    seen: list[str] = []

    def stop_when(context: Any) -> Stop | Continue:
        seen.append(context.response.text)
        return Stop("enough") if context.response.text == "Rather this." else Continue()

    parent = parent_of(story(stop_when=stop_when), tmp_path / "run.jsonl")
    seen.clear()
    forked(parent, "root/2", EditAnswer(Message.assistant("Rather this.")), story(stop_when=stop_when))
    assert seen == ["Rather this."]


@pytest.mark.parametrize("position", [1, 2])
def test_a_result_is_replaced_and_its_tool_is_not_run_again(position: int, tmp_path: Path) -> None:
    """Also when its whole batch has entered the history: results stay in call order (spec/loop.md 3.14)."""

    def both(**config: Any) -> Agent:
        return agent([ask("look", path="a"), ask("read", path="b")], ask("look", path="c"), **config)

    parent = parent_of(both(), tmp_path / "run.jsonl")
    result, events = forked(parent, f"root/1.{position}", EditResult("nothing there", is_error=True), both())
    expected = ["looked at a", "read b"]
    expected[position - 1] = "nothing there"
    assert result.text == f"results: {', '.join(expected)}, looked at c"
    assert ran == ["look c"]
    assert {fact.content for fact in facts(events, e.ToolReturned)} >= {"looked at a", "read b"}
    (answered,) = [
        m.tool_results[0]
        for m in result.messages
        if m.text == "" and m.tool_results[:1] and m.tool_results[0].content == "nothing there"
    ]
    assert answered.is_error


def test_a_result_that_no_request_will_carry_is_not_changed(tmp_path: Path) -> None:
    parent = parent_of(story(max_iterations=1), tmp_path / "run.jsonl")
    with pytest.raises(UserError, match=r"has no result of a call 'root/9\.9'"):
        forked(parent, "root/9.9", EditResult("x"), story())


# ── the agent itself ─────────────────────────────────────────────────────────────────────────────────────────────────


def prompted(system: str | None, *, name: str = "agent", max_iterations: int = 10, tools: Any = (look, read)) -> Agent:
    return Agent(
        model(ask("look", path="a"), ask("look", path="b")),
        tools=tools,
        system=system,
        name=name,
        config=ToolLoopConfig(max_iterations=max_iterations),
    )


@pytest.mark.parametrize(("before", "after"), [("old", "new"), (None, "new"), ("old", None)])
def test_todays_prompt_holds_from_the_cut_on(before: str | None, after: str | None, tmp_path: Path) -> None:
    parent = parent_of(prompted(before), tmp_path / "run.jsonl")
    today = prompted(after)
    result, events = forked(parent, "root/2", None, today)
    assert isinstance(today.provider, ScriptedProvider)
    first = today.provider.requests[0].messages[0]
    assert first == (Message.user("go") if after is None else Message.system(after))
    assert [fact.by for fact in facts(events, e.HistoryEdited)] == ["fork"]
    assert result.text == "results: looked at a, looked at b"
    assert ran == ["look b"]


def test_the_same_agent_is_no_change(tmp_path: Path) -> None:
    parent = parent_of(prompted("same"), tmp_path / "run.jsonl")
    _, events = forked(parent, "root/2", None, prompted("same"))
    assert not facts(events, e.AgentChanged)
    assert not facts(events, e.HistoryEdited)


def test_todays_tools_are_offered_and_run(tmp_path: Path) -> None:
    """A tool that came, one that went, one with another schema: the model sees today's."""

    @tool(name="look")
    async def look_around(path: str, deep: bool = False) -> str:
        """Look around."""
        ran.append(f"around {path}")
        return f"around {path}"

    parent = parent_of(prompted("p"), tmp_path / "run.jsonl")
    today = prompted("p", tools=[look_around], name="renamed")
    result, events = forked(parent, "root/2", None, today)
    assert isinstance(today.provider, ScriptedProvider)
    assert [tool.description for tool in today.provider.requests[0].tools] == ["Look around."]
    assert result.text == "results: looked at a, around b"
    assert fold(events)["root"].started.agent == "renamed"


def test_a_request_without_an_answer_is_made_again_with_todays_agent(tmp_path: Path) -> None:
    parent = parent_of(prompted("old"), tmp_path / "run.jsonl")
    asked = 3
    _, events = forked(parent, asked, None, prompted("new"))
    assert kept(parent) == asked
    assert isinstance(events[asked - 1].fact, e.ModelRequested)
    (failed,) = facts(events, e.ModelAttemptFailed)
    assert failed.retry
    assert [fact.attempt for fact in facts(events, e.ModelRequested)][:2] == [1, 2]


def test_a_sub_agent_that_was_open_goes_on_with_its_own_agent_of_today(tmp_path: Path) -> None:
    """The one that its handler makes now is compared with the one that was recorded."""

    @tool(name="middle")
    async def stricter_middle() -> str:
        """Ask a sub-agent that looks twice."""
        inner = agent(ask("look", path="m1"), ask("look", path="m2"), max_iterations=2)
        return (await inner.run("task")).text or "out of turns"

    parent = parent_of(agent(ask("middle"), tools=[middle]), tmp_path / "run.jsonl")
    result, events = forked(parent, "root/1.1#1/2.1", Deny("no"), agent(ask("middle"), tools=[stricter_middle]))
    changed = [event.loop for event in events if isinstance(event.fact, e.AgentChanged)]
    assert changed == ["root/1.1#1"]
    assert result.text == "results: out of turns"


def test_a_fork_replays_with_the_agent_that_joined_it(tmp_path: Path) -> None:
    """It is that agent that is compared, where it joined; the one that began is recorded."""
    parent = parent_of(prompted("old"), tmp_path / "run.jsonl")
    forked(parent, "root/2", None, prompted("new", max_iterations=7))
    child = parent.with_name("fork.jsonl")
    assert replay(child, prompted("new", max_iterations=7)).same
    report = replay(child, prompted("new", max_iterations=8))
    assert not report.same
    assert "AgentChanged" in report.text()


def test_secrets_stay_hidden_in_what_a_fork_changes(tmp_path: Path) -> None:
    """The prompt, an answer and a result of a fork are recorded as placeholders; the model gets the real ones."""
    parent = parent_of(prompted("old"), tmp_path / "run.jsonl")
    secret = "sk-proj-" + "Zx81" * 10
    today = prompted(f"the key is {secret}")
    forked(parent, "root/1.1", EditResult(f"token={secret}"), today)
    assert isinstance(today.provider, ScriptedProvider)
    assert secret in today.provider.requests[0].messages[0].text
    assert secret not in parent.with_name("fork.jsonl").read_text()


# ── what can't be undone ─────────────────────────────────────────────────────────────────────────────────────────────


@tool(side_effect="irreversible")
async def send(path: str) -> str:
    """Send something."""
    ran.append(f"send {path}")
    return f"sent {path}"


@tool(side_effect="irreversible")
async def deploy() -> str:
    """Let a sub-agent deploy."""
    ran.append("deploy")
    return (await agent(ask("look", path="m1")).run("task")).text


def sending(*turns: Any) -> Agent:
    return agent(*turns, tools=[send, look, read, deploy])


@pytest.mark.parametrize("at", ["root/1.1", 5])
def test_what_cannot_be_undone_is_not_done_again_by_going_on_as_it_was(at: int | str, tmp_path: Path) -> None:
    """What happened in the parent happened; the fork takes its result."""
    turns = [[ask("send", path="a"), ask("look", path="b")], ask("look", path="c")]
    parent = parent_of(sending(*turns), tmp_path / "run.jsonl")
    result, _ = forked(parent, at, None, sending(*turns))
    assert "send a" not in ran
    assert result.text == "results: sent a, looked at b, looked at c"


def test_what_cannot_be_undone_happens_where_somebody_decides_so(tmp_path: Path) -> None:
    parent = parent_of(sending(ask("send", path="a")), tmp_path / "run.jsonl")
    forked(parent, "root/1.1", Modify({"path": "z"}), sending(ask("send", path="a")))
    assert ran == ["send z"]


def test_what_cannot_be_undone_is_not_approved_by_nobody(tmp_path: Path) -> None:
    """Later calls of a fork ask; with nobody there the answer is no."""
    turns = [ask("look", path="a"), ask("send", path="b")]
    parent = parent_of(sending(*turns), tmp_path / "run.jsonl")
    result, _ = forked(parent, "root/1", None, sending(*turns))
    assert ran == ["look a"]
    assert "Not run: send can't be undone" in result.text


def test_a_place_behind_what_cannot_be_undone_is_refused(tmp_path: Path) -> None:
    """Its handler would have to run again to get there."""
    parent = parent_of(sending(ask("deploy")), tmp_path / "run.jsonl")
    with pytest.raises(UserError, match=r"running deploy .* again, which is declared irreversible"):
        forked(parent, "root/1.1#1/1.1", Deny("no"), sending(ask("deploy")))
    assert ran == []
