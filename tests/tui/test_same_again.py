"""Keys that decide on all calls like one, take that back, and say something to an agent that is on its way."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit import ToolCall
from loopkit import events as e
from loopkit.cli import main
from loopkit.debugger.session import Session
from loopkit.messages import Message
from loopkit_tui.opening import open_target
from loopkit_tui.screens.asking import AnswerScreen, ConfirmScreen, LineScreen
from tests.cli.agents import write_agent
from tests.tui.screens import run_screen, text_of, until
from tests.tui.stories import careful_agent
from tests.tui.test_live_run import debugging, waits

pytestmark = pytest.mark.anyio
AGAIN = ToolCall("a", "run_tests", {"path": "x"})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_equals_runs_a_call_and_all_like_it_after_a_look(tmp_path: Path) -> None:
    agent = careful_agent([[AGAIN, AGAIN], AGAIN, "Done."])
    async with debugging(tmp_path, agent) as (app, pilot, session):
        await waits(app, pilot, 2)
        await pilot.press("=")
        assert isinstance(app.screen, ConfirmScreen)
        await pilot.pause()
        assert "run_tests" in text_of(app, "#question-lines")
        await pilot.press("n")
        assert len(session.pending()) == 2
        await pilot.press("=", "y")
        await until(pilot, lambda: session.timeline.ended)
    decided = [event.fact.by for event in session.events if isinstance(event.fact, e.Decided)]
    assert decided == ["policy: same again run_tests 1 (run)"] * 3


async def test_what_is_remembered_is_shown_and_taken_back(tmp_path: Path) -> None:
    agent = careful_agent([AGAIN, ToolCall("b", "run_tests", {"path": "other"}), "Done."])
    async with debugging(tmp_path, agent) as (app, pilot, session):
        await waits(app, pilot)
        await pilot.press("U")
        assert "nothing is remembered" in text_of(app, "#keys")
        await pilot.press("=", "y")
        await until(pilot, lambda: [one.call for one in session.pending()] == ["root/2.1"])
        await pilot.press("U")
        await pilot.pause()
        assert "allow run_tests (run)" in text_of(app, "#question-lines")
        await pilot.press("y")
        assert session.kept_rules == ()


async def test_a_message_is_said_while_the_agent_runs(tmp_path: Path) -> None:
    async with debugging(tmp_path, careful_agent([AGAIN, "Done."])) as (app, pilot, session):
        await waits(app, pilot)
        await pilot.press("i")
        assert isinstance(app.screen, LineScreen)
        await pilot.press(*"hurry", "enter")
        await until(pilot, lambda: session.timeline.loops["root"].injected)
        await pilot.press("a")
        await until(pilot, lambda: session.timeline.ended)
    (said,) = session.timeline.loops["root"].injected
    assert said.text == "hurry"


async def test_what_stands_at_a_gate_is_changed(tmp_path: Path) -> None:
    """A result, then the prompt of the next request, then the answer that came of it."""
    async with debugging(tmp_path, careful_agent([AGAIN, "Done."])) as (app, pilot, session):
        await waits(app, pilot)
        await pilot.press("W")
        assert "nothing stands here" in text_of(app, "#keys")
        await pilot.press("p", "a")
        for place, typed in (("root/1.1.result", "!"), ("root/2.request", "Hi"), ("root/2.response", "?")):
            await until(pilot, lambda place=place: [one.paused_at for one in session.timeline.paused] == [place], place)  # type: ignore[misc]  # a default binds it
            await pilot.press("W")
            await until(pilot, lambda: isinstance(app.screen, AnswerScreen))
            await pilot.press(*typed, "ctrl+s")
            await until(pilot, lambda: not isinstance(app.screen, AnswerScreen))
            await pilot.press("s")
        await until(pilot, lambda: session.timeline.ended)
    assert session.timeline.calls["root/1.1"].given == "!x: passed in 30"
    (edited,) = [event.fact for event in session.events if isinstance(event.fact, e.HistoryEdited)]
    assert edited.messages[0].text.startswith("Hi")
    assert session.timeline.loops["root"].iterations[-1].message == Message.assistant("?Done.")


def test_a_named_policy_and_a_projects_own_hold_in_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.toml").write_text('[[rule]]\nname = "all"\ndecide = "allow"\n[[rule]]\ntols = 1\n', encoding="utf-8")
    session = open_target(write_agent(), "go", "p.toml")
    assert isinstance(session, Session)
    assert session.wait(10)
    session.poll()
    session.close()
    assert {event.fact.by for event in session.events if isinstance(event.fact, e.Decided)} == {"policy: all"}
    assert "no key 'tols'" in session.notices[0]
    assert main(["tui", write_agent(), "--policy", "none.toml"]) == 2
    assert "none.toml: the policy can't be read" in capsys.readouterr().err
    assert main(["tui", "--policy", "p.toml"]) == 2
    assert "--policy is for an agent" in capsys.readouterr().err


async def test_a_run_that_goes_on_is_under_the_projects_policy_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a deny rule forbids stays forbidden once more, after a fork, and when a recording is taken up."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".loopkit").mkdir()
    (tmp_path / ".loopkit" / "policy.toml").write_text('[[rule]]\nname = "no"\ndecide = "deny"\n', encoding="utf-8")
    async with debugging(tmp_path, careful_agent([AGAIN, "Done.", AGAIN, "Done."])) as (app, pilot, session):
        await waits(app, pilot)
        await pilot.press("a")
        await until(pilot, lambda: session.timeline.ended)
        await until(pilot, lambda: not session.running)
        await pilot.press("r")
        await until(pilot, lambda: run_screen(app).session is not session, "another run")
        later = run_screen(app).session
        await until(pilot, lambda: later.timeline.ended)
    assert [event.fact.by for event in later.events if isinstance(event.fact, e.Decided)] == ["policy deny: no"]
