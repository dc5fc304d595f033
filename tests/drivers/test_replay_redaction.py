"""A replay compares redacted forms: the secrets of then are not needed, those of today don't show (DESIGN §3, §4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopkit import Agent, Recorder, Redaction, ScriptedProvider, ToolLoopConfig, tool
from loopkit.drivers.replay import replay
from loopkit.outcomes import Approve, Deny, Modify
from tests.drivers.stage import ask
from tests.recording.redaction.secrets_made_up import letters_and_digits

pytestmark = pytest.mark.anyio

THEN, TODAY = (letters_and_digits(24, day) for day in ("then", "today"))
got: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_yet() -> None:
    got.clear()


@tool
async def login(user: str, password: str) -> str:
    """Log in."""
    got.append(password)
    return f"session token: {letters_and_digits(30, password)}"


@tool
async def fetch(token: str) -> str:
    """Fetch."""
    got.append(token)
    return "page"


def asking(key: str, *script: Any, on_tool_call: Any = None, **settings: Any) -> Agent:
    config = ToolLoopConfig(on_tool_call=on_tool_call)
    system = f"Your api_key is {key}. Be careful."
    return Agent(ScriptedProvider([*script]), tools=[login, fetch], system=system, config=config, **settings)


SCRIPT = (ask("login", user="bob", password="hunter2"), "done")


async def recorded(path: Path, agent: Agent) -> Path:
    await agent.run("go", recorder=Recorder(path, redaction=Redaction(environment=False)))
    got.clear()
    return path


async def test_another_secret_in_the_same_place_of_prompt_and_settings_is_no_difference(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "run.jsonl", asking(THEN, *SCRIPT, headers={"X-Api-Key": THEN}))
    report = replay(path, asking(TODAY, headers={"X-Api-Key": TODAY}))
    assert report.same, report.text()
    assert replay(path, asking(THEN, headers={"X-Api-Key": THEN})).same


async def test_a_difference_is_told_without_the_secret_of_today(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "run.jsonl", asking(THEN, *SCRIPT))
    report = replay(path, asking(TODAY, headers={"X-Api-Key": letters_and_digits(24, "other")}))
    assert not report.same
    assert TODAY not in report.text()
    assert letters_and_digits(24, "other") not in report.text()


async def test_callbacks_that_edit_a_secret_in_say_the_same_again(tmp_path: Path) -> None:
    def edits(call: Any) -> Any:
        return Modify({"user": "eve", "password": "0ther-pass"}) if call.name == "login" else Approve()

    path = await recorded(tmp_path / "run.jsonl", asking(THEN, *SCRIPT, on_tool_call=edits))
    report = replay(path, asking(THEN, on_tool_call=edits))
    assert report.same, report.text()
    report = replay(path, asking(THEN, on_tool_call=lambda call: Deny("no")))
    assert not report.same


async def test_live_tools_run_with_secrets_that_are_given_again(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "run.jsonl", asking(THEN, *SCRIPT))
    report = replay(path, asking(THEN), tools="live", secrets={"password-1": "hunter2"})
    assert report.same, report.text()
    assert got == ["hunter2"]


async def test_a_secret_that_a_tool_gives_today_is_what_later_calls_run_with(tmp_path: Path) -> None:
    """Results are laid beside the recorded ones: the token of today meets the placeholder of then."""
    then, today = (letters_and_digits(30, password) for password in ("hunter2", "0ther-pass"))
    script = ask("login", user="bob", password="hunter2"), ask("fetch", token=then), "done"
    path = await recorded(tmp_path / "run.jsonl", asking(THEN, *script))
    report = replay(path, asking(TODAY), tools="live", secrets={"password-1": "0ther-pass"})
    assert report.same, report.text()
    assert got == ["0ther-pass", today]


async def test_live_tools_never_run_with_a_placeholder(tmp_path: Path) -> None:
    path = await recorded(tmp_path / "run.jsonl", asking(THEN, *SCRIPT))
    report = replay(path, asking(THEN), tools="live")
    assert got == []
    assert not report.same
    assert "‹password·1›" in report.text()
