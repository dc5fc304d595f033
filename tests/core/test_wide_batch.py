"""A response with a thousand calls (DESIGN §8)."""

from __future__ import annotations

import gc
import time

from loopkit import events as e
from loopkit.core.loop import LoopCore
from loopkit.messages import Message, ToolCall, ToolDefinition
from loopkit.outcomes import Approve
from tests.core.playbook import ANYTHING


def play_batch(width: int) -> LoopCore:
    """One turn of `width` calls, each asked for, decided, run and ended."""
    core = LoopCore.started("root", e.LoopStarted("a", (Message.user("go"),), (ToolDefinition("look", "", ANYTHING),)))
    seq = 0

    def tell(fact: e.Fact | None) -> None:
        nonlocal seq
        while fact is not None:
            seq += 1
            core.apply(e.Event(seq, 0.0, "root", core.iteration_of(fact), fact))
            fact = core.due()
            core.gates()

    tell(core.due())
    calls = [ToolCall(f"c{place}", "look", {"n": place}) for place in range(width)]
    tell(e.ModelReplied(Message.assistant("", calls), verdicts=tuple(e.CallVerdict() for _ in calls)))
    keys = [call.key for call in core.state.calls]
    for key in keys:
        tell(e.Decided(key, 1, Approve(), "default"))
    for key in reversed(keys):
        tell(e.ToolReturned(key, "ok"))
    return core


def seconds(width: int) -> float:
    """CPU seconds of one batch, the best of three."""
    best = float("inf")
    for _ in range(3):
        gc.collect()
        began = time.process_time()
        play_batch(width)
        best = min(best, time.process_time() - began)
    return best


def test_every_call_of_a_wide_batch_has_its_result() -> None:
    """3.14"""
    core = play_batch(1000)
    assert [message.tool_results[0].tool_call_id for message in core.state.sendable[2:]] == [
        f"c{place}" for place in range(1000)
    ]
    assert core.state.iteration == 2


def test_a_wide_batch_costs_about_as_much_per_call_as_a_narrow_one() -> None:
    """DESIGN §8: a call costs microseconds, not milliseconds, at a width of a thousand."""
    assert seconds(1000) / 1000 < 10 * seconds(100) / 100
