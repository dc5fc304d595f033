"""The measured loop as smolagents runs it; run by an interpreter that has it, prints CPU microseconds an iteration."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

from smolagents import Model, ToolCallingAgent, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
from smolagents.monitoring import LogLevel, TokenUsage


@tool  # type: ignore[untyped-decorator]  # smolagents is in no environment that is type-checked
def lookup(key: str) -> str:
    """Look a key up.

    Args:
        key: the key
    """
    return "x" * 200


class AsksForCalls(Model):  # type: ignore[misc]  # as above
    """Asks for one call of `lookup` some times, then answers."""

    def __init__(self, turns: int) -> None:
        super().__init__()
        self.left = turns

    def generate(self, messages: Any, **ignored: Any) -> Any:
        self.left -= 1
        name, arguments = ("final_answer", {"answer": "done"}) if self.left < 0 else ("lookup", {"key": "k"})
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id=f"c{self.left}", type="function", function=function)
        usage = TokenUsage(input_tokens=1, output_tokens=1)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call], token_usage=usage)


def cost(turns: int) -> float:
    """CPU microseconds of an iteration."""
    model = AsksForCalls(turns)
    agent = ToolCallingAgent(tools=[lookup], model=model, max_steps=turns + 5, verbosity_level=LogLevel.OFF)
    before = time.process_time()
    agent.run("go")
    spent = time.process_time() - before
    if model.left != -1:
        raise AssertionError("smolagents did not take the turns that it was asked for")
    return spent / turns * 1e6


if __name__ == "__main__":
    cost(5)
    sys.stdout.write(f"{statistics.median(cost(int(sys.argv[1])) for _ in range(int(sys.argv[2])))}\n")
