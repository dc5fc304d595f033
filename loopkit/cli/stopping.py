"""Ends a run that is told to end from outside: children first, the recording closed, and the shell's own exit code."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stopped(KeyboardInterrupt):
    """A run was ended by a signal.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def exit_code(self) -> int:
        """128 and the signal's number, as a shell says it of a command that a signal ended."""
        return 128 + self.number


@contextmanager
def stopped_like_ctrl_c(last_words: str) -> Iterator[None]:
    """Let a closed terminal or a `kill` end what runs inside as Ctrl+C does.

    Args:
        last_words: told when it was ended so, in one line on stderr.

    Raises:
        Stopped: it was.
    """
    from loopkit.cli.output import warn
    from loopkit.debugger.children import end_child_processes

    numbers = [signal.SIGINT]

    def end(number: int, _: FrameType | None) -> None:
        numbers.append(signal.Signals(number))
        if callable(signal.getsignal(signal.SIGINT)):
            signal.raise_signal(signal.SIGINT)
        else:
            # started in the background, where Ctrl+C is ignored
            raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)
    try:
        yield
    except KeyboardInterrupt:
        end_child_processes()
        warn(last_words)
        raise Stopped(numbers[-1]) from None
