"""How often a request that failed is sent again, and how long to wait before (spec/loop.md 9.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loopkit.core.backoff import growing_wait
from loopkit.errors import AgentBuildError, ProviderError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often one model is asked, and the waits between; immutable, compared by value.

    Args:
        attempts: requests at most, the first one included; 1 never retries.
        base_delay: seconds before the second attempt at most; doubled with each further one.
        longest_delay: seconds that a wait may take. A server that asks for more is not asked again: sooner would be
            in vain, and nobody should sit before a run that stands still for minutes.

    Raises:
        AgentBuildError: no attempt at all, or a negative wait.
    """

    attempts: int = 3
    base_delay: float = 0.5
    longest_delay: float = 30.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise AgentBuildError(f"attempts counts the first request too, so it is at least 1, not {self.attempts}")
        for name in ("base_delay", "longest_delay"):
            value = getattr(self, name)
            if not value >= 0:
                raise AgentBuildError(f"{name} is in seconds and must not be negative, it is {value}")

    def delay(self, attempt: int, error: BaseException, jitter: Callable[[], float]) -> float | None:
        """Return the seconds to wait before the request is sent again, or None when it is not.

        Half of the exponential wait is random, so that many clients of one server don't come back together. What the
        server asks for (`Retry-After`) is waited for in full.

        Args:
            attempt: of this model in this iteration, from 1: the one that failed.
            jitter: random numbers from 0 to 1.
        """
        if attempt >= self.attempts or not isinstance(error, ProviderError) or not error.retryable:
            return None
        wait = growing_wait(attempt, self.base_delay, self.longest_delay, jitter)
        if error.retry_after is not None:
            if error.retry_after > self.longest_delay:
                return None
            wait = max(wait, error.retry_after)
        return round(wait, 3)


DEFAULT_RETRIES = RetryPolicy()

__all__ = ["DEFAULT_RETRIES", "RetryPolicy"]
