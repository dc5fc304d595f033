"""`--policy` of `run`, `resume` and `fork`: rules alone decide, and what they would ask about ends the run clearly."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.runs import check_file, replay_file
from loopkit.events import Decided, RunStopped
from tests.cli.agents import json_of, write_agent

READS = '[[rule]]\nname = "reads"\ndecide = "allow"\nside_effect = "read"\n'
WRITES = READS + '[[rule]]\nname = "notes"\ndecide = "allow"\ntool = "write"\narguments.path = {within = "."}\n'


def deciders(path: str) -> list[str]:
    with open_recording(path) as recorded:
        return [event.fact.by for event in recorded.events if isinstance(event.fact, Decided)]


def run_with(policy: str, *more: str) -> list[str]:
    Path("p.toml").write_text(policy, encoding="utf-8")
    return ["run", write_agent(), "--task", "go", "--record", "out.jsonl", "--policy", "p.toml", *more]


def test_a_run_goes_by_its_policy_and_each_decision_names_its_rule() -> None:
    assert main(run_with(WRITES)) == 0
    assert Path("b.txt").read_text(encoding="utf-8") == "hi"
    assert deciders("out.jsonl") == ["policy: reads", "policy: notes"]


def test_a_run_whose_policy_would_ask_stops_with_a_line_and_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """A headless run has nobody to ask (DESIGN §1, one gate)."""
    assert main(run_with(READS)) == 3
    assert capsys.readouterr().err == "loopkit: would have asked about write (root/1.2): stopped\n"
    assert not Path("b.txt").exists()
    with open_recording("out.jsonl") as recorded:
        stops = [event.fact for event in recorded.events if isinstance(event.fact, RunStopped)]
    assert stops == [RunStopped("policy", "would have asked about write (root/1.2)")]
    assert check_file("out.jsonl") == []
    assert replay_file("out.jsonl").same


def test_a_run_may_deny_what_it_would_ask_about_and_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(run_with(READS, "--if-asked", "deny", "--json"), capsys)
    assert data["outcome"] == "complete"
    assert data["asked"] == ["would have asked about write (root/1.2)"]
    assert "nobody is here to decide on write" in data["answer"]
    assert deciders("out.jsonl") == ["policy: reads", "policy: no rule asks"]


def test_a_rule_that_asks_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(run_with(READS + '[[rule]]\nname = "writes"\ndecide = "ask"\n')) == 3
    assert "would have asked about write (root/1.2), as 'writes' says: stopped" in capsys.readouterr().err


def test_a_broken_rule_is_told_and_asks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(run_with('[[rule]]\ndecide = "allow"\ntols = "x"\n')) == 3
    err = capsys.readouterr().err.splitlines()
    assert err[0].startswith("loopkit: p.toml: rule 1 asks, since there is no key 'tols'")
    assert all(line.startswith("loopkit: ") for line in err)


def test_a_projects_policy_holds_unless_another_choice_is_made() -> None:
    Path(".loopkit").mkdir()
    Path(".loopkit/policy.toml").write_text('[[rule]]\nname = "none"\ndecide = "deny"\n', encoding="utf-8")
    words = ["run", write_agent(), "--task", "go"]
    assert main([*words, "--record", "one.jsonl"]) == 0
    assert deciders("one.jsonl") == ["policy deny: none"] * 2
    assert main([*words, "--record", "two.jsonl", "--approve", "all"]) == 0
    assert deciders("two.jsonl") == ["policy: approve all"] * 2
    Path("p.toml").write_text(WRITES, encoding="utf-8")
    assert main([*words, "--record", "three.jsonl", "--policy", "p.toml"]) == 0
    assert deciders("three.jsonl") == ["policy: reads", "policy: notes"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--policy", "none.toml"], "none.toml: the policy can't be read"),
        (["--policy", "bad.toml"], "bad.toml: is no TOML"),
        (["--policy", "bad.toml", "--approve", "all"], "--approve and --policy both say"),
    ],
)
def test_a_policy_that_can_not_be_used_is_one_line(
    more: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.toml").write_text("[[", encoding="utf-8")
    assert main(["run", write_agent(), "--task", "go", *more]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


def test_a_fork_goes_by_a_policy_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(run_with(WRITES)) == 0
    Path("p.toml").write_text(READS, encoding="utf-8")
    capsys.readouterr()
    words = ["fork", "out.jsonl", "--at", "root/1", "--agent", write_agent(), "-o", "fork.jsonl"]
    assert main([*words, "--policy", "p.toml"]) == 3
    assert "would have asked about write (root/1.2): stopped" in capsys.readouterr().err
