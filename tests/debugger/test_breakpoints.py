"""Breakpoints: what they are met by, how often they stop, and how they are kept with a project."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit import Agent, ScriptedProvider, ToolCall
from loopkit import events as e
from loopkit.debugger.breakpoint_file import project_breakpoints, project_file
from loopkit.debugger.breakpoints import Breakpoint, Breakpoints, BreakpointWatch
from loopkit.debugger.policy import ApproveAll
from loopkit.debugger.session import Session
from loopkit.debugger.track import Track
from loopkit.errors import CommandRefused, ConditionError, UserError
from tests.debugger.conditions.random_conditions import conditions
from tests.debugger.live_runs import Eyes, add
from tests.debugger.playbook import Playbook
from tests.debugger.test_commanding import Far


def story(iterations: int = 4) -> list[e.Event]:
    book = Playbook().start()
    for number in range(1, iterations + 1):
        book.ask(e.ROOT, "grep", "sum").decide(f"root/{number}.1", by="policy: all")
        book.decide(f"root/{number}.2", by="policy: all")
        book.say(e.ROOT, e.ToolStarted(f"root/{number}.1"), e.ToolStarted(f"root/{number}.2"))
        book.say(e.ROOT, e.ToolReturned(f"root/{number}.2", "2"), e.ToolReturned(f"root/{number}.1", "1"))
    return book.finish().events


def stops_of(breakpoints: Breakpoints, events: list[e.Event]) -> list[str]:
    """Where `resume` stands in a recording."""
    from loopkit.debugger.stops import Goal

    track, stood = Track(lambda: events, breakpoints), []
    while track.forward(Goal("continue")):
        assert track.place.stop is not None
        stood.append(f"{track.place.stop.about}.{track.place.stop.kind} by {track.place.breakpoint}")
    return stood


@pytest.mark.parametrize(
    ("condition", "stops"),
    [
        ('tool == "sum"', [f"root/{n}.2.call by 1" for n in (1, 2, 3, 4)]),
        ('tool == "sum" and iteration == 2', ["root/2.2.call by 1"]),
        ("iteration > 2", ["root/3.request by 1", "root/4.request by 1"]),
        ("tokens > 20", ["root/2.response by 1"]),
        ("tokens.own > 10 and iteration < 3", ["root/1.response by 1", "root/2.response by 1"]),
        ('kind == "ToolReturned" and iteration == 1', ["root/1.2.result by 1", "root/1.1.result by 1"]),
        ('agent == "main"', ["root/1.request by 1"]),
        ('agent == "other"', []),
    ],
)
def test_it_is_met_once_for_each_thing_that_it_is_about(condition: str, stops: list[str]) -> None:
    breakpoints = Breakpoints()
    breakpoints.add(condition)
    assert stops_of(breakpoints, story()) == stops
    assert breakpoints.all[0].hits == 0, "a recording leaves the counters of live runs alone"


def test_ignored_times_and_one_shots_count() -> None:
    breakpoints = Breakpoints()
    breakpoints.add('tool == "sum"', ignore=2)
    breakpoints.add("iteration", one_shot=True)
    breakpoints.add("iteration", ignore=1, one_shot=True)
    assert stops_of(breakpoints, story()) == [
        "root/1.request by 2",
        "root/2.request by 3",
        "root/3.2.call by 1",
        "root/4.2.call by 1",
    ]


def test_what_is_disabled_or_gone_stops_nothing() -> None:
    breakpoints = Breakpoints()
    for condition in ("iteration == 1", "iteration == 2", "iteration == 3"):
        breakpoints.add(condition)
    breakpoints.enable(1, enabled=False)
    breakpoints.remove(2)
    assert stops_of(breakpoints, story()) == ["root/3.request by 3"]
    breakpoints.enable(1)
    assert breakpoints.add("error").number == 4
    assert stops_of(breakpoints, story()) == ["root/1.request by 1", "root/3.request by 3"]


def test_a_change_is_seen_by_whoever_walks() -> None:
    from loopkit.debugger.stops import Goal

    breakpoints, events = Breakpoints(), story()
    track = Track(lambda: events, breakpoints)
    assert not track.forward(Goal("continue"))
    breakpoints.add("iteration == 2")
    assert track.backward(Goal("continue"))
    assert track.place.breakpoint == 1
    assert track.breakpoints[0].hits == 1


def test_hits_are_counted_once_where_a_live_run_is_watched() -> None:
    breakpoints = Breakpoints()
    one = breakpoints.add('tool == "grep"', ignore=1)
    watch = BreakpointWatch(breakpoints)
    for event in story():
        watch.take(event)
    assert breakpoints.find(one.number).hits == 4


@pytest.mark.parametrize("command", ["remove", "enable"])
def test_a_number_that_is_not_there_is_refused(command: str) -> None:
    breakpoints = Breakpoints()
    with pytest.raises(CommandRefused, match="there is no breakpoint 3; there is none"):
        getattr(breakpoints, command)(3)
    breakpoints.add("error")
    with pytest.raises(CommandRefused, match="there are 1"):
        getattr(breakpoints, command)(3)


def test_what_can_not_be_understood_is_refused() -> None:
    with pytest.raises(ConditionError):
        Breakpoints().add("tol == 3")
    with pytest.raises(CommandRefused, match="0 times or more"):
        Breakpoints().add("error", ignore=-1)


def test_what_a_watch_keeps_does_not_grow_with_the_run() -> None:
    breakpoints = Breakpoints()
    for condition in ('tool == "sum"', "iteration", "cost > 1", "depth == 0"):
        breakpoints.add(condition)
    watch = BreakpointWatch(breakpoints)
    for event in story(60):
        watch.take(event)
    assert sum(len(seen) for _, seen in watch._met.values()) < 10


def test_breakpoints_of_a_session_elsewhere_are_set_there() -> None:
    far = Far(
        {"number": 3, "condition": "error", "ignore": 1}, breakpoints=[{"number": 3, "condition": "error", "hits": 2}]
    )
    session = Session(remote=far)
    assert session.add_breakpoint("error", ignore=1) == Breakpoint(3, "error", ignore=1)
    session.enable_breakpoint(3, enabled=False)
    assert session.breakpoints == (Breakpoint(3, "error", hits=2),)
    assert far.asked == [
        ("add_breakpoint", {"condition": "error", "ignore": 1}),
        ("enable_breakpoint", {"number": 3, "enabled": False}),
    ]


def test_the_status_says_which_breakpoint_stopped_the_run(backend: str, path: Path) -> None:
    breakpoints = Breakpoints()
    breakpoints.add('tool == "add"')
    agent = Agent(ScriptedProvider([ToolCall("c", "add", {"a": 1, "b": 2}), "done"]), tools=[add])
    session = Session.start(agent, "go", record=path, policy=ApproveAll(), backend=backend, breakpoints=breakpoints)
    try:
        eyes = Eyes(session)
        assert eyes.until_paused() == "root/1.1.call"
        assert session.status().waits_for == "you: breakpoint 1, paused before the call of add (agent)"
        assert session.breakpoints[0].hits == 1
        session.resume()
        eyes.until_ended()
    finally:
        session.close()


# ── kept with a project ──────────────────────────────────────────────────────────────────────────────────────────────


@given(conditions().map(str), st.booleans(), st.booleans(), st.integers(0, 5))
def test_what_was_kept_is_there_again(condition: str, enabled: bool, one_shot: bool, ignore: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = project_file(Path(folder))
        kept = project_breakpoints(path)
        kept.add(condition, one_shot=one_shot, ignore=ignore)
        kept.enable(1, enabled=enabled)
        assert project_breakpoints(path).all == kept.all == (Breakpoint(1, condition, enabled, one_shot, ignore),)
        assert [file.name for file in path.parent.iterdir()] == ["breakpoints.toml"]


def test_the_nearest_project_above_is_the_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "project" / "deep"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert project_file() == inner / ".loopkit" / "breakpoints.toml"
    (tmp_path / "project" / ".loopkit").mkdir()
    assert project_file() == tmp_path / "project" / ".loopkit" / "breakpoints.toml"
    project_breakpoints().add("error", one_shot=True)
    text = project_file().read_text()
    assert text.endswith("[[breakpoint]]\ncondition = 'error'\none_shot = true\n")
    assert not (inner / ".loopkit").exists()


def test_looking_writes_nothing(tmp_path: Path) -> None:
    assert project_breakpoints(project_file(tmp_path)).all == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[breakpoint", "is no TOML"),
        ("breakpoint = 3", "written as"),
        ("[[breakpoint]]\nenabled = true", "breakpoint 1 has no condition"),
        ("[[breakpoint]]\ncondition = 'error'\n[[breakpoint]]\ncondition = 'tol'", "breakpoint 2: the condition"),
        ("[[breakpoint]]\ncondition = 'error'\nignore = -1", "ignore can't be -1"),
        ("[[breakpoint]]\ncondition = 'error'\nenabled = 1", "enabled can't be 1"),
        ("[[breakpoint]]\ncondition = 'error'\ncolour = 'red'", "there is no 'colour'"),
    ],
)
def test_a_file_that_can_not_be_used_is_one_line(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "breakpoints.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=words) as caught:
        project_breakpoints(path)
    assert "\n" not in str(caught.value)


def test_a_place_that_takes_no_file_is_told_and_the_breakpoint_holds(tmp_path: Path) -> None:
    breakpoints = project_breakpoints(tmp_path / ".loopkit" / "breakpoints.toml")
    (tmp_path / ".loopkit").write_text("a file where the folder would be")
    with pytest.raises(CommandRefused, match="can't be kept"):
        breakpoints.add("error")
    assert len(breakpoints.all) == 1
