"""Classes that are made quickly behave as frozen dataclasses do."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Any

import pytest

from loopkit.messages import ToolCall
from loopkit.quick_init import quickly_made


@dataclass(frozen=True, slots=True)
class Slow:
    name: str
    items: list[int] = field(default_factory=list)
    wide: bool = False


@quickly_made
@dataclass(frozen=True, slots=True)
class Quick:
    name: str
    items: list[int] = field(default_factory=list)
    wide: bool = False


@quickly_made
@dataclass(frozen=True)
class WithoutSlots:
    name: str
    items: list[int] = field(default_factory=list)
    wide: bool = False


QUICK = pytest.mark.parametrize("quick", [Quick, WithoutSlots])


@QUICK
def test_it_takes_what_the_slow_one_takes(quick: Any) -> None:
    assert list(inspect.signature(quick).parameters) == list(inspect.signature(Slow).parameters)
    assert quick.__init__.__annotations__ == Slow.__init__.__annotations__
    assert quick("a", wide=True) == quick("a", [], True)
    assert replace(quick("a"), name="b") == quick("b")
    assert repr(quick("a", [1])) == f"{quick.__name__}(name='a', items=[1], wide=False)"


@QUICK
def test_defaults_are_made_anew_for_each(quick: Any) -> None:
    quick("a").items.append(1)
    assert quick("a").items == []
    assert ToolCall("1", "find").arguments is not ToolCall("2", "find").arguments


@QUICK
def test_it_stays_frozen(quick: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        quick("a").name = "b"


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        Quick()  # type: ignore[call-arg]  # that it is refused is what is tested
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        Quick("a", other=1)  # type: ignore[call-arg]  # as above


def test_a_class_that_does_more_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Checked:
        name: str

        def __post_init__(self) -> None:
            raise ValueError

    @dataclass(frozen=True)
    class Inheriting(WithoutSlots):
        more: int = 0

    for cls in (Checked, Inheriting):
        with pytest.raises(TypeError, match="not plain enough"):
            quickly_made(cls)
