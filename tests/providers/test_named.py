"""Providers by name, and what their import costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from loopkit.errors import AgentBuildError
from loopkit.providers import OpenAIChat, provider_named


@pytest.mark.parametrize(("name", "model"), [("openai:gpt-5-mini", "gpt-5-mini"), ("openai: llama3:8b ", "llama3:8b")])
def test_a_name_is_a_provider_and_its_model(name: str, model: str) -> None:
    provider = provider_named(name)
    assert isinstance(provider, OpenAIChat)
    assert provider.model == model


@pytest.mark.parametrize("name", ["gpt-5-mini", "openai", "openai:", "openai: ", "nobody:x", ":x", ""])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(AgentBuildError, match="write one of: openai:MODEL"):
        provider_named(name)


def test_building_a_provider_loads_no_framework() -> None:
    code = (
        "import sys; from loopkit.providers import ScriptedProvider, provider_named;"
        "ScriptedProvider(['x']); provider_named('openai:m');"
        "print([name for name in ('httpx', 'anyio', 'asyncio', 'jsonschema') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
