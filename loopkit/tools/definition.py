"""`@tool`: a function becomes something that a model can call, described by its own signature and docstring."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import sys
import typing
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Generic, ParamSpec, TypeVar, overload

from loopkit.errors import AgentBuildError
from loopkit.messages import JSON, JSONObject, Problem, SideEffect, ToolDefinition
from loopkit.tools.checks import SchemaCheck
from loopkit.tools.conversion import ConversionError, Converter, compile_conversion
from loopkit.tools.retrying import ToolRetry
from loopkit.tools.schema import arguments_schema
from loopkit.tools.showing import json_path
from loopkit.tools.signature import Signature, function_name, read_signature

P = ParamSpec("P")
R = TypeVar("R")

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_SIDE_EFFECTS = typing.get_args(SideEffect)


class Tool:
    """A function that a model can call; it stays callable as it was. Made by `@tool`; two tools are equal only if same.

    Attributes:
        definition: what the model is told.
        function: the function itself.
        is_async: calling it gives an awaitable.
        context_parameter: name of the parameter that gets the loop's context, or None.
        retry: which of its failures are tried again, or None.
    """

    definition: ToolDefinition
    function: Callable[..., Any]
    is_async: bool
    context_parameter: str | None
    retry: ToolRetry | None = None
    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., Any], definition: ToolDefinition, signature: Signature) -> None:
        # first, since it also copies the function's own attributes
        functools.update_wrapper(self, function)
        self.function = function
        self.definition = definition
        self.is_async = _is_async(function)
        self.context_parameter = signature.context
        self._signature = signature
        self._check = SchemaCheck(definition.parameters)
        self._attribute: str | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = name

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def wants_context(self) -> bool:
        return self.context_parameter is not None

    @property
    def is_unbound_method(self) -> bool:
        """Whether it still lacks the object that it is a method of; `instance.method` has it."""
        return self._signature.owner is not None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool:
        """Bind a decorated method to its object, once per object."""
        if instance is None or not self.is_unbound_method:
            return self
        function = self.function.__get__(instance, owner)
        bound = Tool(function, self.definition, dataclasses.replace(self._signature, owner=None))
        bound._check = self._check
        bound.retry = self.retry
        attributes = getattr(instance, "__dict__", None)
        if isinstance(attributes, dict) and self._attribute is not None:
            # found before the class's attribute from now on
            return typing.cast("Tool", attributes.setdefault(self._attribute, bound))
        return bound

    def __repr__(self) -> str:
        words = [member.name if member.required else f"{member.name}=…" for member in self._signature.model.members]
        return f"<{'async ' if self.is_async else ''}tool {self.name}({', '.join(words)})>"

    @functools.cached_property
    def _convert(self) -> Converter:
        return compile_conversion(self._signature.model)

    def problems(self, arguments: JSON) -> tuple[Problem, ...]:
        """Return why arguments don't fit, nothing when they do; then `arguments` takes them (spec/loop.md 9.1).

        The validator is built once per tool, at the first check.
        """
        found = self._check.problems(arguments)
        if found:
            return found
        try:
            self._convert(arguments)
        except ConversionError as error:
            return (Problem(json_path(error.path), str(error)),)
        return ()

    def arguments(self, arguments: JSONObject, context: object = None) -> dict[str, Any]:
        """Return keyword arguments for the function, as its hints say, sharing nothing with the JSON that they came from.

        A handler may change what it gets; what is recorded stays as it was (spec/faults.md d15, d16).

        Args:
            arguments: a JSON object for which `problems` finds nothing.
            context: goes to the parameter that asks for it, if there is one.

        Raises:
            ConversionError: the arguments don't fit (a ValueError).
        """
        keywords: dict[str, Any] = self._convert(arguments)
        if self.context_parameter is not None:
            keywords[self.context_parameter] = context
        return keywords


class TypedTool(Tool, Generic[P, R]):
    """A tool whose direct call a type checker knows."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return typing.cast("R", self.function(*args, **kwargs))


@overload
def tool(function: Callable[P, R], /) -> TypedTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    side_effect: SideEffect | None = None,
    polling: bool = False,
    timeout: float | timedelta | None = None,
    retry: ToolRetry | None = None,
) -> Callable[[Callable[P, R]], TypedTool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    side_effect: SideEffect | None = None,
    polling: bool = False,
    timeout: float | timedelta | None = None,
    retry: ToolRetry | None = None,
) -> TypedTool[P, R] | Callable[[Callable[P, R]], TypedTool[P, R]]:
    """Make a tool of a function, sync or async; used bare or with keyword arguments.

    The schema comes from the type hints, descriptions from the docstring (`Args:` or `:param x:`) and from `Annotated`.
    A parameter annotated with a context class (`ctx: LoopContext`) is not in the schema and gets the loop's context.

    Args:
        function: the function, when used bare.
        name: the tool's name; by default the function's.
        description: words for the model; by default the docstring without its parameter entries.
        side_effect: what running it again would do: `read`, `idempotent` or `irreversible`.
        polling: repeats are normal while the result changes (spec/loop.md 6.5).
        timeout: seconds, or a `timedelta`, that one attempt of a call may take.
        retry: which exceptions are tried again, and how often; for tools that are declared `read` or `idempotent`.

    Raises:
        AgentBuildError: no tool can be made of the function; the message names the parameter.
    """
    # classes that are defined inside the caller's function can only be found there
    names = sys._getframe(1).f_locals

    def decorate(function: Callable[P, R]) -> TypedTool[P, R]:
        return make_tool(
            function,
            names,
            name=name,
            description=description,
            side_effect=side_effect,
            polling=polling,
            timeout=timeout,
            retry=retry,
        )

    return decorate if function is None else decorate(function)


def make_tool(
    function: Callable[P, R],
    names: Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    side_effect: SideEffect | None = None,
    polling: bool = False,
    timeout: float | timedelta | None = None,
    retry: ToolRetry | None = None,
) -> TypedTool[P, R]:
    """As `tool`, for a function that is at hand.

    Args:
        names: names that the function's hints may use besides those of its module.
    """
    _check_function(function)
    signature = read_signature(function, names)
    definition = ToolDefinition(
        name=_checked_name(function_name(function) if name is None else name),
        description=signature.description if description is None else description,
        parameters=arguments_schema(signature.model),
        side_effect=_checked_side_effect(side_effect),
        polling=polling,
        timeout=seconds_of(timeout),
        attempts=1 if retry is None else retry.attempts,
    )
    made: TypedTool[P, R] = TypedTool(function, definition, signature)
    made.retry = _checked_retry(definition, retry)
    return made


def _check_function(function: object) -> None:
    if isinstance(function, Tool):
        raise AgentBuildError(f"{function.name} is a tool already; decorate it once")
    if not callable(function) or isinstance(function, type):
        raise AgentBuildError(
            f"{function!r} can't be a tool; give a function (@tool stands below @classmethod's place)"
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise AgentBuildError(f"{function_name(function)} is a generator; a tool returns its result")


def _is_async(function: Callable[..., Any]) -> bool:
    if inspect.iscoroutinefunction(function):
        return True
    return not inspect.isroutine(function) and inspect.iscoroutinefunction(type(function).__call__)


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.match(name):
        raise AgentBuildError(
            f"{name!r} is no name for a tool: providers take 1 to 64 letters, digits, `_` and `-`; use @tool(name=…)"
        )
    return name


def _checked_side_effect(side_effect: SideEffect | None) -> SideEffect | None:
    if side_effect is not None and side_effect not in _SIDE_EFFECTS:
        raise AgentBuildError(f"side_effect is one of {', '.join(_SIDE_EFFECTS)} or None, not {side_effect!r}")
    return side_effect


def _checked_retry(definition: ToolDefinition, retry: ToolRetry | None) -> ToolRetry | None:
    if retry is None or retry.attempts == 1:
        return None
    if definition.side_effect not in ("read", "idempotent") and not retry.any_side_effect:
        raise AgentBuildError(
            f"{definition.name} can't be run again as a matter of course: declare side_effect='read' or 'idempotent', "
            "or say ToolRetry(any_side_effect=True)"
        )
    return retry


def seconds_of(timeout: float | timedelta | None) -> float | None:
    """Return a timeout in seconds.

    Raises:
        AgentBuildError: it is none.
    """
    if timeout is None:
        return None
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf:
        raise AgentBuildError(f"timeout is a number of seconds above 0, or None, not {timeout!r}")
    return float(seconds)
