"""Providers by name, and what their import costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from loopkit.errors import AgentBuildError
from loopkit.providers import AnthropicMessages, Ollama, OpenAIChat, OpenAIResponses, Provider, provider_named


@pytest.mark.parametrize(
    ("name", "kind", "model"),
    [
        ("openai:gpt-5-mini", OpenAIChat, "gpt-5-mini"),
        ("openai: llama3:8b ", OpenAIChat, "llama3:8b"),
        ("openai-responses:gpt-5", OpenAIResponses, "gpt-5"),
        ("anthropic:claude-sonnet-4-5", AnthropicMessages, "claude-sonnet-4-5"),
        ("ollama:qwen3:8b", Ollama, "qwen3:8b"),
    ],
)
def test_a_name_is_a_provider_and_its_model(name: str, kind: type[Provider], model: str) -> None:
    provider = provider_named(name)
    assert type(provider) is kind
    assert provider.model == model


@pytest.mark.parametrize("name", ["gpt-5-mini", "openai", "openai:", "openai: ", "nobody:x", ":x", ""])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(
        AgentBuildError, match="write one of: openai:MODEL, openai-responses:MODEL, anthropic:MODEL, ollama:MODEL"
    ):
        provider_named(name)


def test_building_a_provider_loads_no_framework() -> None:
    code = (
        "import sys; from loopkit.providers import ScriptedProvider, provider_named;"
        "ScriptedProvider(['x']); provider_named('openai:m');"
        "print([name for name in ('httpx', 'anyio', 'asyncio', 'jsonschema') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
