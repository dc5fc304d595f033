"""Results with pictures and data, through a whole run: kept without loss, rewritten, masked, replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopkit import Image, LoopDetectionConfig, Recorder, ToolCall, ToolOutput, ToolResult, replay, tool
from loopkit import events as e
from loopkit.core.context_tools import ResultMasking
from loopkit.debugger.detecting import detect
from loopkit.recording.check import check_recording
from loopkit.recording.reader import read_recording
from tests.drivers.stage import Stage, agent, ask

pytestmark = pytest.mark.anyio

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE = Image("image/png", DOT)
OTHER = Image("image/png", url="https://pictures.example/b.png")


@tool(side_effect="read")
async def look(number: int = 1) -> ToolOutput:
    """Take a picture."""
    return ToolOutput(text="a dot", json={"pixels": number}, images=[PICTURE])


def results(stage: Stage) -> list[ToolResult]:
    return [part for message in stage.root.core.state.history for part in message.tool_results]


async def test_text_data_and_pictures_are_kept_and_replayed(tmp_path: Path) -> None:
    """DESIGN §3: the log loses nothing; the model gets text and pictures."""
    stage, path = Stage(), tmp_path / "run.jsonl"
    await stage.run(agent(ask("look"), "done", tools=[look]), Recorder(path))
    fact = e.ToolReturned("root/1.1", "a dot", False, {"pixels": 1}, (PICTURE,))
    assert stage.all_of(e.ToolReturned) == [fact]
    assert results(stage) == [ToolResult("look", "a dot", images=(PICTURE,))]
    assert fact in [event.fact for event in read_recording(path).events]
    assert check_recording(path) == []
    assert replay(path).same
    assert replay(path, agent(ask("look"), "done", tools=[look]), tools="live").same


async def test_what_cannot_be_kept_is_a_result_for_the_model(tmp_path: Path) -> None:
    """9.1 in spirit: a bad picture or NaN never breaks the recording."""

    @tool
    async def odd(kind: str) -> ToolOutput:
        """Return what can't be kept."""
        if kind == "json":
            return ToolOutput(text="x", json=[float("nan")])
        return ToolOutput(images=[Image("image/png", "???")])

    path = tmp_path / "run.jsonl"
    result = await agent([ask("odd", "1", kind="json"), ask("odd", "2", kind="image")], "done", tools=[odd]).run(
        "go", recorder=Recorder(path)
    )
    told = [part for message in result.messages for part in message.tool_results]
    assert [part.is_error for part in told] == [True, True]
    assert check_recording(path) == []
    assert replay(path).same


async def test_secrets_in_data_are_hidden(tmp_path: Path) -> None:
    """DESIGN §3: by name and by shape, as in arguments."""

    @tool
    async def account() -> ToolOutput:
        """Look up an account."""
        return ToolOutput(text="found", json={"user": "ann", "password": "hunter2-hunter2"})

    stage, path = Stage(), tmp_path / "run.jsonl"
    await stage.run(agent(ask("account"), "done", tools=[account]), Recorder(path))
    assert "hunter2-hunter2" not in path.read_text()
    assert stage.all_of(e.ToolReturned)[0].json["user"] == "ann"
    assert replay(path).same


def drop(call: ToolCall, result: ToolResult) -> ToolResult:
    return ToolResult(result.tool_call_id, "seen")


def swap(call: ToolCall, result: ToolResult) -> ToolResult:
    return ToolResult(result.tool_call_id, result.content, images=(OTHER,))


@pytest.mark.parametrize(
    ("processor", "text", "images"),
    [
        (lambda call, result: "short", "short", (PICTURE,)),
        (lambda call, result: None, "a dot", (PICTURE,)),
        (lambda call, result: result, "a dot", (PICTURE,)),
        (drop, "seen", ()),
        (swap, "a dot", (OTHER,)),
        (lambda call, result: ToolResult("", "x", images=("png",)), "a dot", (PICTURE,)),  # type: ignore[arg-type]  # a mistake
    ],
)
async def test_processors_may_rewrite_pictures(
    tmp_path: Path, processor: Any, text: str, images: tuple[Image, ...]
) -> None:
    """2: words alone leave the pictures; a `ToolResult` says both. The original stays in the log."""
    stage, path = Stage(), tmp_path / "run.jsonl"
    script = (ask("look"), "done")
    await stage.run(agent(*script, tools=[look], result_processor=processor), Recorder(path))
    assert results(stage) == [ToolResult("look", text, images=images)]
    assert stage.all_of(e.ToolReturned)[0].images == (PICTURE,)
    assert replay(path, agent(*script, tools=[look], result_processor=processor)).same


async def test_old_pictures_are_left_out_of_requests() -> None:
    """2: a picture counts as a thousand tokens."""
    stage = Stage()
    script = [ask("look", number=number) for number in range(3)]
    await stage.run(agent(*script, "done", tools=[look], masking=ResultMasking(keep_iterations=1)))
    sent = [part for message in stage.root.core.state.view for part in message.tool_results]
    assert [len(part.images) for part in sent] == [0, 0, 1]
    assert sent[0].content == "[An older result of look, about 1 tokens and 1 picture, is left out here.]"
    assert all(part.images for part in results(stage))


@pytest.mark.parametrize("changes", [False, True])
async def test_other_pictures_are_another_result(changes: bool) -> None:
    """6.5: a screenshot that changes is progress, whatever words stand beside it."""
    pictures = [Image("image/png", url=f"https://pictures.example/{number * changes}") for number in range(5)]

    @tool
    async def shot() -> ToolOutput:
        """Take a picture."""
        return ToolOutput("a picture", images=[pictures.pop()])

    stage = Stage()
    watch = LoopDetectionConfig(threshold=3, detectors=("same call same result",))
    await stage.run(agent(*[ask("shot")] * 5, "done", tools=[shot], loop_detection=watch))
    fired = [fact for fact in stage.all_of(e.RepetitionDetected) if fact.detector == "same call same result"]
    assert bool(fired) != changes
    afterwards = [found.repetition for found in detect(stage.events, watch)]
    assert afterwards == stage.all_of(e.RepetitionDetected)
