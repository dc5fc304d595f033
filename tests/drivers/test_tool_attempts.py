"""Tools that are run again after a failure that may pass (docs/decisions: attempts of tools)."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import (
    AgentBuildError,
    Recorder,
    ScriptedProvider,
    ToolError,
    ToolOutput,
    ToolRegistry,
    ToolRetry,
    replay,
    report_progress,
    tool,
    tool_loop,
)
from loopkit import events as e
from loopkit.drivers import tool_attempts
from loopkit.errors import LoopClosed
from loopkit.outcomes import Cancelled, Timeout
from loopkit.recording.check import check_recording
from loopkit.recording.reader import read_recording
from tests.drivers.stage import Stage, agent, ask, in_a_thread

pytestmark = pytest.mark.anyio

AT_ONCE = ToolRetry(base_delay=0.0)
HOURS = ToolRetry(base_delay=7200.0, longest_delay=7200.0)


def shaky(*failures: Exception, retry: ToolRetry = AT_ONCE, **words: Any) -> Any:
    """A tool that raises these one after the other, then answers."""
    left = list(failures)

    @tool(side_effect="read", retry=retry, **words)
    async def look() -> str:
        """Look."""
        if left:
            raise left.pop(0)
        return "seen"

    return look


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, which take no time here."""
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(tool_attempts, "sleep", wait)
    return waits


def attempts(stage: Stage) -> list[tuple[int, str]]:
    return [(fact.attempt, fact.failure.type_name) for fact in stage.all_of(e.ToolAttemptFailed)]


# ── what is tried again ──────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_may_pass_is_tried_again_and_recorded(slept: list[float]) -> None:
    """The model hears of the last outcome only; the waits grow."""
    stage = Stage()
    look = shaky(ConnectionError("gone"), OSError("still"), retry=ToolRetry(base_delay=1.0))
    result = await stage.run(agent(ask("look"), "done", tools=[look]))
    assert attempts(stage) == [(1, "ConnectionError"), (2, "OSError")]
    assert [fact.delay for fact in stage.all_of(e.ToolAttemptFailed)] == slept
    assert 0.5 <= slept[0] <= 1.0 <= slept[1] <= 2.0
    assert stage.all_of(e.ToolReturned) == [e.ToolReturned("root/1.1", "seen")]
    assert len(stage.all_of(e.ToolStarted)) == 1
    assert [part.content for message in result.messages for part in message.tool_results] == ["seen"]


async def test_a_synchronous_tool_is_tried_again_too() -> None:
    left = [OSError("once")]

    @tool(side_effect="idempotent", retry=AT_ONCE)
    def put() -> str:
        """Put."""
        if left:
            raise left.pop()
        return "put"

    stage = Stage()
    await stage.run(agent(ask("put"), "done", tools=[put]))
    assert attempts(stage) == [(1, "OSError")]
    assert stage.all_of(e.ToolReturned)[0].content == "put"


async def test_the_last_failure_is_the_calls_and_counts_once() -> None:
    """8.5, 8.6: the counter sees the final outcome; what is raised is the last exception itself."""
    last = OSError("third")
    stage = Stage()
    look = shaky(OSError("first"), OSError("second"), last)
    with pytest.raises(OSError, match="third") as caught:
        await stage.run(agent(ask("look"), "never", tools=[look], maximum_consecutive_errors=0))
    assert caught.value is last
    assert attempts(stage) == [(1, "OSError"), (2, "OSError")]
    assert [fact.failure.message for fact in stage.all_of(e.ToolFailed)] == ["third"]


async def test_a_call_that_succeeds_in_the_end_is_no_error() -> None:
    """8.5: an iteration whose attempts failed but whose calls did not leaves the counter at nothing."""
    stage = Stage()
    result = await stage.run(agent(ask("look"), "done", tools=[shaky(OSError())], maximum_consecutive_errors=0))
    assert result.text == "done"
    assert stage.root.core.state.consecutive_errors == 0


@pytest.mark.parametrize(
    ("error", "retry"),
    [
        (ToolError("ask otherwise"), AT_ONCE),
        (ValueError("never"), ToolRetry(base_delay=0, on=OSError)),
        (ValueError("never"), ToolRetry(base_delay=0, on=(OSError, TimeoutError))),
        (OSError("once is enough"), ToolRetry(attempts=1)),
    ],
)
async def test_what_would_come_again_is_not_tried_again(error: Exception, retry: ToolRetry) -> None:
    """loopkit's own errors are the tool's word to the model."""
    stage = Stage()
    await stage.run(agent(ask("look"), "done", tools=[shaky(error, retry=retry)]))
    assert attempts(stage) == []
    assert len(stage.all_of(e.ToolFailed)) == 1


async def test_a_named_tool_error_is_tried_again() -> None:
    stage = Stage()
    look = shaky(ToolError("busy"), retry=ToolRetry(base_delay=0, on=ToolError))
    await stage.run(agent(ask("look"), "done", tools=[look]))
    assert attempts(stage) == [(1, "ToolError")]


async def test_an_error_result_is_an_answer() -> None:
    @tool(side_effect="read", retry=AT_ONCE)
    async def look() -> ToolOutput:
        """Look."""
        return ToolOutput("nothing there", is_error=True)

    stage = Stage()
    await stage.run(agent(ask("look"), "done", tools=[look]))
    assert attempts(stage) == []


@pytest.mark.parametrize("side_effect", [None, "irreversible"])
def test_only_what_may_be_repeated_can_be_tried_again(side_effect: Any) -> None:
    """Issue: unless said so explicitly."""
    with pytest.raises(AgentBuildError, match="can't be run again as a matter of course"):
        tool(side_effect=side_effect, retry=ToolRetry())(_send)
    made = tool(side_effect=side_effect, retry=ToolRetry(any_side_effect=True))(_send)
    assert (made.definition.attempts, made.definition.side_effect) == (3, side_effect)


def _send() -> None:
    """Send."""


@pytest.mark.parametrize(
    "words", [{"attempts": 0}, {"base_delay": -1}, {"on": ()}, {"on": "OSError"}, {"on": BaseException}]
)
def test_a_policy_that_makes_no_sense_is_refused(words: dict[str, Any]) -> None:
    with pytest.raises(AgentBuildError):
        ToolRetry(**words)


def test_a_methods_tool_keeps_its_policy() -> None:
    class Shop:
        @tool(side_effect="read", retry=AT_ONCE)
        def look(self) -> str:
            """Look."""
            return "seen"

    assert Shop().look.retry == AT_ONCE


# ── time, stops and sub-agents ───────────────────────────────────────────────────────────────────────────────────────


async def test_the_timeout_holds_for_each_attempt() -> None:
    """9.3: an attempt over its limit is one more failure, a `TimeoutError`."""
    runs: list[int] = []

    @tool(side_effect="read", timeout=0.02, retry=AT_ONCE)
    async def look() -> str:
        """Hang, but the third time."""
        runs.append(len(runs))
        if len(runs) < 3:
            await anyio.sleep_forever()
        return "seen"

    stage = Stage()
    await stage.run(agent(ask("look"), "done", tools=[look]))
    assert attempts(stage) == [(1, "TimeoutError"), (2, "TimeoutError")]
    assert stage.all_of(e.ToolReturned)[0].content == "seen"


@pytest.mark.parametrize("on", [Exception, ConnectionError])
async def test_the_last_attempts_timeout_is_the_calls(on: type[Exception]) -> None:
    """9.3, 9.5: abandoned as without attempts; so is the first one when timeouts are not tried again."""

    @tool(side_effect="read", timeout=0.02, retry=ToolRetry(2, on, base_delay=0))
    async def look() -> str:
        """Hang."""
        await anyio.sleep_forever()
        return "never"

    stage = Stage()
    await stage.run(agent(ask("look"), "done", tools=[look]))
    assert len(attempts(stage)) == (on is Exception)
    assert [fact.cause for fact in stage.all_of(e.ToolAbandoned)] == ["tool timeout"]


async def test_an_abandoned_attempt_in_a_thread_has_no_say_any_more(tmp_path: Path) -> None:
    """9.3, 7.4: it reports nothing and starts no loop in the call, which goes on with the next attempt."""
    go_on, refused = threading.Event(), threading.Event()
    runs: list[int] = []

    @tool(side_effect="read", timeout=0.05, retry=AT_ONCE)
    def look() -> str:
        """Hang the first time."""
        runs.append(len(runs))
        if len(runs) == 2:
            go_on.set()
            assert refused.wait(5)
            return "seen"
        assert go_on.wait(5)
        report_progress("from the dead")
        try:
            agent("never").run_sync("go")
        except LoopClosed:
            refused.set()
        return "late"

    stage, path = Stage(), tmp_path / "run.jsonl"
    await stage.run(agent(ask("look"), "done", tools=[look], timeout=60), Recorder(path))
    assert attempts(stage) == [(1, "TimeoutError")]
    assert stage.all_of(e.ToolReturned) == [e.ToolReturned("root/1.1", "seen")]
    assert stage.all_of(e.ToolProgressed) == []
    assert replay(path).same


async def test_the_wait_can_be_stopped() -> None:
    """9.4"""
    stage = Stage()

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.ToolAttemptFailed):
            in_a_thread(lambda: stage.root.stop("person"))

    stage.on_event = on_event
    with anyio.fail_after(5):
        result = await stage.run(agent(ask("look"), "never", tools=[shaky(OSError(), retry=HOURS)]))
    assert isinstance(result.termination_reason, Cancelled)
    assert [fact.cause for fact in stage.all_of(e.ToolAbandoned)] == ["stopped"]


async def test_the_wait_counts_as_loop_time() -> None:
    """4.5, 9.3"""
    stage = Stage()
    result = await stage.run(agent(ask("look"), "never", tools=[shaky(OSError(), retry=HOURS)], timeout=0.05))
    assert result.termination_reason == Timeout(0.05)
    assert [fact.cause for fact in stage.all_of(e.ToolAbandoned)] == ["timeout"]


async def test_each_attempts_sub_agents_end_before_the_next(tmp_path: Path) -> None:
    """7.4: they are numbered on."""
    runs: list[int] = []

    @tool(side_effect="read", retry=AT_ONCE)
    async def delegate() -> str:
        """Ask a sub-agent, then fail once."""
        runs.append(len(runs))
        result = await tool_loop(ScriptedProvider([f"answer {len(runs)}"]), ToolRegistry([]), "go")
        if len(runs) == 1:
            raise OSError("after the sub-agent")
        return result.text

    stage, path = Stage(), tmp_path / "run.jsonl"
    await stage.run(agent(ask("delegate"), "done", tools=[delegate]), Recorder(path))
    assert [event.loop for event in stage.events if isinstance(event.fact, e.LoopFinished)] == [
        "root/1.1#1",
        "root/1.1#2",
        "root",
    ]
    assert stage.all_of(e.ToolReturned)[0].content == "answer 2"
    assert replay(path).same


# ── recordings ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_replay_takes_the_last_outcome_and_never_waits(tmp_path: Path, slept: list[float]) -> None:
    """DESIGN §4: with recorded tools, and with live ones that fail otherwise today."""
    path = tmp_path / "run.jsonl"
    patient = ToolRetry(base_delay=1.0)
    await agent(ask("look"), "done", tools=[shaky(OSError(), retry=patient)]).run("go", recorder=Recorder(path))
    assert check_recording(path) == []
    slept.clear()
    assert replay(path).same
    assert replay(path, agent(ask("look"), "done", tools=[shaky(OSError(), retry=patient)])).same
    assert slept == []
    today = agent(ask("look"), "done", tools=[shaky(retry=patient)])
    assert replay(path, today, tools="live").same
    other = agent(ask("look"), "done", tools=[shaky(retry=dataclasses.replace(patient, attempts=5))])
    assert not replay(path, other).same


async def test_secrets_in_failures_and_reports_are_hidden(tmp_path: Path) -> None:
    """DESIGN §3: inputs that no effect asked for pass the redaction too."""
    secret = "sk-ant-api03-" + "Ab1" * 30

    @tool(side_effect="read", retry=ToolRetry(attempts=2, base_delay=0))
    async def look() -> str:
        """Say a secret twice."""
        report_progress(f"using {secret}")
        raise OSError(f"refused {secret}")

    path = tmp_path / "run.jsonl"
    await agent(ask("look"), "done", tools=[look]).run("go", recorder=Recorder(path))
    kinds = [event.type for event in read_recording(path).events]
    assert kinds.count("ToolProgressed") == 2
    assert kinds.count("ToolAttemptFailed") == 1
    assert secret not in path.read_text()
