"""The loop with a real model behind a server that nobody here wrote: protocol and timing, never the model's wits.

Run with `pytest -m real_model tests/providers/test_real_model.py`; left out otherwise. Small models call a tool only when
they are forced to, so that is what is asked of this one.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import Agent, Recorder, Timeout, ToolLoopConfig, open_recording, replay, tool
from loopkit import events as e
from loopkit.messages import ChatResponse, Message, StopReason, ToolCall
from loopkit.outcomes import Cancelled, Complete
from loopkit.providers.protocol import ArgumentsDelta, ChatRequest, Delta
from tests.drivers.stage import Stage
from tests.providers.real_model import RealModel

pytestmark = [pytest.mark.anyio, pytest.mark.real_model, pytest.mark.timeout(300)]

CITIES = ("Paris", "Oslo", "Lima", "Cairo", "Tokyo", "Quito")
LONG = 1500


@tool(side_effect="read")
def get_weather(city: str) -> str:
    """Look up the weather of a city."""
    return f"Sunny in {city}, 21 degrees."


FORCED = {"tool_choice": "get_weather", "temperature": 0, "max_tokens": 60}


def weather_agent(model: RealModel, **config: Any) -> Agent:
    return Agent(
        model.provider(),
        tools=[get_weather],
        system="You are a weather assistant.",
        config=ToolLoopConfig(**config),
        tool_choice="get_weather",
        temperature=0,
        max_tokens=60,
    )


def teller(model: RealModel, **config: Any) -> Agent:
    """An agent whose one answer has this many tokens, half a minute and more, unless somebody stops it."""
    return Agent(
        model.provider(),
        system="You tell long stories.",
        config=ToolLoopConfig(**config),
        min_tokens=LONG,
        max_tokens=LONG,
        temperature=0,
    )


async def ask(model: RealModel, city: str, told: list[Delta], **settings: Any) -> ChatResponse:
    question = (Message.system("You are a weather assistant."), Message.user(f"What is the weather in {city}?"))
    request = ChatRequest(question, (get_weather.definition,), {**FORCED, **settings})
    return await model.provider().respond(request, told.append)


def assert_valid(call: ToolCall) -> None:
    assert (call.name, call.problem, call.cut_off) == ("get_weather", None, False)
    assert list(call.arguments) == ["city"]
    assert isinstance(call.arguments["city"], str)


@pytest.mark.parametrize("stream", [True, False])
async def test_every_forced_call_is_valid(real_model: RealModel, stream: bool) -> None:
    for city in CITIES:
        told: list[Delta] = []
        response = await ask(real_model, city, told, stream=stream)
        (call,) = response.tool_calls
        assert_valid(call)
        pieces = [piece.text for piece in told if isinstance(piece, ArgumentsDelta)]
        assert json.loads("".join(pieces)) == call.arguments
        assert (len(pieces) > 1) is stream


async def test_the_official_client_gets_the_same_calls(real_model: RealModel) -> None:
    import openai

    forced = {"type": "function", "function": {"name": "get_weather"}}
    definition = get_weather.definition
    function = {"name": definition.name, "description": definition.description, "parameters": definition.parameters}
    body: Any = {
        "tools": [{"type": "function", "function": function}],
        "tool_choice": forced,
        "temperature": 0,
        "max_tokens": 60,
    }
    async with openai.AsyncOpenAI(base_url=real_model.base_url, api_key="none", max_retries=0) as client:
        for city in CITIES:
            ours = await ask(real_model, city, [], stream=False)
            words: Any = [
                {"role": "system", "content": "You are a weather assistant."},
                {"role": "user", "content": f"What is the weather in {city}?"},
            ]
            theirs = await client.chat.completions.create(model=real_model.name, messages=words, **body)
            (choice,) = theirs.model_dump()["choices"]
            (call,) = choice["message"]["tool_calls"]
            assert ours.tool_calls[0].arguments == json.loads(call["function"]["arguments"])
            assert theirs.usage is not None
            assert ours.usage is not None
            assert (ours.usage.input_tokens, ours.usage.output_tokens) == (
                theirs.usage.prompt_tokens,
                theirs.usage.completion_tokens,
            )


async def test_the_loop_runs_the_call_and_comes_to_an_answer(real_model: RealModel, tmp_path: Path) -> None:
    """spec/loop.md 3: call, result in its place, then a turn in which nothing is forced; every rule of the log holds."""
    path = tmp_path / "run.jsonl"
    result = await weather_agent(real_model).run("What is the weather in Paris?", recorder=Recorder(path))
    assert (result.termination_reason, result.iterations) == (Complete(), 2)
    assert [message.role for message in result.messages] == ["system", "user", "assistant", "tool", "assistant"]
    (call,) = result.messages[2].tool_calls
    (answer,) = result.messages[3].tool_results
    assert answer.content == f"Sunny in {call.arguments['city']}, 21 degrees."
    assert answer.tool_call_id == call.id
    assert result.text
    with open_recording(path) as run:
        replies = [event.fact for event in run.events if isinstance(event.fact, e.ModelReplied)]
        assert [reply.stop_reason for reply in replies] == [StopReason.TOOL_CALLS, StopReason.END_TURN]
        assert all(len(reply.pieces) > 1 for reply in replies), "both answers came in pieces"


async def test_streams_side_by_side_never_mix(real_model: RealModel) -> None:
    """Each answer is put together from its own pieces, however they arrive."""
    answers: dict[str, tuple[ChatResponse, list[Delta]]] = {}

    async def one(city: str) -> None:
        told: list[Delta] = []
        answers[city] = await ask(real_model, city, told), told

    async with anyio.create_task_group() as group:
        for city in CITIES:
            group.start_soon(one, city)
    for response, told in answers.values():
        (call,) = response.tool_calls
        assert_valid(call)
        assert json.loads("".join(piece.text for piece in told)) == call.arguments
    alone = {city: (await ask(real_model, city, [])).tool_calls[0].arguments for city in CITIES}
    assert {city: response.tool_calls[0].arguments for city, (response, _) in answers.items()} == alone
    assert len({response.tool_calls[0].id for response, _ in answers.values()}) == len(CITIES)


async def test_usage_that_a_stream_does_not_report_is_unknown_not_zero(real_model: RealModel) -> None:
    """This server counts tokens only where it does not stream; either way nothing is made up."""
    streamed = await ask(real_model, "Paris", [])
    whole = await ask(real_model, "Paris", [], stream=False)
    assert whole.usage is not None
    assert whole.usage.input_tokens > 20
    assert 0 < whole.usage.output_tokens <= 60
    assert streamed.usage in (None, whole.usage)
    result = await weather_agent(real_model).run("What is the weather in Paris?")
    assert result.total_usage.unreported == (2 if streamed.usage is None else 0)


@dataclass
class LeavesAfter(Stage):
    """Cancels the run after some pieces of an answer."""

    pieces: int = 30
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    times: list[float] = field(default_factory=list)

    def streamed(self, loop: str, iteration: int, delta: Delta) -> None:
        super().streamed(loop, iteration, delta)
        self.times.append(time.monotonic())
        if len(self.deltas) == self.pieces:
            self.scope.cancel()

    @property
    def seconds_left(self) -> float:
        """How long the rest of the answer would take."""
        return (self.times[-1] - self.times[0]) / len(self.times) * (LONG - len(self.times))


async def test_cancelling_in_mid_generation_frees_the_server(real_model: RealModel, tmp_path: Path) -> None:
    """9.4: what had been said is kept, and the server goes on with the next request at once."""
    path = tmp_path / "run.jsonl"
    stage = LeavesAfter()
    with stage.scope:
        await stage.run(teller(real_model), Recorder(path))
    assert stage.scope.cancelled_caught
    said = "".join(delta.text for delta in stage.deltas[: stage.pieces])
    (interrupted,) = stage.all_of(e.ModelInterrupted)
    assert interrupted.cause == "stopped"
    assert interrupted.message.text.startswith(said)
    assert isinstance(stage.events[-1].fact, e.LoopFinished)
    assert isinstance(stage.events[-1].fact.reason, Cancelled)
    assert replay(path).same
    began = time.monotonic()
    assert_valid((await ask(real_model, "Paris", [])).tool_calls[0])
    assert time.monotonic() - began < stage.seconds_left / 3, "the server went on with what nobody waits for"


async def test_a_timeout_interrupts_a_generation(real_model: RealModel, tmp_path: Path) -> None:
    """9.3: at the limit, not at the end of the answer; the words so far are kept and the recording replays."""
    path = tmp_path / "run.jsonl"
    result = await teller(real_model, timeout=1.5).run("Tell me of the sea.", recorder=Recorder(path))
    assert result.termination_reason == Timeout(1.5)
    with open_recording(path) as run:
        (interrupted,) = [event.fact for event in run.events if isinstance(event.fact, e.ModelInterrupted)]
        assert interrupted.cause == "timeout"
        assert not [event for event in run.events if isinstance(event.fact, e.ModelReplied)]
    assert replay(path).same
    assert_valid((await ask(real_model, "Paris", [])).tool_calls[0])


def test_a_recording_replays_without_the_model(real_model: RealModel, tmp_path: Path) -> None:
    """The file alone, the agent's code of today, and its tools run again: the same each time, and nobody is asked."""
    path = tmp_path / "run.jsonl"
    weather_agent(real_model).run_sync("What is the weather in Lima?", recorder=Recorder(path))
    nowhere = RealModel("http://127.0.0.1:9/v1", real_model.name)
    for report in (
        replay(path),
        replay(path, weather_agent(nowhere)),
        replay(path, weather_agent(nowhere), tools="live"),
    ):
        assert report.same, report.text()
