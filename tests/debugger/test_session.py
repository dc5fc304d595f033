"""A live session beside its agent: what goes wrong in either, who is woken, what is shown meanwhile."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import Agent, ScriptedProvider, ToolCall, ToolLoopConfig, tool
from loopkit import events as e
from loopkit.debugger.session import Session
from loopkit.debugger.timeline import Timeline
from loopkit.errors import DecisionNotAccepted, ProviderError, RecordingError, UserError
from loopkit.outcomes import Deny
from tests.debugger.live_runs import PATIENCE, Eyes, Held, add, assert_sound, facts_of, started
from tests.debugger.playbook import dump

SUM = ToolCall("c1", "add", {"a": 1, "b": 2})


# ── what it shows ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_status_says_what_is_waited_for_at_each_moment(backend: str, path: Path) -> None:
    model, tool_gate = Held(), Held()
    scripted = ScriptedProvider([ToolCall("w", "wait"), "done"])

    class InTurn:
        model: str | None = "in turn"

        async def respond(self, request: Any, emit: Any) -> Any:
            await model.respond(request, emit)
            return await scripted.respond(request, emit)

    with started(InTurn(), path, tool_gate.async_tool, backend=backend) as (session, eyes):
        assert (session.live, session.mode, session.title) == (True, "live", "go")
        eyes.until(session.partial)
        status = session.status()
        assert (status.state, status.waits_for, status.iteration) == ("running", "the model (agent)", 1)
        model.release.set()
        (one,) = eyes.until_pending()
        assert session.status().state == "waiting"
        session.approve(one.call, one.version)
        tool_gate.wait_until_it_began()
        eyes.until(lambda: session.status().waits_for == "tool wait")
        assert session.status().state == "running"
        session.stop()
        eyes.until_ended()
        assert (session.status().state, session.status().waits_for) == ("stopped", "")
        assert not session.running


def test_a_run_that_has_ended_has_not_failed_before_it_is_looked_at(path: Path) -> None:
    """What is not polled yet is not missing."""
    with started(["hello"], path) as (session, _):
        assert session.wait(PATIENCE)
        assert session.status().state == "running"
        session.poll()
        assert session.status().state == "finished"


def test_the_answer_is_seen_while_it_comes_in(backend: str, path: Path) -> None:
    held = Held()
    with started(held, path, backend=backend) as (session, eyes):
        eyes.until(session.partial)
        assert session.partial() == "half an "
        assert session.partial("root/1.1#1") == ""
        held.release.set()
        eyes.until_ended()
        assert session.partial() == ""


def test_whoever_looks_is_woken_after_every_batch_and_never_held_up(path: Path) -> None:
    """One wake until the next poll, from another thread, and nothing gets lost (DESIGN §5)."""
    wakes: list[str] = []
    woken = threading.Event()

    def wake() -> None:
        wakes.append(threading.current_thread().name)
        woken.set()

    with started([SUM, "done"], path) as (session, _):
        session.on_change(wake)
        while not session.pending():
            assert woken.wait(PATIENCE)
            woken.clear()
            assert len(wakes) == 1
            wakes.clear()
            session.poll()
        assert session.poll() == []
        wakes.clear()
        session.deny("root/1.1", 1)
        assert woken.wait(PATIENCE)
        assert session.wait(PATIENCE)
        assert len(wakes) == 1
        session.poll()
        assert session.timeline.ended


def test_a_wake_that_raises_is_dropped_and_the_run_goes_on(path: Path) -> None:
    """An interface that is gone must not break the agent (DESIGN §5: a wake's callback never raises)."""

    def gone() -> None:
        raise RuntimeError("the loop is closed")

    with started([SUM, "done"], path) as (session, eyes):
        session.on_change(gone)
        assert eyes is not None
        Eyes(session).approve_all_to_the_end()
        assert session.error == ""
    assert_sound(session)


def test_events_are_polled_in_one_thread_while_they_come(path: Path) -> None:
    """The timeline changes inside `poll` only; nothing is lost or doubled however often it is called."""
    script = [[ToolCall("c", "add", {"a": n, "b": m}) for m in range(4)] for n in range(25)]
    with started([*script, "done"], path, config=ToolLoopConfig(max_iterations=50)) as (session, _):
        taken: list[e.Event] = []
        while not session.timeline.ended:
            taken += session.poll()
            for one in session.pending():
                session.approve(one.call, one.version)
        assert [event.seq for event in taken] == list(range(1, len(taken) + 1))
        assert session.events == tuple(taken)
        assert dump(session.timeline) == dump(Timeline(taken))
    assert_sound(session)


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_provider_that_fails_ends_the_run_with_its_words(backend: str, path: Path) -> None:
    with started([ProviderError("no such model", status=404)], path, backend=backend) as (session, eyes):
        eyes.until_ended()
        assert session.status().state == "failed"
        assert session.error == "no such model"
        assert session.timeline.root is not None
        assert session.timeline.root.failure == e.Failure("ProviderError", "no such model", 404)
    assert_sound(session)


@pytest.mark.parametrize("error", [KeyError("x"), SystemExit(3), KeyboardInterrupt()])
def test_nothing_that_an_agent_raises_escapes_its_thread(error: BaseException, path: Path) -> None:
    """Not even an exit: the interface lives on, and the recording is closed (spec/loop.md 9.4)."""
    with started([error], path) as (session, _):
        assert session.wait(PATIENCE)
        session.poll()
        assert session.status().state in ("failed", "stopped")
        assert session.error.startswith(type(error).__name__)
    assert_sound(session)


def test_a_tool_that_prints_and_reads_harms_nothing(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    @tool
    def chatty() -> str:
        """Print."""
        print("hello \x1b[2J")  # noqa: T201  # as tools do
        return "printed"

    with started([ToolCall("c", "chatty"), "done"], path, chatty) as (session, eyes):
        eyes.approve_all_to_the_end()
        session.poll()
        assert session.timeline.calls["root/1.1"].content == "printed"
    assert_sound(session)


def test_a_depth_error_outranks_everything(path: Path) -> None:
    """It is raised at entry, before any model call (spec/loop.md 3.1, 7.1)."""
    provider = ScriptedProvider(["never"])
    with started(provider, path, config=ToolLoopConfig(max_depth=0)) as (session, _):
        assert session.wait(PATIENCE)
        session.poll()
        assert session.status().state == "failed"
        assert session.error.startswith("loop depth ")
        assert provider.requests == []
        first = session.status()
        assert session.status() == first


def test_a_place_that_can_not_be_written_is_one_line_and_starts_nothing(tmp_path: Path) -> None:
    provider = ScriptedProvider(["never"])
    agent = Agent(provider)
    (tmp_path / "file").write_text("no recording")
    for place in (tmp_path, tmp_path / "file", tmp_path / "file" / "run.jsonl", "a\0b"):
        with pytest.raises(UserError) as refusal:
            Session.start(agent, "go", record=place)
        assert "\n" not in str(refusal.value)
    assert provider.requests == []
    assert (tmp_path / "file").read_text() == "no recording"


def test_a_recording_that_is_there_is_not_written_over(path: Path) -> None:
    with started(["one"], path) as (_, eyes):
        eyes.until_ended()
    before = path.read_bytes()
    with pytest.raises(RecordingError, match="already holds a recording"):
        Session.start(Agent(ScriptedProvider(["two"])), "go", record=path)
    assert path.read_bytes() == before


def test_a_run_is_kept_in_the_recordings_folder_which_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPKIT_RECORDINGS", str(tmp_path / "new" / "kept"))
    session = Session.start(Agent(ScriptedProvider(["hi"]), name="../odd name\n"), "go")
    try:
        Eyes(session).until_ended()
        assert session.path is not None
        assert session.path.parent == tmp_path / "new" / "kept"
        assert session.status().recording == str(session.path)
    finally:
        session.close()


def test_a_full_disk_ends_the_run_as_failed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written stays whole, and the person is told (spec/faults.md j6)."""
    with started([SUM, "done"], path) as (session, eyes):
        eyes.until_pending()
        assert session._live is not None
        recorder = session._live._run.recorder
        assert recorder is not None

        def full() -> None:
            raise RecordingError(f"{path}: can't be written (No space left on device)")

        monkeypatch.setattr(recorder, "flush", full)
        with pytest.raises(DecisionNotAccepted, match="No space left"):
            session.approve("root/1.1", 1)
        session.stop()
        session.step()
        assert session.wait(PATIENCE)
        session.poll()
        status = session.status()
        assert (status.state, status.waits_for) == ("failed", "")
        assert "No space left" in session.error
        assert session.status().elapsed == status.elapsed


def test_a_full_disk_lets_a_person_stop_and_leave(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with started([SUM, "done"], path) as (session, eyes):
        eyes.until_pending()
        assert session._live is not None
        recorder = session._live._run.recorder
        assert recorder is not None

        def full() -> None:
            raise RecordingError("no space")

        monkeypatch.setattr(recorder, "flush", full)
        session.stop()
        assert session.wait(PATIENCE)
        session.close()
        assert session.error == "no space"
        assert session.status().state == "failed"


# ── beside others ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_sessions_at_once_keep_apart(tmp_path: Path) -> None:
    with (
        started([SUM, "one"], tmp_path / "1.jsonl", backend="asyncio") as (first, at_first),
        started([SUM, "two"], tmp_path / "2.jsonl", backend="trio") as (second, at_second),
    ):
        at_first.until_pending()
        at_second.until_pending()
        second.deny("root/1.1", 1)
        at_second.until_ended()
        assert first.status().state == "waiting"
        first.approve("root/1.1", 1)
        at_first.until_ended()
        assert first.timeline.calls["root/1.1"].content == "3"
    assert_sound(first)
    assert_sound(second)


def test_a_session_starts_where_an_event_loop_is_running(path: Path) -> None:
    """As in a notebook's cell (spec/faults.md f1, f3)."""

    async def cell() -> str:
        woken = asyncio.Event()
        loop = asyncio.get_running_loop()
        session = Session.start(Agent(ScriptedProvider([SUM, "done"]), tools=[add]), "go", record=path)

        def wake() -> None:
            loop.call_soon_threadsafe(woken.set)

        session.on_change(wake)
        try:
            while not session.timeline.ended:
                await asyncio.wait_for(woken.wait(), PATIENCE)
                woken.clear()
                session.poll()
                for one in session.pending():
                    session.approve(one.call, one.version)
            return session.status().state
        finally:
            session.close()

    assert asyncio.run(cell()) == "finished"


def test_a_session_inside_a_tool_is_a_run_of_its_own(tmp_path: Path) -> None:
    """A debugged run is never a sub-agent of what happens to run around it."""
    inner_path = tmp_path / "inner.jsonl"

    @tool
    def debug() -> str:
        """Debug another agent."""
        with started([SUM, "inner"], inner_path) as (session, eyes):
            eyes.approve_all_to_the_end()
            session.poll()
            return str(session.timeline.calls["root/1.1"].content)

    with started([ToolCall("d", "debug"), "outer"], tmp_path / "outer.jsonl", debug) as (session, eyes):
        eyes.approve_all_to_the_end()
        session.poll()
        assert list(session.timeline.loops) == ["root"]
        assert session.timeline.calls["root/1.1"].content == "3"
    assert_sound(session)


def test_the_agents_on_tool_call_decides_first(path: Path) -> None:
    """What it leaves open waits for the person (spec/loop.md 4.1, DESIGN §5)."""

    def decide(call: ToolCall) -> Any:
        return Deny("never") if call.arguments["a"] == 0 else None

    config = ToolLoopConfig(on_tool_call=decide)
    calls = [ToolCall("c", "add", {"a": 0, "b": 1}), SUM]
    with started([calls, "done"], path, config=config) as (session, eyes):
        eyes.until(lambda: len(session.pending()) == 1 and facts_of(session, e.Decided))
        assert [one.call for one in session.pending()] == ["root/1.2"]
        session.approve("root/1.2", 1)
        eyes.until_ended()
        assert [fact.by for fact in facts_of(session, e.Decided)] == ["on_tool_call", "person"]


@pytest.mark.anyio
async def test_waiting_is_for_other_threads_than_the_interfaces(path: Path) -> None:
    with started([SUM, "done"], path) as (session, eyes):
        eyes.until_pending()
        assert session.wait(0) is False
        session.approve("root/1.1", 1)
        assert await anyio.to_thread.run_sync(session.wait, PATIENCE)
