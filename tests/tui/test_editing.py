"""The editor of a call: wrong arguments are said while they are typed and never run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from textual.app import App

from loopkit.agent import Agent
from loopkit.debugger.nodes import CallStatus
from loopkit.messages import ToolCall
from loopkit.providers.scripted import ScriptedProvider
from loopkit.tools.definition import tool
from loopkit_tui.screens.edit import EditScreen, JsonInput, editable_json, escaped
from loopkit_tui.screens.run import RunScreen
from tests.tui.screens import everything, text_of, until
from tests.tui.stories import careful_agent
from tests.tui.test_live_run import debugging, statuses, waits

pytestmark = pytest.mark.anyio

HOSTILE = "\x1b]52;c;aGk=\x1b\\ \x9b6n \u202e \u2028 \x00 \U000e0041 \ud800"


def write(app: App[Any], text: str) -> None:
    app.screen.query_one(JsonInput).text = text


def one_call(arguments: dict[str, Any]) -> Agent:
    return careful_agent([ToolCall("a", "run_tests", arguments), "Done."])


async def test_invalid_arguments_are_named_while_typing_and_cannot_be_run(tmp_path: Path) -> None:
    async with debugging(tmp_path, one_call({"path": "a", "timeout": 30})) as (app, pilot, session):
        await waits(app, pilot)
        await pilot.press("e")
        await pilot.pause()
        assert isinstance(app.screen, EditScreen)
        assert "✓ fits the schema" in text_of(app, "#edit-verdict")
        assert "path*" in text_of(app, "#fields")
        assert "Seconds that they may take." in text_of(app, "#fields")
        write(app, '{"path": "a", "timeout": "soon"}')
        await until(pilot, lambda: "✗ timeout" in text_of(app, "#edit-verdict"))
        assert "✗ timeout" in text_of(app, "#fields")
        assert "not yet: 1 problem" in text_of(app, "#keys")
        await pilot.press("ctrl+s")
        assert isinstance(app.screen, EditScreen)
        assert "not run: timeout" in text_of(app, "#keys")
        assert statuses(session) == [CallStatus.WAITING]


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_all_values_that_a_field_allows_can_be_read(tmp_path: Path, size: tuple[int, int]) -> None:
    @tool
    def order(
        kind: Literal["as written", "reversed", "shuffled", "by duration", "slowest first"] = "as written",
    ) -> str:
        """Order the tests."""
        return kind

    agent = Agent(ScriptedProvider([ToolCall("a", "order", {})]), tools=[order])
    async with debugging(tmp_path, agent, size=size) as (app, pilot, _session):
        await waits(app, pilot)
        await pilot.press("e")
        await pilot.pause()
        fields = " ".join(text_of(app, "#fields").split())
        assert 'one of "as written", "reversed", "shuffled", "by duration", "slowest first"' in fields


async def test_a_syntax_error_is_named_with_its_line_and_column(tmp_path: Path) -> None:
    async with debugging(tmp_path, one_call({"path": "a"})) as (app, pilot, _session):
        await waits(app, pilot)
        await pilot.press("e")
        write(app, '{\n  "path": \n}')
        await until(pilot, lambda: "line 3, column 1" in text_of(app, "#edit-verdict"))
        assert "as soon as this is JSON again" in text_of(app, "#changes")


async def test_valid_arguments_run_and_the_log_keeps_both(tmp_path: Path) -> None:
    """spec/loop.md 4.3, spec/faults.md c1"""
    async with debugging(tmp_path, one_call({"path": "a", "timeout": 30})) as (app, pilot, session):
        await waits(app, pilot)
        await pilot.press("e")
        write(app, '{"path": "b", "timeout": 3}')
        await until(pilot, lambda: "timeout: 3" in text_of(app, "#changes"))
        assert "- timeout: 30" in text_of(app, "#changes")
        assert "+ timeout: 3" in text_of(app, "#changes")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: session.timeline.ended)
    (call,) = session.timeline.calls.values()
    assert call.arguments == {"path": "a", "timeout": 30}
    assert call.edited_arguments == {"path": "b", "timeout": 3}
    assert call.content == "b: passed in 3"


async def test_typing_is_checked_key_by_key(tmp_path: Path) -> None:
    async with debugging(tmp_path, one_call({"path": "a"})) as (app, pilot, _session):
        await waits(app, pilot)
        await pilot.press("e", "x")
        await until(pilot, lambda: "not JSON" in text_of(app, "#edit-verdict"))
        await pilot.press("backspace")
        await until(pilot, lambda: "✓" in text_of(app, "#edit-verdict"))


async def test_escape_keeps_the_draft(tmp_path: Path) -> None:
    """spec/faults.md c14: a draft is kept."""
    async with debugging(tmp_path, one_call({"path": "a"})) as (app, pilot, session):
        await waits(app, pilot)
        await pilot.press("e")
        write(app, '{"path": "half')
        await pilot.press("escape")
        assert isinstance(app.screen, RunScreen)
        assert statuses(session) == [CallStatus.WAITING]
        await pilot.press("e")
        assert app.screen.query_one(JsonInput).text == '{"path": "half'
        await pilot.press("ctrl+r")
        assert json.loads(app.screen.query_one(JsonInput).text) == {"path": "a"}


async def test_a_call_that_was_decided_elsewhere_is_refused_in_one_line(tmp_path: Path) -> None:
    async with debugging(tmp_path, one_call({"path": "a"})) as (app, pilot, session):
        await waits(app, pilot)
        await pilot.press("e")
        (pending,) = session.pending()
        session.approve(pending.call, pending.version)
        await until(pilot, lambda: session.timeline.ended)
        await pilot.press("ctrl+s")
        assert isinstance(app.screen, EditScreen)
        assert "decided" in text_of(app, "#keys")


async def test_what_acts_or_hides_is_an_escape_in_the_editor_and_the_same_value(tmp_path: Path) -> None:
    """spec/faults.md e6"""
    async with debugging(tmp_path, one_call({"path": HOSTILE.replace("\ud800", "")})) as (app, pilot, _session):
        await waits(app, pilot)
        await pilot.press("e")
        await pilot.pause()
        assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in everything(app).replace("\n", ""))
        assert "\\u001b]52" in text_of(app, "#json")
        assert isinstance(app.screen, EditScreen)
        assert app.screen.arguments == {"path": HOSTILE.replace("\ud800", "")}


@pytest.mark.parametrize("value", [HOSTILE, "漢字 ❤️ 👩‍👩‍👧", "line\nline\ttab", 'quote " and \\ slash', "\U000e0041"])
def test_editable_json_is_the_same_value(value: str) -> None:
    """spec/faults.md e20"""
    text = editable_json({"v": value})
    assert json.loads(text) == {"v": value}
    assert escaped(text) == text


async def test_the_end_of_long_arguments_is_seen_before_approving(tmp_path: Path) -> None:
    """spec/faults.md c17: a cut is marked with the hidden length, and the whole is reachable by keyboard."""
    command = "x" * 200 + " && rm"
    long = "y" * 7_000 + " && rm -rf"
    async with debugging(tmp_path, one_call({"path": command, "more": long})) as (app, pilot, _session):
        await waits(app, pilot)
        await pilot.pause()
        assert "&& rm" in text_of(app, "#detail")
        assert "…(+6,986)" in text_of(app, "#detail")
        await pilot.press("+")
        await pilot.press("tab", "G")
        await pilot.pause()
        rows = "".join(text_of(app, "#detail").replace("│", "").split())
        assert "y&&rm-rf" in rows
