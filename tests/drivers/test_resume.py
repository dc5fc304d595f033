"""Runs that were cut short at any event go on in the same file (DESIGN §3, Continues)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import Agent, Deny, Usage, tool
from loopkit import events as e
from loopkit.core.history import INTERRUPTED_CALL
from loopkit.drivers.replay import replay
from loopkit.drivers.result import ToolLoopResult
from loopkit.drivers.resume import RunAgain, resume
from loopkit.errors import RecordingError, UserError
from loopkit.outcomes import Complete
from loopkit.recording.reader import read_recording
from loopkit.recording.writer import Recorder
from tests.drivers.fork_stage import agent, facts, middle, parent_of, ran, upper
from tests.drivers.log_rules import check_log
from tests.drivers.stage import Stage, ask


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool
async def write(path: str) -> str:
    """Write, which must not happen twice."""
    ran.append(f"write {path}")
    return f"wrote {path}"


@tool(side_effect="idempotent")
async def put(path: str) -> str:
    """Put, which may happen twice."""
    ran.append(f"put {path}")
    return f"put {path}"


TOOLS = [write, put, middle, upper]


def story(*turns: Any, **config: Any) -> Agent:
    return agent(*turns, tools=TOOLS, **config)


def cut(whole: Path, events: int, torn: bytes = b"") -> Path:
    """What a process left that was killed behind an event, maybe within the next line."""
    lines = whole.read_bytes().splitlines(keepends=True)
    path = whole.with_name("cut.jsonl")
    path.write_bytes(b"".join(lines[: events + 1]) + torn)
    return path


def resumed(
    path: Path, agent: Agent, *, run_again: RunAgain = (), stage: Stage | None = None
) -> tuple[ToolLoopResult, list[e.Event]]:
    """Resume a run; check what holds for every one."""
    before = list(read_recording(path).events)

    async def main() -> ToolLoopResult:
        return await resume(path, agent=agent, run_again=run_again, watcher=stage)

    result = anyio.run(main)
    events = list(read_recording(path).events)
    assert events[: len(before)] == before
    check_log(events)
    report = replay(path)
    assert report.same, report.text()
    return result, events


def test_a_run_goes_on_from_every_event(tmp_path: Path) -> None:
    """Also behind half a line; what had not started runs once, what had started is not run again."""
    turns = [ask("write", path="a"), [ask("write", path="b"), ask("put", path="c")], ask("middle")]
    whole = parent_of(story(*turns), tmp_path / "run.jsonl")
    events = read_recording(whole).events
    for number in range(1, len(events)):
        ran.clear()
        started = {event.fact.call for event in events[:number] if isinstance(event.fact, e.ToolStarted)}
        ended = {event.fact.call for event in events[:number] if isinstance(event.fact, e.ToolReturned)}
        result, after = resumed(cut(whole, number, b'{"seq":'), story(*turns))
        assert result.termination_reason == Complete(), events[number - 1]
        # behind the last answer only the end is missing, which is written without anybody
        assert facts(after, e.Reopened) or number == len(events) - 1
        writes = {"root/1.1", "root/2.1"}
        given_up = {fact.call for fact in facts(after, e.ToolAbandoned)}
        assert given_up & writes == (started - ended) & writes, events[number - 1]
        assert ran.count("write a") == (0 if "root/1.1" in started else 1)
        assert ran.count("write b") == (0 if "root/2.1" in started else 1)
        assert ran.count("put c") == (0 if "root/2.2" in ended else 1)


@pytest.mark.parametrize("number", range(6, 40, 3))
def test_sub_agents_go_on_within_themselves(number: int, tmp_path: Path) -> None:
    """Their handlers run again and re-enter what is recorded; what they did is not paid for twice."""
    whole = parent_of(story(ask("upper")), tmp_path / "run.jsonl")
    events = read_recording(whole).events
    if number >= len(events):
        number = len(events) - 1
    looked = [event.fact for event in events[:number] if isinstance(event.fact, e.ToolStarted)]
    result, after = resumed(cut(whole, number), story(ask("upper")))
    assert result.termination_reason == Complete()
    finished = [event.loop for event in after if isinstance(event.fact, e.LoopFinished)]
    assert sorted(finished) == ["root", "root/1.1#1", "root/1.1#1/1.1#1"]
    # the two looks of the innermost agent: those that had started are not made again
    leaves = [fact.call for fact in looked if fact.call.startswith("root/1.1#1/1.1#1/")]
    assert sum(word.startswith("look") for word in ran) == 2 - len(leaves)


def test_a_decision_on_a_call_that_did_not_start_is_asked_for_again(tmp_path: Path) -> None:
    """What was right then need not be right now: it is another version of the call."""
    turns = [[ask("write", path="a"), ask("write", path="b")]]
    whole = parent_of(story(*turns), tmp_path / "run.jsonl")
    decided = next(ev.seq for ev in read_recording(whole).events if isinstance(ev.fact, e.Decided))
    result, after = resumed(cut(whole, decided), story(*turns), stage=Stage(answers={"write": Deny("not any more")}))
    assert [(fact.call, fact.version) for fact in facts(after, e.DecisionRequested)] == [
        ("root/1.1", 1),
        ("root/1.2", 1),
        ("root/1.1", 2),
    ]
    assert result.text == "results: not any more, not any more"
    assert ran == []


def test_later_calls_of_a_sequence_are_asked_for_again(tmp_path: Path) -> None:
    turns = [[ask("put", path="a"), ask("put", path="b")]]
    whole = parent_of(story(*turns, parallel_tool_execution=False), tmp_path / "run.jsonl")
    started = next(ev.seq for ev in read_recording(whole).events if isinstance(ev.fact, e.ToolStarted))
    result, after = resumed(cut(whole, started), story(*turns, parallel_tool_execution=False))
    assert [(f.call, f.version) for f in facts(after, e.DecisionRequested)][2:] == [("root/1.2", 2)]
    assert result.text == "results: put a, put b"
    assert ran == ["put a", "put b"]


@pytest.mark.parametrize(
    ("run_again", "content"), [((), INTERRUPTED_CALL), (("root/1.1",), "wrote a"), ("all", "wrote a")]
)
def test_a_call_that_had_started_runs_again_only_if_a_person_says_so(
    run_again: RunAgain, content: str, tmp_path: Path
) -> None:
    whole = parent_of(story(ask("write", path="a")), tmp_path / "run.jsonl")
    started = next(ev.seq for ev in read_recording(whole).events if isinstance(ev.fact, e.ToolStarted))
    result, _ = resumed(cut(whole, started), story(ask("write", path="a")), run_again=run_again)
    assert result.text == f"results: {content}"


def test_a_call_whose_tool_is_gone_is_told_as_unknown(tmp_path: Path) -> None:
    """Today's agent may lack the tool of a call that had started and may run again (spec/loop.md 9.1)."""
    whole = parent_of(story(ask("put", path="a")), tmp_path / "run.jsonl")
    started = next(ev.seq for ev in read_recording(whole).events if isinstance(ev.fact, e.ToolStarted))
    result, after = resumed(cut(whole, started), agent(ask("put", path="a"), tools=[write]))
    assert result.text == "results: Unknown tool: put. Known tools: write."
    (failed,) = facts(after, e.ToolFailed)
    assert failed.failure.type_name == "UnknownTool"


def test_an_unanswered_request_is_made_again(tmp_path: Path) -> None:
    """As a failed attempt of unknown cost (spec/loop.md 9.2)."""
    whole = parent_of(story(), tmp_path / "run.jsonl")
    asked = next(ev.seq for ev in read_recording(whole).events if isinstance(ev.fact, e.ModelRequested))
    result, after = resumed(cut(whole, asked), story())
    assert [fact.attempt for fact in facts(after, e.ModelRequested)] == [1, 2]
    assert result.total_usage == Usage(3, 2, unreported=1)


def test_loop_time_is_carried_on(tmp_path: Path) -> None:
    """spec/loop.md 4.5: a limit of a minute is one minute, however often the process dies."""
    whole = parent_of(story(ask("put", path="a"), timeout=60), tmp_path / "run.jsonl")
    text = whole.read_text()
    lines = text.splitlines(keepends=True)
    reading = max(number for number, line in enumerate(lines) if '"ClockRead"' in line)
    path = whole.with_name("cut.jsonl")
    head, _, _ = lines[reading].partition('"loop_seconds"')
    path.write_text("".join(lines[:reading]) + f'{head}"loop_seconds":59.9999}}\n')
    _, after = resumed(path, story(ask("put", path="a"), timeout=60))
    assert facts(after, e.ClockRead)[-1].loop_seconds >= 59.9999


def test_a_run_can_be_cut_short_and_resumed_again_and_again(tmp_path: Path) -> None:
    turns = [ask("put", path=word) for word in "abc"]
    path = cut(parent_of(story(*turns), tmp_path / "run.jsonl"), 4)
    for grown in (3, 9, 17):
        resumed(path, story(*turns))
        path = cut(path, min(4 + grown, len(read_recording(path).events) - 1))
    result, after = resumed(path, story(*turns))
    assert result.text == "results: put a, put b, put c"
    assert len(facts(after, e.Reopened)) >= 3


def test_another_agent_is_recorded_as_such(tmp_path: Path) -> None:
    path = cut(parent_of(story(ask("put", path="a")), tmp_path / "run.jsonl"), 5)
    _, after = resumed(path, story(ask("put", path="a"), max_iterations=4))
    (changed,) = facts(after, e.AgentChanged)
    assert (changed.by, changed.configuration["max_iterations"]) == ("resume", 4)


def test_what_cannot_be_resumed_says_why(tmp_path: Path) -> None:
    whole = parent_of(story(ask("write", path="a")), tmp_path / "run.jsonl")
    with pytest.raises(RecordingError, match="is finished"):
        resumed(whole, story())
    with pytest.raises(UserError, match="nothing to go on with"):
        resumed(cut(whole, 0), story())
    with pytest.raises(UserError, match=r"root/9\.1 was not running .*; running: none"):
        resumed(cut(whole, 2), story(), run_again=["root/9.1"])
    path = cut(whole, 2)
    with Recorder.continue_from(path), pytest.raises(RecordingError):
        resumed(path, story())


def test_a_paused_run_goes_on(tmp_path: Path) -> None:
    """Nobody of then is there to resume it."""
    path = cut(parent_of(story(ask("put", path="a")), tmp_path / "run.jsonl"), 2)
    with Recorder.continue_from(path) as recorder:
        recorder.append(e.Event(3, 0.5, e.ROOT, 1, e.Paused("root/1.request", "person")))
    result, after = resumed(path, story(ask("put", path="a")))
    assert result.text == "results: put a"
    assert [fact.by for fact in facts(after, e.Resumed)] == ["resume"]
