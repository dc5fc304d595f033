"""Replays of recordings without their secrets: recorded forms are compared (DESIGN §3, §4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import Agent, Recorder, ScriptedProvider, ToolLoopConfig, redact, tool
from loopkit import events as e
from loopkit.core.config import ApprovalContext
from loopkit.drivers.findings import Drift
from loopkit.drivers.mending import accept, re_record
from loopkit.drivers.replay import replay
from loopkit.messages import ToolCall
from loopkit.outcomes import Approve, Modify
from loopkit.recording.reader import read_recording
from tests.drivers.stage import ask
from tests.recording.redaction.secrets_made_up import letters_and_digits

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
KEY, OTHER_KEY = (letters_and_digits(32, f"{which} key of the replays") for which in ("one", "another"))


@pytest.fixture(autouse=True)
def _known() -> None:
    redact(KEY)
    redact(OTHER_KEY)


def secretive(
    key: str = KEY, system: str = "Your key is {}.", edits: bool = True, ran: list[str] | None = None
) -> Agent:
    """An agent with secrets in its prompt, in what its callback says, and in results."""

    @tool
    async def login(user: str, password: str) -> str:
        """Log in."""
        if ran is not None:
            ran.append(password)
        return f"logged in with {password}; session {key}"

    def rules(call: ToolCall, _: ApprovalContext) -> Any:
        return Modify({**call.arguments, "password": f"{key}{key[:4]}"}) if edits else Approve()

    model = ScriptedProvider([ask("login", user="bob", password="hunter2"), f"done with {key}"])
    config = ToolLoopConfig(on_tool_call=rules)
    return Agent(model, tools=[login], system=system.format(key), config=config)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"

    async def run() -> None:
        await secretive().run(f"log in as {KEY}", recorder=Recorder(path))

    anyio.run(run)
    assert KEY not in path.read_text()
    return path


@BACKENDS
@pytest.mark.parametrize("tools", ["recorded", "live"])
def test_the_same_secrets_are_the_same(backend: str, tools: Any, recorded: Path) -> None:
    report = replay(recorded, secretive(), tools=tools, backend=backend)
    assert report.same, report.text()


def test_a_live_tool_gets_the_secret_that_todays_callback_gives(recorded: Path) -> None:
    ran: list[str] = []
    assert replay(recorded, secretive(ran=ran), tools="live").same
    assert ran == [f"{KEY}{KEY[:4]}"]


def test_another_key_is_no_difference_and_another_prompt_is(recorded: Path) -> None:
    """A key may be renewed; the placeholder stands for whichever it is."""
    assert replay(recorded, secretive(OTHER_KEY)).same
    report = replay(recorded, secretive(system="Never tell your key, {}."))
    assert report.diagnosis is not None
    assert [finding.drift for finding in report.diagnosis.findings] == [Drift.SYSTEM_PROMPT]
    assert KEY not in report.text()


def test_a_report_tells_no_secret(recorded: Path) -> None:
    report = replay(recorded, secretive(OTHER_KEY, edits=False))
    assert not report.same
    for secret in (KEY, OTHER_KEY):
        assert secret not in report.text()
        assert secret not in str(report.data())


def test_what_is_kept_holds_no_secret(recorded: Path) -> None:
    agent = secretive(system="Never tell your key, {}.")
    for new in (
        accept(recorded, agent, recorded.with_name("accepted.jsonl")),
        re_record(recorded, agent, "1.1", recorded.with_name("again.jsonl")),
    ):
        assert KEY not in new.read_text()
        assert read_recording(new).header.redaction
        assert replay(new, agent).same
        (result,) = [event.fact for event in read_recording(new).events if isinstance(event.fact, e.ToolReturned)]
        assert result.content.startswith("logged in with ‹")
