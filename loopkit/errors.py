"""Every error a caller can catch, named by whose fault it is."""

from __future__ import annotations

_SHOWN_CHARACTERS = 60


class LoopkitError(Exception):
    """Root of the errors that loopkit raises itself."""


class UserError(LoopkitError):
    """Something the person gave can't be used; the message is one line that says what to do.

    Command line and interfaces print it without a traceback.
    """

    @property
    def pointer(self) -> tuple[str, ...]:
        """Safe lines that point at the spot in what was given; most errors need none."""
        return ()


class RecordingError(UserError):
    """A recording can't be read or written."""


class RecordingDamaged(RecordingError):
    """A recording has an unreadable line that is not its torn end.

    Args:
        path: the file.
        line: 1-based number of the first damaged line.
        reason: what is wrong with it.
    """

    def __init__(self, path: str, line: int, reason: str) -> None:
        super().__init__(f"{path}: line {line} is damaged ({reason}); `loopkit check` lists all damage")
        self.path = path
        self.line = line
        self.reason = reason


class RecordingNewer(RecordingError):
    """A recording was written by a later format than this version writes; it can be viewed, not continued or replayed."""


class RecordingUnwritable(RecordingError):
    """The disk or the file system did not take what was to be recorded; it may be tried again (spec/faults.md j6).

    Args:
        message: one line.
        reason: what the system said, such as "No space left on device".
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class RecordingInUse(RecordingError):
    """Another process holds the recording's lock."""


class ImportFormatError(UserError):
    """A file is not a recording and not a foreign session that loopkit recognises."""


class AgentPathError(UserError):
    """An agent named on the command line can't be loaded."""


class ConditionError(UserError):
    """A condition can't be understood.

    Args:
        problem: what is wrong, in one line.
        text: the condition.
        place: where in it, in characters from its beginning.
    """

    def __init__(self, problem: str, text: str, place: int) -> None:
        self.problem = problem
        self.text = text
        self.place = place
        super().__init__(f"the condition can't be understood: {problem}")

    @property
    def pointer(self) -> tuple[str, ...]:
        """The condition as one safe line, and a line with a caret under the spot."""
        start = max(0, self.place - _SHOWN_CHARACTERS)
        shown = "".join(
            # as many cells as the caret counts
            character if character.isascii() and character.isprintable() else "?" if character > " " else " "
            for character in self.text[start : self.place + _SHOWN_CHARACTERS]
        )
        return f"  {shown}", " " * (self.place - start + 2) + "^"


class ToolServerError(UserError):
    """An MCP server can't be started, reached or understood."""


class AgentBuildError(ValueError):
    """An agent's parts contradict each other; raised while it is built (spec/loop.md 8.2)."""


class ProviderError(LoopkitError):
    """A model provider refused, failed or answered what can't be understood (spec/loop.md 9.2).

    Args:
        message: one line, without secrets.
        status: HTTP status, or None when no answer came.
        retry_after: seconds that the server asks to wait, or None.
        request_id: the provider's own id of the request, or None.
        retryable: whether the same request may succeed later.
        unreported: the server may have spent tokens on the answer that it never told.
        unread: the text of the answer that could not be read, without secrets, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
        retryable: bool = False,
        unreported: bool = False,
        unread: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.request_id = request_id
        self.retryable = retryable
        self.unreported = unreported
        self.unread = unread


class ToolError(LoopkitError):
    """A tool's failure; raise it in a handler to give the model a plain message."""


class RecordedToolError(ToolError):
    """A tool's exception as a recording kept it.

    Args:
        type_name: class name of the exception that was raised then.
        message: its text.
    """

    def __init__(self, type_name: str, message: str) -> None:
        super().__init__(f"{type_name}: {message}")
        self.type_name = type_name
        self.message = message


class MaxDepthExceeded(LoopkitError):
    """A loop was entered below the depth limit (spec/loop.md 7.1).

    Args:
        current: depth of the loop that was refused, 0 = top level.
        limit: the configured `max_depth`.
    """

    def __init__(self, current: int, limit: int) -> None:
        super().__init__(f"loop depth {current} reaches the limit of {limit}")
        self.current = current
        self.limit = limit


class TooManyRuns(LoopkitError):
    """A tree has started or is running more child loops than its configuration allows (spec/loop.md 2)."""


class LoopClosed(LoopkitError):
    """A loop was asked for something after it, or the call that it belongs to, had ended."""


class CommandRefused(LoopkitError):
    """A session did not do what it was asked to; the message is one line that says why."""


class DecisionNotAccepted(CommandRefused):
    """A decision came too late, twice, for another version of the call, or with arguments that don't fit its schema."""


class ReplayDivergence(LoopkitError):
    """A replay did something else than its recording.

    Args:
        message: a readable account: where, what was recorded, what came.
    """


__all__ = [
    "AgentBuildError",
    "AgentPathError",
    "CommandRefused",
    "ConditionError",
    "DecisionNotAccepted",
    "ImportFormatError",
    "LoopClosed",
    "LoopkitError",
    "MaxDepthExceeded",
    "ProviderError",
    "RecordedToolError",
    "RecordingDamaged",
    "RecordingError",
    "RecordingInUse",
    "RecordingNewer",
    "RecordingUnwritable",
    "ReplayDivergence",
    "TooManyRuns",
    "ToolError",
    "ToolServerError",
    "UserError",
]
