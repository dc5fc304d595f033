"""What answers cost, from the price table of PyPI's `genai-prices` (extra `loopkit[prices]`); unknown stays unknown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from loopkit.debugger.nodes import IterationNode, LoopNode
from loopkit.messages import Usage

# names of models that answer for nothing; asking the table for them would load it in vain
_PRICELESS = frozenset({"scripted", "<synthetic>"})


@dataclass(frozen=True, slots=True)
class Cost:
    """Costs of several answers.

    Args:
        dollars: what the priced ones cost, in US dollars.
        priced: answers whose price is known.
        unpriced: answers whose price is unknown: no usage, no such model in the table, or no table installed.
    """

    dollars: float = 0.0
    priced: int = 0
    unpriced: int = 0

    @property
    def total(self) -> float | None:
        """The whole cost, or None when any part of it is unknown."""
        return None if self.unpriced or not self.priced else self.dollars


def cost_text(dollars: float | None) -> str:
    """Return a cost such as `$0.0042` or `$1.25`; empty when it is unknown."""
    if dollars is None:
        return ""
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.4f}"


def answer_cost(usage: Usage | None, model: str | None) -> float | None:
    """Return what one answer cost in US dollars, or None when that is unknown.

    Args:
        usage: its tokens; cached input counts as input too.
        model: the model's name, as its provider or the agent gave it.
    """
    if usage is None or usage.unreported or not model or model in _PRICELESS:
        return None
    return _priced(usage, model)


@lru_cache(maxsize=4096)
def _priced(usage: Usage, model: str) -> float | None:
    table = _price_table()
    if table is None:
        return None
    tokens = table.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
    )
    try:
        return float(table.calc_price(tokens, model_ref=model).total_price)
    except (LookupError, ValueError):
        # no such model, or tokens of a kind that it has no price for
        return None


@lru_cache(maxsize=1)
def _price_table() -> Any | None:
    try:
        import genai_prices  # noqa: PLC0415  # an extra, and half a second to load
    except ImportError:
        return None
    return genai_prices


def iteration_cost(iteration: IterationNode) -> float | None:
    """Return what an iteration's answer cost in US dollars, or None when that is unknown."""
    return answer_cost(iteration.usage, iteration.model or iteration.loop.started.model)


def cost_of_loops(loops: Iterable[LoopNode]) -> Cost:
    """Return what the answers of some loops cost."""
    dollars, priced, unpriced = 0.0, 0, 0
    for loop in loops:
        for iteration in loop.iterations:
            if iteration.replied_at is None:
                continue
            cost = iteration_cost(iteration)
            if cost is None:
                unpriced += 1
            else:
                priced += 1
                dollars += cost
    return Cost(dollars, priced, unpriced)
