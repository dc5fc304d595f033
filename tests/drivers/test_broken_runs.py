"""Recordings that can't be written and providers that fail: plain errors, nothing left running (9.2, 9.5; DESIGN §3)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import Agent, ProviderError, ScriptedProvider, tool
from loopkit import events as e
from loopkit.errors import RecordingError
from loopkit.outcomes import Approve
from loopkit.providers.protocol import ChatRequest, Emit
from loopkit.recording.reader import read_recording
from loopkit.recording.writer import Recorder
from tests.drivers.stage import ClosingRecorder, Stage, agent, ask, in_a_thread

pytestmark = pytest.mark.anyio


class FullDisk(ClosingRecorder):
    """Has no room for the first event of a class, nor for any after it.

    Args:
        loop: counts the events of this loop only.
    """

    def __init__(self, path: Path, kind: type[e.Fact], loop: str | None = None) -> None:
        super().__init__(path)
        self._kind = kind
        self._loop = loop
        self._full = False

    def stage(self, event: e.Event) -> None:
        self._full = self._full or (isinstance(event.fact, self._kind) and self._loop in (None, event.loop))
        super().stage(event)

    def flush(self) -> None:
        if self._full:
            raise RecordingError("no space left on the disk")
        super().flush()


@tool
async def work() -> str:
    """Work."""
    return "worked"


@tool
def work_in_thread() -> str:
    """Work in a thread."""
    return "worked"


@tool
async def hang() -> str:
    """Never return."""
    await anyio.sleep_forever()
    return ""


@tool
async def delegate() -> str:
    """Ask a sub-agent."""
    return (await agent([ask("work"), ask("work_in_thread")], "ok", tools=[work, work_in_thread]).run("task")).text


KINDS = [
    e.LoopStarted,
    e.IterationStarted,
    e.ModelReplied,
    e.DecisionRequested,
    e.Decided,
    e.ToolStarted,
    e.ToolReturned,
    e.LoopFinished,
]


CASES = [(tools, kind) for tools in ("plain", "sub-agent") for kind in KINDS] + [
    ("hanging", kind) for kind in KINDS[:-1]
]


@pytest.mark.parametrize(
    ("tools", "kind"), CASES, ids=lambda value: value if isinstance(value, str) else value.__name__
)
async def test_a_full_disk_ends_the_run_plainly(tools: str, kind: type[e.Fact], tmp_path: Path) -> None:
    """DESIGN §3, spec/faults.md i3, j6: no group, no task left, the file whole up to there and closed."""
    script: dict[str, list[Any]] = {
        "plain": [ask("work"), ask("work", "again"), ask("work_in_thread")],
        "hanging": [ask("hang"), ask("work")],
        "sub-agent": [ask("delegate")],
    }
    recorder = FullDisk(tmp_path / "run.jsonl", kind)
    stage = Stage()
    with pytest.raises(RecordingError, match="no space left"):
        await stage.run(agent(script[tools], "done", tools=[work, work_in_thread, hang, delegate]), recorder)
    assert recorder.closed.is_set()
    assert list(read_recording(recorder.path).events) == stage.events


async def test_a_disk_that_is_full_when_a_person_decides_ends_the_run() -> None:
    """DESIGN §3: also while all that the run does is to wait."""
    raised: list[BaseException] = []

    class Full(Recorder):
        def __init__(self) -> None:
            super().__init__("nowhere")

        def start(self, header: Any) -> None:
            """Nothing is written."""

        def stage(self, event: e.Event) -> None:
            """Nothing is written."""
            self.full = isinstance(event.fact, e.Decided)

        def flush(self) -> None:
            if self.full:
                raise RecordingError("no space left on the disk")

    def decide() -> None:
        try:
            stage.decide_as_person("root", "root/1.1", Approve())
        except RecordingError as error:
            raised.append(error)

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.DecisionRequested):
            in_a_thread(decide)

    stage = Stage(pending=["work"], on_event=on_event)
    with pytest.raises(RecordingError, match="no space left"):
        await stage.run(agent(ask("work"), "done", tools=[work]), Full())
    assert len(raised) == 1


async def test_a_disk_that_is_full_ends_what_only_waits_for_a_model(tmp_path: Path) -> None:
    """DESIGN §3: a sub-agent in a thread breaks the recording while another loop waits for its model."""

    async def never(_: ChatRequest) -> str:
        await anyio.sleep_forever()
        return ""

    ended = threading.Event()

    @tool
    async def wait_for_model() -> str:
        """Ask a sub-agent whose model never answers."""
        try:
            return (await agent(never, name="waiting").run("task")).text
        finally:
            ended.set()

    @tool
    def break_disk() -> str:
        """Ask a sub-agent whose answer finds no room."""
        while "root/1.1#1" not in {event.loop for event in list(stage.events)}:
            ended.wait(0.001)
        return agent("answer", name="breaking").run_sync("task").text

    recorder = FullDisk(tmp_path / "run.jsonl", e.ModelReplied, "root/1.2#1")
    stage = Stage()
    calls = [ask("wait_for_model"), ask("break_disk")]
    with pytest.raises(RecordingError, match="no space left"):
        await stage.run(agent(calls, "done", tools=[wait_for_model, break_disk]), recorder)
    assert ended.is_set()


async def test_a_recording_that_cannot_be_begun_runs_nothing(tmp_path: Path) -> None:
    """DESIGN §3"""
    (tmp_path / "taken.txt").write_text("something else")
    provider = ScriptedProvider(["never"])
    with pytest.raises(RecordingError):
        await Agent(provider).run("go", recorder=Recorder(tmp_path / "taken.txt"))
    assert provider.requests == []


# ── providers ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_providers_refusal_is_raised_as_it_is() -> None:
    """9.2, spec/faults.md i3: status, advice and request id stand in the log."""
    error = ProviderError("busy", status=429, retry_after=3.0, request_id="req-1")
    stage = Stage()
    with pytest.raises(ProviderError) as caught:
        await stage.run(agent(error))
    assert caught.value is error
    failure = e.Failure("ProviderError", "busy", 429, 3.0, "req-1")
    assert stage.all_of(e.ModelAttemptFailed) == [e.ModelAttemptFailed(1, failure)]
    assert stage.all_of(e.LoopFailed)[0].failure == failure


class Says:
    """A provider of a careless make."""

    model: str | None = None

    def __init__(self, answer: Callable[[], Any]) -> None:
        self._answer = answer

    async def respond(self, request: ChatRequest, emit: Emit) -> Any:
        return self._answer()


def _raise() -> Any:
    raise SystemError("deep inside")


@pytest.mark.parametrize(
    ("answer", "error"),
    [(lambda: "just a text", AttributeError), (lambda: None, AttributeError), (_raise, SystemError)],
    ids=["text", "nothing", "raises"],
)
async def test_whatever_a_provider_does_wrong_is_the_loops_failure(
    answer: Callable[[], Any], error: type[Exception]
) -> None:
    """9.2: it ends as failed, not as cancelled."""
    stage = Stage()
    with pytest.raises(error):
        await stage.run(Agent(Says(answer)))
    assert stage.all_of(e.LoopFailed)[0].failure.type_name == error.__name__


async def test_a_forced_tool_choice_is_reset_after_the_first_call() -> None:
    """DESIGN §7: or the model could never answer."""
    for choice, later in (("required", None), ({"name": "work"}, None), ("auto", "auto"), ("none", "none")):
        provider = ScriptedProvider([ask("work"), "done"])
        await Agent(provider, tools=[work], tool_choice=choice, temperature=0).run("go")
        assert [request.settings.get("tool_choice") for request in provider.requests] == [choice, later]
        assert [request.settings["temperature"] for request in provider.requests] == [0, 0]


async def test_requests_are_views_that_stay_as_they_were() -> None:
    """spec/faults.md d15"""
    provider = ScriptedProvider([ask("work"), "done"])
    result = await Agent(provider, tools=[work], system="Be brief.").run("go")
    assert [len(request.messages) for request in provider.requests] == [2, 4]
    assert [message.role for message in provider.requests[0].messages] == ["system", "user"]
    assert len(result.messages) == 5
