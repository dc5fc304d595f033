"""The envelope that orders facts, what all facts share, and how loops and calls are named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loopkit.messages import Problem
from loopkit.quick_init import quickly_made

ROOT = "root"


def call_key(loop: str, iteration: int, position: int) -> str:
    """Return a call's own id, unique in its run; `iteration` and `position` count from 1."""
    return f"{loop}/{iteration}.{position}"


def child_path(call: str, ordinal: int) -> str:
    """Return the path of the loop that a call started as its `ordinal`-th, from 1."""
    return f"{call}#{ordinal}"


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception as the log keeps it.

    Args:
        type_name: class name of the exception.
        message: its text, without traceback.
        status: HTTP status of a provider's refusal, or None.
        retry_after: seconds that the server asked to wait, or None.
        request_id: the provider's id of the request, or None.
    """

    type_name: str
    message: str
    status: int | None = None
    retry_after: float | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """What the schema check said of one call when its response came in; empty `problems` mean it may run."""

    problems: tuple[Problem, ...] = ()


NO_PROBLEMS = CallVerdict()


class Fact:
    """Base of everything that can stand in an event."""

    __slots__ = ()


class Input(Fact):
    """A fact from outside: a model, a tool, a person, a callback or the clock."""

    __slots__ = ()


class Derived(Fact):
    """A fact that follows from the inputs before it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Unrecognised(Fact):
    """A record of a type that this version doesn't know, or a foreign note; kept and shown raw, changes nothing.

    Whoever writes one of their own may put `"ignorable": true` into it: then a replay passes over it.
    """

    type_name: str
    data: Mapping[str, Any]

    @property
    def ignorable(self) -> bool:
        return self.data.get("ignorable") is True


@quickly_made
@dataclass(frozen=True, slots=True)
class Event:
    """A fact in its place.

    Args:
        seq: 1-based, gapless; the only order.
        t: seconds since the run started, to the microsecond; for display only.
        loop: path of the loop that it belongs to.
        iteration: 1-based, 0 before the first.
        fact: what happened.
    """

    seq: int
    t: float
    loop: str
    iteration: int
    fact: Fact

    @property
    def type(self) -> str:
        return self.fact.type_name if isinstance(self.fact, Unrecognised) else type(self.fact).__name__
