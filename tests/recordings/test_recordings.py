"""The recordings of this repository: each is sound, replays, tells its story, and holds nothing of the machine it was made on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loopkit import events as e
from loopkit.agent import Agent
from loopkit.debugger.library import bundled_recordings
from loopkit.debugger.nodes import LoopNode
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.report import outcome_name
from loopkit.debugger.runs import check_file, replay_file
from loopkit.debugger.targets import load_agent
from loopkit.debugger.timeline import Timeline
from loopkit.debugger.totals import totals

ROOT = Path(__file__).resolve().parents[2]
# runs of one's own land here too, under names that start with a date
STORIES = sorted((ROOT / "recordings").glob("[a-z]*.jsonl"))
ALL = [*STORIES, *bundled_recordings()]
# what came from outside at a certain moment can't be met again by tools that really run
ONLY_RECORDED = {"slow-tool", "stopped-run"}
OF_A_MACHINE = re.compile(
    r"/(home|root|tmp|work|usr|var|Users|private)/|[A-Za-z]:\\\\|127\.0\.0\.1|localhost|site-packages|line \d+, in "
)


def name_of(path: Path) -> str:
    return path.stem


def agent_of(path: Path) -> Agent:
    if path.parent.name == "demo":
        return load_agent("loopkit.demo:agent")
    return load_agent(f"{path.parent / 'stories' / path.stem.replace('-', '_')}.py:agent")


def timeline_of(name: str) -> Timeline:
    (path,) = (path for path in ALL if path.stem == name)
    with open_recording(path) as run:
        assert run.notices == []
        return run.timeline


def root_of(timeline: Timeline) -> LoopNode:
    assert timeline.root is not None
    return timeline.root


def results_of(timeline: Timeline) -> list[str]:
    return [call.content for call in timeline.calls.values() if call.content is not None]


def answer_of(timeline: Timeline, place: int) -> str:
    message = root_of(timeline).iterations[place].message
    assert message is not None
    return message.text


def test_the_recordings_are_the_stories() -> None:
    """Each story was recorded and each recording has its story; the package brings one of its own."""
    scripts = (ROOT / "recordings" / "stories").glob("*.py")
    assert sorted(script.stem.replace("_", "-") for script in scripts) == [path.stem for path in STORIES]
    assert len(STORIES) >= 6
    assert [path.stem for path in bundled_recordings()] == ["flaky-test"]


@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_a_recording_is_sound(path: Path) -> None:
    """It validates against the shipped JSON Schema, is whole, and its numbers have no gap."""
    assert check_file(path) == []


@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_a_recording_replays(path: Path) -> None:
    report = replay_file(path)
    assert report.same, report.text()
    assert report.finished


@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_a_recording_replays_with_its_agent(path: Path) -> None:
    """The agent that made it has the same prompt, tools and configuration today."""
    report = replay_file(path, agent=agent_of(path))
    assert report.same, report.text()


@pytest.mark.parametrize("path", [path for path in ALL if path.stem not in ONLY_RECORDED], ids=name_of)
def test_a_recording_replays_with_its_tools_running(path: Path) -> None:
    """Tools give the same again: no times, random values or paths are in their results."""
    report = replay_file(path, agent=agent_of(path), tools="live")
    assert report.same, report.text()


@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_a_recording_names_no_machine(path: Path) -> None:
    """No folder of a machine, no address, no traceback."""
    found = OF_A_MACHINE.search(path.read_text(encoding="utf-8"))
    assert found is None, found


@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_a_person_decided(path: Path) -> None:
    with open_recording(path) as run:
        deciders = {event.fact.by for event in run.events if isinstance(event.fact, e.Decided)}
    assert deciders == {"person"}


def test_plain_success_goes_without_a_hitch() -> None:
    timeline = timeline_of("plain-success")
    counted = totals(timeline)
    assert outcome_name(root_of(timeline)) == "complete"
    assert (counted.errors, counted.denied, counted.edited, counted.warnings) == (0, 0, 0, 0)
    assert max(len(iteration.calls) for iteration in root_of(timeline).iterations) == 3


def test_denied_call_reaches_the_model_with_its_reason() -> None:
    timeline = timeline_of("denied-call")
    assert timeline.denied == 1
    reason = next(text for text in results_of(timeline) if "only backup" in text)
    assert reason in answer_of(timeline, 2)
    assert outcome_name(root_of(timeline)) == "complete"


def test_edited_call_ran_as_the_person_changed_it() -> None:
    timeline = timeline_of("edited-call")
    assert timeline.edited == 1
    assert results_of(timeline)[-1] == '[{"drink": "espresso", "euros": 760}, {"drink": "iced tea", "euros": 720}]'
    assert "760" in answer_of(timeline, -1)


def test_stuck_loop_is_stopped_by_loop_detection() -> None:
    timeline = timeline_of("stuck-loop")
    assert timeline.warnings == 1
    assert outcome_name(root_of(timeline)) == "loop_detected"


def test_sub_agents_are_two_levels_deep_and_side_by_side() -> None:
    timeline = timeline_of("sub-agents")
    assert timeline.depth == 2
    assert len(timeline.loops) == 4
    assert len(root_of(timeline).iterations[0].calls) == 2


def test_error_and_recovery_has_every_kind_of_error() -> None:
    timeline = timeline_of("error-and-recovery")
    assert timeline.errors == 4
    starts = [text.partition(":")[0].partition(",")[0] for text in results_of(timeline)]
    assert starts[:3] == ["Unknown tool", "Invalid arguments", "The stock server answered 503"]
    assert any(start.startswith("ZeroDivisionError") for start in starts)
    assert outcome_name(root_of(timeline)) == "complete"


def test_slow_tool_is_given_up_and_the_run_goes_on() -> None:
    with open_recording(ROOT / "recordings" / "slow-tool.jsonl") as run:
        given_up = [event.fact for event in run.events if isinstance(event.fact, e.ToolAbandoned)]
        assert len(given_up) == 1
        assert outcome_name(run.timeline.root) == "complete"


def test_stopped_run_says_who_stopped_it_and_why() -> None:
    with open_recording(ROOT / "recordings" / "stopped-run.jsonl") as run:
        (stopped,) = (event.fact for event in run.events if isinstance(event.fact, e.RunStopped))
    assert stopped.by == "person"
    assert stopped.reason == "Those names say nothing. I'll name them myself."


def test_the_bundled_recording_shows_what_a_newcomer_should_see() -> None:
    """An edit, a denial, a warning, parallel calls and a sub-agent's sub-agent."""
    timeline = timeline_of("flaky-test")
    assert (timeline.edited, timeline.denied, timeline.warnings, timeline.depth) == (1, 1, 1, 2)
    assert len(root_of(timeline).iterations[0].calls) == 2


def test_a_real_model_was_recorded_and_corrected_by_a_person() -> None:
    timeline = timeline_of("real-model")
    root = root_of(timeline)
    assert [iteration.model for iteration in root.iterations] == ["smollm2", "smollm2"]
    assert timeline.edited == 1
    (call,) = timeline.calls.values()
    assert (call.arguments, call.edited_arguments) == ({"city": "Romeo & Juliet"}, {"city": "Rome"})
    with open_recording(ROOT / "recordings" / "real-model.jsonl") as run:
        replies = [event.fact for event in run.events if isinstance(event.fact, e.ModelReplied)]
    assert all(len(reply.pieces) > 10 for reply in replies), "it was streamed by somebody who thinks"
