"""A quicker `__init__` for the frozen dataclasses of which a run makes dozens in every iteration."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

T = TypeVar("T")


def quickly_made(cls: type[T]) -> type[T]:
    """Give a frozen dataclass an `__init__` that fills its slots itself; the class stays as frozen as it was.

    The one that `dataclass` writes goes through `object.__setattr__` for each field, and takes twice the time.

    Raises:
        TypeError: the class has no slots, or its `__init__` does more than take its fields.
    """
    definition: Any = cls
    if "__slots__" not in cls.__dict__ or hasattr(cls, "__post_init__"):
        raise TypeError(f"{cls.__name__} is not plain enough to be made quickly")
    names: dict[str, Any] = {"missing": dataclasses.MISSING}
    parameters, body = ["self"], []
    for field in dataclasses.fields(definition):
        name = field.name
        if not field.init or field.kw_only:
            raise TypeError(f"{cls.__name__}.{name} is not a plain parameter")
        names[f"set_{name}"] = getattr(cls, name).__set__
        parameter, value = name, name
        if field.default is not dataclasses.MISSING:
            names[f"default_{name}"] = field.default
            parameter = f"{name}=default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            names[f"make_{name}"] = field.default_factory
            parameter, value = f"{name}=missing", f"make_{name}() if {name} is missing else {name}"
        parameters.append(parameter)
        body.append(f"set_{name}(self, {value})")
    source = "\n    ".join([f"def __init__({', '.join(parameters)}):", *body])
    exec(compile(source, f"<__init__ of {cls.__name__}>", "exec"), names)  # noqa: S102  # made of field names only
    init = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = definition.__init__.__annotations__
    definition.__init__ = init
    return cls
