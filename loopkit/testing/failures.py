"""What a test of an agent fails with: a text that says all there is to say, so that no traceback is needed."""

from __future__ import annotations


class ReplayFailed(AssertionError):
    """A replay went another way than its recording, or lacks something to go on with; the text says what and why."""
