"""What if, resume, once more, one thing more to say: runs that begin from the one that is shown."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from loopkit.debugger.library import bundled_recordings, list_runs, parent_of
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.remembered import remember_agent, remembered_agent
from loopkit.debugger.runs import run_headless
from loopkit.debugger.session import Session
from loopkit.events import ToolStarted
from loopkit_tui.app import LoopkitApp
from loopkit_tui.screens.asking import AnswerScreen, LineScreen, ReasonScreen
from loopkit_tui.screens.diff import DiffScreen
from loopkit_tui.screens.edit import EditScreen
from loopkit_tui.screens.home import HomeScreen
from loopkit_tui.screens.picking import PickScreen
from loopkit_tui.screens.run import RunScreen
from tests.tui.screens import everything, run_screen, text_of, until
from tests.tui.stories import careful_agent, flaky

pytestmark = pytest.mark.anyio

AGENT = '''
from loopkit import Agent, ScriptedProvider, tool
from loopkit.messages import ToolCall

from words import FIRST

@tool
def run_tests(path: str, timeout: int = 30) -> str:
    """Run the tests of a file."""
    return f"{path}: passed in {timeout}"

def answer(request):
    said = [message.text for message in request.messages if message.role == "user"]
    if len(said) > 1:
        return f"You said: {said[-1]}"
    if not any(message.role == "tool" for message in request.messages):
        return ToolCall("a", "run_tests", {"path": "tests"})
    return FIRST

careful = Agent(ScriptedProvider([answer] * 9), tools=[run_tests], name="careful")
'''


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An agent in a file of its own, with a module beside it."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "careful_one.py").write_text(AGENT)
    (tmp_path / "code" / "words.py").write_text('FIRST = "All passed."\n')
    # another test's has the same name and lies elsewhere
    monkeypatch.delitem(sys.modules, "words", raising=False)
    monkeypatch.syspath_prepend(tmp_path / "code")
    return f"{tmp_path / 'code' / 'careful_one.py'}:careful"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    run_headless(careful_agent(), "go", record=path, approve="all")
    return path


def app_on(path: Path) -> LoopkitApp:
    return LoopkitApp(Session.open(path))


async def to_call(app: LoopkitApp, pilot: Any) -> None:
    await until(pilot, lambda: isinstance(app.screen, RunScreen))
    await pilot.press("g")
    while run_screen(app).selected_call is None:
        await pilot.press("j")


async def say(pilot: Any, app: LoopkitApp, words: str) -> None:
    """Type into the field that is asked in."""
    await until(pilot, lambda: isinstance(app.screen, (LineScreen, AnswerScreen)))
    field = app.screen.query_one("#line, #answer")
    await until(pilot, lambda: field.has_focus)
    await pilot.press(*words)


async def name_agent(pilot: Any, app: LoopkitApp, spec: str) -> None:
    await until(pilot, lambda: "with which agent" in everything(app))
    app.screen.query_one("#line").value = spec  # type: ignore[attr-defined]  # an input, found by its id
    await pilot.press("enter")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_what_if_a_call_had_been_denied_runs_live_and_is_shown_beside_its_parent(
    recording: Path, spec: str, size: tuple[int, int]
) -> None:
    app = app_on(recording)
    async with app.run_test(size=size) as pilot:
        await to_call(app, pilot)
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, PickScreen))
        assert "deny it, with a reason" in everything(app)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, ReasonScreen))
        await pilot.press(*"not now", "enter")
        await name_agent(pilot, app, spec)
        await until(pilot, lambda: isinstance(app.screen, DiffScreen), "both runs beside each other")
        assert "A run.jsonl" in text_of(app, "#files")
        assert "denied: not now" in text_of(app, "#diff")
        await pilot.press("q")
        assert run_screen(app).session.live
        await pilot.press("q")
        await until(pilot, lambda: not run_screen(app).session.live)
    [fork] = list_runs(os.environ["LOOPKIT_RECORDINGS"])
    assert fork.parent is not None
    assert fork.denied == 1
    assert remembered_agent(recording.parent) == spec


@pytest.mark.parametrize(
    ("choice", "expected"),
    [("w", AnswerScreen), ("t", AnswerScreen), ("e", EditScreen)],
)
async def test_what_if_asks_for_what_the_choice_needs_and_may_be_left(
    recording: Path, choice: str, expected: type
) -> None:
    app = app_on(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await to_call(app, pilot)
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, PickScreen))
        await pilot.press(choice)
        await until(pilot, lambda: isinstance(app.screen, expected))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        assert len(app.sessions) == 1


async def test_what_if_the_arguments_had_been_others(recording: Path, spec: str) -> None:
    app = app_on(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await to_call(app, pilot)
        await pilot.press("F", "e")
        await until(pilot, lambda: isinstance(app.screen, EditScreen))
        app.screen.query_one("#json").text = '{"path": "tests/one.py"}'  # type: ignore[attr-defined]  # by its id
        await pilot.pause()
        await pilot.press("ctrl+s")
        await name_agent(pilot, app, spec)
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        assert "tests/one.py" in text_of(app, "#diff")


async def test_what_if_the_model_had_answered_something_else(recording: Path, spec: str) -> None:
    app = app_on(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        await pilot.press("g", "J", "F")
        await until(pilot, lambda: isinstance(app.screen, PickScreen))
        await pilot.press("a")
        await say(pilot, app, "No tests are needed.")
        await pilot.press("ctrl+s")
        await name_agent(pilot, app, spec)
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        assert "No tests are needed." in text_of(app, "#diff")


async def test_a_person_decides_on_the_calls_after_a_fork(recording: Path, spec: str) -> None:
    app = app_on(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        await pilot.press("g", "J", "F", "g")
        await name_agent(pilot, app, spec)
        await until(pilot, lambda: "◆ your decision" in text_of(app, "#now"))
        await approve_to_the_end(app, pilot)
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))


async def test_what_cannot_be_forked_says_why(recording: Path) -> None:
    app = app_on(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        await pilot.press("g", "F")
        assert "go to a call or to an answer" in text_of(app, "#keys")
        await pilot.press("O")
        assert "the run has ended" in text_of(app, "#keys")
    app = LoopkitApp(Session.start(careful_agent(), "go"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: run_screen(app).decisions.pending)
        for key in ("F", "O", "M", "r"):
            await pilot.press(key)
            assert "when the run has ended" in text_of(app, "#keys")
    app.close_sessions()


async def test_an_agent_that_cannot_be_loaded_is_one_line_over_the_run(recording: Path) -> None:
    app = app_on(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await to_call(app, pilot)
        await pilot.press("F", "g")
        await name_agent(pilot, app, "no_such_file.py:agent")
        await until(pilot, lambda: "there is no such file" in text_of(app, "#keys"))
        assert isinstance(app.screen, RunScreen)


async def test_the_agent_of_the_last_time_is_offered(recording: Path, spec: str) -> None:
    remember_agent(recording.parent, spec)
    app = app_on(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        await pilot.press("M")
        await say(pilot, app, "Sure?")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, LineScreen))
        assert app.screen.query_one("#line").value == spec  # type: ignore[attr-defined]  # an input, by its id


async def test_for_the_bundled_recording_the_demo_agent_is_offered() -> None:
    app = app_on(bundled_recordings()[0])
    async with app.run_test(size=(120, 40)) as pilot:
        await to_call(app, pilot)
        await pilot.press("F", "g")
        await until(pilot, lambda: isinstance(app.screen, LineScreen))
        assert app.screen.query_one("#line").value == "loopkit.demo:agent"  # type: ignore[attr-defined]  # by its id


# ── resume ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def cut(recording: Path) -> Path:
    """A recording that was cut short after a call had started."""
    lines = recording.read_bytes().splitlines(keepends=True)
    last = next(event.seq for event in open_recording(recording).events if isinstance(event.fact, ToolStarted))
    recording.write_bytes(b"".join(lines[: last + 1]))
    return recording


@pytest.mark.parametrize(("key", "outcome"), [("y", "passed in 30"), ("n", "unknown")])
async def test_an_unfinished_recording_goes_on_and_asks_about_calls_that_had_started(
    cut: Path, spec: str, key: str, outcome: str
) -> None:
    app = app_on(cut)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "O go on with an agent" in text_of(app, "#now"))
        await pilot.press("O")
        await until(pilot, lambda: isinstance(app.screen, PickScreen))
        assert 'run_tests(path="tests/test_a.py")' in everything(app)
        await pilot.press(key)
        await name_agent(pilot, app, spec)
        await until(pilot, lambda: run_screen(app).session.live)
        await approve_to_the_end(app, pilot)
        assert run_screen(app).session.path == cut
        assert any(outcome in str(event.fact) for event in run_screen(app).session.events)
        await until(pilot, lambda: len(app.sessions) == 1)
    app.close_sessions()
    assert open_recording(cut).timeline.ended


# ── once more, and one thing more ────────────────────────────────────────────────────────────────────────────────────


async def test_a_follow_up_goes_on_with_the_agent_of_a_live_run(spec: str, tmp_path: Path) -> None:
    from loopkit.debugger.targets import load_agent  # after the fixture has put the code there

    first = tmp_path / "first.jsonl"
    app = LoopkitApp(Session.start(load_agent(spec), "go", record=first))
    async with app.run_test(size=(120, 40)) as pilot:
        await approve_to_the_end(app, pilot)
        await pilot.press("M")
        await say(pilot, app, "And now?")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(app.sessions) == 2)
        await until(pilot, lambda: isinstance(app.screen, RunScreen) and run_screen(app).has_ended)
        messages = [event.fact for event in run_screen(app).session.events]
        assert "You said: And now?" in str(messages)
        follow_up = run_screen(app).session.path
    app.close_sessions()
    assert follow_up is not None
    header = open_recording(follow_up).header
    assert header is not None
    assert header.parent == open_recording(first).header.run  # type: ignore[union-attr]  # ours have one
    assert parent_of(follow_up) is None, "it lies in another folder"


async def test_run_again_reads_the_code_anew(recording: Path, spec: str, tmp_path: Path) -> None:
    app = app_on(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        await pilot.press("r")
        await name_agent(pilot, app, spec)
        await until(pilot, lambda: len(app.sessions) == 2 and run_screen(app).session is app.sessions[-1])
        await approve_to_the_end(app, pilot)
        await until(pilot, lambda: "All passed." in everything(app))
        (tmp_path / "code" / "words.py").write_text('FIRST = "All passed, really: this is longer."\n')
        await pilot.press("r")
        await until(pilot, lambda: len(app.sessions) == 3 and run_screen(app).session is app.sessions[-1])
        await approve_to_the_end(app, pilot)
        await until(pilot, lambda: "All passed, really" in everything(app))
    app.close_sessions()


async def approve_to_the_end(app: LoopkitApp, pilot: Any) -> None:
    """Approve what waits, as soon as its grace time is over."""
    screen = run_screen(app)
    await until(pilot, lambda: screen.decisions.pending or screen.has_ended)
    while not screen.has_ended:
        if screen.decisions.pending:
            await pilot.press("a")
        await pilot.pause(0.05)
    await pilot.press("G")


async def test_home_starts_an_agent_of_ones_own_and_remembers_it(spec: str, tmp_path: Path) -> None:
    app = LoopkitApp(folder=tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, HomeScreen) and app.screen.listed)
        await pilot.press("a")
        await until(pilot, lambda: "start an agent" in everything(app))
        app.screen.query_one("#line").value = spec  # type: ignore[attr-defined]  # an input, found by its id
        await pilot.press("enter")
        await until(pilot, lambda: "what should the agent do" not in everything(app) and "task" in everything(app))
        await say(pilot, app, "go")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        await until(pilot, lambda: "◆ your decision" in text_of(app, "#now"))
        assert remembered_agent(tmp_path) == spec
    app.close_sessions()


async def test_a_session_of_another_program_is_only_looked_at() -> None:
    session = flaky().session()
    session.source_format = "claude-code"
    app = LoopkitApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("F")
        assert "a session of another program" in text_of(app, "#keys")
