"""`loopkit replay`, `fork` and `check`: the same run again, another one from its middle, and whether a file is sound."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.testing import NetworkBlocked, assert_replays, no_network
from tests.cli.agents import AGENT, SLOW, failure_of, json_of, record, write_agent


def test_a_recording_replays_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    path = record()
    assert main(["replay", str(path)]) == 0
    assert main(["replay", str(path), "--agent", "agent.py:agent"]) == 0
    assert "run.jsonl" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "drift"),
    [
        ("Be brief.", "Be verbose.", "system prompt"),
        ("Look at a file.", "Look into a file.", "tool description"),
        ('name="looker"', 'name="looker", config=ToolLoopConfig(max_iterations=1)', "configuration"),
        ("tools=[look, write]", "tools=[look]", "missing tool"),
    ],
)
def test_a_changed_agent_diverges_and_what_changed_is_named(
    old: str, new: str, drift: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first differing event, what was recorded and what came; exit 1."""
    record()
    changed = AGENT.replace(old, new).replace("import Agent,", "import Agent, ToolLoopConfig,")
    assert changed.count(new) == 1
    spec = write_agent(changed, "changed.py")
    capsys.readouterr()
    assert main(["replay", "run.jsonl", "--agent", spec]) == 1
    out = capsys.readouterr().out
    assert "\nfirst difference at event 1; " in out
    assert f"\n1. {drift}: " in out
    assert "\n    at event 1, root, before the first iteration: the start of the loop\n" in out


def test_the_divergence_is_there_for_machines_too(capsys: pytest.CaptureFixture[str]) -> None:
    record()
    spec = write_agent(AGENT.replace("Be brief.", "Be verbose."), "changed.py")
    (data,) = json_of(["replay", "run.jsonl", "--agent", spec, "--json"], capsys, code=1)
    assert data["file"] == "run.jsonl"
    assert data["same"] is False
    assert data["divergence"]["seq"] == 1
    (cause,) = data["diagnosis"]["causes"]
    assert (cause["drift"], cause["diff"]) == ("system prompt", ["- Be brief.", "+ Be verbose."])


def test_live_tools_run_again() -> None:
    record("run.jsonl", "--approve", "all")
    Path("b.txt").unlink()
    assert main(["replay", "run.jsonl", "--agent", "agent.py:agent", "--tools", "live"]) == 0
    assert Path("b.txt").read_text() == "hi"


def test_recorded_tools_do_not_run_again() -> None:
    record("run.jsonl", "--approve", "all")
    Path("b.txt").unlink()
    assert main(["replay", "run.jsonl", "--agent", "agent.py:agent"]) == 0
    assert not Path("b.txt").exists()


def test_one_file_that_cannot_be_used_does_not_hide_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    record()
    Path("empty.jsonl").touch()
    capsys.readouterr()
    assert main(["replay", "empty.jsonl", "run.jsonl", "gone.jsonl"]) == 2
    captured = capsys.readouterr()
    assert "run.jsonl" in captured.out
    assert captured.err.count("\n") == 2


def test_live_tools_need_an_agent(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--agent" in failure_of(["replay", "run.jsonl", "--tools", "live"], capsys)


def test_a_recording_is_a_test_with_the_network_blocked() -> None:
    record()
    assert_replays("run.jsonl")
    spec = write_agent(AGENT.replace("Be brief.", "Be verbose."), "changed.py")
    from loopkit.debugger.targets import load_agent

    with pytest.raises(AssertionError, match="event 1"):
        assert_replays("run.jsonl", load_agent(spec))


def test_the_network_is_blocked_and_opened_again() -> None:
    import socket

    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        no_network(),
        pytest.raises(NetworkBlocked, match=r"127\.0\.0\.1"),
    ):
        socket.create_connection(server.getsockname())
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()


def test_a_fork_denies_what_was_approved(capsys: pytest.CaptureFixture[str]) -> None:
    record("run.jsonl", "--approve", "all")
    before = Path("run.jsonl").read_bytes()
    words = ["fork", "run.jsonl", "--at", "1.1", "--deny", "not that one", "--agent", "agent.py:agent", "-o", "f.jsonl"]
    capsys.readouterr()
    assert main(words) == 0
    assert capsys.readouterr().out == "f.jsonl\n"
    call = json_of(["show", "f.jsonl", "--json"], capsys)["iterations"][0]["calls"][0]
    assert (call["decision"], call["result"]) == ("denied", "not that one")
    assert Path("run.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "status", "result"),
    [
        (["--approve"], "done", "a.txt says hello"),
        (["--arguments", '{"path": "z.txt"}'], "done", "z.txt says hello"),
        (["--result", "it is empty"], "answered", "it is empty"),
        (["--result", "no disk", "--error"], "answered", "no disk"),
        (["--deny"], "denied", "Denied by the user."),
    ],
)
def test_a_fork_changes_one_decision(
    change: list[str], status: str, result: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record("run.jsonl", "--approve", "none")
    words = ["fork", "run.jsonl", "--at", "root/1.1", *change, "--agent", "agent.py:agent", "-o", "f.jsonl"]
    assert main(words) == 0
    call = json_of(["show", "f.jsonl", "--json"], capsys)["iterations"][0]["calls"][0]
    assert (call["status"], call["result"], call["is_error"]) == (
        status,
        result,
        "--error" in change or status == "denied",
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--at", "9.9", "--approve"], "9.9"),
        (["--at", "1.1", "--arguments", "{"], "not JSON"),
        (["--at", "1.1", "--arguments", "[1]"], "has to be a JSON object"),
        (["--at", "1.1", "--approve", "--error"], "--error goes with --result"),
        (["--at", "999", "--approve"], "999"),
    ],
)
def test_a_fork_that_makes_no_sense_is_one_line(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record()
    line = failure_of(["fork", "run.jsonl", *words, "--agent", "agent.py:agent", "-o", "f.jsonl"], capsys)
    assert expected in line
    assert not Path("f.jsonl").exists()


def test_a_fork_says_which_of_its_own_calls_were_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """As `run` does; what was refused before the fork is the parent's."""
    record()
    words = ["fork", "run.jsonl", "--at", "1.1", "--approve", "--agent", "agent.py:agent", "-o"]
    capsys.readouterr()
    assert main([*words, "f.jsonl"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "f.jsonl\n"
    assert captured.err == (
        'loopkit: not run: write; `--later-calls all` runs every tool, `@tool(side_effect="read")` declares one that '
        "only reads, and `loopkit tui` asks you about each call\n"
    )
    words[3] = "1.2"
    assert main([*words, "g.jsonl", "--later-calls", "all"]) == 0
    assert capsys.readouterr().err == ""


def test_an_exception_of_the_agents_own_code_ends_a_fork_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    record()
    spec = write_agent(AGENT.replace('return "The results: "', 'return 1 / 0 if results else "The results: "'), "b.py")
    words = ["fork", "run.jsonl", "--at", "1.1", "--approve", "--agent", spec, "-o", "f.jsonl"]
    capsys.readouterr()
    assert main(words) == 1
    assert capsys.readouterr().err.startswith("loopkit: ZeroDivisionError: division by zero\n")
    assert json_of(["show", "f.jsonl", "--json"], capsys)["run"]["outcome"] == "failed"


def test_a_stopped_fork_leaves_a_whole_recording(capsys: pytest.CaptureFixture[str]) -> None:
    record("run.jsonl", "--approve", "none", agent=SLOW)
    words = ["fork", "run.jsonl", "--at", "1.1", "--approve", "--agent", "agent.py:agent", "-o", "f.jsonl"]
    with subprocess.Popen([sys.executable, "-m", "loopkit", *words], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "started\n"
        process.terminate()
        rest = process.stderr.read()
        assert process.wait(timeout=30) == 128 + signal.SIGTERM
    assert rest == "loopkit: stopped; what happened so far is in f.jsonl\n"
    assert json_of(["show", "f.jsonl", "--json"], capsys)["run"]["outcome"] == "cancelled"


def test_a_fork_replaces_another_recording_when_asked_and_never_its_parent(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fork", str(record()), "--at", "1.1", "--approve", "--agent", "agent.py:agent", "-o"]
    assert main([*words, "f.jsonl"]) == 0
    assert "--overwrite" in failure_of([*words, "f.jsonl"], capsys)
    assert main([*words, "f.jsonl", "--overwrite"]) == 0
    parent = Path("run.jsonl").read_bytes()
    assert "is what is forked" in failure_of([*words, "run.jsonl", "--overwrite"], capsys)
    assert Path("run.jsonl").read_bytes() == parent


def test_a_sound_recording_is_sound(capsys: pytest.CaptureFixture[str]) -> None:
    record()
    assert json_of(["check", "run.jsonl", "--json"], capsys) == [{"file": "run.jsonl", "sound": True, "findings": []}]


def test_a_recording_without_its_runs_end_is_sound_and_noted(capsys: pytest.CaptureFixture[str]) -> None:
    """spec/faults.md j4, j6"""
    record()
    path = Path("run.jsonl")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    capsys.readouterr()
    assert main(["check", "run.jsonl"]) == 0
    assert capsys.readouterr().out == "run.jsonl: sound\n  note: it does not hold the end of its run\n"
    (found,) = json_of(["check", "run.jsonl", "--json"], capsys)
    assert (found["sound"], found["notes"]) == (True, ["does not hold the end of its run"])


def test_damage_is_named_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    """spec/faults.md j4: damage in the middle is reported with its line."""
    lines = record().read_bytes().splitlines(keepends=True)
    lines[4] = b"garbage\n"
    Path("run.jsonl").write_bytes(b"".join(lines))
    capsys.readouterr()
    assert main(["check", "run.jsonl"]) == 1
    assert "line 5" in capsys.readouterr().out


def test_a_file_that_is_no_recording_cannot_be_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert "gone.jsonl" in failure_of(["check", "gone.jsonl"], capsys)
