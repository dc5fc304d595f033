"""Loop detection over runs that are over (spec/loop.md 6.5)."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings

from loopkit import (
    Agent,
    LoopDetectionConfig,
    Recorder,
    ScriptedProvider,
    ToolCall,
    ToolDetection,
    ToolLoopConfig,
    tool,
)
from loopkit import events as e
from loopkit.core.config import LoopRules
from loopkit.core.detection import DETECTORS
from loopkit.debugger.detecting import detect, detect_file, detection_of
from loopkit.debugger.recorded import open_recording
from loopkit.errors import UserError
from loopkit.importers.codex_outputs import command_output
from loopkit.messages import Message
from tests.drivers.random_agents import Plan, plans
from tests.drivers.random_runs import Meddling, meddlings, play
from tests.drivers.stage import ClosingRecorder
from tests.importers.codex_lines import Rollout, command

ALL = detection_of()
CORPUS = os.environ.get("LOOPKIT_CORPUS", "")


@tool
async def status(job: int) -> str:
    """Say how far a job is."""
    return f"job {job}: queued"


@tool(polling=True)
async def poll(job: int) -> str:
    """Say how far a job is."""
    return f"job {job}: queued"


def record(path: Path, *script: Any, **config: Any) -> Path:
    agent = Agent(ScriptedProvider([*script, "done"]), tools=[status, poll], config=ToolLoopConfig(**config))
    agent.run_sync("go", recorder=Recorder(path))
    return path


def dump(path: Path, *turns: tuple[str, str, str]) -> Path:
    """A dump of an OpenAI chat: tool, argument text and result of each turn, or a message of the user."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number, (name, arguments, result) in enumerate(turns):
        if name == "user":
            messages.append({"role": "user", "content": result})
            continue
        function = {"name": name, "arguments": arguments}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    path.write_text(json.dumps([*messages, {"role": "assistant", "content": "done"}]))
    return path


def detectors_of(path: Path, config: LoopDetectionConfig = ALL) -> list[tuple[int, str]]:
    return [(found.iteration, found.repetition.detector) for found in detect_file(path, config)]


def test_an_old_run_without_detection_is_looked_at(tmp_path: Path) -> None:
    path = record(tmp_path / "run.jsonl", *[ToolCall("c", "status", {"job": 1})] * 4)
    assert open_recording(path).timeline.warnings == 0
    assert detectors_of(path) == [(3, "identical batches"), (4, "same call same result")]
    (first, second) = detect_file(path, ALL)
    assert first.data() == {
        "loop": "root",
        "agents": ["agent"],
        "iteration": 3,
        "detector": "identical batches",
        "tool_name": "status",
        "count": 3,
        "since_iteration": 1,
        "calls": ["root/1.1", "root/2.1", "root/3.1"],
    }
    assert second.repetition.calls == ("root/1.1", "root/2.1", "root/3.1")


def test_what_tools_say_of_themselves_counts(tmp_path: Path) -> None:
    """spec/faults.md g1: a polling tool of our own is known by its definition."""
    path = record(tmp_path / "run.jsonl", *[ToolCall("c", "poll", {"job": 1})] * 4)
    assert detectors_of(path, detection_of("identical-batches")) == [(4, "identical batches")]


def test_settings_of_single_tools_are_those_of_the_recording_unless_given(tmp_path: Path) -> None:
    config = LoopDetectionConfig(9, tools={"status": ToolDetection(4)})
    path = record(tmp_path / "run.jsonl", *[ToolCall("c", "status", {"job": 1})] * 5, loop_detection=config)
    batches = detection_of("identical batches", 2)
    assert detectors_of(path, batches) == [(4, "identical batches")]
    assert detectors_of(path, replace(batches, tools={"status": ToolDetection()})) == [
        (2, "identical batches"),
        (4, "identical batches"),
    ]
    assert detectors_of(path, detection_of("all", 2, ignored=["status"])) == []


def test_legitimate_polling_of_another_program_is_no_loop(tmp_path: Path) -> None:
    """spec/faults.md g1: `write_stdin` with nothing to write, as long as the process says something new."""
    asked = ("write_stdin", '{"session_id": 7, "chars": ""}')
    turns = [(*asked, f"Wall time: 5.{number} seconds\nProcess running\n{number} tests passed") for number in range(12)]
    path = dump(tmp_path / "chat.json", *turns)
    assert detectors_of(path, detection_of("all", 2)) == []
    still = dump(tmp_path / "still.json", *[(*asked, "Process running")] * 5)
    assert (4, "identical batches") in detectors_of(still)


def test_a_message_of_the_user_starts_again(tmp_path: Path) -> None:
    """spec/faults.md g12"""
    turn = ("look", "{}", "the same")
    path = dump(tmp_path / "chat.json", *[turn] * 3, ("user", "", "look again"), *[turn] * 3)
    assert detectors_of(path) == []


def test_results_that_are_missing_are_not_the_same() -> None:
    """A session that was cut, or went on without an answer, says nothing of what its tools gave."""
    asks = Message.assistant("", [ToolCall("c", "look", {})])
    events = [e.Event(1, 0.0, "root", 0, e.LoopStarted("agent", ()))]
    events += [e.Event(seq, 0.0, "root", seq, e.ModelReplied(asks)) for seq in range(2, 12)]
    assert list(detect(events, detection_of("all", 2), foreign=True)) == []


@pytest.mark.parametrize("words", ["all", " cycle , repeated-errors", "same-call-same-result", "identical batches"])
def test_detectors_are_named_by_a_person(words: str) -> None:
    assert set(detection_of(words).detectors) <= set(DETECTORS)


@pytest.mark.parametrize(
    ("detectors", "threshold", "said"),
    [("circle", 3, "'circle' is none of identical batches, cycle"), ("", 3, "at least one"), ("all", 1, "at least 2")],
)
def test_what_cannot_be_meant_is_refused(detectors: str, threshold: int, said: str) -> None:
    with pytest.raises(UserError, match=said):
        detection_of(detectors, threshold)


def test_a_recording_whose_start_is_missing_is_still_looked_at() -> None:
    """spec/faults.md j4: which tools there are is not known then, so none is unknown."""
    asks = Message.assistant("", [ToolCall("c", "look", {})])
    events = [e.Event(seq, 0.0, "root", seq, e.ModelReplied(asks)) for seq in range(5, 11)]
    answered = e.ToolReturned("root/{}.1", "the same")
    whole = [
        part for event in events for part in (event, replace(event, fact=replace(answered, call=f"root/{event.seq}.1")))
    ]
    found = list(detect(whole, ALL))
    assert {one.repetition.detector for one in found} == {"identical batches", "same call same result"}
    assert {one.agents for one in found} == {("?",)}


def test_settings_that_no_configuration_has_are_refused_in_one_line(tmp_path: Path) -> None:
    path = record(tmp_path / "run.jsonl", "hello", loop_detection=LoopDetectionConfig(4))
    path.write_text(path.read_text().replace('"threshold":4', '"threshold":1'))
    with pytest.raises(UserError, match="threshold must be at least 2, not 1"):
        detect_file(path, ALL)


@given(plan=plans(), meddling=meddlings())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_it_finds_what_the_run_itself_reported(
    tmp_path_factory: pytest.TempPathFactory, plan: Plan, meddling: Meddling
) -> None:
    """6.5: the same detectors over the log say what they said live, call by call."""
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    recorder = ClosingRecorder(path)
    events = anyio.run(play, plan, meddling, recorder).events
    assert recorder.closed.wait(10)
    for start in [event for event in events if isinstance(event.fact, e.LoopStarted)]:
        assert isinstance(start.fact, e.LoopStarted)
        config = LoopRules.read(start.fact.configuration).detection
        own = [event for event in events if event.loop == start.loop]
        reported = [(event.iteration, event.fact) for event in own if isinstance(event.fact, e.RepetitionDetected)]
        if config is None:
            assert reported == []
            continue
        found = [(one.iteration, one.repetition) for one in detect(own, config)]
        assert found[: len(reported)] == reported
        assert [fact.calls for _, fact in reported] == [fact.calls for _, fact in found[: len(reported)]]
        last = max(event.iteration for event in own)
        assert {iteration for iteration, _ in found[len(reported) :]} <= {last}


def codex_session(path: Path, *turns: tuple[str, dict[str, Any], str]) -> Path:
    """A session of Codex: tool, arguments and result of each turn."""
    lines = Rollout()
    lines.prompt("go")
    for number, (name, arguments, result) in enumerate(turns):
        lines.asks(f"c{number}", name, **arguments)
        lines.gets(f"c{number}", result)
    lines.says("done")
    path.write_text(lines.text())
    return path


def test_waiting_for_a_command_that_still_runs_is_no_loop(tmp_path: Path) -> None:
    """spec/faults.md g1: Codex looks at a silent process again and again; it may yet say something."""
    wait = ("write_stdin", {"session_id": 7, "chars": ""})
    turns = [(*wait, command("", None, chunk=f"{number:06x}", seconds=30 + number / 99)) for number in range(20)]
    path = codex_session(tmp_path / "codex.jsonl", ("exec_command", {"cmd": "make"}, command("", None)), *turns)
    assert detectors_of(path, detection_of("all", 2)) == []


def test_a_command_that_gives_the_same_each_time_is_a_loop_whatever_the_clock_says(tmp_path: Path) -> None:
    """Ids and times that Codex puts around a result don't make it another one."""
    build = ("exec_command", {"cmd": "make"})
    turns = [(*build, command("error: x", 2, chunk=f"{number:06x}", seconds=number)) for number in range(4)]
    assert detectors_of(codex_session(tmp_path / "new.jsonl", *turns)) == [
        (4, "identical batches"),
        (4, "same call same result"),
        (4, "repeated errors"),
    ]
    older = [json.dumps({"output": "error: x", "metadata": {"exit_code": 2, "duration_seconds": n}}) for n in range(4)]
    assert len(detectors_of(codex_session(tmp_path / "old.jsonl", *[(*build, result) for result in older]))) == 3
    other_ends = [(*build, command("", number)) for number in range(6)]
    assert detectors_of(codex_session(tmp_path / "ends.jsonl", *other_ends)) == []


@pytest.mark.skipif(not CORPUS, reason="LOOPKIT_CORPUS names no folder of real sessions")
@pytest.mark.parametrize("program", ["anthropic-messages", "claude-code", "codex", "gemini-cli", "openai-responses"])
def test_real_sessions_that_went_well_hold_no_loop(program: str) -> None:
    """spec/faults.md g1: nothing in sessions of coding agents and single answers, their polling included, not even twice."""
    files = sorted((Path(CORPUS) / program).iterdir())
    assert files
    assert {path.name: detectors_of(path, detection_of("all", 2)) for path in files} == {
        path.name: [] for path in files
    }


@pytest.mark.skipif(not CORPUS, reason="LOOPKIT_CORPUS names no folder of real sessions")
def test_the_waiting_of_a_real_session_would_be_called_a_loop_by_its_words_alone() -> None:
    """What the test above would miss: one real session waits for silent commands, up to 5 times in a row."""
    run = open_recording(Path(CORPUS) / "codex" / "05.jsonl")
    found = list(detect(run.events, ALL, foreign=True, comparable=lambda content: command_output(content).printed))
    assert {one.repetition.tool_name for one in found} == {"write_stdin"}
    assert len(found) == 17


@pytest.mark.skipif(not CORPUS, reason="LOOPKIT_CORPUS names no folder of real sessions")
def test_the_loops_of_real_chats_are_found() -> None:
    """A model that books the same flights three times for the same refusal, thinking the same in between."""
    assert detectors_of(Path(CORPUS) / "openai-chat" / "01.json") == [
        (1369, "cycle"),
        (1369, "same call same result"),
    ]
    assert detectors_of(Path(CORPUS) / "openai-chat" / "05.json", detection_of("all", 2)) == []
