"""Replays that ask the model live: calls are met by what they ask for, wherever that stands (DESIGN §4)."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import Agent, ProviderError, ScriptedProvider, ToolLoopConfig, Usage, tool
from loopkit import events as e
from loopkit.core.state import RunTool
from loopkit.drivers.findings import Drift, Finding
from loopkit.drivers.live_replay import LiveReplay
from loopkit.drivers.prepared import InputIndex
from loopkit.drivers.replay import originals_of, replay, todays_parts
from loopkit.errors import UserError
from loopkit.messages import ToolCall
from loopkit.outcomes import Deny, Modify
from loopkit.recording.reader import read_recording
from loopkit.recording.writer import Recorder
from tests.drivers.stage import Stage, ask

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
ran: list[str] = []


@tool
async def search(query: str, page: int = 1) -> str:
    """Search."""
    ran.append(query)
    for _ in range(5 if query == "slow" else 0):
        await anyio.lowlevel.checkpoint()
    if query == "broken":
        raise KeyError(query)
    return f"{query}: found {len(ran)}"


@tool
async def send(text: str) -> str:
    """Send a mail."""
    ran.append(text)
    return "sent"


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


def of(*script: Any, **config: Any) -> Agent:
    model = ScriptedProvider(list(script), usage=Usage(3, 2))
    return Agent(model, tools=[search, send], system="Be careful.", config=ToolLoopConfig(**config))


STORY: tuple[Any, ...] = (
    [ask("search", query="a"), ask("search", query="a"), ask("search", query="b")],
    ["Now I know.", ask("send", text="hello")],
    "all done",
)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return record(of(*STORY), tmp_path / "run.jsonl")


def record(agent: Agent, path: Path, stage: Stage | None = None) -> Path:
    anyio.run((stage or Stage()).run, agent, Recorder(path))
    ran.clear()
    return path


def findings(path: Path, *script: Any, backend: str = "asyncio", **config: Any) -> Sequence[Finding]:
    report = replay(path, of(*script, **config), model="live", backend=backend)
    assert not report.same
    assert report.diagnosis is not None
    return report.diagnosis.findings


@BACKENDS
def test_other_words_ids_and_tokens_are_the_same(backend: str, recorded: Path) -> None:
    before = recorded.read_bytes()
    calls = [[ToolCall(f"x{n}", call.name, call.arguments) for n, call in enumerate(STORY[0])]]
    agent = of(*calls, ["Aha!", ask("send", text="hello")], "it is finished")
    report = replay(recorded, agent, model="live", backend=backend)
    assert report.same, report.text()
    assert isinstance(agent.provider, ScriptedProvider)
    assert len(agent.provider.requests) == 3
    assert ran == []
    assert recorded.read_bytes() == before


@BACKENDS
def test_equal_calls_get_what_each_occurrence_got(backend: str, recorded: Path) -> None:
    """features 19: the second equal call gets the second's result, also in another answer than then."""
    agent = of([ask("search", query="b"), ask("search", query="a")], ask("search", query="a"), "done")
    replay(recorded, agent, model="live", backend=backend)
    assert isinstance(agent.provider, ScriptedProvider)
    last = agent.provider.requests[-1].messages
    results = [message.tool_results[0].content for message in last if message.role == "tool"]
    assert results == ["b: found 3", "a: found 1", "a: found 2"]
    assert ran == []


@BACKENDS
def test_a_call_that_is_not_recorded_is_never_run(backend: str, recorded: Path) -> None:
    """spec/faults.md d14; what was recorded nearest to it is shown."""
    found = findings(recorded, STORY[0], ask("send", text="goodbye"), "done", backend=backend)
    assert ran == []
    assert (found[0].drift, found[0].what) == (Drift.ARGUMENTS, "send is asked for with other arguments")
    assert found[0].diff == ("  {", '-   "text": "hello"', '+   "text": "goodbye"', "  }")
    assert len(found) == 1


def test_a_missing_call_is_named(recorded: Path) -> None:
    found = findings(recorded, STORY[0], "all done")
    assert [(finding.drift, finding.what) for finding in found] == [(Drift.MISSING_CALL, "send is not asked for")]


def test_an_extra_call_is_named_where_it_came(recorded: Path) -> None:
    found = findings(recorded, STORY[0], ask("search", query="zzz"), STORY[1], "all done")
    assert (found[0].drift, found[0].iteration) == (Drift.EXTRA_CALL, 2)
    assert found[0].what == "search is asked for today only"


def test_an_extra_turn_shifts_nothing_behind_it(recorded: Path) -> None:
    """The run resynchronises: with live tools too the rest is aligned."""
    agent = of(STORY[0], ask("search", query="zzz"), STORY[1], "all done")
    report = replay(recorded, agent, model="live", tools="live")
    assert report.diagnosis is not None
    assert [finding.drift for finding in report.diagnosis.findings] == [Drift.EXTRA_CALL]
    sent = [each for each in report.diagnosis.findings[0].follows if "send" in each.what]
    assert sent == []


def test_another_order_is_named(recorded: Path) -> None:
    first = [STORY[0][2], STORY[0][0], STORY[0][1]]
    found = findings(recorded, first, *STORY[1:])
    assert found[0].drift is Drift.ORDER
    assert found[0].diff


def test_another_end_is_named(recorded: Path) -> None:
    found = findings(recorded, STORY[0], STORY[1], ProviderError("down", status=400))
    assert [finding.drift for finding in found] == [Drift.ANSWER]
    assert [each.what for each in found[0].follows] == ["the loop ends; today: the loop fails"]


@BACKENDS
def test_decisions_of_people_are_fed_from_the_log(backend: str, tmp_path: Path) -> None:
    """features 10: to the call that they were made on, wherever it stands today."""
    stage = Stage(answers={"send": Deny("not that")})
    path = record(of(STORY[0], STORY[1], "all done"), tmp_path / "run.jsonl", stage)
    report = replay(path, of(STORY[0], STORY[1], "as you wish"), model="live", backend=backend)
    assert report.same, report.text()
    found = findings(path, STORY[0], [ask("send", text="hello"), ask("send", text="hello")], "done", backend=backend)
    assert found[0].drift is Drift.EXTRA_CALL
    assert ran == []


def test_callbacks_are_asked_again(recorded: Path) -> None:
    found = findings(recorded, *STORY, on_tool_call=lambda call: Deny("no") if call.name == "send" else None)
    assert found[0].drift is Drift.CONFIGURATION
    assert any("root/2.1 send is decided otherwise" in each.what for each in found[0].follows)


@BACKENDS
def test_recorded_errors_are_errors_again(backend: str, tmp_path: Path) -> None:
    """DESIGN §4: also when they end the loop, as `RecordedToolError`."""
    path = tmp_path / "run.jsonl"
    with pytest.raises(KeyError):
        record(of(ask("search", query="broken"), maximum_consecutive_errors=0), path)
    report = replay(
        path, of(ask("search", query="broken"), maximum_consecutive_errors=0), model="live", backend=backend
    )
    assert report.same, report.text()
    assert ran == ["broken"]


@BACKENDS
def test_a_batch_completes_in_recorded_order(backend: str, tmp_path: Path) -> None:
    """spec/faults.md d9"""
    batch = [ask("search", query="slow"), ask("search", query="fast")]
    recording = read_recording(record(of(batch, "done"), tmp_path / "run.jsonl"))
    live = LiveReplay(
        todays_parts(recording, of(batch, "done")), originals_of(recording), live_tools=False, live_model=True
    )
    came = anyio.run(live.run, recording.events, backend=backend).events
    for events in (recording.events, came):
        order = [event.fact.call for event in events if isinstance(event.fact, e.ToolReturned)]
        assert order == ["root/1.2", "root/1.1"]


def test_the_index_delivers_in_recorded_order_too(tmp_path: Path) -> None:
    batch = [ask("search", query="slow"), ask("search", query="fast")]
    index = InputIndex(read_recording(record(of(batch, "done"), tmp_path / "run.jsonl")).events)
    calls = [RunTool("root/1.1"), RunTool("root/1.2")]
    assert index.in_recorded_order("root", calls) == calls[::-1]


@BACKENDS
def test_what_a_call_runs_with_decides_which_result_it_gets(backend: str, tmp_path: Path) -> None:
    """A person's edit is a part of the match: the first call ran with the second one's arguments."""
    stage = Stage(answers={"search": Modify({"query": "b"})})
    path = record(of(ask("search", query="a"), "done"), tmp_path / "run.jsonl", stage)
    agent = of(ask("search", query="a"), "done")
    assert replay(path, agent, model="live", backend=backend).same
    found = findings(path, ask("search", query="b"), "done", backend=backend)
    assert (found[0].drift, found[0].before, found[0].after) == (Drift.ARGUMENTS, {"query": "a"}, {"query": "b"})


@BACKENDS
def test_sub_agents_of_recorded_results_are_not_missed(backend: str, tmp_path: Path) -> None:
    """With recorded tools nothing starts them, and their results are the recorded ones."""

    @tool
    async def delegate() -> str:
        """Ask a sub-agent."""
        return (await of("from below").run("task")).text

    def agent() -> Agent:
        return Agent(ScriptedProvider([ask("delegate"), "done"]), tools=[delegate])

    path = record(agent(), tmp_path / "run.jsonl")
    assert "root/1.1#1" in {event.loop for event in read_recording(path).events}
    for tools in ("recorded", "live"):
        report = replay(path, agent(), model="live", tools=tools, backend=backend)
        assert report.same, report.text()


def test_a_live_model_needs_an_agent(recorded: Path) -> None:
    with pytest.raises(UserError, match="model='live' needs the agent"):
        replay(recorded, model="live")


# ── nothing is written by looking ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", [{}, {"model": "live"}, {"tools": "live"}])
def test_a_replay_leaves_a_read_only_folder_as_it_is(how: Any, recorded: Path) -> None:
    """features 38: no file changed, no lock left, nothing created, also when it diverges."""
    folder = recorded.parent
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    mode = stat.S_IMODE(folder.stat().st_mode)
    recorded.chmod(0o444)
    folder.chmod(0o555)
    try:
        assert replay(recorded, of(*STORY), **how).same
        assert not replay(recorded, of(*STORY, on_tool_call=lambda _: Deny("no")), **how).same
    finally:
        folder.chmod(mode)
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before
