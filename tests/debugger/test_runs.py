"""Whole runs without a screen: run, replay, fork, check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loopkit import Agent, ScriptedProvider, ToolCall, tool
from loopkit import events as e
from loopkit.debugger.policy import HEADLESS_POLICIES
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.runs import check_file, fork_file, replay_file, run_headless
from loopkit.errors import ProviderError, RecordingDamaged, RecordingError, UserError
from loopkit.outcomes import Approve, Complete, Deny, Modify, Respond
from tests.debugger.live_runs import add, shout

CALLS = [ToolCall("c1", "add", {"a": 1, "b": 2}), ToolCall("c2", "shout", {"text": "hi"}), ToolCall("c3", "nope")]


def agent(*script: Any) -> Agent:
    return Agent(ScriptedProvider(script or (CALLS, "done")), tools=[add, shout])


def contents(path: Path) -> list[str | None]:
    return [call.content for call in open_recording(path).timeline.calls.values()]


def deciders(path: Path) -> set[str]:
    return {event.fact.by for event in open_recording(path).events if isinstance(event.fact, e.Decided)}


NOPE = "Unknown tool: nope. Known tools: add, shout."
REFUSED = "Not run: shout is not declared read-only and nobody is here to approve it."
NOBODY = "Not run: this run approves no tool calls."


@pytest.mark.parametrize(
    ("approve", "told", "by"),
    [
        ("all", ["3", "HI", NOPE], "policy: approve all"),
        ("none", [NOBODY, NOBODY, NOBODY], "policy: approve none"),
        ("read-only", ["3", REFUSED, NOPE], "policy: read-only"),
    ],
)
def test_a_policy_decides_where_nobody_is(approve: Any, told: list[str], by: str, backend: str, path: Path) -> None:
    """Read-only refuses with advice, an unknown tool is told as what it is, the rule is named (DESIGN §6)."""
    outcome = run_headless(agent(), "go", record=path, approve=approve, backend=backend)
    assert outcome.error is None
    assert outcome.result is not None
    assert outcome.result.termination_reason == Complete()
    assert outcome.path == path
    assert contents(path) == told
    assert deciders(path) == {by}
    assert check_file(path) == []
    assert replay_file(path).same
    assert set(HEADLESS_POLICIES) == {"all", "reversible", "none", "read-only"}


def test_sub_agents_are_under_the_same_policy(path: Path) -> None:
    @tool(side_effect="read")
    async def delegate() -> str:
        """Ask a helper."""
        return (await agent().run("x")).text

    run_headless(Agent(ScriptedProvider([ToolCall("d", "delegate"), "done"]), tools=[delegate]), "go", record=path)
    assert contents(path) == ["done", "3", REFUSED, NOPE]


def test_a_run_need_not_be_recorded() -> None:
    outcome = run_headless(agent("hello"), "go", record=None)
    assert (outcome.path, outcome.error) == (None, None)
    assert outcome.result is not None


def test_a_failure_is_an_outcome_and_stands_in_the_recording(path: Path) -> None:
    outcome = run_headless(agent(ProviderError("down", status=503)), "go", record=path)
    assert outcome.result is None
    assert isinstance(outcome.error, ProviderError)
    assert check_file(path) == []


def test_a_place_that_can_not_be_written_is_the_users(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        run_headless(agent(), "go", record=tmp_path)


@pytest.mark.parametrize(
    ("edit", "content"),
    [
        (Deny("no"), "no"),
        (Modify({"a": 40, "b": 2}), "42"),
        (Respond("about 3"), "about 3"),
        (Approve(), "3"),
        (None, "3"),
    ],
)
def test_a_fork_changes_one_decision_and_goes_on(edit: Any, content: str, tmp_path: Path) -> None:
    parent, fork = tmp_path / "parent.jsonl", tmp_path / "new" / "fork.jsonl"
    run_headless(agent(), "go", record=parent, approve="all")
    before = parent.read_bytes()
    assert fork_file(parent, "root/1.1", edit, agent("after"), fork) == fork
    assert contents(fork)[0] == content
    assert parent.read_bytes() == before
    header = open_recording(fork).header
    parents = open_recording(parent).header
    assert header is not None
    assert parents is not None
    assert header.parent == parents.run
    assert check_file(fork) == []
    assert replay_file(fork).same


def test_a_fork_that_does_not_fit_is_refused_and_leaves_nothing_that_lies(tmp_path: Path) -> None:
    parent = tmp_path / "parent.jsonl"
    run_headless(agent(), "go", record=parent, approve="all")
    for at, edit in (("root/7.7", Deny()), (10**6, None), (0, None), (1, Deny())):
        out = tmp_path / f"{at}.jsonl".replace("/", "-")
        with pytest.raises(UserError) as refusal:
            fork_file(parent, at, edit, agent(), out)
        assert "\n" not in str(refusal.value)
        assert not out.exists()


def test_damage_is_checked_and_never_replayed_or_forked(tmp_path: Path) -> None:
    """No silent skip in replay (spec/faults.md j4)."""
    path = tmp_path / "run.jsonl"
    run_headless(agent(), "go", record=path, approve="all")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], b"oops\n", *lines[5:]]))
    assert [finding.line for finding in check_file(path)] == [5]
    with pytest.raises(RecordingDamaged):
        replay_file(path)
    with pytest.raises(RecordingDamaged):
        fork_file(path, "root/1.1", None, agent(), tmp_path / "fork.jsonl")
    with pytest.raises(RecordingError):
        check_file(tmp_path / "missing.jsonl")


@pytest.mark.parametrize("missing", ["LoopStarted", "IterationStarted", "ModelReplied"])
def test_a_recording_that_lies_about_its_order_is_not_forked(missing: str, tmp_path: Path) -> None:
    """Its numbers are gapless, what they say doesn't follow: one line, no traceback."""
    path, parent = tmp_path / "run.jsonl", tmp_path / "lying.jsonl"
    run_headless(agent(CALLS, CALLS, "done"), "go", record=path, approve="all")
    header, *lines = path.read_bytes().splitlines(keepends=True)
    told = [json.loads(line) for line in lines]
    told.remove(next(event for event in told if event["type"] == missing))
    parent.write_bytes(
        header + b"".join(json.dumps({**event, "seq": n}).encode() + b"\n" for n, event in enumerate(told, 1))
    )
    with pytest.raises(RecordingError) as refusal:
        fork_file(parent, "root/2.1", Deny(), agent(), tmp_path / "fork.jsonl")
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "fork.jsonl").exists()
