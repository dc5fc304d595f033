"""A quicker `__init__` for the frozen dataclasses of which a run makes dozens in every iteration."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def filler(cls: type[T]) -> Callable[[T, dict[str, Any]], None]:
    """Return what gives an object of a class without slots all its attributes at once, frozen or not."""
    fill: Callable[[T, dict[str, Any]], None] = cls.__dict__["__dict__"].__set__
    return fill


def quickly_made(cls: type[T]) -> type[T]:
    """Give a frozen dataclass an `__init__` that fills its slots, or its dictionary, itself; it stays as frozen as it was.

    The one that `dataclass` writes goes through `object.__setattr__` for each field, and takes twice the time.

    Raises:
        TypeError: its `__init__` does more than take its fields, or it inherits the dictionary that holds them.
    """
    definition: Any = cls
    has_slots = "__slots__" in cls.__dict__
    if not (has_slots or "__dict__" in cls.__dict__) or hasattr(cls, "__post_init__"):
        raise TypeError(f"{cls.__name__} is not plain enough to be made quickly")
    names: dict[str, Any] = {"missing": dataclasses.MISSING}
    parameters, values = ["self"], {}
    for field in dataclasses.fields(definition):
        name = field.name
        if not field.init or field.kw_only:
            raise TypeError(f"{cls.__name__}.{name} is not a plain parameter")
        parameter, value = name, name
        if field.default is not dataclasses.MISSING:
            names[f"default_{name}"] = field.default
            parameter = f"{name}=default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            names[f"make_{name}"] = field.default_factory
            parameter, value = f"{name}=missing", f"make_{name}() if {name} is missing else {name}"
        parameters.append(parameter)
        values[name] = value
    if has_slots:
        names |= {f"set_{name}": getattr(cls, name).__set__ for name in values}
        body = [f"set_{name}(self, {value})" for name, value in values.items()]
    else:
        names["fill"] = filler(cls)
        body = [f"fill(self, {{{', '.join(f'{name!r}: {value}' for name, value in values.items())}}})"]
    source = "\n    ".join([f"def __init__({', '.join(parameters)}):", *body])
    exec(compile(source, f"<__init__ of {cls.__name__}>", "exec"), names)  # noqa: S102  # made of field names only
    init = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = definition.__init__.__annotations__
    definition.__init__ = init
    return cls
