"""What a person added stands between what a policy denies and what it allows (DESIGN §5)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.debugger.policy_file import RulePolicy, remembered_rules
from loopkit.debugger.rulebook import RuleBook
from loopkit.debugger.rules import Ruling, Verdict, read_rule
from loopkit.errors import DecisionNotAccepted
from loopkit.messages import ToolCall
from tests.debugger.policies import asked

NAMES = ("a", "b")
RULES = st.lists(st.tuples(st.sampled_from(["allow", "ask", "deny"]), st.sampled_from([*NAMES, "*"])), max_size=4)
KEPT: st.SearchStrategy[list[tuple[Verdict, str]]] = st.lists(
    st.tuples(st.sampled_from(["allow", "deny"]), st.sampled_from(NAMES)), max_size=3
)


@given(RULES, KEPT, st.sampled_from(NAMES))
def test_a_denial_of_the_policy_is_never_overruled(
    rules: list[tuple[str, str]], kept: list[tuple[Verdict, str]], name: str
) -> None:
    """Denied by the policy, else what the person added first, else the policy."""
    policy = RulePolicy(
        tuple(read_rule({"decide": verdict, "tool": glob}, place) for place, (verdict, glob) in enumerate(rules, 1))
    )
    book = RuleBook(policy)
    for verdict, tool in kept:
        book.keep(ToolCall("c", tool, {"n": 1}), verdict, "run", {})
    own = policy.judge(asked(name)).verdict
    added = next((verdict for verdict, tool in kept if tool == name), None)
    expected = "deny" if own == "deny" else added or own
    assert book.judge(asked(name, arguments={"n": 2})).verdict == expected


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), st.text(max_size=8))
def test_a_name_is_taken_literally(name: str, other: str) -> None:
    """A model may call a tool `*`; that is no rule about all tools."""
    book = RuleBook(None)
    book.keep(ToolCall("c", name, {}), "allow", "run", None)
    assert book.judge(asked(name)).verdict == "allow"
    assert (book.judge(asked(other)).verdict == "allow") is (other == name)


def test_what_is_kept_for_a_project_is_there_for_the_next_and_gone_when_revoked(tmp_path: Path) -> None:
    book = RuleBook(None, tmp_path)
    name = book.keep(
        ToolCall("c", "write", {"path": 'a"\n\x7f\\b', "deep": {"x": [1, None, True]}}), "allow", "project", None
    )
    (rule,) = remembered_rules(tmp_path)
    assert json.loads(rule.data["exact_arguments"])["deep"] == {"x": [1, None, True]}
    later = RuleBook(None, tmp_path)
    call = asked("write", arguments={"deep": {"x": [1, None, True]}, "path": 'a"\n\x7f\\b'})
    assert later.judge(call) == Ruling("allow", name)
    later.forget(name)
    assert later.judge(call).verdict == "ask"
    assert remembered_rules(tmp_path) == ()


def test_what_a_file_can_not_hold_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    book = RuleBook(None, tmp_path)
    with pytest.raises(DecisionNotAccepted, match="can't be written"):
        book.keep(ToolCall("c", "write", {"path": None}), "allow", "project", {"path": {"equals": None}})
    assert book.kept == ()
    in_the_way = tmp_path / "file"
    in_the_way.write_text("no folder", encoding="utf-8")
    book = RuleBook(None, in_the_way)
    with pytest.raises(DecisionNotAccepted, match="can't be written"):
        book.keep(ToolCall("c", "write", {}), "allow", "project", None)
    assert book.kept == ()


def test_a_call_without_readable_arguments_makes_no_rule() -> None:
    with pytest.raises(DecisionNotAccepted, match="no JSON object"):
        RuleBook(None).keep(ToolCall("c", "write", {}, raw_arguments="{x"), "allow", "run", None)
