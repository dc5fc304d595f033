"""Two runs aligned: what differs is named, what is the same stands opposite itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings

from loopkit import Agent, Deny, Modify, Recorder, ScriptedProvider, ToolCall, ToolLoopConfig, tool
from loopkit.debugger.comparison import RunComparison, compare_runs
from loopkit.debugger.comparison_report import comparison_data, comparison_lines
from loopkit.debugger.recorded import open_recording
from tests.drivers.random_agents import plans
from tests.drivers.random_runs import meddlings, play

LOOK = ToolCall("a", "look", {"path": "a.txt"})
SCRIPT: tuple[Any, ...] = ("First.", LOOK), ToolCall("b", "look", {"path": "b.txt"}), "Done."


def run_of(
    file: Path,
    script: Sequence[Any] = SCRIPT,
    *,
    system: str = "Be brief.",
    task: str = "go",
    said: str = "says hello",
    about: str = "Look at a file.",
    name: str = "looker",
    **config: Any,
) -> Path:
    @tool(description=about)
    def look(path: str) -> str:
        return f"{path} {said}"

    @tool
    async def ask(question: str) -> str:
        """Ask somebody."""
        return (await Agent(ScriptedProvider([LOOK, "helped"]), tools=[look], name="helper").run(question)).text

    agent = Agent(
        ScriptedProvider([list(turn) if isinstance(turn, tuple) else turn for turn in script]),
        tools=[look, ask],
        system=system,
        name=name,
        config=ToolLoopConfig(**config),
    )
    agent.run_sync(task, recorder=Recorder(file))
    return file


def compared(left: Path, right: Path) -> RunComparison:
    return compare_runs(open_recording(left), open_recording(right))


def found(comparison: RunComparison) -> list[str]:
    """What differs, with the iteration, in order."""
    words: list[str] = []
    for loop in comparison.loops:
        words += [difference.what for difference in loop.start]
        for step in loop.steps:
            number = (step.left or step.right).number  # type: ignore[union-attr]  # one of them is there
            words += [f"{number}: {difference.what}" for difference in step.differences]
            words += [] if step.side == "both" else [f"{number}: only {step.side}"]
        words += [difference.what for difference in loop.end]
    return words


@given(plan=plans(), meddling=meddlings())
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_run_is_the_same_as_itself(tmp_path_factory: pytest.TempPathFactory, plan: Any, meddling: Any) -> None:
    file = tmp_path_factory.mktemp("any") / "run.jsonl"

    async def record() -> None:
        await play(plan, meddling, Recorder(file))

    anyio.run(record)
    comparison = compared(file, file)
    assert comparison.same
    assert comparison.first_difference() is None
    assert {loop.left.path for loop in comparison.loops if loop.left} == set(open_recording(file).timeline.loops)


@pytest.mark.parametrize(
    ("change", "differences"),
    [
        ({"system": "Be verbose."}, ["system prompt"]),
        ({"task": "come"}, ["message 2"]),
        ({"about": "Look into a file."}, ["tool look"]),
        ({"name": "viewer"}, ["agent"]),
        ({"max_iterations": 5}, ["configuration max_iterations"]),
        ({"said": "is silent"}, ["1: result of call 1", "2: result of call 1"]),
        ({"script": (*SCRIPT[:2], "Finished.")}, ["3: text"]),
        ({"script": (("First.", ToolCall("a", "look", {"path": "c.txt"})), *SCRIPT[1:])},
         ["1: arguments of call 1", "1: result of call 1"]),
        ({"script": (("First.", LOOK, ToolCall("x", "look", {"path": "x"})), *SCRIPT[1:])}, ["1: call 2"]),
        ({"script": SCRIPT[:2], "max_iterations": 2}, ["configuration max_iterations", "3: only left", "outcome"]),
        ({"on_tool_call": lambda call: Deny("no") if call.id == "b" else None},
         ["configuration on_tool_call", "2: decision on call 1", "2: result of call 1", "2: outcome of call 1"]),
        ({"on_tool_call": lambda call: Modify({"path": "a.txt"})},
         ["configuration on_tool_call", "1: decision on call 1", "2: decision on call 1", "2: result of call 1"]),
    ],
)  # fmt: skip
def test_what_differs_is_named_and_nothing_else(change: dict[str, Any], differences: list[str], tmp_path: Path) -> None:
    script = change.pop("script", SCRIPT)
    comparison = compared(run_of(tmp_path / "a.jsonl"), run_of(tmp_path / "b.jsonl", script, **change))
    assert found(comparison) == differences
    assert not comparison.same


def test_an_iteration_more_leaves_the_others_opposite_themselves(tmp_path: Path) -> None:
    """Sub-agents too: theirs is the call that started them, not the number of its iteration."""
    ask = ToolCall("q", "ask", {"question": "help"})
    left = run_of(tmp_path / "a.jsonl", (LOOK, ask, "Done."))
    right = run_of(tmp_path / "b.jsonl", (LOOK, ToolCall("n", "look", {"path": "new"}), ask, "Done."))
    comparison = compared(left, right)
    assert found(comparison) == ["2: only right"]
    assert [(loop.left and loop.left.path, loop.right and loop.right.path) for loop in comparison.loops] == [
        ("root", "root"),
        ("root/2.1#1", "root/3.1#1"),
    ]
    parted = comparison_data(comparison)["parted_at"]
    assert parted == {"left_loop": "root", "right_loop": "root", "iteration": {"left": None, "right": 2}, "what": None}


def test_a_sub_agent_without_counterpart_is_shown(tmp_path: Path) -> None:
    left = run_of(tmp_path / "a.jsonl", (ToolCall("q", "ask", {"question": "help"}), "Done."))
    right = run_of(tmp_path / "b.jsonl", (ToolCall("q", "nobody", {}), "Done."))
    lines = [text for text, _ in comparison_lines(compared(left, right))]
    assert "- root/1.1#1 (helper): only in A, complete" in lines


def test_measures_are_no_difference(tmp_path: Path) -> None:
    """Tokens, cost and time stand beside; two runs of one script are the same."""
    comparison = compared(run_of(tmp_path / "a.jsonl"), run_of(tmp_path / "b.jsonl"))
    assert comparison.same
    assert [text for text, _ in comparison_lines(comparison)][-1] == "the same"


def test_what_runs_say_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    """spec/faults.md e: every line is safe, whole or cut."""
    left = run_of(tmp_path / "a.jsonl", said="\x1b[2J\u202e")
    right = run_of(tmp_path / "b.jsonl", said="\x9b31m\n" * 100, name="\x1b]0;x\x07")
    for whole in (False, True):
        lines = [text for text, _ in comparison_lines(compared(left, right), whole=whole)]
        assert all(text.isprintable() for text in lines)
        assert sum("more lines" in text for text in lines) == (0 if whole else 2)


def test_it_is_one_json_object(tmp_path: Path) -> None:
    data = comparison_data(compared(run_of(tmp_path / "a.jsonl"), run_of(tmp_path / "b.jsonl", said="waves")))
    assert json.loads(json.dumps(data)) == data
    assert data["loops"][0]["iterations"][0]["differences"] == [
        {"what": "result of call 1", "left": "a.txt says hello", "right": "a.txt waves"}
    ]


def test_long_runs_of_the_same_call_are_compared_too(tmp_path: Path) -> None:
    """A thousand equal iterations are a debugger's daily work; one in the middle of them is found."""
    left = run_of(tmp_path / "a.jsonl", (*[LOOK] * 400, "Done."), max_iterations=2000)
    right = run_of(
        tmp_path / "b.jsonl", (*[LOOK] * 200, ToolCall("n", "ask", {}), *[LOOK] * 200, "Done."), max_iterations=2000
    )
    assert found(compared(left, right)) == ["201: only right"]
