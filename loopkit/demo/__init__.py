"""The bundled demo: a scripted model mends a shop's flaky test with real tools in a folder of its own, made to be debugged.

Importing this costs nothing; the agent is made when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopkit.agent import Agent

    agent: Agent

DEMO_TASK = "A test of the shop fails every other night. Find out why, mend it, and leave the order book tidy."


def demo_agent(*, delay: float = 0.015) -> Agent:
    """Return a new demo agent; each of its runs works in a folder of its own, which is removed afterwards.

    Args:
        delay: seconds before each piece of an answer.
    """
    from loopkit.demo.agents import make_agent  # noqa: PLC0415  # a home screen names the demo without loading it

    return make_agent(delay)


def __getattr__(name: str) -> object:
    """Make `agent`, the target of `loopkit run loopkit.demo:agent`, at its first use."""
    if name != "agent":
        raise AttributeError(f"module 'loopkit.demo' has no attribute {name!r}")
    made = demo_agent()
    globals()["agent"] = made
    return made


__all__ = ["DEMO_TASK", "agent", "demo_agent"]
