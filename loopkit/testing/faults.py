"""What can go wrong in a replay on purpose: a slow, failing or garbled step at a chosen place.

Places count from 1, in the run's own loop: of a tool, the calls of it that run; of the model, the turns.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from loopkit.errors import ProviderError, ToolError, UserError

_RETRYABLE = frozenset({408, 409, 425, 429, *range(500, 600)})


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that goes wrong.

    Args:
        at: place of the call or turn, from 1.

    Raises:
        UserError: there is no such place.
    """

    at: int = 1

    def __post_init__(self) -> None:
        if self.at < 1:
            raise UserError(f"places count from 1: at={self.at} of {type(self).__name__} is none")

    def __str__(self) -> str:
        """Return it as a test writes it, short."""
        words = [repr(getattr(self, each.name)) for each in fields(self) if not each.kw_only]
        for each in fields(self):
            value = getattr(self, each.name)
            if each.kw_only and value != each.default:
                words.append(f"{each.name}={value!r}")
        return f"{type(self).__name__}({', '.join(words)})"


@dataclass(frozen=True, kw_only=True)
class ToolFault(Fault):
    """Something that goes wrong with a tool's call.

    Args:
        tool: the tool's name.
        times: how many runs of the call's handler it hits; more than one only where the tool is declared to be retried.
    """

    tool: str = field(kw_only=False)
    times: int = 1


@dataclass(frozen=True, kw_only=True)
class SlowTool(ToolFault):
    """The result takes its time; a limit of the tool or of the loop may cut it short. No real second passes.

    Args:
        seconds: of the replay's own time.
    """

    seconds: float


@dataclass(frozen=True, kw_only=True)
class LateResult(ToolFault):
    """As `SlowTool`, of a handler that can't be interrupted, such as one in a thread: its result comes, unwanted.

    Args:
        seconds: of the replay's own time.
    """

    seconds: float


@dataclass(frozen=True, kw_only=True)
class FailingTool(ToolFault):
    """The handler raises.

    Args:
        error: what it raises; a text is a `ToolError`.
    """

    error: Exception | str = "The tool failed."

    @property
    def raised(self) -> Exception:
        return ToolError(self.error) if isinstance(self.error, str) else self.error


@dataclass(frozen=True, kw_only=True)
class GarbledResult(ToolFault):
    """The handler returns something else than was recorded.

    Args:
        text: what the model gets.
        is_error: it is an error result.
    """

    text: str
    is_error: bool = False


@dataclass(frozen=True, kw_only=True)
class ModelFault(Fault):
    """Something that goes wrong with a turn's request."""


@dataclass(frozen=True, kw_only=True)
class FailingModel(ModelFault):
    """The request fails; what follows is the agent's own affair: another attempt, another model, or its end.

    Args:
        status: HTTP status, or None for a connection that breaks off.
        times: attempts that fail; the one after them gets the recorded answer.
        retry_after: seconds that the server asks to wait.
        error: what is raised instead of all this.
    """

    status: int | None = 503
    times: int = 1
    retry_after: float | None = None
    error: Exception | None = None

    @property
    def raised(self) -> Exception:
        if self.error is not None:
            return self.error
        words = "the connection broke off" if self.status is None else f"the model's server answered {self.status}"
        retryable = self.status is None or self.status in _RETRYABLE
        return ProviderError(
            f"{words} (a fault of this test)", status=self.status, retry_after=self.retry_after, retryable=retryable
        )


@dataclass(frozen=True, kw_only=True)
class SlowModel(ModelFault):
    """The answer takes its time; the loop's limit may cut it short. No real second passes.

    Args:
        seconds: of the replay's own time.
    """

    seconds: float


@dataclass(frozen=True, kw_only=True)
class GarbledAnswer(ModelFault):
    """The model answers something else first; if the loop goes on, the next turn gets the recorded answer of this one.

    Args:
        text: what it says, without a call.
        arguments: or: it asks for the first of the recorded calls alone, with this text as its arguments.

    Raises:
        UserError: neither is given, or both.
    """

    text: str | None = None
    arguments: str | None = None

    def __post_init__(self) -> None:
        ModelFault.__post_init__(self)
        if (self.text is None) == (self.arguments is None):
            raise UserError("GarbledAnswer takes text=…, or arguments=… for a call's arguments; one of them")
