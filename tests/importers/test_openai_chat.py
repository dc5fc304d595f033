"""OpenAI chat dumps become timelines (formats.md §4)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loopkit import events as e
from loopkit.messages import Reasoning, StopReason, Text, ToolCall
from loopkit.outcomes import Complete, StopCondition
from tests.importers.claude_lines import read


def _call(identity: str, arguments: object, name: str = "look") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def _asks(*calls: dict[str, Any], content: object = None, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **fields}


def _tool(identity: str | None, content: object) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content}


OPENING = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Look at it."}]
CLOSING = {"role": "assistant", "content": "Done.", "tool_calls": None}


def _dump(messages: Sequence[object]) -> str:
    return json.dumps(messages)


def test_list_of_messages_is_one_loop(tmp_path: Path) -> None:
    messages = [*OPENING, _asks(_call("c1", '{"x": 1}'), content=""), _tool("c1", "seen"), CLOSING]
    session, timeline = read(tmp_path, _dump(messages), "dump.txt")
    root = timeline.root
    assert root is not None
    assert [message.role for message in root.started.messages] == ["system", "user"]
    assert [len(found.calls) for found in root.iterations] == [1, 0]
    assert (timeline.calls["root/1.1"].arguments, timeline.calls["root/1.1"].content) == ({"x": 1}, "seen")
    assert root.reason == Complete()
    assert root.usage.unreported == 2
    assert (session.format, session.title, session.notices) == ("openai-chat", "Look at it.", [])


def test_messages_stand_under_any_of_the_usual_keys(tmp_path: Path) -> None:
    """formats.md §4: also under `messages`, `traj`, `history`; with role `developer`."""
    messages = [{"role": "developer", "content": "x"}, *OPENING, CLOSING]
    for key in ("messages", "traj", "history"):
        _, timeline = read(tmp_path, json.dumps({"model": "gpt-test", key: messages}, indent=1))
        assert timeline.root is not None
        assert len(timeline.root.iterations) == 1
        assert timeline.root.started.model == "gpt-test"
        assert timeline.root.started.messages[0].role == "system"


def test_runs_of_a_benchmark_file_follow_each_other_in_one_loop(tmp_path: Path) -> None:
    """formats.md §4: tau-bench is an array of runs; ids repeat across them."""
    runs = [
        {"task_id": task, "reward": 0.0, "traj": [*OPENING, _asks(_call("c", "{}")), _tool("c", f"of {task}")]}
        for task in (17, 18)
    ]
    session, timeline = read(tmp_path, json.dumps(runs))
    root = timeline.root
    assert root is not None
    assert [found.calls[0].content for found in root.iterations] == ["of 17", "of 18"]
    assert [event.type for event in session.events if isinstance(event.fact, e.Unrecognised)] == [
        "run 1 of 2: task 17",
        "run 2 of 2: task 18",
    ]
    assert root.reason == StopCondition("the benchmark ended the run")
    assert session.notices == ["2 runs in this file, shown one after the other"]
    lines = "\n".join(json.dumps(run) for run in runs)
    _, as_lines = read(tmp_path, lines)
    assert len(as_lines.calls) == 2


def test_repeated_ids_are_paired_within_their_turn(tmp_path: Path) -> None:
    """spec/faults.md b8, b9."""
    turn_without_answer = _asks(_call("call_0", "{}"))
    messages = [
        *OPENING,
        turn_without_answer,
        {"role": "user", "content": "again"},
        _asks(_call("call_0", '{"n": 1}'), _call("call_0", '{"n": 2}')),
        _tool("call_0", "first"),
        _tool("call_0", "second"),
    ]
    _, timeline = read(tmp_path, _dump(messages))
    assert [found.content for found in timeline.calls.values()] == [None, "first", "second"]


def test_call_in_content_and_in_the_list_is_one_call(tmp_path: Path) -> None:
    """spec/faults.md b17."""
    blocks = [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "c1", "name": "look", "input": {"x": 1}}]
    messages = [*OPENING, _asks(_call("c1", '{"x": 1}'), content=blocks), _tool("c1", "seen"), CLOSING]
    _, timeline = read(tmp_path, _dump(messages))
    root = timeline.root
    assert root is not None
    assert root.iterations[0].message is not None
    assert root.iterations[0].message.parts == (Text("I look."), ToolCall("c1", "look", {"x": 1}))


def test_legacy_function_calls_pair_by_order(tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = [
        *OPENING,
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": "seen"},
        CLOSING,
    ]
    session, timeline = read(tmp_path, _dump(messages))
    assert timeline.calls["root/1.1"].content == "seen"
    assert session.notices == []


def test_unusable_arguments_are_kept_with_their_problem(tmp_path: Path) -> None:
    texts = ['{"a": ', "[1]", '{"a": 1, "a": 2}', "", '{"n": 123456789012345678901234567890}']
    messages: list[dict[str, Any]] = [
        *OPENING,
        _asks(*(_call(f"c{place}", words) for place, words in enumerate(texts))),
    ]
    session, timeline = read(tmp_path, _dump(messages))
    reply = next(event.fact for event in session.events if isinstance(event.fact, e.ModelReplied))
    broken, listed, twice, empty, big = reply.message.tool_calls
    assert (broken.raw_arguments, broken.problem) == ('{"a": ', "the arguments are not valid JSON")
    assert (listed.raw_arguments, listed.problem) == ("[1]", "the arguments are not a JSON object")
    assert (twice.arguments, twice.duplicate_keys) == ({"a": 2}, ("a",))
    assert (empty.arguments, empty.problem) == ({}, None)
    assert big.arguments == {"n": 123456789012345678901234567890}
    assert str(timeline.calls["root/1.1"].problems[0]) == "the arguments are not valid JSON"


def test_usage_reasoning_and_finish_reason_of_a_harness_are_taken(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    last: dict[str, Any] = {
        **CLOSING,
        "reasoning_content": "hm",
        "finish_reason": "length",
        "usage": usage,
        "model": "gpt-test",
    }
    session, timeline = read(tmp_path, _dump([*OPENING, last]))
    assert timeline.root is not None
    found = timeline.root.iterations[0]
    assert found.message is not None
    assert found.message.parts[0] == Reasoning("hm")
    assert found.stop_reason is StopReason.MAX_TOKENS
    assert found.usage is not None
    assert (found.usage.input_tokens, found.usage.cache_read_tokens, found.usage.output_tokens) == (9, 4, 2)
    assert session.model == "gpt-test"


def test_torn_array_gives_its_whole_items_and_says_what_is_lost(tmp_path: Path) -> None:
    whole = _dump([*OPENING, _asks(_call("c1", "{}")), _tool("c1", "seen"), CLOSING])
    session, timeline = read(tmp_path, whole[:-20])
    assert timeline.calls["root/1.1"].content == "seen"
    assert [notice.split(" bytes")[0].split()[0] for notice in session.notices] == ["unreadable"]
    assert any(event.type == "unreadable" for event in session.events)
