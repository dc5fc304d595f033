"""Policies as files: what rules match, what is decided where none does, and what becomes of broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.debugger.policy_file import RulePolicy, decision_of, load_policy, remembered_rules, write_remembered
from loopkit.debugger.rules import Asked, Ruling, read_rule
from loopkit.errors import UserError
from loopkit.messages import ToolCall
from loopkit.outcomes import Approve, Deny
from tests.debugger.policies import asked, policy_of

PROJECT = """
deadline = 60
then = "allow"

[[rule]]
name = "never push"
decide = "deny"
tool = "git_push"
reason = "Pushing is for people."

[[rule]]
decide = "allow"
side_effect = "read"

[[rule]]
name = "tests"
decide = "ask"
tool = ["run_*", "test_*"]
deadline = 5
then = "deny"
"""


def test_the_first_rule_that_matches_decides_and_no_match_asks(tmp_path: Path) -> None:
    """DESIGN §5: policies are data."""
    policy = policy_of(tmp_path, PROJECT)
    assert policy.judge(asked("git_push", "read")) == Ruling("deny", "never push", "Pushing is for people.")
    assert policy.judge(asked("look", "read")) == Ruling("allow", "rule 2")
    assert policy.judge(asked("run_tests")) == Ruling("ask", "tests", "", 5.0, "deny")
    assert policy.judge(asked("write")) == Ruling("ask", "", "", 60.0, "allow")
    assert policy.broken == ()


def test_a_ruling_names_its_rule_and_a_denial_gives_its_reason() -> None:
    """Automatic decisions name their rule (spec/faults.md c21)."""
    assert decision_of(Ruling("allow", "reads")) == (Approve(), "policy: reads")
    assert decision_of(Ruling("deny", "x", "No.")) == (Deny("No."), "policy deny: x")
    denied = decision_of(Ruling("deny", "x"))
    assert denied is not None
    assert denied[0] == Deny("Not run: the policy's rule 'x' denies it.")
    assert decision_of(Ruling("ask", "x")) is None


@pytest.mark.parametrize(
    ("condition", "call", "matches"),
    [
        ('tool = "read_*"', asked("read_file"), True),
        ('tool = "read_*"', asked("Read_file"), False),
        ('tool = ["a", "w*"]', asked("write"), True),
        ('arguments.path = "src/*"', asked(arguments={"path": "src/a/b.py"}), True),
        ('arguments.path = "src/*"', asked(arguments={"path": "docs/a"}), False),
        ('arguments.path = "src/*"', asked(arguments={"path": 5}), False),
        ('arguments.path = "*"', asked(arguments={}), False),
        ("arguments.count = 1", asked(arguments={"count": 1.0}), True),
        ("arguments.count = 1", asked(arguments={"count": True}), False),
        ("arguments.force = true", asked(arguments={"force": True}), True),
        ("arguments.force = true", asked(arguments={"force": 1}), False),
        ("arguments.n = {above = 3, below = 5}", asked(arguments={"n": 4}), True),
        ("arguments.n = {above = 3, below = 5}", asked(arguments={"n": 5}), False),
        ("arguments.n = {above = 3}", asked(arguments={"n": "4"}), False),
        ("arguments.n = {above = 0}", asked(arguments={"n": True}), False),
        ('arguments.c = {regex = "rm\\\\s+-rf"}', asked(arguments={"c": "sudo rm  -rf /"}), True),
        ('arguments.c = {not = "ls*"}', asked(arguments={"c": "rm"}), True),
        ('arguments.c = {not = "ls*"}', asked(arguments={"c": "ls -l"}), False),
        ('arguments.c = {not = "ls*"}', asked(arguments={}), False),
        ('arguments.c = {equals = ["a", 1]}', asked(arguments={"c": ["a", 1]}), True),
        ('arguments.p = {within = "src"}', asked(arguments={"p": "src/a"}), True),
        ('arguments.p = {within = "src"}', asked(arguments={"p": "src/../secret"}), False),
        ('arguments.p = {within = "src"}', asked(arguments={"p": "srcs/a"}), False),
        ('arguments.p = {within = "src"}', asked(arguments={"p": "/etc/passwd"}), False),
        ('arguments.p = {within = "src"}', asked(arguments={"p": "a\0b"}), False),
        ('arguments."a.b" = "x"', asked(arguments={"a.b": "x"}), True),
        ('arguments."to.name" = "x"', asked(arguments={"to": {"name": "x"}}), True),
        ('arguments."to.name" = "x"', asked(arguments={"to": "x"}), False),
        ('exact_arguments = \'{"b": 2, "a": 1}\'', asked(arguments={"a": 1.0, "b": 2}), True),
        ("exact_arguments = '{\"a\": 1}'", asked(arguments={"a": 1, "b": 2}), False),
        ('agent = "res*"', asked(agent="researcher"), True),
        ('agent = "res*"', asked(agent="root"), False),
        ('depth = ">= 1"', asked(depth=1), True),
        ('depth = ">= 1"', asked(depth=0), False),
        ("depth = 2", asked(depth=2), True),
        ('side_effect = ["read", "idempotent"]', asked(side_effect="idempotent"), True),
        ('side_effect = "undeclared"', asked(), True),
        ('side_effect = "irreversible"', asked(), False),
        ('tokens = "> 1000"', asked(tokens=1001), True),
        ('cost = "> 0.5"', asked(cost=0.6), True),
        ('cost = "> 0.5"', asked(cost=0.4), False),
    ],
)
def test_what_a_condition_matches(condition: str, call: Asked, matches: bool, tmp_path: Path) -> None:
    policy = policy_of(tmp_path, f'[[rule]]\ndecide = "allow"\n{condition}\n')
    assert policy.broken == ()
    assert (policy.judge(call).verdict == "allow") is matches


def test_arguments_that_are_no_json_match_no_pattern(tmp_path: Path) -> None:
    """They would run with nothing, whatever they look like (spec/loop.md 9.1)."""
    policy = policy_of(tmp_path, "[[rule]]\ndecide = 'allow'\nexact_arguments = '{}'\n")
    call = ToolCall("c", "write", {}, raw_arguments="{broken")
    assert policy.judge(Asked(call)).verdict == "ask"
    assert policy.judge(asked()).verdict == "allow"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ('decide = "maybe"', "decide is one of allow, ask, deny"),
        ('tool = "x"', "decide is one of"),
        ('decide = "allow"\ntols = "x"', "no key 'tols'"),
        ('decide = "allow"\ntool = 5', "tool is a glob"),
        ('decide = "allow"\ntool = []', "tool is a glob"),
        ('decide = "allow"\ndepth = "deep"', "depth is a number"),
        ('decide = "allow"\ncost = true', "cost is a number"),
        ('decide = "allow"\nside_effect = "bad"', "side_effect is one of"),
        ('decide = "allow"\narguments = "x"', "arguments holds a pattern for each"),
        ('decide = "allow"\narguments.c = {regex = "("}', "no regular expression"),
        ('decide = "allow"\narguments.c = {like = "x"}', "takes a glob, a value"),
        ('decide = "allow"\narguments.c = {}', "says nothing"),
        ('decide = "allow"\nexact_arguments = "[1]"', "text of a JSON object"),
        ('decide = "deny"\nreason = 5', "reason is text"),
        ('decide = "ask"\ndeadline = -1', "deadline is a number of seconds"),
        ('decide = "ask"\nthen = "wait"', "then is one of allow, deny, stop"),
        ('decide = "allow"\nname = ""', "its name is no line"),
        ('decide = "allow"\nname = "a\\nb"', "its name is no line"),
    ],
)
def test_a_broken_rule_asks_and_says_why(rule: str, words: str, tmp_path: Path) -> None:
    """It neither allows nor denies, and nothing behind it decides in its place (DESIGN §5)."""
    policy = policy_of(tmp_path, f'[[rule]]\n{rule}\n\n[[rule]]\ndecide = "allow"\n')
    (told,) = policy.broken
    assert words in told
    assert "asks, since" in told
    assert "\n" not in told
    ruling = policy.judge(asked("x"))
    assert ruling.verdict == "ask"
    assert words in ruling.reason


def test_a_broken_rule_asks_only_about_what_its_readable_conditions_allow(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, '[[rule]]\ndecide = "deny"\ntool = "rm"\ncots = 1\n\n[[rule]]\ndecide = "allow"\n')
    assert policy.judge(asked("rm")).verdict == "ask"
    assert policy.judge(asked("ls")).verdict == "allow"


def test_a_rule_about_a_cost_that_is_not_known_asks(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, '[[rule]]\ndecide = "deny"\ncost = "> 5"\ntool = "b*"\n\n[[rule]]\ndecide = "allow"\n')
    assert policy.judge(asked("buy", cost=None)).verdict == "ask"
    assert policy.judge(asked("buy", cost=None)).reason == "what the run has cost so far is not known"
    assert policy.judge(asked("look", cost=None)).verdict == "allow"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rule = 5", r"written as \[\[rule\]\]"),
        ("[rule]\ndecide = 'allow'", r"written as \[\[rule\]\]"),
        ("rules = []", "no key 'rules' at the top"),
        ("deadline = 'soon'", "deadline is a number"),
        ("then = 'wait'", "then is one of"),
        ("[[rule]\n", "is no TOML"),
        ('x = "\\ud800"', "is no TOML"),
    ],
)
def test_a_file_that_is_no_policy_is_refused_in_one_line(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=words) as refusal:
        policy_of(tmp_path, text)
    assert "\n" not in str(refusal.value)
    assert str(tmp_path) in str(refusal.value)


def test_a_policy_that_is_not_there_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the policy can't be read"):
        load_policy(tmp_path / "none.toml")


def test_names_are_unique_so_that_the_log_says_which_rule_it_was(tmp_path: Path) -> None:
    policy = policy_of(
        tmp_path, '[[rule]]\ndecide = "deny"\nname = "x"\ntool = "a"\n[[rule]]\ndecide = "allow"\nname = "x"\n'
    )
    assert [rule.name for rule in policy.rules] == ["x", "x (rule 2)"]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@given(st.lists(st.tuples(TEXT.filter(str.strip), TEXT), max_size=4), st.dictionaries(TEXT, JSON, max_size=3))
def test_what_a_project_remembers_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, named: list[tuple[str, str]], arguments: dict[str, Any]
) -> None:
    """Names of models may hold anything; no rule becomes another by being written."""

    folder = tmp_path_factory.mktemp("project")
    rules = [
        read_rule(
            {
                "name": f"r{place}",
                "decide": "allow",
                "tool": tool,
                "reason": words,
                "exact_arguments": json.dumps(arguments),
            },
            place,
        )
        for place, (tool, words) in enumerate(named, 1)
    ]
    write_remembered(rules, folder)
    assert [rule.data for rule in remembered_rules(folder)] == [rule.data for rule in rules]


VERDICTS = st.sampled_from(["allow", "ask", "deny"])
NAMES = st.sampled_from(["a", "b", "c"])


@given(st.lists(st.tuples(VERDICTS, NAMES | st.just("*")), max_size=6), NAMES)
def test_the_order_of_rules_alone_decides(rules: list[tuple[str, str]], name: str) -> None:
    """First match wins, no match asks; what stands behind the first match has no say."""
    policy = RulePolicy(
        tuple(read_rule({"decide": verdict, "tool": glob}, place) for place, (verdict, glob) in enumerate(rules, 1))
    )
    expected = next((verdict for verdict, glob in rules if glob in (name, "*")), "ask")
    assert policy.judge(asked(name)).verdict == expected
