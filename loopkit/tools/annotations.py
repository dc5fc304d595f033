"""What `Annotated` may add to a hint: a description, or JSON Schema keywords that are checked while the tool is built."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from loopkit.errors import AgentBuildError
from loopkit.messages import JSON

_NUMBER = (int, float)
_KEYWORDS: dict[str, tuple[type, ...]] = {
    "title": (str,),
    "description": (str,),
    "examples": (list,),
    "deprecated": (bool,),
    "format": (str,),
    "enum": (list,),
    "const": (object,),
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "exclusiveMinimum": _NUMBER,
    "exclusiveMaximum": _NUMBER,
    "multipleOf": _NUMBER,
    "minLength": (int,),
    "maxLength": (int,),
    "pattern": (str,),
    "minItems": (int,),
    "maxItems": (int,),
    "uniqueItems": (bool,),
    "minProperties": (int,),
    "maxProperties": (int,),
}


def annotated_keywords(metadata: tuple[Any, ...], where: str) -> dict[str, JSON]:
    """Return the JSON Schema keywords that the extras of an `Annotated` stand for.

    A string is a description, a mapping holds keywords, `typing_extensions.Doc` is a description; anything else belongs
    to another library and is passed over, as PEP 593 asks.

    Args:
        metadata: what follows the type in `Annotated[…]`.
        where: the parameter or field, for error messages.

    Raises:
        AgentBuildError: a keyword is unknown or its value has the wrong type.
    """
    keywords: dict[str, JSON] = {}
    for extra in metadata:
        if isinstance(extra, str):
            keywords["description"] = extra
        elif isinstance(extra, Mapping):
            for name, value in extra.items():
                _check_keyword(name, value, where)
                keywords[name] = copy.deepcopy(value)
        elif isinstance(words := getattr(extra, "documentation", None), str):
            keywords["description"] = words
    return keywords


def _check_keyword(name: object, value: object, where: str) -> None:
    if isinstance(name, str) and name.startswith("x-"):
        return
    if not isinstance(name, str) or name not in _KEYWORDS:
        known = ", ".join(_KEYWORDS)
        raise AgentBuildError(f"{where}: {name!r} is no JSON Schema keyword for Annotated; known are {known} and x-…")
    kinds = _KEYWORDS[name]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds and object not in kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise AgentBuildError(f"{where}: the keyword {name!r} takes {wanted}, not {value!r}")
    if name == "pattern":
        try:
            re.compile(str(value))
        except re.error as error:
            raise AgentBuildError(f"{where}: the pattern {value!r} is not a regular expression: {error}") from None
