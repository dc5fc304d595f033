"""The rules that docs/policies.md prints are read and decide as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loopkit.debugger.policy_file import RulePolicy
from loopkit.debugger.rules import _OTHER_KEYS, _READERS
from tests.debugger.policies import asked, policy_of

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RulePolicy:
    monkeypatch.chdir(tmp_path)
    return policy_of(tmp_path, EXAMPLES[0])


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_is_a_policy_without_a_broken_rule(example: str, tmp_path: Path) -> None:
    policy = policy_of(tmp_path, example)
    assert policy.broken == ()
    assert policy.rules


def test_the_first_example_decides_as_its_comments_say(first: RulePolicy) -> None:
    push = first.judge(asked("git_push", "read"))
    assert (push.verdict, push.rule, push.reason) == ("deny", "never push", "Pushing is for people.")
    assert first.judge(asked("look", "read")).rule == "reading"
    assert first.judge(asked("write_file", arguments={"path": "notes/a.md"})).verdict == "allow"
    assert first.judge(asked("write_file", arguments={"path": "notes/../a.py"})).verdict == "ask"
    assert first.judge(asked("search", cost=0.6)).rule == "expensive by now"
    assert first.judge(asked("search", cost=0.1)).rule == ""


def test_deadlines_are_those_of_the_rule_or_of_the_file(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, EXAMPLES[1])
    deploy, other = policy.judge(asked("deploy")), policy.judge(asked("x"))
    assert (deploy.deadline, deploy.then) == (600.0, "stop")
    assert (other.deadline, other.then) == (60.0, "deny")


def test_the_last_example_keeps_an_agent_from_writing_its_own_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    policy = policy_of(tmp_path, EXAMPLES[2])
    for path in (".loopkit/policy.toml", "a/../.loopkit/x", ".loopkit"):
        assert policy.judge(asked("write_file", arguments={"path": path})).verdict == "deny"


def test_every_key_of_a_rule_is_described() -> None:
    for key in (*_READERS, *_OTHER_KEYS):
        assert re.search(rf"`{key}|^{key} = ", TEXT, re.MULTILINE), key
