"""How full the model's context is: tokens of a request beside what its model takes, and what is new in it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

from loopkit.debugger.nodes import IterationNode, LoopNode

# iterations without a count are few: the one that is running, and failed ones
_LOOKED_BACK = 20


@dataclass(frozen=True, slots=True)
class ContextUse:
    """What a request took of its model's context.

    Args:
        tokens: of the request, as the model's server counted them; None when it did not say.
        window: tokens that the model takes; None when the price table is not loaded, or doesn't know the model.
        messages: in the request, or None.
        more_messages, more_tokens: than in the loop's request before; None without one, or when unknown.
    """

    tokens: int | None
    window: int | None
    messages: int | None
    more_messages: int | None
    more_tokens: int | None

    @property
    def share(self) -> float | None:
        """The part of the window that is filled, 0 to 1; None when that is unknown."""
        if self.tokens is None or not self.window:
            return None
        return min(1.0, self.tokens / self.window)


def context_use(iteration: IterationNode) -> ContextUse:
    """Return what an iteration's request took."""
    before = _before(iteration)
    tokens, earlier = _tokens(iteration), None if before is None else _tokens(before)
    messages, fewer = iteration.message_count, None if before is None else before.message_count
    return ContextUse(
        tokens,
        known_window(iteration.model or iteration.loop.started.model),
        messages,
        None if messages is None or fewer is None else messages - fewer,
        None if tokens is None or earlier is None else tokens - earlier,
    )


def latest_use(loop: LoopNode, up_to: int | None = None) -> ContextUse | None:
    """Return what the last request of a loop took whose tokens are known; None when there is none.

    Args:
        up_to: number of the last iteration that is looked at.
    """
    iterations = loop.iterations
    place = len(iterations) if up_to is None else bisect_right(iterations, up_to, key=_number)
    near = (iterations[each] for each in range(place - 1, max(-1, place - 1 - _LOOKED_BACK), -1))
    return next((context_use(iteration) for iteration in near if _tokens(iteration) is not None), None)


def _before(iteration: IterationNode) -> IterationNode | None:
    iterations = iteration.loop.iterations
    place = bisect_right(iterations, iteration.number - 1, key=_number) - 1
    found = iterations[place] if place >= 0 else None
    return found if found is not None and found.number == iteration.number - 1 else None


def _number(iteration: IterationNode) -> int:
    return iteration.number


def _tokens(iteration: IterationNode) -> int | None:
    usage = iteration.usage
    return None if usage is None or not usage.input_tokens else usage.input_tokens


_windows: dict[str, int | None] = {}


def known_window(model: str | None) -> int | None:
    """Return how many tokens a model takes, if that was looked up; it never loads the price table itself."""
    return None if model is None else _windows.get(model)


def look_up_window(model: str | None) -> bool:
    """Look up how many tokens a model takes, in half a second the first time; say whether it is known.

    The table is that of PyPI's `genai-prices` (extra `loopkit[prices]`).
    """
    if model is None:
        return False
    if model not in _windows:
        _windows[model] = _window(model)
    return _windows[model] is not None


@lru_cache(maxsize=256)
def _window(model: str) -> int | None:
    try:
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  # an extra, and half a second to load
    except ImportError:
        return None
    try:
        _, found = get_snapshot().find_provider_model(model, None, None, None)
    except (LookupError, ValueError):
        return None
    return found.context_window
