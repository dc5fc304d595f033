"""Providers by name: `openai:gpt-5-mini` (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Callable

from loopkit.errors import AgentBuildError
from loopkit.providers.anthropic import AnthropicMessages
from loopkit.providers.ollama import Ollama
from loopkit.providers.openai_chat import OpenAIChat
from loopkit.providers.openai_responses import OpenAIResponses
from loopkit.providers.protocol import Provider

_MAKERS: dict[str, Callable[[str], Provider]] = {
    "openai": OpenAIChat,
    "openai-responses": OpenAIResponses,
    "anthropic": AnthropicMessages,
    "ollama": Ollama,
}


def provider_named(name: str) -> Provider:
    """Return the provider that `provider:model` names; what it needs to connect it reads from the environment.

    Raises:
        AgentBuildError: the provider is unknown or the model is missing.
    """
    prefix, _, model = name.partition(":")
    maker = _MAKERS.get(prefix)
    if maker is None or not model.strip():
        known = ", ".join(f"{each}:MODEL" for each in _MAKERS)
        raise AgentBuildError(f"{name!r} names no provider and model; write one of: {known}")
    return maker(model.strip())


__all__ = ["provider_named"]
