"""Who answers: model providers. Names are loaded at their first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopkit.providers.anthropic import AnthropicMessages as AnthropicMessages
    from loopkit.providers.named import provider_named as provider_named
    from loopkit.providers.ollama import Ollama as Ollama
    from loopkit.providers.openai_chat import OpenAIChat as OpenAIChat
    from loopkit.providers.openai_responses import OpenAIResponses as OpenAIResponses
    from loopkit.providers.protocol import ChatRequest as ChatRequest
    from loopkit.providers.protocol import Provider as Provider
    from loopkit.providers.scripted import BreaksOff as BreaksOff
    from loopkit.providers.scripted import ScriptedProvider as ScriptedProvider

_HOME_OF = {
    "AnthropicMessages": "anthropic",
    "BreaksOff": "scripted",
    "ChatRequest": "protocol",
    "Ollama": "ollama",
    "OpenAIChat": "openai_chat",
    "OpenAIResponses": "openai_responses",
    "Provider": "protocol",
    "ScriptedProvider": "scripted",
    "provider_named": "named",
}
__all__ = [  # noqa: RUF022 - who answers first, then how they are asked
    "OpenAIChat",
    "OpenAIResponses",
    "AnthropicMessages",
    "Ollama",
    "ScriptedProvider",
    "BreaksOff",
    "provider_named",
    "Provider",
    "ChatRequest",
]


def __getattr__(name: str) -> object:
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'loopkit.providers' has no attribute {name!r}")
    value = getattr(import_module(f"loopkit.providers.{module}"), name)
    globals()[name] = value
    return value
