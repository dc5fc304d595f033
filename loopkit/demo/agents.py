"""The demo's agents: a mechanic, who asks an investigator, who asks a bookkeeper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from loopkit.agent import Agent
from loopkit.core.config import LoopAction, LoopDetectionConfig, ToolLoopConfig
from loopkit.core.depth import LoopContext, LoopDepth
from loopkit.demo.shop import Shop
from loopkit.demo.stories import bookkeeper, investigator, mechanic
from loopkit.demo.telling import Story, StoryTeller
from loopkit.demo.tools import InShop, delete_orders, list_files, query_orders, read_file, run_tests, write_file
from loopkit.drivers.parts import LoopParts
from loopkit.drivers.result import ToolLoopResult
from loopkit.messages import Message
from loopkit.providers.scripted import ScriptedProvider
from loopkit.tools.definition import Tool, tool

PIECE = 14
Question = Annotated[str, {"minLength": 5, "maxLength": 300}]


class ShopAgent(Agent):
    """An agent whose every run has a shop of its own, which its sub-agents share."""

    def parts(self, task: str | Sequence[Message], ctx: LoopDepth | None = None) -> LoopParts:
        """Return what a run is made of: with a new shop, unless it is a sub-agent's run."""
        return super().parts(task, LoopContext(Shop()) if ctx is None else ctx)


def make_agent(delay: float) -> Agent:
    """Return the mechanic.

    Args:
        delay: seconds before each piece of an answer.
    """
    helper = _investigator(delay)

    @tool(side_effect="read")
    async def investigate(question: Question, ctx: InShop, effort: Literal["quick", "thorough"] = "quick") -> str:
        """Have the investigator look into something; it reads code and asks the bookkeeper, and changes nothing.

        Args:
            question: What to find out.
            effort: How much to read for it.
        """
        return _answer(await helper.run(f"{question} (effort: {effort})", ctx=ctx))

    return ShopAgent(
        _model(mechanic, delay),
        tools=[list_files, read_file, run_tests, investigate, write_file, delete_orders],
        system="You look after the code of a small bicycle shop. Say what you are about to do, and do as you are told.",
        name="mechanic",
        config=ToolLoopConfig(
            max_iterations=20,
            loop_detection=LoopDetectionConfig(threshold=3, action=LoopAction.INJECT_WARNING),
        ),
    )


def _investigator(delay: float) -> Agent:
    helper = _bookkeeper(delay)

    @tool(side_effect="read")
    async def ask_bookkeeper(question: Question, ctx: InShop) -> str:
        """Ask the bookkeeper, who alone may look into the order book.

        Args:
            question: What you want to know of the orders.
        """
        return _answer(await helper.run(question, ctx=ctx))

    tools: list[Tool] = [read_file, ask_bookkeeper]
    system = "You find out why things happen. You read, you ask, you change nothing."
    return ShopAgent(_model(investigator, delay), tools=tools, system=system, name="investigator")


def _bookkeeper(delay: float) -> Agent:
    system = "You answer questions about the shop's orders with one query."
    return ShopAgent(_model(bookkeeper, delay), tools=[query_orders], system=system, name="bookkeeper")


def _model(story: Callable[[str], Story], delay: float) -> ScriptedProvider:
    return ScriptedProvider(StoryTeller(story), model="scripted", chunk=PIECE, delay=delay, usage="count")


def _answer(result: ToolLoopResult) -> str:
    return "" if result.response is None else result.response.text
