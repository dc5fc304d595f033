"""What a notebook saves of a run holds no secret (spec/faults.md f14)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopkit import Agent, ScriptedProvider, ToolCall, redact, tool
from loopkit.debugger.policy import ApproveAll
from loopkit.debugger.session import Session
from loopkit_notebook.static_html import static_html
from loopkit_notebook.status_line import status_data, summary_line
from tests.recording.redaction.secrets_made_up import letters_and_digits

KEY = letters_and_digits(24, "notebook")


@tool
def login(password: str) -> str:
    """Log in."""
    return f"welcome {password} {KEY}"


def saved(session: Session) -> str:
    data = json.dumps(status_data(session), ensure_ascii=False)
    return "".join((static_html(session.timeline, summary_line(session)), summary_line(session), data))


@pytest.mark.parametrize("last", [f"the key is {KEY}", ValueError(f"broke with {KEY}")])
def test_the_saved_copy_of_a_run_shows_placeholders(last: str | Exception, tmp_path: Path) -> None:
    redact(KEY)
    provider = ScriptedProvider([["logging in", ToolCall("c1", "login", {"password": "hunter2"})], last])
    agent = Agent(provider, tools=[login], system=f"Use {KEY}.")
    session = Session.start(agent, f"go with {KEY}", record=tmp_path / "run.jsonl", policy=ApproveAll())
    try:
        assert session.wait(20)
        session.poll()
        text = saved(session)
        assert session.title == "go with ‹registered·1›"
        assert "‹password·1›" in text
        assert KEY not in text
        assert "hunter2" not in text
    finally:
        session.close()
