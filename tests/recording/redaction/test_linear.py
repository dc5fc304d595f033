"""No expression of the rules can be made slow by a hostile text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from loopkit.recording.redaction import assignments, names, placeholders, redactor, shapes, suspicion

parser: Any = pytest.importorskip("re._parser")
REPEATS = {"MAX_REPEAT", "MIN_REPEAT"}
MANY = 100


def expressions() -> Iterator[tuple[str, str]]:
    modules: list[ModuleType] = [assignments, names, placeholders, redactor, shapes, suspicion]
    for module in modules:
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                yield f"{module.__name__}.{name}", value.pattern
    for shape, whole in zip(shapes.SHAPES, shapes._WHOLE, strict=True):
        yield f"shape {shape.prefix}", whole.pattern


def nested_repeats(tree: Any, *, inside: bool = False) -> bool:
    for kind, argument in tree:
        name = str(kind)
        if name in REPEATS:
            _, most, body = argument
            long = int(most) > MANY
            if (inside and long) or nested_repeats(body, inside=inside or long):
                return True
        elif any(
            nested_repeats(part, inside=inside) for part in _parts(argument) if isinstance(part, parser.SubPattern)
        ):
            return True
    return False


def _parts(argument: Any) -> Iterator[Any]:
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, (tuple, list)):
        for part in argument:
            yield from _parts(part)


@pytest.mark.parametrize(("name", "pattern"), list(expressions()))
def test_no_repetition_stands_in_a_repetition(name: str, pattern: str) -> None:
    assert not nested_repeats(parser.parse(pattern)), name


def test_the_check_itself_finds_one() -> None:
    assert nested_repeats(parser.parse("(?:a+b?)+"))
    assert not nested_repeats(parser.parse("(?:a|b)+c{2,5}"))
