"""The fake model: what a script may hold, and what is known of its requests."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import anyio
import pytest

from loopkit.errors import AgentBuildError, ProviderError
from loopkit.messages import ChatResponse, Message, Part, Reasoning, Refusal, StopReason, Text, ToolCall, Usage
from loopkit.providers import BreaksOff, ScriptedProvider
from loopkit.providers.protocol import ArgumentsDelta, ChatRequest, Delta, Provider, ReasoningDelta, TextDelta

pytestmark = pytest.mark.anyio

CALL = ToolCall("c1", "look", {"thing": 1})
REQUEST = ChatRequest((Message.user("hello"),))


async def ask(provider: ScriptedProvider, request: ChatRequest = REQUEST) -> tuple[ChatResponse, list[Delta]]:
    told: list[Delta] = []
    return await provider.respond(request, told.append), told


async def later(request: ChatRequest) -> str:
    await anyio.lowlevel.checkpoint()
    return f"{len(request.messages)} message"


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("hi", (Text("hi"),)),
        ("", ()),
        (CALL, (CALL,)),
        ([CALL, CALL], (CALL, CALL)),
        (["first", CALL], (Text("first"), CALL)),
        ([Reasoning("hm"), Refusal("no")], (Reasoning("hm"), Refusal("no"))),
        (ChatResponse("whole"), (Text("whole"),)),
        (lambda request: request.messages[0].text, (Text("hello"),)),
        (lambda request: [CALL], (CALL,)),
        (later, (Text("1 message"),)),
    ],
)
async def test_an_answer_is_given_as_it_stands(answer: Any, parts: tuple[Any, ...]) -> None:
    response, _ = await ask(ScriptedProvider([answer]))
    assert response.parts == parts


async def test_answers_come_in_order_and_requests_are_kept() -> None:
    provider = ScriptedProvider(["one", CALL])
    second = ChatRequest((Message.user("again"),))
    assert (await ask(provider))[0].text == "one"
    assert (await ask(provider, second))[0].stop_reason is StopReason.TOOL_CALLS
    assert provider.requests[0] is REQUEST
    assert provider.requests[1] is second
    assert isinstance(provider, Provider)
    assert provider.model == "scripted"


@pytest.mark.parametrize("error", [ProviderError("down", status=503), ValueError, lambda request: KeyError("k")])
async def test_an_exception_is_raised(error: Any) -> None:
    provider = ScriptedProvider([error, "then"])
    with pytest.raises((ProviderError, ValueError, KeyError)):
        await ask(provider)
    assert (await ask(provider))[0].text == "then"


async def test_a_function_is_a_whole_script() -> None:
    provider = ScriptedProvider(lambda request: str(len(request.messages)), model="counter")
    assert [(await ask(provider))[0].text for _ in range(3)] == ["1", "1", "1"]
    assert provider.model == "counter"


async def test_a_script_may_be_endless() -> None:
    provider = ScriptedProvider(itertools.cycle(["a", "b"]))
    assert [(await ask(provider))[0].text for _ in range(3)] == ["a", "b", "a"]


async def test_the_end_of_the_script_is_one_clear_line() -> None:
    provider = ScriptedProvider(["only"])
    await ask(provider)
    for number in (2, 3):
        with pytest.raises(ProviderError, match=f"it has 1 answers and this is request {number}") as caught:
            await ask(provider)
        assert not caught.value.retryable
    assert len(provider.requests) == 3


async def test_an_answer_is_streamed_in_pieces() -> None:
    parts: list[Part] = [Reasoning("hmm"), Text("words"), CALL, ToolCall("c2", "go")]
    response, told = await ask(ScriptedProvider([ChatResponse(parts=parts)], chunk=3))
    assert told[:3] == [ReasoningDelta("hmm"), TextDelta("wor"), TextDelta("ds")]
    assert "".join(piece.text for piece in told if isinstance(piece, ArgumentsDelta) and piece.position == 1) == (
        '{"thing": 1}'
    )
    assert told[-1] == ArgumentsDelta(2, "go", "{}")
    assert response.parts == tuple(parts)


async def test_a_stream_may_break_off() -> None:
    provider = ScriptedProvider([BreaksOff("abcdef", ProviderError("cut", retryable=True), after=2)], chunk=2)
    told: list[Delta] = []
    with pytest.raises(ProviderError, match="cut"):
        await provider.respond(REQUEST, told.append)
    assert told == [TextDelta("ab"), TextDelta("cd")]


async def test_a_delay_can_be_interrupted() -> None:
    told: list[Delta] = []
    with anyio.move_on_after(0.05) as scope:
        await ScriptedProvider(["abc"], chunk=1, delay=30).respond(REQUEST, told.append)
    assert scope.cancelled_caught
    assert told == []


async def test_every_request_lets_others_run() -> None:
    """A loop over a fake can be cancelled like one over a model."""
    provider = ScriptedProvider(lambda request: "x")
    with anyio.move_on_after(0.01) as scope:
        while True:
            await ask(provider)
    assert scope.cancelled_caught


async def test_usage_is_given_counted_or_none() -> None:
    fixed = Usage(5, 6)
    assert (await ask(ScriptedProvider(["x"])))[0].usage is None
    assert (await ask(ScriptedProvider(["x"], usage=fixed)))[0].usage == fixed
    assert (await ask(ScriptedProvider([ChatResponse("x", usage=fixed)], usage="count")))[0].usage == fixed
    assert (await ask(ScriptedProvider(["12345678"], usage="count")))[0].usage == Usage(2, 2)


async def test_counted_usage_is_the_same_however_the_history_came_about() -> None:
    history = [Message.user("x" * 40)]
    provider = ScriptedProvider(lambda request: "y", usage="count")
    for _ in range(4):
        response, _ = await ask(provider, ChatRequest(tuple(history)))
        fresh, _ = await ask(ScriptedProvider(["y"], usage="count"), ChatRequest(tuple(history)))
        assert response == fresh
        history += [Message.assistant("", [CALL]), Message.user("more")]
    shorter, _ = await ask(provider, REQUEST)
    assert shorter.usage == Usage(2, 1)


def test_threads_share_a_script_without_losing_an_answer() -> None:
    provider = ScriptedProvider([str(number) for number in range(200)])
    texts: list[str] = []

    async def work() -> None:
        texts.extend([(await ask(provider))[0].text for _ in range(50)])

    threads = [threading.Thread(target=anyio.run, args=(work,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(texts, key=int) == [str(number) for number in range(200)]


@pytest.mark.parametrize("script", ["hello", CALL, {"a": "b"}, 3, None, ValueError, ["fine", 3], ["fine", [3]], [int]])
def test_what_is_no_script_is_refused_while_built(script: Any) -> None:
    with pytest.raises(AgentBuildError, match="script") as caught:
        ScriptedProvider(script)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("chunk", [0, -1])
def test_a_piece_has_at_least_one_character(chunk: int) -> None:
    with pytest.raises(AgentBuildError, match="chunk"):
        ScriptedProvider([], chunk=chunk)


async def test_a_function_that_answers_nonsense_is_one_clear_line() -> None:
    nonsense: Any = 3
    with pytest.raises(ProviderError, match="of type int"):
        await ask(ScriptedProvider([lambda request: nonsense]))
