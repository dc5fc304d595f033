"""Secrets on the command line: `check --secrets`, `--no-redaction`, `fork --secret`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopkit.cli import main
from tests.cli.agents import failure_of, write_agent
from tests.recording.redaction.secrets_made_up import letters_and_digits

KEY = "gh" + "p_" + letters_and_digits(36, "command line")

AGENT = '''\
from pathlib import Path

from loopkit import Agent, ScriptedProvider, ToolCall, tool


@tool(side_effect="read")
def login(user: str, password: str) -> str:
    """Log in."""
    Path("got.txt").write_text(password)
    return "the password of bob is " + password


def answer(request):
    asked = any(message.role == "assistant" for message in request.messages)
    return "done" if asked else ToolCall("c1", "login", {"user": "bob", "password": "hunter2"})


agent = Agent(ScriptedProvider(answer), tools=[login], name="login")
'''


@pytest.fixture
def recording(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["run", write_agent(AGENT), "--task", "go", "--record", "run.jsonl"]) == 0
    capsys.readouterr()
    return "run.jsonl"


def test_it_says_what_is_hidden(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--secrets", recording]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "run.jsonl: 1 hidden, 0 shown, 0 suspicious",
        "  hidden      password: 1 in 2 places",
    ]


def test_placeholders_behind_the_names_of_secrets_are_not_shown_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        "postgres://bob:‹password·3›@db/x with token=‹token·2›",
        "PATH=/bin\nAWS_SECRET_ACCESS_KEY=‹api_key·2›\nexport GITHUB_TOKEN='‹token·1›'",
        "a password=‹password·7› b",
    ]
    Path("hidden.jsonl").write_text("".join(json.dumps({"content": line}) + "\n" for line in lines), "utf-8")
    assert main(["check", "--secrets", "hidden.jsonl"]) == 0
    assert capsys.readouterr().out.startswith("hidden.jsonl: 5 hidden, 0 shown")


def test_it_says_what_is_shown_without_showing_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", write_agent(AGENT), "--task", "go", "--record", "bare.jsonl", "--no-redaction"]) == 0
    assert "hunter2" in Path("bare.jsonl").read_text()
    capsys.readouterr()
    assert main(["check", "--secrets", "bare.jsonl"]) == 1
    out = capsys.readouterr().out
    assert "hunter2" not in out
    assert "bare.jsonl: 0 hidden, 2 shown, 0 suspicious" in out
    assert "arguments.password: password, 7 characters: ‹password·1›" in out


def test_foreign_sessions_and_plain_text_are_looked_through(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps({"type": "user", "text": f"use {KEY}"}), json.dumps({"blob": letters_and_digits(40, "blob")})]
    Path("session.jsonl").write_text("\n".join(lines))
    Path("notes.txt").write_text(f"nothing\nexport GITHUB_TOKEN={KEY}\n")
    Path("pretty.json").write_text(json.dumps({"env": {"API_KEY": KEY}}, indent=2))
    assert main(["check", "--secrets", "--json", "session.jsonl", "notes.txt", "pretty.json"]) == 1
    out = capsys.readouterr().out
    assert KEY not in out
    session, notes, pretty = json.loads(out)
    assert [(place["line"], place["where"], place["rule"]) for place in session["shown"]] == [(1, "text", "token")]
    assert [(place["line"], place["where"]) for place in session["suspicious"]] == [(2, "blob")]
    assert [(place["line"], place["rule"]) for place in notes["shown"]] == [(2, "token")]
    assert [place["where"] for place in pretty["shown"]] == ["env.API_KEY"]


def test_a_file_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--secrets", "missing.jsonl"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("loopkit: missing.jsonl: can't be read")
    assert err.count("\n") == 1


def test_a_fork_asks_the_environment_for_what_a_placeholder_stands_for(
    recording: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fork = ["fork", recording, "--at", "1.1", "--agent", write_agent(AGENT), "--approve", "-o"]
    Path("got.txt").unlink()
    assert main([*fork, "a.jsonl"]) == 0
    assert not Path("got.txt").exists()
    monkeypatch.setenv("BOBS_PASSWORD", "hunter2")
    assert main([*fork, "b.jsonl", "--secret", "password-1=BOBS_PASSWORD"]) == 0
    assert Path("got.txt").read_text() == "hunter2"
    assert "hunter2" not in Path("b.jsonl").read_text()
    capsys.readouterr()
    for wrong, words in [
        ("password-1", "names a placeholder"),
        ("password-1=NOT_SET", "is not set"),
        ("x-9=PATH", "'x-9'"),
    ]:
        assert main([*fork, "c.jsonl", "--secret", wrong]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert err.count("\n") == 1


def test_live_tools_of_a_replay_get_what_is_given_again(
    recording: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOBS_PASSWORD", "hunter2")
    replay = ["replay", recording, "--agent", write_agent(AGENT), "--tools", "live"]
    assert main(replay) == 1
    assert main([*replay, "--secret", "password-1=BOBS_PASSWORD"]) == 0
    assert "hunter2" not in capsys.readouterr().out


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a device of Unix")
def test_what_never_ends_is_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert "is not a regular file" in failure_of(["check", "--secrets", "/dev/zero"], capsys)
