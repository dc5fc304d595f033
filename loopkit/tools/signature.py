"""Reads a function's signature: what a model may give, and which parameter gets the context."""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from loopkit.core.depth import LoopDepth
from loopkit.errors import AgentBuildError
from loopkit.tools.docstring import Documentation, read_docstring
from loopkit.tools.hints import HintReader
from loopkit.tools.shapes import NO_DEFAULT, Member, Model

# a context is often imported for type checkers only, where its name can't be resolved
_CONTEXT_NAMES = re.compile(r"\b(LoopContext|LoopDepth)\b")


@dataclass(frozen=True, slots=True)
class Signature:
    """A function as a tool sees it.

    Args:
        model: the parameters that a model gives, as an object.
        description: the docstring without its parameter entries.
        context: name of the parameter that gets the context, or None.
        owner: name of the leading `self` of a method that is not bound yet, or None.
    """

    model: Model
    description: str
    context: str | None
    owner: str | None


def read_signature(function: Callable[..., Any], names: Mapping[str, Any] | None = None) -> Signature:
    """Read a function's parameters, their hints and its docstring.

    Every parameter needs a hint (`Any` takes any JSON value). Positional-only parameters, `*args` and `**kwargs` have no
    place in a JSON object of known keys and are refused.

    Args:
        names: names that hints may use besides those of the function's module.

    Raises:
        AgentBuildError: a parameter has no hint, or one that has no form in JSON.
    """
    title = function_name(function) or repr(function)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (NameError, TypeError, ValueError) as error:
        raise AgentBuildError(f"{title}: its signature can't be read: {error}") from None
    words = _documentation(function)
    owner = parameters[0].name if parameters and _is_owner(parameters[0]) else None
    reader = HintReader(names or {})
    members: list[Member] = []
    contexts: list[str] = []
    for parameter in parameters[1:] if owner else parameters:
        where = f"parameter {parameter.name!r} of {title}"
        hint = _parameter_hint(function, parameter, names or {}, where)
        if is_context(hint):
            contexts.append(parameter.name)
            continue
        required = parameter.default is inspect.Parameter.empty
        default = NO_DEFAULT if required else parameter.default
        description = words.parameters.get(parameter.name, "")
        members.append(Member(parameter.name, reader.read(hint, where), required, default, description))
    if len(contexts) > 1:
        raise AgentBuildError(f"{title}: only one parameter can get the context, not {' and '.join(contexts)}")
    return Signature(Model(title, dict, tuple(members)), words.description, contexts[0] if contexts else None, owner)


def function_name(function: Callable[..., Any]) -> str:
    """Return a callable's own name, or its class's for an object with `__call__`; empty if there is none."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", "") or type(function).__name__)


def is_context(hint: Any) -> bool:
    """Whether a hint asks for the loop's context: a class with the `LoopDepth` protocol, or an optional one."""
    if isinstance(hint, _UnresolvedContext):
        return True
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return is_context(hint.__origin__)
    if origin in (typing.Union, types.UnionType):
        return any(is_context(member) for member in typing.get_args(hint))
    if isinstance(hint, typing.TypeVar):
        return hint.__bound__ is not None and is_context(hint.__bound__)
    cls = hint if origin is None else origin
    return isinstance(cls, type) and issubclass(cls, LoopDepth)


class _UnresolvedContext:
    """Stands for a hint that names a context class which exists for type checkers only."""


def _is_owner(parameter: inspect.Parameter) -> bool:
    named = parameter.name in ("self", "cls") and parameter.annotation is inspect.Parameter.empty
    return named and parameter.kind is not inspect.Parameter.KEYWORD_ONLY


def _documentation(function: Callable[..., Any]) -> Documentation:
    while isinstance(function, functools.partial):
        function = function.func
    named = inspect.isroutine(function)
    return read_docstring(function.__doc__ if named else function.__doc__ or type(function).__call__.__doc__)


def _parameter_hint(
    function: Callable[..., Any], parameter: inspect.Parameter, names: Mapping[str, Any], where: str
) -> Any:
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise AgentBuildError(f"{where}: a tool can't take *args or **kwargs; name each parameter")
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise AgentBuildError(f"{where}: a tool gets its arguments by name; remove the `/`")
    hint = parameter.annotation
    if hint is inspect.Parameter.empty:
        raise AgentBuildError(f"{where}: it needs a type hint (Any takes any JSON value)")
    holder = types.SimpleNamespace(__annotations__={parameter.name: hint})
    scope = {**_globals_of(function), **names}
    try:
        return typing.get_type_hints(holder, globalns=scope, include_extras=True)[parameter.name]
    except (NameError, TypeError, SyntaxError, AttributeError) as error:
        if isinstance(hint, str) and _CONTEXT_NAMES.search(hint):
            return _UnresolvedContext()
        raise AgentBuildError(
            f"{where}: its hint {hint!r} can't be resolved: {error} (an import under TYPE_CHECKING is not enough)"
        ) from None


def _globals_of(function: Any) -> Mapping[str, Any]:
    """Names of the module that a callable's hints were written in."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if not hasattr(function, "__globals__") and not inspect.ismethod(function):
        function = inspect.unwrap(type(function).__call__)
    return typing.cast("Mapping[str, Any]", getattr(getattr(function, "__func__", function), "__globals__", {}))
