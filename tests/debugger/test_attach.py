"""A session that is served and viewers that attach to it: they see what happens, and one of them decides (DESIGN §5)."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from loopkit import Message, ToolCall
from loopkit import events as e
from loopkit.debugger.places import PortPlace
from loopkit.debugger.policy import ApproveAll, ReadOnly
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.remote import attach
from loopkit.debugger.runs import check_file, replay_file
from loopkit.debugger.timeline import Timeline
from loopkit.errors import CommandRefused, UserError
from tests.debugger.attached import served
from tests.debugger.live_runs import PATIENCE, Held, add, facts_of
from tests.debugger.playbook import dump

SUM = ToolCall("c1", "add", {"a": 1, "b": 2})
LOUD = ToolCall("c2", "shout", {"text": "hi"})


def assert_sound(path: Path) -> None:
    assert check_file(path) == []
    assert replay_file(path).same


def test_a_viewer_sees_and_decides_what_one_beside_the_agent_would(backend: str, path: Path) -> None:
    with served([[SUM, LOUD], "done"], path, backend=backend) as run:
        session, eyes = run.attach()
        assert (session.live, session.running, session.title, session.watches) == (True, True, "go", "")
        first, second = eyes.until_pending(2)
        assert session.status().state == "waiting"
        session.deny(second.call, second.version, "too loud")
        session.edit(first.call, first.version, {"a": 20, "b": 2})
        eyes.until_ended()
        assert [call.content for call in session.timeline.calls.values()] == [
            facts_of(session, e.ToolReturned)[0].content,
            "too loud",
        ]
        assert (session.status().state, session.running, session.error, session.interrupted) == (
            "finished",
            False,
            "",
            False,
        )
        assert session.path == path.absolute()
        assert [fact.by for fact in facts_of(session, e.Decided)] == ["person", "person"]
        assert dump(session.timeline) == dump(Timeline(session.events))
    assert_sound(path)


def test_whoever_comes_late_is_told_all_that_happened(backend: str, path: Path) -> None:
    with served([SUM, LOUD, "done"], path, backend=backend) as run:
        first, eyes = run.attach()
        eyes.until_pending()
        first.approve("root/1.1", 1)
        eyes.until(lambda: first.timeline.waiting.get("root/2.1"))
        second, late = run.attach()
        late.until(lambda: second.timeline.waiting.get("root/2.1"))
        assert second.events == first.events
        assert dump(second.timeline) == dump(first.timeline)


def test_commands_steer_the_run_and_are_known_before_they_return(path: Path) -> None:
    with served([SUM, SUM, "done"], path) as run:
        session, eyes = run.attach()
        (one,) = eyes.until_pending()
        session.pause()
        assert session.stands_next == "at the next gate"
        session.resume()
        assert session.stands_next == ""
        session.next_iteration()
        assert session.stands_next == "before the next request"
        session.approve(one.call, one.version)
        assert eyes.until_paused() == "root/2.request"
        session.stop("enough")
        eyes.until_ended()
        assert session.status().state == "stopped"
        assert session.interrupted


def test_the_answer_is_seen_while_it_comes_in(backend: str, path: Path) -> None:
    held = Held()
    with served(held, path, backend=backend) as run:
        session, eyes = run.attach()
        eyes.until(session.partial)
        assert session.partial() == "half an "
        held.release.set()
        eyes.until_ended()
        assert session.partial() == ""


@pytest.mark.parametrize("call", ["late", "twice", "version"])
def test_a_decision_that_comes_late_twice_or_on_another_version_is_refused(call: str, backend: str, path: Path) -> None:
    """spec/faults.md c3: also when the wire delivers it; the refusal stands in the log."""
    held = Held()
    with served([SUM, ToolCall("w", "wait"), "done"], path, *_tools(held), backend=backend) as run:
        session, eyes = run.attach()
        (one,) = eyes.until_pending()
        if call == "version":
            with pytest.raises(CommandRefused, match="at version 1, the decision was on 7"):
                session.approve(one.call, 7)
        session.approve(one.call, one.version)
        eyes.until(lambda: session.timeline.waiting.get("root/2.1"))
        if call == "twice":
            with pytest.raises(CommandRefused, match="does not wait for a decision any more"):
                session.deny(one.call, one.version)
        session.approve("root/2.1", 1)
        held.release.set()
        eyes.until_ended()
        if call == "late":
            with pytest.raises(CommandRefused):
                session.deny(one.call, one.version)
        else:
            assert len(facts_of(session, e.DecisionRefused)) == 1
    assert_sound(path)


def _tools(held: Held) -> tuple[object, ...]:
    return add, held.async_tool


# ── several viewers ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_all_see_and_one_decides_until_another_takes_over(backend: str, path: Path) -> None:
    with served([SUM, "done"], path, backend=backend) as run:
        first, first_eyes = run.attach()
        second, second_eyes = run.attach()
        assert (first.watches, bool(second.watches)) == ("", True)
        first_eyes.until_pending()
        second_eyes.until_pending()
        for command in (second.pause, second.stop, lambda: second.approve("root/1.1", 1)):
            with pytest.raises(CommandRefused, match="decides here: take over first"):
                command()
        second.take_over()
        first_eyes.until(lambda: first.watches)
        assert second.watches == ""
        with pytest.raises(CommandRefused, match="take over first"):
            first.approve("root/1.1", 1)
        second.approve("root/1.1", 1)
        first_eyes.until_ended()
        second_eyes.until_ended()
        assert first.events == second.events
        assert facts_of(first, e.DecisionRefused) == []
    assert_sound(path)


def test_one_that_only_watches_never_decides(path: Path) -> None:
    with served([SUM, "done"], path) as run:
        session, eyes = run.attach("watch")
        eyes.until_pending()
        assert session.watches == "nobody"
        with pytest.raises(CommandRefused, match="nobody decides here"):
            session.approve("root/1.1", 1)
        session.take_over()
        session.approve("root/1.1", 1)
        eyes.until_ended()


def test_whoever_watches_may_ask_what_changes_nothing_and_sees_what_the_decider_would(path: Path) -> None:
    """Whole messages go over the wire: what stands at a gate, and its change by whoever decides."""
    with served([SUM, "done"], path) as run:
        session, eyes = run.attach()
        (one,) = eyes.until_pending()
        session.next_iteration()
        session.approve(one.call, one.version)
        eyes.until_paused()
        watcher, watching = run.attach("watch")
        watching.until_paused()
        (standing,) = watcher.standing()
        assert (standing,) == session.standing()
        assert watcher.history("root") == session.history("root")
        with pytest.raises(CommandRefused, match="take over first"):
            watcher.inject("hello")
        messages = (*session.history("root"), Message.user("and now?"))
        session.edit_request("root", standing.seen, messages=messages)
        assert watcher.history("root") == messages
        session.resume()
        eyes.until_ended()
    assert_sound(path)


def test_one_may_come_to_take_over(path: Path) -> None:
    with served([SUM, "done"], path) as run:
        first, first_eyes = run.attach()
        second, _ = run.attach("take over")
        assert second.watches == ""
        first_eyes.until(lambda: first.watches)


# ── when nobody is there ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_policy_decides_while_nobody_is_attached(backend: str, path: Path) -> None:
    with served([[SUM, LOUD], "done"], path, backend=backend, stand_in=ReadOnly()) as run:
        run.wait()
    assert_sound(path)


def test_the_policy_goes_on_with_what_waits_when_the_viewer_goes(backend: str, path: Path) -> None:
    held = Held()
    with served([ToolCall("w", "wait"), [SUM, LOUD], SUM, "done"], path, held.async_tool, *_tools(held)[:1],
                backend=backend, stand_in=ApproveAll()) as run:  # fmt: skip
        held.wait_until_it_began()
        session, eyes = run.attach()
        held.release.set()
        eyes.until_pending(2)
        session.close()
        run.wait()
        assert not session.running or session.interrupted
    assert_sound(path)
    decided = [event.fact.by for event in open_recording(path).events if isinstance(event.fact, e.Decided)]
    assert decided == ["policy: approve all"] * 4


def test_a_run_that_waits_goes_on_waiting_and_another_one_decides(backend: str, path: Path) -> None:
    with served([SUM, "done"], path, backend=backend) as run:
        first, eyes = run.attach()
        eyes.until_pending()
        first.close()
        second, eyes = run.attach()
        eyes.until_pending()
        assert second.watches == ""
        second.approve("root/1.1", 1)
        eyes.until_ended()
    assert_sound(path)


def test_a_connection_that_breaks_is_waited_for_before_the_policy_decides(path: Path) -> None:
    held = Held()
    script = [ToolCall("w", "wait"), SUM, "done"]
    with served(script, path, *_tools(held), stand_in=ApproveAll(), return_seconds=PATIENCE * 10) as run:
        held.wait_until_it_began()
        peer = run.peer()
        peer.hello()
        held.release.set()
        assert next(
            line for line in iter(peer.next, {}) if line.get("loop") == "root" and line.get("call") == "root/2.1"
        )
        peer.close()
        session, eyes = run.attach("watch")
        eyes.until_pending()
        assert session.watches == "nobody"
        session.take_over()
        session.deny("root/2.1", 1)
        eyes.until_ended()
        assert [fact.by for fact in facts_of(session, e.Decided)] == ["policy: approve all", "person"]


def test_no_call_seems_to_wait_that_a_policy_decides(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events come one by one over a socket, and are seen in whole steps as beside the agent; many of them in turns."""
    monkeypatch.setattr("loopkit.debugger.remote.MOST_AT_ONCE", 3)
    held = Held()
    script = [ToolCall("w", "wait"), *[[SUM, SUM]] * 8, "done"]
    with served(script, path, *_tools(held), stand_in=ApproveAll()) as run:
        held.wait_until_it_began()
        session, eyes = run.attach("watch")
        eyes.until(lambda: session.timeline.seq >= 6)
        waiting: list[int] = []

        def ended() -> bool:
            waiting.append(len(session.pending()))
            return session.timeline.ended

        monkeypatch.setattr("loopkit.debugger.remote.MOST_AT_ONCE", 1000)
        held.release.set()
        eyes.until(ended)
        assert set(waiting) == {0}
        assert [event.seq for event in session.events] == list(range(1, session.timeline.seq + 1))


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_viewers_see_the_end_and_keep_what_they_saw(backend: str, path: Path) -> None:
    with served(["hello"], path, backend=backend) as run:
        session, eyes = run.attach()
        eyes.until_ended()
    assert session.wait(PATIENCE)
    assert (session.status().state, session.error, session.connection) == ("finished", "", "")
    with pytest.raises(CommandRefused):
        session.pause()
    session.close()
    with pytest.raises(UserError, match="no session is served there"):
        attach(run.place)


def test_a_run_that_is_stopped_by_its_program_tells_its_viewers(path: Path) -> None:
    with served([SUM, "done"], path) as run:
        session, eyes = run.attach()
        eyes.until_pending()
    assert session.wait(PATIENCE)
    session.poll()
    assert session.status().state == "stopped"


def test_a_port_wants_its_token(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with served([SUM, "done"], path, place=PortPlace("127.0.0.1", 0)) as run:
        assert isinstance(run.place, PortPlace)
        assert run.place.port > 0
        kept = tmp_path / "loopkit" / f"{run.place.port}.token"
        assert (kept.read_text().strip(), kept.stat().st_mode & 0o777) == (run.token, 0o600)
        for wrong in ("", run.token[:-1], run.token + "x", "\ud800"):
            with pytest.raises(UserError, match="the token is not the session's"):
                attach(run.place, token=wrong)
        with closing(attach(run.place, token=run.token)) as session:
            assert session.running
    assert not kept.exists()
