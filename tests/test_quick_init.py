"""Classes that are made quickly behave as frozen dataclasses do."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, dataclass, field, replace

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


def test_it_takes_what_the_slow_one_takes() -> None:
    assert list(inspect.signature(Quick).parameters) == list(inspect.signature(Slow).parameters)
    assert Quick.__init__.__annotations__ == Slow.__init__.__annotations__
    assert Quick("a", wide=True) == Quick("a", [], True)
    assert replace(Quick("a"), name="b") == Quick("b")
    assert repr(Quick("a", [1])) == "Quick(name='a', items=[1], wide=False)"


def test_defaults_are_made_anew_for_each() -> None:
    Quick("a").items.append(1)
    assert Quick("a").items == []
    assert ToolCall("1", "find").arguments is not ToolCall("2", "find").arguments


def test_it_stays_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Quick("a").name = "b"  # type: ignore[misc]  # that it can't be set is what is tested


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
    class Open:
        name: str

    for cls in (Checked, Open):
        with pytest.raises(TypeError, match="not plain enough"):
            quickly_made(cls)
