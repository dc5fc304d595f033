"""A divergence settled: today's run accepted, or one step recorded anew; the old recording stays as it is (DESIGN §4)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import Agent, ScriptedProvider, ToolLoopConfig, Usage, tool
from loopkit import events as e
from loopkit.drivers.mending import accept, re_record
from loopkit.drivers.replay import replay
from loopkit.errors import RecordingError, UserError
from loopkit.messages import Message
from loopkit.outcomes import Approve, Deny
from loopkit.recording.check import check_recording
from loopkit.recording.reader import read_recording
from loopkit.recording.writer import Recorder
from tests.drivers.log_rules import check_log
from tests.drivers.stage import Stage, ask
from tests.drivers.test_replay import count, delegate, look, record, story

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return record(story(), tmp_path / "run.jsonl")


def facts(path: Path, kind: type[e.Fact]) -> list[Any]:
    return [event.fact for event in read_recording(path).events if isinstance(event.fact, kind)]


def check_new(path: Path, old: Path, before: bytes, agent: Agent, shared: int) -> None:
    """It is a sound recording that names its parent, replays, and changed nothing else."""
    new = read_recording(path)
    check_log(new.events)
    assert check_recording(path) == []
    assert (new.header.parent, new.header.fork_seq) == (read_recording(old).header.run, shared)
    assert replay(path, agent).same
    assert old.read_bytes() == before


@BACKENDS
@pytest.mark.parametrize(
    ("change", "shared"),
    [
        ({"system": "Be quick."}, 0),
        ({"max_iterations": 2}, 0),
        ({"tools": [look, delegate]}, 0),
        ({"temperature": 0.5}, 0),
    ],
)
def test_an_accepted_run_is_todays(backend: str, change: dict[str, Any], shared: int, recorded: Path) -> None:
    before, agent = recorded.read_bytes(), story(**change)
    assert not replay(recorded, agent).same
    new = accept(recorded, agent, recorded.with_name("new.jsonl"), backend=backend)
    check_new(new, recorded, before, agent, shared)
    assert not replay(new, story()).same


def test_an_accepted_decision_changes_what_follows(tmp_path: Path) -> None:
    path = record(story(on_tool_call=lambda _: Approve()), tmp_path / "run.jsonl")
    before = path.read_bytes()
    agent = story(on_tool_call=lambda call: Deny("no") if call.name == "count" else Approve())
    new = accept(path, agent, tmp_path / "new.jsonl")
    check_new(new, path, before, agent, 7)
    assert [fact.call for fact in facts(new, e.ToolSkipped)] == ["root/1.2"]
    assert "root/1.2" not in [fact.call for fact in facts(new, e.ToolReturned)]


def test_what_people_did_is_kept(tmp_path: Path) -> None:
    """A person's pauses, messages and decisions are always fed from the log."""
    stage = Stage(gates=["root/1.1.call"], pending=["count"])

    def on_event(event: e.Event) -> None:
        match event.fact:
            case e.Paused(gate):
                stage.root.post(e.MessagesInjected((Message.user("be quick"),), "person"))
                stage.root.post(e.Resumed(gate, "person"))
            case e.DecisionRequested(call) if event.fact.name == "count":
                later.append(call)

    later: list[str] = []

    async def main() -> None:
        async with anyio.create_task_group() as group:
            stage.on_event = on_event

            async def decide() -> None:
                while not later:
                    await anyio.lowlevel.checkpoint()
                stage.decide_as_person("root", later[0], Deny("not now"))

            group.start_soon(decide)
            await stage.run(story(), Recorder(tmp_path / "run.jsonl"))

    anyio.run(main)
    path = tmp_path / "run.jsonl"
    before, agent = path.read_bytes(), story(system="Be quick.")
    new = accept(path, agent, tmp_path / "new.jsonl")
    check_new(new, path, before, agent, 0)
    for kind in (e.Paused, e.Resumed, e.MessagesInjected, e.Decided):
        assert facts(new, kind) == facts(path, kind)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"max_iterations": 1}, "goes on behind the recorded end"), ({"tools": [look]}, "needs what is not recorded")],
)
def test_what_the_recording_lacks_is_not_accepted(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    """spec/faults.md d14: never a silent live call."""
    path = record(story(**options), tmp_path / "run.jsonl")
    with pytest.raises(UserError, match=words):
        accept(path, story(), tmp_path / "new.jsonl")
    assert not (tmp_path / "new.jsonl").exists()


def test_a_new_recording_replaces_nothing(recorded: Path) -> None:
    before = recorded.read_bytes()
    with pytest.raises(RecordingError):
        accept(recorded, story(system="x"), recorded)
    with pytest.raises(RecordingError):
        re_record(recorded, story(), "1.1", recorded)
    assert recorded.read_bytes() == before


# ── one step ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def counting(ran: list[str], answer: str = "a: 99 lines") -> list[Any]:
    """The story's tools, the first with another answer."""

    @tool(name="look")
    async def look_again(path: str) -> str:
        """Look at a file."""
        ran.append(path)
        return answer

    return [look_again, count, delegate]


@BACKENDS
@pytest.mark.parametrize("step", ["root/1.1", "1.1", 11])
def test_one_call_runs_again(backend: str, step: str | int, recorded: Path) -> None:
    """The rest is recorded: no other tool runs, no model is asked."""
    before, ran = recorded.read_bytes(), list[str]()
    agent = story(tools=counting(ran))
    new = re_record(recorded, agent, step, recorded.with_name("new.jsonl"), backend=backend)
    assert ran == ["a"]
    assert isinstance(agent.provider, ScriptedProvider)
    assert agent.provider.requests == []
    results = {fact.call: fact.content for fact in facts(new, e.ToolReturned)}
    assert (results["root/1.1"], results["root/1.2"]) == ("a: 99 lines", "1")
    check_new(new, recorded, before, agent, 10)


@BACKENDS
def test_a_call_that_asks_a_sub_agent_runs_whole(backend: str, recorded: Path) -> None:
    """What the step starts is live with it; its calls are decided as they were."""
    before = recorded.read_bytes()
    new = re_record(recorded, story(), "2.1", recorded.with_name("new.jsonl"), backend=backend)
    assert "root/2.1#1" in {event.loop for event in read_recording(new).events}
    check_new(new, recorded, before, story(), len(shared_events(new, recorded)))


@BACKENDS
def test_a_step_of_a_sub_agent_is_reached_by_its_parents_handler(backend: str, recorded: Path) -> None:
    before, ran = recorded.read_bytes(), list[str]()

    @tool(name="look")
    async def look_again(path: str) -> str:
        """Look at a file."""
        ran.append(path)
        return "z: 99 lines"

    @tool(name="delegate")
    async def delegate_again() -> str:
        """Ask a sub-agent."""
        model = ScriptedProvider(["never asked"])
        return (await Agent(model, tools=[look_again], name="child").run("task")).text

    agent = story(tools=[look, count, delegate_again])
    new = re_record(recorded, agent, "root/2.1#1/1.1", recorded.with_name("new.jsonl"), backend=backend)
    assert ran == ["z"]
    results = {fact.call: fact.content for fact in facts(new, e.ToolReturned)}
    assert (results["root/1.1"], results["root/2.1#1/1.1"]) == ("a: 3 lines", "z: 99 lines")
    check_new(new, recorded, before, agent, len(shared_events(new, recorded)))


def shared_events(new: Path, old: Path) -> Sequence[Any]:
    pairs = zip(read_recording(new).events, read_recording(old).events, strict=False)
    return list(itertools.takewhile(lambda pair: pair[0].fact == pair[1].fact, pairs))


def last_answer_of(path: Path) -> int:
    return max(event.seq for event in read_recording(path).events if isinstance(event.fact, e.ModelReplied))


@BACKENDS
def test_one_answer_is_asked_for_again(backend: str, recorded: Path) -> None:
    before = recorded.read_bytes()
    agent = Agent(
        ScriptedProvider(["done otherwise"], usage=Usage(3, 2)),
        tools=[look, count, delegate],
        system="Be careful.",
        name="story",
        config=ToolLoopConfig(),
    )
    new = re_record(recorded, agent, last_answer_of(recorded), recorded.with_name("new.jsonl"), backend=backend)
    assert facts(new, e.ModelReplied)[-1].message.text == "done otherwise"
    check_new(new, recorded, before, agent, last_answer_of(recorded) - 1)


def test_an_answer_that_asks_for_what_is_not_recorded_is_not_kept(recorded: Path) -> None:
    """features 19: met by arguments, not by place."""
    agent = Agent(ScriptedProvider([[ask("look", path="zzz")]]), tools=[look, count, delegate], system="Be careful.")
    with pytest.raises(UserError, match="asks for what is not recorded"):
        re_record(recorded, agent, 4, recorded.with_name("new.jsonl"))
    assert not recorded.with_name("new.jsonl").exists()


@pytest.mark.parametrize(
    ("step", "words"),
    [("9.9", "no call root/9.9"), (999, "has the events 1 to"), (1, "is no step"), ("nonsense", "no call")],
)
def test_a_step_that_is_none_is_refused(step: str | int, words: str, recorded: Path) -> None:
    refused: Callable[[], Path] = lambda: re_record(recorded, story(), step, recorded.with_name("new.jsonl"))  # noqa: E731
    with pytest.raises(UserError, match=words):
        refused()
