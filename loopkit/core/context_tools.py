"""What keeps results from filling a model's context: the values a caller sets, and what callbacks are told (spec/loop.md 2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from loopkit.messages import JSONObject, ToolCall, ToolResult

CHARACTERS_PER_TOKEN = 4
# what providers count for a picture of middling size
TOKENS_PER_IMAGE = 1000
PROCESSOR = "processor"
EXTRACTOR = "extractor"
CACHER = "cacher"


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has; the same everywhere, since masking is decided by it."""
    return len(text) // CHARACTERS_PER_TOKEN


def result_tokens(content: str, images: int) -> int:
    """Return about how many tokens a result has, its pictures counted."""
    return estimated_tokens(content) + TOKENS_PER_IMAGE * images


@dataclass(frozen=True, slots=True)
class ExtractionContext:
    """What `result_extractor` is told beside call and result.

    Args:
        user_message: words of the last message of the user; loopkit's own warnings are none.
        assistant_text: what the model said when it asked for the call.
    """

    user_message: str
    assistant_text: str


@dataclass(frozen=True, slots=True)
class ResultCacher:
    """Keeps large results elsewhere; the model gets a reference.

    Args:
        store: keeps a call's result and returns the text that the model gets in its place; sync or async.
        minimum_tokens: results of so many tokens (4 characters each) and more are stored.

    Raises:
        ValueError: the minimum is negative.
    """

    store: Callable[[ToolCall, str], str | Awaitable[str]]
    minimum_tokens: int = 2000

    def __post_init__(self) -> None:
        _check_not_negative("minimum_tokens", self.minimum_tokens)


@dataclass(frozen=True, slots=True)
class ResultMasking:
    """Leaves old large results out of requests; transcript and log keep them.

    Args:
        keep_iterations: results of so many iterations before the request stay.
        minimum_tokens: results of so many tokens (4 characters each) and more are left out.

    Raises:
        ValueError: one of them is negative.
    """

    keep_iterations: int = 2
    minimum_tokens: int = 500

    def __post_init__(self) -> None:
        _check_not_negative("keep_iterations", self.keep_iterations)
        _check_not_negative("minimum_tokens", self.minimum_tokens)

    def description(self) -> dict[str, Any]:
        """Return the settings as plain JSON."""
        return {"keep_iterations": self.keep_iterations, "minimum_tokens": self.minimum_tokens}

    @classmethod
    def read(cls, description: JSONObject) -> ResultMasking:
        """Read what `description` wrote; what is absent has its default."""
        return cls(int(description.get("keep_iterations", 2)), int(description.get("minimum_tokens", 500)))


def _check_not_negative(name: str, value: int) -> None:
    if not value >= 0:
        raise ValueError(f"{name} must not be negative, it is {value}")


Rewritten: TypeAlias = str | ToolResult | None
ResultProcessor: TypeAlias = Callable[[ToolCall, ToolResult], Rewritten | Awaitable[Rewritten]]
ResultExtractor: TypeAlias = Callable[[ToolCall, ToolResult, ExtractionContext], Rewritten | Awaitable[Rewritten]]


__all__ = [
    "CACHER",
    "EXTRACTOR",
    "PROCESSOR",
    "ExtractionContext",
    "ResultCacher",
    "ResultExtractor",
    "ResultMasking",
    "ResultProcessor",
    "estimated_tokens",
    "result_tokens",
]
