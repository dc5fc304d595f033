"""Arguments for a person to change: copies to work on, and JSON text with its mistakes named by their place."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn

from loopkit.messages import Problem


def read_arguments(text: str) -> tuple[dict[str, Any] | None, tuple[Problem, ...]]:
    """Return the arguments that a text says, or None and what is wrong with it (spec/loop.md 9.1).

    A syntax error's path is its line and column, such as `line 2, column 7`, both from 1.
    """
    repeated: dict[str, None] = {}

    def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            counted = Counter(name for name, _ in pairs)
            repeated.update(dict.fromkeys(name for name, count in counted.items() if count > 1))
        return value

    try:
        arguments = json.loads(
            text, object_pairs_hook=without_repeats, parse_constant=_refuse_constant, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        return None, (Problem(f"line {error.lineno}, column {error.colno}", f"not JSON: {error.msg}"),)
    except _NotJson as error:
        return None, (Problem("$", f"not JSON: {error}"),)
    except ValueError:
        return None, (Problem("$", "not JSON: a number of too many digits"),)
    except RecursionError:
        return None, (Problem("$", "not JSON: nested too deeply"),)
    if not isinstance(arguments, dict):
        return None, (Problem("$", "the arguments must be a JSON object, such as {}"),)
    if repeated:
        return None, tuple(Problem("$", f"{name!r} stands more than once in one object") for name in repeated)
    return arguments, ()


def working_copy(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments that share nothing with what is recorded and what the model sees (spec/faults.md d15, d16)."""
    copy = dict(arguments)
    rest: list[Any] = [copy]
    # a model may nest as deep as JSON can be read, which is deeper than `deepcopy` goes
    while rest:
        holder = rest.pop()
        for key, item in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if isinstance(item, (Mapping, list, tuple)):
                holder[key] = dict(item) if isinstance(item, Mapping) else list(item)
                rest.append(holder[key])
    return copy


class _NotJson(ValueError):
    """A word or a number that JSON doesn't have."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NotJson(f"there is no {name} in it")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _NotJson(f"{text} is too large a number")
    return number
