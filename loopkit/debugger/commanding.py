"""What of a session may be used from another process: its commands, by name, and what it says of itself.

A session method becomes a command of the protocol (docs/attach.md) with `command`, a property of plain data one that is
told to whoever is attached with `reported`; neither needs a change anywhere else.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from loopkit.debugger.display import one_line
from loopkit.encoding import DecodingError, decode_value, encode_value
from loopkit.errors import CommandRefused

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Elsewhere(Protocol):
    """A session that another process holds."""

    def ask(self, command: str, arguments: Mapping[str, Any]) -> object:
        """Have a command done there, and return the plain value that it gave.

        Raises:
            CommandRefused: it was not done, in one line.
        """
        ...

    def told(self, name: str) -> object:
        """Return what the session there last said of itself under a name, or None."""
        ...


class Attachable(Protocol):
    """A session that is here, or stands for one that is elsewhere."""

    @property
    def elsewhere(self) -> Elsewhere | None:
        """Where the session is, or None when it is here."""
        ...


Owner = TypeVar("Owner", bound=Attachable)

COMMANDS: dict[str, Callable[..., Any]] = {}
QUESTIONS: set[str] = set()
REPORTED: dict[str, Callable[..., Any]] = {}


def command(
    method: Callable[Concatenate[Owner, Parameters], Result],
) -> Callable[Concatenate[Owner, Parameters], Result]:
    """Make a method with plain arguments and a plain result one that may be asked for from another process."""
    name = method.__name__
    COMMANDS[name] = method

    @wraps(method)
    def do(self: Owner, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        elsewhere = self.elsewhere
        if elsewhere is None:
            return method(self, *args, **kwargs)
        given = inspect.signature(method).bind(self, *args, **kwargs).arguments
        hints = _hints(method)
        plain = {key: encode_value(hints[key], value) for key, value in list(given.items())[1:]}
        answer: Result = decode_value(hints["return"], elsewhere.ask(name, plain))
        return answer

    return do


def question(
    method: Callable[Concatenate[Owner, Parameters], Result],
) -> Callable[Concatenate[Owner, Parameters], Result]:
    """Make a method a command that changes nothing, so that whoever only watches may ask it too."""
    QUESTIONS.add(method.__name__)
    return command(method)


def reported(read: Callable[[Owner], Result]) -> Callable[[Owner], Result]:
    """Make a property of plain data one that a session in another process tells; it stands under `@property`."""
    name = read.__name__
    REPORTED[name] = read

    @wraps(read)
    def value(self: Owner, /) -> Result:
        elsewhere = self.elsewhere
        told = None if elsewhere is None else elsewhere.told(name)
        if told is None:
            return read(self)
        try:
            known: Result = decode_value(_hints(read)["return"], told)
        except DecodingError:
            return read(self)
        return known

    return value


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return typing.get_type_hints(function)


def signatures() -> dict[str, list[str]]:
    """Return the commands that there are, each with the names of its arguments."""
    return {name: list(inspect.signature(method).parameters)[1:] for name, method in sorted(COMMANDS.items())}


def report_of(session: object) -> dict[str, Any]:
    """Return all that a session tells of itself, as plain values."""
    return {name: encode_value(_hints(read)["return"], read(session)) for name, read in REPORTED.items()}


def do_command(session: object, name: object, arguments: object) -> Any:
    """Do a command that came from elsewhere, and return its plain result.

    Args:
        name, arguments: as they came: anything that JSON can say.

    Raises:
        CommandRefused: there is no such command, the arguments don't fit, or the session refused; in one line.
    """
    method = COMMANDS.get(name) if isinstance(name, str) else None
    if method is None:
        raise CommandRefused(f"there is no command {one_line(str(name), 40)}; there are {', '.join(sorted(COMMANDS))}")
    if not isinstance(arguments, dict):
        raise CommandRefused("the arguments of a command are a JSON object")
    hints = _hints(method)
    try:
        bound = inspect.signature(method).bind(session, **arguments)
        given = {key: decode_value(hints[key], value) for key, value in list(bound.arguments.items())[1:]}
    except (TypeError, DecodingError) as error:
        raise CommandRefused(f"{name}: {one_line(str(error), 200)}") from None
    return encode_value(hints["return"], method(session, **given))
