"""`@tool`: what it makes of a function, and how arguments reach it."""

from __future__ import annotations

import functools
import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Literal

import jsonschema
import pytest

from loopkit.core.depth import LoopContext
from loopkit.errors import AgentBuildError
from loopkit.tools.conversion import ConversionError
from loopkit.tools.definition import Tool, tool
from loopkit.tools.registry import ToolRegistry


@dataclass
class Edit:
    line: int
    text: str = ""


@tool
def read_file(path: str, limit: int = 100) -> str:
    """Read a text file.

    Args:
        path: where it is
    """
    return f"{path}:{limit}"


@tool(side_effect="irreversible", polling=True, timeout=2, name="edit", description="Change it.")
async def edit_file(path: str, edits: list[Edit]) -> int:
    """Not these words."""
    return len(edits)


def test_bare_decorator_describes_the_function() -> None:
    definition = read_file.definition
    assert (definition.name, definition.description) == ("read_file", "Read a text file.")
    assert (definition.side_effect, definition.polling, definition.timeout) == (None, False, None)
    assert definition.parameters["properties"]["path"] == {"type": "string", "description": "where it is"}
    assert not read_file.is_async
    assert not read_file.wants_context


@pytest.mark.anyio
async def test_keyword_arguments_say_more_and_an_async_function_stays_one() -> None:
    definition = edit_file.definition
    assert (definition.name, definition.description) == ("edit", "Change it.")
    assert (definition.side_effect, definition.polling, definition.timeout) == ("irreversible", True, 2.0)
    assert edit_file.is_async
    assert await edit_file(**edit_file.arguments({"path": "a", "edits": [{"line": 1}, {"line": 2}]})) == 2


def test_tool_stays_callable_as_the_function_it_was() -> None:
    assert read_file(path="x") == "x:100"
    assert read_file("x", 3) == "x:3"
    assert read_file.__name__ == "read_file"
    assert read_file.__doc__ is not None
    assert read_file.__doc__.startswith("Read a text file.")
    assert list(inspect.signature(read_file).parameters) == ["path", "limit"]


def test_repr_is_readable() -> None:
    assert repr(read_file) == "<tool read_file(path, limit=…)>"
    assert repr(edit_file) == "<async tool edit(path, edits)>"


def test_tools_are_equal_only_when_the_same() -> None:
    def act() -> None: ...

    assert tool(act) != tool(act)
    assert {read_file: 1}[read_file] == 1


def test_timeout_may_be_a_timedelta() -> None:
    @tool(timeout=timedelta(minutes=1))
    def act() -> None: ...

    assert act.definition.timeout == 60.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "has space"}, "no name for a tool"),
        ({"name": ""}, "no name for a tool"),
        ({"name": "x" * 65}, "no name for a tool"),
        ({"name": "line\n"}, "no name for a tool"),
        ({"side_effect": "write"}, "side_effect is one of read, idempotent, irreversible"),
        ({"timeout": 0}, "seconds above 0"),
        ({"timeout": float("inf")}, "seconds above 0"),
        ({"timeout": True}, "seconds above 0"),
    ],
)
def test_wrong_option_is_refused(options: dict[str, Any], words: str) -> None:
    def act() -> None: ...

    with pytest.raises(AgentBuildError, match=words):
        tool(**options)(act)


def generator() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda: None, "no name for a tool"),
        (generator, "generator"),
        (read_file, "a tool already"),
        (Edit, "can't be a tool"),
        ("read", "can't be a tool"),
    ],
)
def test_what_is_no_function_is_refused(function: Any, words: str) -> None:
    with pytest.raises(AgentBuildError, match=words):
        tool(function)


# ── kinds of functions ───────────────────────────────────────────────────────────────────────────────────────────────


class Shop:
    def __init__(self, stock: int) -> None:
        self.stock = stock

    @tool
    def sell(self, count: int) -> int:
        """Sell some."""
        return self.stock - count


def test_decorated_method_is_bound_to_its_object() -> None:
    first, second = Shop(10), Shop(20)
    assert list(first.sell.definition.parameters["properties"]) == ["count"]
    assert first.sell(3) == 7
    assert second.sell(count=3) == 17
    assert first.sell is first.sell
    assert ToolRegistry([second.sell])["sell"](**second.sell.arguments({"count": 1})) == 19


def test_method_without_its_object_is_refused_by_the_registry() -> None:
    with pytest.raises(AgentBuildError, match=r"give instance\.sell"):
        ToolRegistry([Shop.sell])


def test_plain_bound_method_partial_and_callable_object_are_functions_too() -> None:
    class Greeter:
        async def __call__(self, name: str) -> str:
            """Greet."""
            return name

    def add(left: int, right: int) -> int:
        """Add."""
        return left + right

    greet = tool(name="greet")(Greeter())
    assert greet.is_async
    assert greet.definition.description == "Greet."
    assert list(greet.definition.parameters["properties"]) == ["name"]
    plus_one = tool(functools.partial(add, right=1))
    assert plus_one.definition.name == "add"
    assert plus_one(**plus_one.arguments({"left": 2})) == 3


def test_wrapped_function_keeps_its_signature() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return call

    @tool
    @logged
    def act(edit: Edit) -> int:
        """Act."""
        return edit.line

    assert act.definition.description == "Act."
    assert act(**act.arguments({"edit": {"line": 4}})) == 4


def test_classes_of_the_enclosing_function_are_found() -> None:
    """With postponed annotations their names are in no module."""

    @dataclass
    class Inner:
        size: int

    @dataclass
    class Outer:
        inner: Inner

    @tool
    def bare(outer: Outer) -> int:
        return outer.inner.size

    @tool(name="named")
    def given(outer: Outer) -> int:
        return outer.inner.size

    for made in (bare, given):
        assert made(**made.arguments({"outer": {"inner": {"size": 3}}})) == 3


# ── context ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_context_goes_to_the_parameter_that_asks_for_it() -> None:
    """Rule 7.2."""

    @tool
    def act(path: str, ctx: LoopContext[int]) -> tuple[str, int]:
        return path, ctx.loop_depth()

    assert act.wants_context
    assert act(**act.arguments({"path": "a"}, LoopContext(0, 2))) == ("a", 2)


def test_model_cannot_give_the_context() -> None:
    @tool
    def act(path: str, ctx: LoopContext[int] | None = None) -> None: ...

    given = {"path": "a", "ctx": {"state": 1, "depth": 0}}
    assert [problem.path for problem in act.problems(given)] == ["$.ctx"]
    with pytest.raises(ConversionError, match="not known"):
        act.arguments(given)


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@tool
def configure(
    mode: Literal["fast", "slow"],
    limit: Annotated[int, {"minimum": 1, "maximum": 600}] = 5,
    edits: tuple[Edit, ...] = (),
    anything: Any = None,
) -> None: ...


def test_problems_name_path_and_reason() -> None:
    """Rule 9.1."""
    given = {"mode": "odd", "limit": 3000, "edits": [{"line": 1}, {"line": "x", "texts": 1}], "extra": 1}
    assert {str(problem) for problem in configure.problems(given)} == {
        "mode: 'odd' is not one of 'fast', 'slow'",
        "limit: 3000 is more than 600",
        "edits[1].line: an integer is expected, not 'x'",
        "edits[1].texts: this key is not known; allowed are 'line', 'text'",
        "extra: this key is not known; allowed are 'mode', 'limit', 'edits', 'anything'",
    }


def test_fitting_arguments_have_no_problems() -> None:
    assert configure.problems({"mode": "fast", "limit": 5.0, "edits": [{"line": 1}], "anything": {"a": [None]}}) == ()


def test_validator_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Building it costs fifty times what a check costs (spec/performance.md 5)."""
    built: list[object] = []
    original = jsonschema.Draft202012Validator

    def build(schema: Any, **options: Any) -> Any:
        built.append(schema)
        return original(schema, **options)

    monkeypatch.setattr(jsonschema, "Draft202012Validator", build)
    fresh = tool(name="x")(lambda: None)
    assert built == []
    for _ in range(5):
        assert fresh.problems({"unknown": 1})
    assert len(built) == 1


def test_defining_tools_loads_no_jsonschema() -> None:
    """It would be half of a cold start (spec/performance.md 7)."""
    program = (
        "import sys\n"
        "from loopkit.tools.registry import ToolRegistry\n"
        "def act(path: str) -> str: return path\n"
        "registry = ToolRegistry([act])\n"
        "early = [name for name in ('jsonschema', 'asyncio', 'anyio', 'httpx') if name in sys.modules]\n"
        "registry['act'].problems({})\n"
        "print(early, 'jsonschema' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"


# ── recorded data stays as it was ────────────────────────────────────────────────────────────────────────────────────


def test_handler_cannot_change_what_is_recorded() -> None:
    """spec/faults.md d15, d16."""

    @tool
    def act(table: dict[str, Any], items: list[list[int]], anything: Any) -> None:
        table["nested"]["key"] = "changed"
        items[0].append(9)
        anything["deep"][0]["x"] = "changed"

    recorded = {"table": {"nested": {"key": 1}}, "items": [[1]], "anything": {"deep": [{"x": 1}]}}
    before = json.dumps(recorded)
    act(**act.arguments(recorded))
    assert json.dumps(recorded) == before


def test_schema_does_not_share_a_default_with_the_function() -> None:
    """spec/faults.md d15: the definition is recorded."""

    @tool
    def act(items: list[int] = [1]) -> None:  # noqa: B006  # the case under test
        items.append(2)

    act()
    assert act.definition.parameters["properties"]["items"]["default"] == [1]


def test_left_out_arguments_stay_the_functions_own_defaults() -> None:
    assert read_file.arguments({"path": "a"}) == {"path": "a"}


def test_class_that_refuses_its_values_is_a_problem_not_an_exception() -> None:
    @dataclass
    class Positive:
        value: int

        def __post_init__(self) -> None:
            if self.value <= 0:
                raise ValueError("it must be\nabove 0")

    @tool
    def act(numbers: list[Positive]) -> int:
        return sum(number.value for number in numbers)

    assert [str(problem) for problem in act.problems({"numbers": [{"value": 1}, {"value": 0}]})] == [
        r"numbers[1]: Positive refuses it: it must be\nabove 0"
    ]


def test_every_tool_is_a_tool() -> None:
    assert isinstance(read_file, Tool)
    assert isinstance(Shop(1).sell, Tool)
