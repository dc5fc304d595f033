"""Streams that real servers send and no document promises, in every dialect, and what they mean."""

from __future__ import annotations

from tests.providers.oddities.anthropic import ANTHROPIC_ODDITIES
from tests.providers.oddities.oddity import Oddity
from tests.providers.oddities.ollama import OLLAMA_ODDITIES
from tests.providers.oddities.openai_chat import CHAT_ODDITIES
from tests.providers.oddities.openai_responses import RESPONSES_ODDITIES

ODDITIES = [*CHAT_ODDITIES, *ANTHROPIC_ODDITIES, *RESPONSES_ODDITIES, *OLLAMA_ODDITIES]

__all__ = ["ODDITIES", "Oddity"]
