"""Costs come from a maintained table, and an unknown price is said to be unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopkit import ChatResponse, Recorder, ScriptedProvider, ToolRegistry, Usage, open_recording, tool_loop
from loopkit.debugger import costs
from loopkit.debugger.costs import Cost, answer_cost, cost_of_loops


def test_a_known_model_has_a_price() -> None:
    cost = answer_cost(Usage(1_000_000, 0), "gpt-4o-mini")
    assert cost == pytest.approx(0.15)


def test_cached_input_costs_less() -> None:
    whole, cached = (
        answer_cost(Usage(1000, 10), "gpt-4o"),
        answer_cost(Usage(1000, 10, cache_read_tokens=900), "gpt-4o"),
    )
    assert whole is not None
    assert cached is not None
    assert 0 < cached < whole


@pytest.mark.parametrize(
    ("usage", "model"),
    [
        (Usage(10, 10), "no-such-model-anywhere"),
        (Usage(10, 10), None),
        (None, "gpt-4o"),
        (Usage(unreported=1), "gpt-4o"),
    ],
)
def test_what_is_unknown_has_no_price(usage: Usage | None, model: str | None) -> None:
    assert answer_cost(usage, model) is None


def test_without_the_table_every_price_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "_price_table", lambda: None)
    costs._priced.cache_clear()
    try:
        assert answer_cost(Usage(11, 11), "gpt-4o") is None
    finally:
        costs._priced.cache_clear()


def test_one_unknown_answer_makes_the_whole_unknown() -> None:
    assert Cost(1.0, 2, 0).total == 1.0
    assert Cost(1.0, 2, 1).total is None
    assert Cost().total is None


@pytest.mark.anyio
async def test_a_tree_costs_what_its_answers_cost(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    answers = [ChatResponse("one", usage=Usage(1000, 100), model="gpt-4o-mini")]
    await tool_loop(ScriptedProvider(answers), ToolRegistry([]), "go", recorder=Recorder(path))
    cost = cost_of_loops(open_recording(path).timeline.loops.values())
    assert cost.priced == 1
    assert cost.total == answer_cost(Usage(1000, 100), "gpt-4o-mini")
