"""A whole run with each provider against a real server: recorded, replayed, and the same in every dialect."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit import Agent, Message, Recorder, replay
from loopkit.providers.http_model import HTTPModel
from tests.providers.test_aimock_dialects import every_kind, provider

pytestmark = pytest.mark.wire


def get_weather(city: str, station: int = 0, units: list[str] | None = None) -> str:
    """Look up the weather."""
    return f"fine in {city}"


@every_kind
@pytest.mark.parametrize("words", ["weather", "ponder"])
def test_a_run_with_tools_goes_through_and_replays(
    kind: type[HTTPModel], words: str, aimock: str, tmp_path: Path
) -> None:
    """a29, b6: the history that each dialect made of the run was one that the server took."""
    path = tmp_path / "run.jsonl"
    agent = Agent(provider(kind, aimock, "gpt-5"), tools=[get_weather], system="Be brief.")
    result = agent.run_sync(words, recorder=Recorder(path))
    assert result.text == {"weather": "Sunny in Rome, snow in Oslo.", "ponder": "Fog in Lima."}[words]
    assert [message.role for message in result.messages].count("tool") == {"weather": 2, "ponder": 1}[words]
    assert replay(path).same
    assert result.messages[1] == Message.user(words)
