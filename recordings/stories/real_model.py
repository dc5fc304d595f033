"""A real model: SmolLM2, 135 million parameters, is to look up the weather of Rome and thinks of a play instead.

It is made with a server that answers at `LOOPKIT_REAL_MODEL` (docs/real-model.md); nothing here is scripted.
"""

import os

from loopkit import Agent, OpenAIChat, tool
from loopkit.outcomes import Modify

TASK = "What is the weather in Rome?"
DECISIONS = {"root/1.1": Modify({"city": "Rome"})}
NEEDS = "LOOPKIT_REAL_MODEL"

FORECASTS = {"Oslo": "Snow, -3 degrees.", "Rome": "Sunny, 21 degrees.", "Lima": "Fog, 17 degrees."}


@tool(side_effect="read")
def get_weather(city: str) -> str:
    """Look up the weather of a city."""
    return FORECASTS.get(city, f"There is no forecast for {city}.")


agent = Agent(
    OpenAIChat(
        "smollm2",
        base_url=os.environ.get(NEEDS, "http://127.0.0.1:4020/v1"),
        api_key="none",
        null_content=False,
    ),
    tools=[get_weather],
    system="You are a weather assistant.",
    name="forecaster",
    tool_choice="get_weather",
    temperature=0,
    max_tokens=80,
)
