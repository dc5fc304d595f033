"""The bundled demo shows a newcomer all of loopkit, whatever they decide."""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from loopkit import events as e
from loopkit.agent import Agent
from loopkit.debugger.demo import demo_agent
from loopkit.debugger.report import outcome_name
from loopkit.debugger.runs import replay_file
from loopkit.debugger.session import Session
from loopkit.debugger.status import PendingDecision
from loopkit.debugger.targets import load_agent
from tests.demo.watching import approve, root_of, run, start, texts, until

REASON = "The accountant wants to see them first."


def edit_and_deny(session: Session, pending: PendingDecision) -> None:
    if pending.call == "root/2.1":
        session.edit(pending.call, pending.version, {"rounds": 6, "order": "shuffled"})
    elif pending.name == "delete_orders":
        session.deny(pending.call, pending.version, REASON)
    else:
        approve(session, pending)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_approving_everything_shows_the_whole_story(tmp_path: Path, backend: str) -> None:
    """Two calls at once, a sub-agent's sub-agent, three equal calls with their warning, and an end (issue acceptance 3)."""
    session = run(tmp_path / "demo.jsonl", approve, backend)
    timeline = session.timeline
    assert outcome_name(timeline.root) == "complete"
    assert (timeline.errors, timeline.denied, timeline.edited) == (0, 0, 0)
    assert (timeline.warnings, timeline.depth, len(timeline.loops)) == (1, 2, 3)
    assert 8 <= len(root_of(session).iterations) <= 12
    assert len(root_of(session).iterations[0].calls) == 2
    assert "mended" in texts(session)[-1]
    assert "20 rounds, shuffled: all passed" in texts(session)[-1]


def test_the_first_call_waits_for_the_person(tmp_path: Path) -> None:
    """Nothing runs before somebody decides, and what the call may do is said."""
    session, news = start(tmp_path / "demo.jsonl")
    try:
        until(session, news, lambda: len(session.pending()) == 2)
        assert session.status().state == "waiting"
        assert [pending.name for pending in session.pending()] == ["list_files", "read_file"]
        assert {pending.side_effect for pending in session.pending()} == {"read"}
        assert not any(isinstance(event.fact, e.ToolStarted) for event in session.events)
    finally:
        session.close()


def test_the_next_answer_names_the_edit_and_quotes_the_reason(tmp_path: Path) -> None:
    """The model got the result of the edited call, and the reason word for word (spec/loop.md 4.2, 4.3)."""
    session = run(tmp_path / "demo.jsonl", edit_and_deny)
    assert (session.timeline.edited, session.timeline.denied, session.timeline.warnings) == (1, 1, 1)
    after_edit = texts(session)[2]
    assert (
        'With rounds 6 and order "shuffled" instead of 3 and "as written": 6 rounds, shuffled: 3 failed' in after_edit
    )
    assert REASON in texts(session)[-1]
    assert "stray orders are gone" not in texts(session)[-1]


def test_edits_that_the_schemas_refuse_say_where_and_why(tmp_path: Path) -> None:
    session, news = start(tmp_path / "demo.jsonl")
    try:
        until(session, news, lambda: len(session.pending()) == 2)
        for pending in session.pending():
            approve(session, pending)
        until(session, news, lambda: [pending.name for pending in session.pending()] == ["run_tests"])
        (pending,) = session.pending()
        wrong = '{"rounds": 500, "order": "sorted", "verbose": true}'
        _, problems = session.parse_arguments(pending.call, wrong)
        assert {problem.path for problem in problems} >= {"$.rounds", "$.order"}
        assert any("50" in problem.message for problem in problems)
    finally:
        session.close()


def test_denying_everything_ends_with_the_reasons(tmp_path: Path) -> None:
    """Without a single tool the model still comes to an honest end."""
    session = run(tmp_path / "demo.jsonl", lambda s, p: s.deny(p.call, p.version, "not today"))
    assert outcome_name(session.timeline.root) == "complete"
    assert all("“not today”" in text for text in texts(session)[1:])
    assert "not mended" in texts(session)[-1]


def test_answers_by_hand_are_taken_as_results(tmp_path: Path) -> None:
    session = run(tmp_path / "demo.jsonl", lambda s, p: s.respond(p.call, p.version, "2 rounds, by hand: 1 failed"))
    assert outcome_name(session.timeline.root) == "complete"
    assert "2 rounds, by hand: 1 failed" in texts(session)[2]
    assert session.timeline.warnings == 1


def test_an_edit_that_makes_a_tool_fail_is_told(tmp_path: Path) -> None:
    """A refusal by the tool itself is an error result that the model names (spec/loop.md 9.1)."""

    def too_many(session: Session, pending: PendingDecision) -> None:
        if pending.name == "delete_orders":
            session.edit(pending.call, pending.version, {"customer": "Test", "at_most": 1})
        else:
            approve(session, pending)

    session = run(tmp_path / "demo.jsonl", too_many)
    assert session.timeline.errors == 1
    words = (
        "With at_most 1 instead of 5, delete_orders failed: “Can't delete: Test has 4 orders, and at most 1 may go.”"
    )
    assert words in texts(session)[-1]


def test_without_the_mended_file_the_tests_keep_failing(tmp_path: Path) -> None:
    """The flaky test is real: what the tests say follows from the files and the order book."""

    def keep_file(session: Session, pending: PendingDecision) -> None:
        if pending.call == "root/4.1":
            session.deny(pending.call, pending.version, "I'll mend it myself.")
        else:
            approve(session, pending)

    session = run(tmp_path / "demo.jsonl", keep_file)
    checks = [call for call in session.timeline.calls.values() if call.name == "run_tests"][1:]
    assert len(checks) == 3
    assert all("9 failed" in (call.content or "") for call in checks)
    assert "not mended" in texts(session)[-1]


def test_pausing_stepping_and_stopping_work_midway(tmp_path: Path) -> None:
    session, news = start(tmp_path / "demo.jsonl")
    try:
        until(session, news, lambda: len(session.pending()) == 2)
        session.pause()
        for pending in session.pending():
            approve(session, pending)
        until(session, news, lambda: session.status().state == "paused")
        session.step()
        session.resume()
        until(session, news, lambda: [pending.name for pending in session.pending()] == ["run_tests"])
        session.stop("seen enough")
        until(session, news, lambda: session.timeline.ended)
    finally:
        session.close()
    assert outcome_name(session.timeline.root) == "cancelled"
    assert replay_file(tmp_path / "demo.jsonl").same


@pytest.mark.parametrize("tools", ["recorded", "live"])
def test_a_run_of_the_demo_replays(tmp_path: Path, tools: str) -> None:
    """Given the same decisions it goes the same way, its tools included, also with the agent of before (DESIGN §4)."""
    path = tmp_path / "demo.jsonl"
    run(path, edit_and_deny)
    agent = load_agent("loopkit.demo:agent")
    for _ in range(2):
        report = replay_file(path, agent=agent, tools="live" if tools == "live" else "recorded")
        assert report.same, report.text()


def test_the_folder_of_a_run_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left behind once nobody holds the run."""
    place = tmp_path / "temp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    session = run(tmp_path / "demo.jsonl", approve)
    assert [path.name.startswith("loopkit-demo-") for path in place.iterdir()] == [True]
    del session
    deadline = time.monotonic() + 10
    while list(place.iterdir()) and time.monotonic() < deadline:
        # the threads of the run and of its tools let go of it a moment after it has ended
        time.sleep(0.01)
        gc.collect()
    assert list(place.iterdir()) == []


def test_naming_the_demo_loads_no_framework() -> None:
    """A home screen shows the demo without paying for it."""
    code = (
        "import sys; from loopkit.debugger.demo import DEMO_TASK, demo_agent; "
        "print([name for name in ('asyncio', 'anyio', 'jsonschema', 'httpx', 'sqlite3') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[]"


def test_the_demo_is_an_agent_like_any_other() -> None:
    assert isinstance(demo_agent(), Agent)
    assert load_agent("loopkit.demo:agent") is load_agent("loopkit.demo:agent")
