"""JSON Schema of a function's parameters, and the signatures that have none."""

from __future__ import annotations

import collections.abc as abstract
from typing import Annotated, Any

import pytest
from jsonschema import Draft202012Validator

from loopkit.core.depth import LoopContext, LoopDepth
from loopkit.errors import AgentBuildError
from loopkit.tools.schema import function_schema
from tests.tools.test_schema import ORIGIN, Colour, Point


def test_parameters_take_words_defaults_and_requirement_from_the_function() -> None:
    def search(text: str, limit: Annotated[int, {"minimum": 1}] = 5, colour: Colour = Colour.RED) -> None:
        """Search.

        Args:
            text: what to look for,
                in any case.
            limit (int, optional): how many
        """

    assert function_schema(search) == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "what to look for, in any case."},
            "limit": {"type": "integer", "description": "how many", "minimum": 1, "default": 5},
            "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        },
        "required": ["text"],
        "additionalProperties": False,
    }


def test_annotated_words_win_over_the_docstring() -> None:
    def search(text: Annotated[str, "these"]) -> None:
        """Search.

        Args:
            text: not these
        """

    assert function_schema(search)["properties"]["text"]["description"] == "these"


def test_default_that_json_cannot_say_is_left_out() -> None:
    def act(point: Point = ORIGIN, ratio: float = float("nan"), places: tuple[int, ...] = (1, 2)) -> None: ...

    properties = function_schema(act)["properties"]
    assert "default" not in properties["point"]
    assert "default" not in properties["ratio"]
    assert properties["places"]["default"] == [1, 2]
    assert "required" not in function_schema(act)


def test_function_without_parameters_takes_an_empty_object() -> None:
    def now() -> str:
        return ""

    assert function_schema(now) == {"type": "object", "properties": {}, "additionalProperties": False}


class OwnContext:
    def loop_depth(self) -> int:
        return 0

    def with_depth(self, depth: int) -> OwnContext:
        return self


@pytest.mark.parametrize("hint", [LoopContext, LoopContext[int], LoopContext[Any] | None, LoopDepth, OwnContext])
def test_context_parameter_is_not_in_the_schema(hint: Any) -> None:
    """Rule 7.2: handlers get the context; a model can't give it."""

    def act(ctx: Any, path: str) -> None: ...

    act.__annotations__["ctx"] = hint
    assert list(function_schema(act)["properties"]) == ["path"]


def test_context_class_imported_for_type_checkers_only_is_known_by_name() -> None:
    def act(ctx: Any, path: str) -> None: ...

    act.__annotations__["ctx"] = "missing_module.LoopContext[int]"
    assert list(function_schema(act)["properties"]) == ["path"]


def unannotated(path) -> None:  # type: ignore[no-untyped-def]  # the case under test
    ...


def starred(*paths: str) -> None: ...


def double_starred(**options: str) -> None: ...


def positional(path: str, /) -> None: ...


def callback(then: abstract.Callable[[], None]) -> None: ...


def unknown_class(what: Draft202012Validator) -> None: ...


def numbered(table: dict[int, str]) -> None: ...


def unresolved(what: NotThere) -> None:  # type: ignore[name-defined]  # noqa: F821  # the case under test
    ...


def typo(count: Annotated[int, {"minimun": 1}]) -> None: ...


def wrong_keyword(count: Annotated[int, {"minimum": "1"}]) -> None: ...


def bad_pattern(text: Annotated[str, {"pattern": "("}]) -> None: ...


def two_contexts(first: LoopContext[int], second: LoopDepth) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (unannotated, "parameter 'path' of unannotated: it needs a type hint"),
        (starred, "name each parameter"),
        (double_starred, "name each parameter"),
        (positional, "remove the `/`"),
        (callback, "Callable has no form in JSON"),
        (unknown_class, "parameter 'what' of unknown_class: Draft202012Validator has no form in JSON"),
        (numbered, "keys of a JSON object are text"),
        (unresolved, "'NotThere' is not defined"),
        (typo, "'minimun' is no JSON Schema keyword"),
        (wrong_keyword, "the keyword 'minimum' takes int or float, not '1'"),
        (bad_pattern, "not a regular expression"),
        (two_contexts, "only one parameter can get the context, not first and second"),
    ],
)
def test_function_that_no_schema_fits_is_refused_by_parameter(function: Any, words: str) -> None:
    with pytest.raises(AgentBuildError) as refusal:
        function_schema(function)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)
