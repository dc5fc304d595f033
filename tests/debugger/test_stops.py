"""Stopping and closing a live run at any moment: it ends, its recording is whole, nothing hangs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from loopkit import Agent, ScriptedProvider, ToolCall, tool
from loopkit import events as e
from loopkit.debugger import live
from loopkit.debugger.runs import check_file
from loopkit.debugger.session import Session
from loopkit.errors import DecisionNotAccepted
from loopkit.outcomes import Cancelled
from tests.debugger.live_runs import Eyes, Held, assert_sound, facts_of, started

WAIT = ToolCall("w", "wait")


def assert_stopped(session: Session, eyes: Eyes, reason: str | None = "enough") -> None:
    eyes.until_ended()
    ends = [event for event in session.events if isinstance(event.fact, e.LoopFinished)]
    assert ends[-1].loop == "root"
    assert all(isinstance(event.fact.reason, Cancelled) for event in ends if isinstance(event.fact, e.LoopFinished))
    assert session.timeline.root is not None
    assert session.timeline.root.reason == Cancelled(reason)
    assert facts_of(session, e.RunStopped)[-1] == e.RunStopped("person", reason)
    status = session.status()
    assert (status.state, status.waits_for) == ("stopped", "")
    assert session.pending() == []
    session.close()
    assert_sound(session)


def test_while_the_model_answers(backend: str, path: Path) -> None:
    """What was received is kept, its cost is unknown (DESIGN §5)."""
    held = Held()
    with started(held, path, backend=backend) as (session, eyes):
        eyes.until(session.partial)
        session.stop("enough")
        assert_stopped(session, eyes)
        (interrupted,) = facts_of(session, e.ModelInterrupted)
        assert (interrupted.cause, interrupted.message.text) == ("stopped", "half an ")
        assert session.timeline.usage.unreported == 1
        assert session.partial() == ""


@pytest.mark.parametrize("kind", ["async_tool", "sync_tool", "stubborn_tool"])
def test_while_a_tool_runs(kind: str, backend: str, path: Path) -> None:
    """At once, also when the tool can't be interrupted (spec/faults.md i10, i12; spec/loop.md 9.3)."""
    held = Held()
    with started([WAIT, "done"], path, getattr(held, kind), backend=backend) as (session, eyes):
        (one,) = eyes.until_pending()
        session.approve(one.call, one.version)
        held.wait_until_it_began()
        session.stop("enough")
        eyes.until(lambda: session.timeline.ended)
        assert facts_of(session, e.ToolAbandoned) == [e.ToolAbandoned("root/1.1", "stopped")]
        held.release.set()
        assert_stopped(session, eyes)


def test_while_decisions_are_waited_for(backend: str, path: Path) -> None:
    with started([[WAIT, WAIT], "done"], path, backend=backend) as (session, eyes):
        one, two = eyes.until_pending(2)
        session.approve(one.call, one.version)
        session.stop("enough")
        assert_stopped(session, eyes)
        with pytest.raises(DecisionNotAccepted):
            session.approve(two.call, two.version)


def test_while_it_is_paused(backend: str, path: Path) -> None:
    with started([ToolCall("c", "add", {"a": 1, "b": 1}), "done"], path, backend=backend) as (session, eyes):
        (one,) = eyes.until_pending()
        session.pause()
        session.approve(one.call, one.version)
        eyes.until_paused()
        session.stop("enough")
        assert_stopped(session, eyes)


def test_before_the_first_event(backend: str, path: Path) -> None:
    """The stop is not lost, and nobody waits for the agent's thread to come up."""
    provider = ScriptedProvider(["never said"])
    with started(provider, path, backend=backend) as (session, eyes):
        session.stop("enough")
        eyes.until_ended()
        assert session.status().state in ("stopped", "finished")
    assert_sound(session)


def test_a_stop_that_comes_before_the_loop_has_begun_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = ScriptedProvider(["never said"])
    held = Held()
    build = live.LiveRun._main

    def late(run: live.LiveRun, backend: str) -> None:
        held.release.wait(10)
        build(run, backend)

    monkeypatch.setattr(live.LiveRun, "_main", late)
    with started(provider, path) as (session, eyes):
        session.stop("enough")
        held.release.set()
        assert_stopped(session, eyes)
        assert provider.requests == []


def test_after_the_end_nothing_changes(path: Path) -> None:
    with started(["hello"], path) as (session, eyes):
        eyes.until_ended()
        before = session.events
        session.stop("late")
        session.pause()
        session.step()
        session.next_iteration()
        session.resume()
        assert session.poll() == []
        assert session.events == before
        assert session.status().state == "finished"
    assert_sound(session)


def test_sub_agents_end_before_their_parent(backend: str, path: Path) -> None:
    """Each descendant has a terminal event (spec/faults.md h3)."""
    held = Held()

    @tool
    async def delegate() -> str:
        """Ask a helper."""
        return (await Agent(held, name="helper").run("x")).text

    call = ToolCall("d", "delegate")
    with started([[call, call], "done"], path, delegate, backend=backend) as (session, eyes):
        for one in eyes.until_pending(2):
            session.approve(one.call, one.version)
        eyes.until(lambda: session.partial("root/1.1#1") and session.partial("root/1.2#1"))
        session.stop("enough")
        assert_stopped(session, eyes)
        ends = [event.loop for event in session.events if isinstance(event.fact, e.LoopFinished)]
        assert set(ends[:2]) == {"root/1.1#1", "root/1.2#1"}
        assert ends[2:] == ["root"]
        assert session.timeline.open_loops == []


# ── closing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_closing_stops_the_run_and_may_be_repeated(backend: str, path: Path) -> None:
    with started([WAIT, "done"], path, backend=backend) as (session, eyes):
        eyes.until_pending()
        session.close()
        session.close()
        assert session.wait(0)
        assert not session.running
        session.poll()
        assert session.status().state == "stopped"
        assert_sound(session)


@pytest.mark.parametrize("kind", ["sync_tool", "stubborn_tool"])
def test_closing_does_not_wait_for_a_tool_that_never_ends(
    kind: str, backend: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is left behind; the recording is whole and nobody holds it any more (spec/faults.md e18, i10, i14)."""
    monkeypatch.setattr(live, "CLOSE_SECONDS", 0.2)
    held = Held()
    with started([WAIT, "done"], path, getattr(held, kind), backend=backend) as (session, eyes):
        (one,) = eyes.until_pending()
        session.approve(one.call, one.version)
        held.wait_until_it_began()
        began = time.monotonic()
        session.close()
        assert time.monotonic() - began < 5
        session.poll()
        assert session.status().state == "stopped"
        assert_sound(session)
        held.release.set()
        assert session.wait(10)
        assert check_file(path) == []


HANGING = """
import sys, threading, anyio
from loopkit import Agent, ScriptedProvider, ToolCall, tool
from loopkit.debugger.session import Session

began = threading.Event()

@tool
def block() -> str:
    began.set()
    threading.Event().wait()
    return "never"

@tool
async def swallow() -> str:
    began.set()
    while True:
        try:
            await anyio.sleep(0.01)
        except BaseException:
            pass

kind, backend, path, leaving = sys.argv[1:]
session = Session.start(
    Agent(ScriptedProvider([ToolCall("c", kind)]), tools=[block, swallow]), "go", record=path, backend=backend
)
woken = threading.Event()
session.on_change(woken.set)
while not session.pending():
    woken.wait(0.1)
    session.poll()
session.approve("root/1.1", 1)
assert began.wait(10)
if leaving == "closed":
    session.close()
print("leaving", flush=True)
"""


@pytest.mark.parametrize(
    ("kind", "backend", "leaving"),
    [
        ("block", "asyncio", "closed"),
        ("swallow", "trio", "closed"),
        ("block", "trio", "open"),
        ("swallow", "asyncio", "open"),
    ],
)
def test_the_process_can_exit_whatever_a_tool_does(kind: str, backend: str, leaving: str, tmp_path: Path) -> None:
    """Threads of tools that never return are daemons (DESIGN §5; spec/faults.md e18)."""
    path = tmp_path / "run.jsonl"
    words = [sys.executable, "-c", HANGING, kind, backend, str(path), leaving]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, cwd=Path(__file__).parents[2], check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")
    assert check_file(path) == []
