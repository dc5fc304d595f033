"""Waits between attempts that grow with each failure, for requests and tools alike."""

from __future__ import annotations

from collections.abc import Callable

_MOST_DOUBLINGS = 30


def growing_wait(attempt: int, base_delay: float, longest_delay: float, jitter: Callable[[], float]) -> float:
    """Return the seconds to wait after a failed attempt: doubled with each one, half of it random.

    Args:
        attempt: the one that failed, from 1.
        base_delay, longest_delay: seconds after the first attempt at most, and ever.
        jitter: random numbers from 0 to 1, so that many clients of one server don't come back together.
    """
    exponential = min(longest_delay, base_delay * 2.0 ** min(attempt - 1, _MOST_DOUBLINGS))
    return exponential * (0.5 + jitter() / 2)
