"""`loopkit policy`: rules are tried before they decide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopkit.cli import main
from tests.cli.agents import write_agent

RULES = """
[[rule]]
name = "reads"
decide = "allow"
side_effect = "read"

[[rule]]
name = "no b"
decide = "deny"
arguments.path = "b.*"

[[rule]]
name = "later"
decide = "ask"
deadline = 5
"""


@pytest.fixture
def policy() -> str:
    Path("p.toml").write_text(RULES, encoding="utf-8")
    return "p.toml"


def test_check_lists_the_rules(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "check", policy]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["allow", "reads"],
        ["deny", "no"],
        ["ask", "later"],
        ["ask", "where"],
    ]


def test_check_names_each_broken_rule(capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.toml").write_text('[[rule]]\ndecide = "allow"\ntols = 1\n', encoding="utf-8")
    assert main(["policy", "check", "p.toml", "--json"]) == 1
    told = capsys.readouterr()
    assert "no key 'tols'" in json.loads(told.out)[0]["broken"]
    assert told.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--tool", "x", "--side-effect", "read"], "allow, by 'reads'"),
        (["--tool", "x", "--arguments", '{"path": "b.txt"}'], "deny, by 'no b'"),
        (["--tool", "x"], "ask, by 'later', then deny after 5 s"),
    ],
)
def test_explain_names_the_rule_that_decides(
    words: list[str], line: str, policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["policy", "explain", policy, *words]) == 0
    assert capsys.readouterr().out == f"{line}\n"


def test_explain_refuses_what_is_no_json(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "explain", policy, "--tool", "x", "--arguments", "{x"]) == 2
    assert "--arguments: line 1, column 2" in capsys.readouterr().err


def test_test_says_what_would_have_been_decided_beside_what_was(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", write_agent(), "--task", "go", "--record", "out.jsonl", "--approve", "all"]) == 0
    capsys.readouterr()
    assert main(["policy", "test", policy, "out.jsonl"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "root/1.1  look: allow, by 'reads'; was approved by policy: approve all",
        "root/1.2  write: deny, by 'no b'; was approved by policy: approve all",
        "2 calls: 1 allow, 0 ask, 1 deny",
    ]
    assert main(["policy", "test", policy, "out.jsonl", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["verdict"], second["verdict"], second["rule"], second["call"]) == (
        "allow",
        "deny",
        "no b",
        "root/1.2",
    )


def test_a_recording_that_is_not_there_is_one_line(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "test", policy, "none.jsonl"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
