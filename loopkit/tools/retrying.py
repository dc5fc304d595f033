"""Which failures of a tool are tried again before the model hears of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loopkit.core.backoff import growing_wait
from loopkit.errors import AgentBuildError, LoopkitError


@dataclass(frozen=True, slots=True)
class ToolRetry:
    """How often a handler that raises is run for one call; immutable, compared by value.

    `ToolOutput(is_error=True)` is an answer and never tried again, nor are loopkit's own errors (`ToolError`, which is
    meant for the model, limits of depth and runs) unless `on` names them. The tool's timeout holds for each attempt,
    and counts as a `TimeoutError`.

    Args:
        attempts: runs at most, the first one included.
        on: the exceptions that are tried again, one class or several.
        base_delay: seconds before the second attempt at most; doubled with each further one, half of it random.
        longest_delay: seconds that a wait may take.
        any_side_effect: also for a tool that is not declared `read` or `idempotent`.

    Raises:
        AgentBuildError: no attempt at all, a negative wait, or `on` is no class of exceptions.
    """

    attempts: int = 3
    on: type[Exception] | tuple[type[Exception], ...] = (Exception,)
    base_delay: float = 0.5
    longest_delay: float = 30.0
    any_side_effect: bool = False

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise AgentBuildError(f"attempts counts the first run too, so it is at least 1, not {self.attempts}")
        for name in ("base_delay", "longest_delay"):
            value = getattr(self, name)
            if not value >= 0:
                raise AgentBuildError(f"{name} is in seconds and must not be negative, it is {value}")
        classes = self.on if isinstance(self.on, tuple) else (self.on,)
        if not classes or not all(isinstance(one, type) and issubclass(one, Exception) for one in classes):
            raise AgentBuildError(
                f"on takes classes of exceptions, such as (ConnectionError, TimeoutError), not {self.on!r}"
            )
        object.__setattr__(self, "on", classes)

    def tries_again_after(self, error: BaseException) -> bool:
        """Say whether a failure is one that may pass."""
        classes = self.on if isinstance(self.on, tuple) else (self.on,)
        if isinstance(error, LoopkitError):
            classes = tuple(one for one in classes if issubclass(one, LoopkitError))
        return isinstance(error, classes)

    def delay(self, attempt: int, error: BaseException, jitter: Callable[[], float]) -> float | None:
        """Return the seconds to wait before the handler runs again, or None when it does not.

        Args:
            attempt: the one that failed, from 1.
            jitter: random numbers from 0 to 1.
        """
        if attempt >= self.attempts or not self.tries_again_after(error):
            return None
        return round(growing_wait(attempt, self.base_delay, self.longest_delay, jitter), 3)


__all__ = ["ToolRetry"]
