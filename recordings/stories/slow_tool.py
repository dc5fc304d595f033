"""A subprocess with a time limit: a report takes too long, is given up, and is asked for in a smaller size."""

import sys
from typing import Annotated

import anyio

from loopkit import Agent, ScriptedProvider, ToolCall, tool

TASK = "How many visitors did the museum have?"
DECISIONS = {}

# the report over many years takes longer than the tool may: that is the story
REPORT = """import sys, time
years = int(sys.argv[1])
time.sleep(0.05 if years < 5 else 60)
print(f"{years} years: {years * 31_000} visitors")
"""


@tool(side_effect="read", timeout=2)
async def count_visitors(years: Annotated[int, {"minimum": 1, "maximum": 100}]) -> str:
    """Count the visitors of the last years, in a process of its own.

    Args:
        years: How far to go back.
    """
    done = await anyio.run_process([sys.executable, "-I", "-S", "-c", REPORT, str(years)])
    return done.stdout.decode().strip()


SCRIPT = [
    ["Let me count all forty years.", ToolCall("a", "count_visitors", {"years": 40})],
    ["That takes too long. The last four years will do.", ToolCall("b", "count_visitors", {"years": 4})],
    "124000 visitors in the last four years, or 31000 a year. I did not get further back: counting all forty years "
    "took longer than this tool is given.",
]
agent = Agent(
    ScriptedProvider(SCRIPT, chunk=24, delay=0.01, usage="count"),
    tools=[count_visitors],
    system="You answer questions about a museum.",
    name="museum guide",
)
