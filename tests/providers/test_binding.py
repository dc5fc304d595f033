"""Bindings: which models an agent asks, with which settings and rules (spec/loop.md 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from loopkit import (
    Agent,
    AgentBuildError,
    AnthropicMessages,
    LoopHandle,
    ModelBinding,
    Ollama,
    ProviderError,
    RetryPolicy,
    ScriptedProvider,
    ToolCall,
    ToolLoopConfig,
    ToolLoopSettings,
    ToolRegistry,
    UnknownTool,
    tool,
    tool_loop,
    tool_loop_stream,
)
from loopkit.drivers.stream import Done
from loopkit.providers.binding import bind

NOBODY: Any = object()
WORDS: Any = "ollama:b"
BAD = ProviderError("no", status=400)


@tool
async def boom() -> str:
    """Fail."""
    raise ValueError("boom")


def test_a_binding_is_built_of_strings_as_of_providers() -> None:
    """8.1, DESIGN §7"""
    for source in ("ollama:llama3:8b", ModelBinding("ollama:llama3:8b"), ModelBinding("ollama", "llama3:8b")):
        agent = Agent(source)
        assert isinstance(agent.provider, Ollama)
        assert agent.model == "llama3:8b"
    chained = ModelBinding("ollama:a", fallbacks=(ModelBinding("ollama:b", fallbacks=("ollama:c",)), Ollama("d")))
    assert [model.model for model in Agent(chained).models] == ["a", "b", "c", "d"]


def test_bindings_are_values() -> None:
    """8.1"""
    provider = ScriptedProvider([])
    assert ModelBinding(provider, tool_loop=ToolLoopSettings()) == ModelBinding(provider, tool_loop=ToolLoopSettings())
    assert len({ModelBinding("ollama:a"), ModelBinding("ollama:a"), ModelBinding("ollama:b")}) == 2
    assert ModelBinding("ollama:a", fallbacks=["ollama:b"]).fallbacks == ("ollama:b",)  # type: ignore[arg-type]  # a list


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Agent(ModelBinding("ollama:a", "b")), "names a model already"),
        (lambda: Agent(ModelBinding(Ollama("a"), "b")), "asks the model 'a', not 'b'"),
        (lambda: Agent(ModelBinding("nobody", "b")), "names no provider"),
        (lambda: Agent(NOBODY), "is no provider"),
        (lambda: Agent(ModelBinding("ollama:a", fallbacks=(NOBODY,))), "is no provider"),
        (lambda: ModelBinding("ollama:a", fallbacks=WORDS), "put the one into a tuple"),
        (lambda: RetryPolicy(attempts=0), "at least 1"),
        (lambda: RetryPolicy(base_delay=-1), "base_delay is in seconds"),
        (lambda: RetryPolicy(longest_delay=float("nan")), "longest_delay is in seconds"),
        (
            lambda: Agent(ModelBinding("ollama:a", allow_multiple_tool_calls=True), parallel_tool_calls=True),
            "say the same thing",
        ),
        (
            lambda: Agent(
                ModelBinding("ollama:a", tool_loop=ToolLoopSettings()),
                config=ToolLoopConfig(terminate_on_unknown_calls=True),
            ),
            "in one place",
        ),
        (
            lambda: Agent(ModelBinding("ollama:a", tool_loop=ToolLoopSettings(maximum_consecutive_errors=-1))),
            "must not be negative",
        ),
    ],
)
def test_parts_that_contradict_each_other_are_refused_while_the_agent_is_built(
    make: Callable[[], Any], said: str
) -> None:
    """8.2"""
    with pytest.raises(AgentBuildError, match=said):
        make()


def test_a_binding_without_settings_behaves_as_the_model_alone() -> None:
    """8.2: the recorded start is the same."""
    model = ScriptedProvider([])
    config = ToolLoopConfig(parallel_tool_execution=False, maximum_consecutive_errors=1)
    bound = Agent(ModelBinding(model), config=config).parts("go")
    assert bound.started(None) == Agent(model, config=config).parts("go").started(None)
    assert bound.config is config


def test_a_fallback_takes_the_settings_of_the_primary_as_one_object() -> None:
    """8.3: its own are ignored whole, also where the primary has none."""
    own = ToolLoopSettings(True, -1, True)
    fallback = ModelBinding("ollama:b", tool_loop=own)
    assert bind(ModelBinding("ollama:a", fallbacks=(fallback,)), None).config == ToolLoopConfig()
    settings = ToolLoopSettings(maximum_consecutive_errors=1)
    primary = ModelBinding("ollama:a", tool_loop=settings, fallbacks=(fallback,))
    assert bind(primary, None).config == settings.applied_to(ToolLoopConfig())


@pytest.mark.anyio
async def test_the_settings_hold_for_calls_that_a_fallback_asks_for() -> None:
    """8.3"""
    fallback = ModelBinding(
        ScriptedProvider([ToolCall("a", "nope", {})]), tool_loop=ToolLoopSettings(terminate_on_unknown_calls=False)
    )
    primary = ModelBinding(
        ScriptedProvider([BAD]), tool_loop=ToolLoopSettings(terminate_on_unknown_calls=True), fallbacks=(fallback,)
    )
    result = await Agent(primary, tools=[boom]).run("go")
    assert result.termination_reason == UnknownTool("nope")


@pytest.mark.anyio
@pytest.mark.parametrize(("concurrent", "most"), [(False, 1), (True, 2)])
async def test_the_settings_decide_whether_calls_run_at_the_same_time(concurrent: bool, most: int) -> None:
    """8, 8.4: whatever the model was allowed to ask for."""
    running: list[int] = [0]
    seen: list[int] = []

    @tool
    async def work() -> str:
        """Take a while."""
        running[0] += 1
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        seen.append(running[0])
        running[0] -= 1
        return "done"

    model = ScriptedProvider([[ToolCall("a", "work", {}), ToolCall("b", "work", {})], "done"])
    binding = ModelBinding(
        model,
        tool_loop=ToolLoopSettings(allow_concurrent_tool_calls=concurrent),
        allow_multiple_tool_calls=not concurrent,
    )
    await Agent(binding, tools=[work]).run("go")
    assert max(seen) == most
    assert model.requests[0].settings == {"parallel_tool_calls": not concurrent}


@pytest.mark.anyio
async def test_the_error_limit_of_settings_is_three_unless_they_say_otherwise() -> None:
    """8: three iterations may fail, the fourth raises."""
    model = ScriptedProvider([ToolCall("a", "boom", {})] * 9)
    with pytest.raises(ValueError, match="boom"):
        await Agent(ModelBinding(model, tool_loop=ToolLoopSettings()), tools=[boom]).run("go")
    assert len(model.requests) == 4


@pytest.mark.anyio
async def test_every_way_to_run_a_loop_takes_a_binding() -> None:
    """8.1, 10.3"""

    def binding() -> ModelBinding:
        model = ScriptedProvider([ToolCall("a", "nope", {})])
        return ModelBinding(model, tool_loop=ToolLoopSettings(terminate_on_unknown_calls=True))

    tools = ToolRegistry([boom])
    assert (await tool_loop(binding(), tools, "go")).termination_reason == UnknownTool("nope")
    async with tool_loop_stream(binding(), tools, "go") as stream:
        ends = [item async for item in stream if isinstance(item, Done)]
    assert ends[0].result.termination_reason == UnknownTool("nope")
    async with LoopHandle(binding(), tools, "go") as handle:
        handle.messages.append(handle.messages[0])
        turn = await handle.next_turn()
    assert turn.result.termination_reason == UnknownTool("nope")  # type: ignore[union-attr]  # the loop is complete
    with pytest.raises(AgentBuildError):
        await tool_loop(binding(), tools, "go", ToolLoopConfig(maximum_consecutive_errors=1))


@pytest.mark.parametrize(
    ("error", "attempt", "delay"),
    [
        (ProviderError("x", retryable=True), 1, 0.75),
        (ProviderError("x", retryable=True), 2, 1.5),
        (ProviderError("x", retryable=True), 4, 3.75),
        (ProviderError("x", retryable=True, retry_after=0.1), 1, 0.75),
        (ProviderError("x", retryable=True, retry_after=4.0), 1, 4.0),
        (ProviderError("x", retryable=True, retry_after=6.0), 1, None),
        (ProviderError("x", retryable=True), 5, None),
        (ProviderError("x", retryable=False, retry_after=1.0), 1, None),
        (ValueError("x"), 1, None),
    ],
)
def test_waits_double_up_to_a_bound_and_a_server_is_believed(
    error: Exception, attempt: int, delay: float | None
) -> None:
    """9.2: half of each wait is random; a server that asks for more than the bound is not asked again."""
    policy = RetryPolicy(attempts=5, base_delay=1.0, longest_delay=5.0)
    assert policy.delay(attempt, error, lambda: 0.5) == delay


def test_waits_of_any_number_of_attempts_stay_below_the_bound() -> None:
    """9.2"""
    policy = RetryPolicy(attempts=10**6, longest_delay=8.0)
    error = ProviderError("x", retryable=True)
    assert policy.delay(10**5, error, lambda: 1.0) == 8.0


def test_anthropic_hears_whether_several_calls_may_come_in_its_own_words() -> None:
    """8.4"""
    agent = Agent(ModelBinding(AnthropicMessages("claude-x", api_key="k"), allow_multiple_tool_calls=False))
    settings = agent.parts("go").started(None).settings
    assert AnthropicMessages("claude-x", api_key="k").encoder("claude-x").fields(dict(settings))["tool_choice"] == {
        "type": "auto",
        "disable_parallel_tool_use": True,
    }
