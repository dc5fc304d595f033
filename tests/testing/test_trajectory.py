"""Assertions on what a run did: on a recording, on a live run, and what they say when they fail (issue 4, item 7)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from loopkit import Agent, ScriptedProvider, ToolCall, ToolLoopConfig, Usage, tool
from loopkit.core.config import LoopAction, LoopDetectionConfig
from loopkit.errors import UserError
from loopkit.outcomes import Approve, Complete, Deny, MaxIterations, Modify, Respond
from loopkit.testing import Call, Trajectory, observe, observe_sync

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "loopkit" / "demo" / "flaky-test.jsonl"

pytestmark = pytest.mark.anyio


@tool(side_effect="read")
def read_file(path: str, lines: list[int] | None = None) -> str:
    """Read a file."""
    if path == "none.txt":
        raise FileNotFoundError(path)
    return f"text of {path}"


@tool
def write_file(path: str, text: str) -> str:
    """Write a file."""
    return "written"


def agent(*script: object, **config: object) -> Agent:
    return Agent(
        ScriptedProvider(list(script), usage=Usage(30, 20)),  # type: ignore[arg-type]  # a row of any answers
        tools=[read_file, write_file],
        config=ToolLoopConfig(**config),  # type: ignore[arg-type]  # whatever the test says
    )


def call(_tool: str, **arguments: object) -> ToolCall:
    return ToolCall(_tool, _tool, arguments)


@pytest.fixture
def run() -> Trajectory:
    return observe_sync(
        agent(
            [call("read_file", path="a.txt", lines=[1, 2]), call("read_file", path="none.txt")],
            call("write_file", path="b.txt", text="Hello there"),
            "All is written.",
        ),
        "go",
    )


@pytest.fixture
def demo() -> Trajectory:
    return Trajectory.of_file(DEMO)


def failure_of(assertion: Callable[[], object]) -> str:
    with pytest.raises(AssertionError) as failed:
        assertion()
    return str(failed.value)


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_calls_are_counted(run: Trajectory) -> None:
    assert [found.id for found in run.called("read_file", times=2)] == ["root/1.1", "root/1.2"]
    run.called("write_file").copy()
    run.called(re.compile("read_.*|write_.*"), at_least=2, at_most=3)
    run.not_called("delete_file").not_called("read_file", arguments={"path": "c.txt"})
    assert "read_file was called 2×, expected 3×" in failure_of(lambda: run.called("read_file", times=3))
    assert "read_file was called 2×, expected at most 1×" in failure_of(lambda: run.called("read_file", at_most=1))
    assert "read_file was called 2×, expected 0×" in failure_of(lambda: run.not_called("read_file"))
    assert "read was called 0×, expected 1× or more" in failure_of(lambda: run.called("read"))


def test_a_failure_shows_what_happened_and_points_at_the_calls(run: Trajectory) -> None:
    told = failure_of(lambda: run.called("read_file", times=3)).splitlines()
    pointed = [line for line in told if line.startswith(">")]
    assert len(pointed) == 2
    assert 'path="a.txt"' in pointed[0]
    assert any("write_file" in line for line in told)
    assert any("complete" in line for line in told)


@pytest.mark.parametrize(
    "pattern",
    [
        {"path": "a.txt"},
        {"path": re.compile(r"\.txt$"), "lines": [1, 2]},
        {"path": lambda path: path.startswith("a"), "lines": [1, int]},
        {"lines": ...},
        {"lines": list},
        lambda arguments: len(arguments) == 2,
    ],
)
def test_arguments_are_met_by_a_part_a_pattern_or_a_predicate(run: Trajectory, pattern: object) -> None:
    run.called("read_file", arguments=pattern, times=1)  # type: ignore[arg-type]  # all kinds


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ({"path": "b.txt"}, 'root/1.1: path is "a.txt", expected "b.txt"'),
        ({"path": re.compile("^b")}, 'root/1.1: path is "a.txt", expected /^b/'),
        ({"mode": "r"}, "root/1.1: mode is missing"),
        ({"lines": [1, 3]}, "root/1.1: lines[1] is 2, expected 3"),
        ({"lines": [True, 2]}, "root/1.1: lines[0] is 1, expected true"),
        ({"path": str.isupper}, 'root/1.1: path is "a.txt", isupper does not take it'),
        ({"path": len, "lines": lambda lines: lines > 3}, "raises TypeError: '>' not supported"),
        (lambda arguments: arguments["mode"], "root/1.1: <lambda> raises KeyError: 'mode'"),
    ],
)
def test_a_failure_says_how_the_nearest_calls_differ(run: Trajectory, pattern: object, words: str) -> None:
    assert words in failure_of(lambda: run.called("read_file", arguments=pattern))  # type: ignore[arg-type]  # all kinds


def test_arguments_can_be_expected_exactly(run: Trajectory) -> None:
    told = failure_of(lambda: run.called("write_file", arguments={"path": "b.txt"}, exactly=True))
    assert "root/2.1: text is there too" in told


def test_order(run: Trajectory) -> None:
    found = run.called_in_order("read_file", Call("write_file", {"path": "b.txt"}))
    assert [each.id for each in found] == ["root/1.1", "root/2.1"]
    told = failure_of(lambda: run.called_in_order("write_file", "read_file"))
    assert "call 2 of the order, read_file, does not come after root/2.1" in told
    assert "call 3 of the order, read_file" in failure_of(lambda: run.called_in_order(*["read_file"] * 3))


def test_tool_errors(run: Trajectory) -> None:
    assert "1 call went wrong" in failure_of(run.no_tool_errors)
    observe_sync(agent(call("read_file", path="a"), "Done."), "go").no_tool_errors()


# ── decisions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_decisions_and_what_ran() -> None:
    """A call that somebody denied was called and did not run."""

    def decide(asked: ToolCall) -> object:
        answers = {
            "a": Deny("not this one"),
            "b": Modify({"path": "c"}),
            "d": Respond("already read"),
            "e": Approve(),
        }
        return answers[asked.arguments["path"]]

    calls = [call("read_file", path=path) for path in "abde"]
    run = observe_sync(agent(calls, "Done.", on_tool_call=decide), "go")
    run.denied("read_file", reason="this one", by="on_tool_call", times=1)
    run.edited("read_file", arguments={"path": "c"}, times=1)
    run.answered("read_file", output=re.compile("already"))
    run.approved("read_file", times=1)
    run.decided_by("on_tool_call", times=4)
    run.called("read_file", times=4)
    run.ran("read_file", times=2)
    run.not_ran("read_file", arguments={"path": "a"})
    run.ran("read_file", arguments={"path": "c"})
    assert "read_file was denied by person 0×" in failure_of(lambda: run.denied("read_file", by="person"))
    assert "a call was decided on by person 0×" in failure_of(lambda: run.decided_by("person"))
    assert "read_file was run 2×, expected 0×" in failure_of(lambda: run.not_ran("read_file"))


def test_a_policy_decides_by_its_name() -> None:
    script = (call("write_file", path="a", text=""), "Done.")
    run = observe_sync(agent(*script), "go", approve="read-only")
    run.denied("write_file", by="policy").copy()
    run.decided_by("policy: read-only", "write_file", times=1)
    with pytest.raises(UserError, match="approve='everything' is none of"):
        observe_sync(agent(*script), "go", approve="everything")  # type: ignore[arg-type]  # a mistake


# ── bounds, ends ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_bounds(run: Trajectory) -> None:
    run.at_most(iterations=3, calls=3, tokens=150, sub_agents=0, depth=0)
    assert "it took 3 iterations, expected at most 2" in failure_of(lambda: run.at_most(iterations=2))
    assert "it took 150 tokens, expected at most 149" in failure_of(lambda: run.at_most(tokens=149))
    assert "it took 3 calls, expected at most 2" in failure_of(lambda: run.at_most(calls=2))


def test_an_unknown_cost_is_not_cheap(run: Trajectory) -> None:
    """features 27, 76: what is unknown is said to be unknown."""
    told = failure_of(lambda: run.at_most(cost=100.0))
    assert "what it cost is not known, expected at most 100 dollars: 3 answers without a price" in told


def test_tokens_that_nobody_reported_keep_no_bound() -> None:
    quiet = Agent(ScriptedProvider(["Done."]))
    told = failure_of(lambda: observe_sync(quiet, "go").at_most(tokens=1000))
    assert "0 tokens or more, since some answers reported none" in told


def test_loop_warnings() -> None:
    asked = [call("read_file", path="a")] * 4
    detection = LoopDetectionConfig(threshold=3, action=LoopAction.WARN)
    run = observe_sync(agent(*asked, "Done.", loop_detection=detection), "go")
    told = failure_of(run.no_loop_warnings)
    assert "it goes in circles: read_file 3×, same arguments, since iteration 1" in told
    assert told.count("\n>") >= 3
    observe_sync(agent(*asked[:2], "Done.", loop_detection=detection), "go").no_loop_warnings()


def test_the_end_and_the_last_words(run: Trajectory) -> None:
    run.ended("complete").ended(Complete).ended(Complete()).said("written").said(re.compile("^All"))
    assert "it ended: complete, expected timeout" in failure_of(lambda: run.ended("timeout"))
    assert "it ended: complete, expected MaxIterations" in failure_of(lambda: run.ended(MaxIterations))
    assert 'not as expected, "rubbish": All is written.' in failure_of(lambda: run.said("rubbish"))
    short = observe_sync(agent(*[call("read_file", path="a")] * 3, max_iterations=2), "go")
    short.ended(MaxIterations(2))


def test_a_run_that_fails_is_an_outcome() -> None:
    run = observe_sync(agent(ConnectionError("gone")), "go")
    run.failed_with("ConnectionError", "gone").ended("failed")
    assert isinstance(run.error, ConnectionError)
    assert 'expected ConnectionError with "here"' in failure_of(lambda: run.failed_with("ConnectionError", "here"))
    assert "it ended: complete" in failure_of(lambda: observe_sync(agent("Done."), "go").failed_with("ValueError"))


async def test_a_live_run_is_observed_in_the_tests_own_event_loop() -> None:
    run = await observe(agent(call("read_file", path="a"), "Done."), "go")
    run.called("read_file", times=1)
    assert run.result is not None
    assert run.result.text == run.text == "Done."


# ── sub-agents ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_calls_of_sub_agents_count_unless_told_otherwise(demo: Trajectory) -> None:
    """features 25, 27: the tree is not flat, and totals hold what sub-agents did."""
    demo.called("query_orders", agent="bookkeeper")
    demo.called("query_orders", depth=2)
    demo.not_called("query_orders", depth=0)
    investigator = demo.sub_agents("investigator")[0]
    investigator.called("ask_bookkeeper", depth=0)
    investigator.called("query_orders", depth=1)
    investigator.not_called("investigate").ended("complete")
    assert len(investigator.calls) < len(demo.calls)
    assert investigator.usage.input_tokens < demo.usage.input_tokens
    told = failure_of(lambda: investigator.called("run_tests"))
    assert "what happened" in told
    assert "mechanic" not in told
    assert "sub-agents are named 'gardener', not one" in failure_of(lambda: demo.sub_agent("gardener"))


def test_decisions_of_people_in_a_recording(demo: Trajectory) -> None:
    """features 11, 55: a person's decisions are part of what a test asserts."""
    demo.denied("delete_orders", by="person", reason="accountant")
    demo.edited("run_tests", by="person", arguments={"rounds": 6})
    demo.not_ran("delete_orders")


def test_a_long_story_is_cut_but_keeps_the_calls_that_are_meant() -> None:
    script = [call("read_file", path=f"{number}.txt") for number in range(60)]
    run = observe_sync(agent(*script, "Done.", max_iterations=100), "go")
    told = failure_of(lambda: run.called("read_file", arguments={"path": "30.txt"}, times=2))
    assert len(told.splitlines()) < 40
    (pointed,) = [line for line in told.splitlines() if line.startswith(">")]
    assert "30.txt" in pointed


def test_hostile_text_reaches_no_terminal() -> None:
    """spec/faults.md e6: nothing that a model says acts on the screen of whoever reads the failure."""
    run = observe_sync(agent(call("read_file", path="\x1b[2Ja"), "\x1b]0;title\x07Done."), "go")
    told = failure_of(lambda: run.called("read_file", arguments={"path": "b"}, times=2))
    told += failure_of(lambda: run.said("nothing"))
    assert "\x1b" not in told
    assert "\x07" not in told


def test_another_tools_session_can_be_asserted_on(tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(
        '[{"role": "user", "content": "hi"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type":'
        ' "function", "function": {"name": "look", "arguments": "{\\"at\\": 1}"}}]}, {"role": "tool", "tool_call_id": "c",'
        ' "content": "seen"}, {"role": "assistant", "content": "I saw it."}]'
    )
    run = Trajectory.of_file(chat)
    run.called("look", arguments={"at": 1}, times=1)
    run.said("saw")
