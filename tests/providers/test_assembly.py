"""Calls out of deltas, arguments out of text."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.errors import ProviderError
from loopkit.messages import ToolCall
from loopkit.providers.assembly import DEEPEST_ARGUMENTS, LONGEST_ARGUMENTS, NAMELESS, CallAssembler, parse_arguments


def assembled(*deltas: dict[str, Any], cut_off: bool = False) -> list[ToolCall]:
    calls = CallAssembler()
    for delta in deltas:
        calls.add(**delta)
    return list(calls.finish(cut_off=cut_off))


def test_one_call_without_an_index_is_the_first() -> None:
    """a1."""
    parts = [{"call_id": "c1", "name": "f", "arguments": '{"a"'}, {"arguments": ":1}"}]
    assert assembled(*parts) == [ToolCall("c1", "f", {"a": 1})]


def test_calls_without_index_are_told_apart_by_their_ids() -> None:
    """a1."""
    parts = [
        {"call_id": "A", "name": "f", "arguments": "{"},
        {"call_id": "B", "name": "g", "arguments": "{"},
        {"call_id": "A", "arguments": "}"},
        {"call_id": "B", "arguments": "}"},
    ]
    assert assembled(*parts) == [ToolCall("A", "f"), ToolCall("B", "g")]


def test_whole_calls_without_index_and_id_are_two_calls() -> None:
    """a1."""
    calls = assembled({"name": "f", "arguments": '{"a":1}'}, {"name": "f", "arguments": '{"a":2}'})
    assert [call.arguments for call in calls] == [{"a": 1}, {"a": 2}]
    assert [call.id for call in calls] == ["call_1", "call_2"]


def test_a_delta_that_could_belong_to_several_calls_is_a_provider_error() -> None:
    """a1."""
    with pytest.raises(ProviderError, match="can't be told apart"):
        assembled({"call_id": "A", "name": "f"}, {"call_id": "B", "name": "g"}, {"arguments": "{}"})


def test_a_new_id_at_a_used_index_opens_a_new_call() -> None:
    """a3."""
    parts = [
        {"index": 0, "call_id": "A", "name": "f", "arguments": '{"a":1}'},
        {"index": 0, "call_id": "B", "name": "f", "arguments": '{"a":'},
        {"index": 0, "arguments": "2}"},
    ]
    assert assembled(*parts) == [ToolCall("A", "f", {"a": 1}), ToolCall("B", "f", {"a": 2})]


def test_a_repeated_name_is_set_not_appended() -> None:
    """a4."""
    parts = [{"index": 0, "call_id": "c", "name": "f", "arguments": piece} for piece in ('{"a"', ":", "1}")]
    assert assembled(*parts) == [ToolCall("c", "f", {"a": 1})]


@pytest.mark.parametrize("absent", ["", None])
def test_empty_and_null_count_as_absent(absent: str | None) -> None:
    """a6, a7."""
    parts: list[dict[str, Any]] = [
        {"index": 0, "call_id": "c1", "name": "f", "arguments": absent},
        {"index": 0, "call_id": absent, "name": absent, "arguments": "{}"},
    ]
    assert assembled(*parts) == [ToolCall("c1", "f")]


def test_a_name_may_come_late() -> None:
    """a9."""
    parts: list[dict[str, Any]] = [
        {"index": 0, "call_id": "c1", "name": ""},
        {"index": 0, "name": "f", "arguments": "{}"},
    ]
    assert assembled(*parts) == [ToolCall("c1", "f")]


def test_a_call_that_never_gets_a_name_has_a_problem() -> None:
    """a7."""
    assert assembled({"index": 0, "call_id": "c1", "arguments": "{}"}) == [ToolCall("c1", "", problem=NAMELESS)]


@pytest.mark.parametrize("blank", ["", "  \n", None])
def test_blank_arguments_are_an_empty_object(blank: str | None) -> None:
    """a11."""
    assert assembled({"index": 0, "call_id": "c", "name": "f", "arguments": blank}) == [ToolCall("c", "f")]


def test_calls_of_one_response_may_share_an_id() -> None:
    """b9."""
    parts = [{"index": n, "call_id": "dup", "name": "f", "arguments": f'{{"a":{n}}}'} for n in (0, 1)]
    assert [call.arguments["a"] for call in assembled(*parts)] == [0, 1]
    whole = CallAssembler()
    whole.add_whole(call_id="dup", name="f", arguments="{}")
    whole.add_whole(call_id="dup", name="f", arguments={"a": 1})
    assert [call.arguments for call in whole.finish()] == [{}, {"a": 1}]


def test_pieces_of_arguments_are_told_with_their_position() -> None:
    told: list[tuple[int, str, str]] = []
    calls = CallAssembler(lambda *piece: told.append(piece))
    calls.add(index=0, call_id="A", name="f", arguments="{")
    calls.add(index=1, call_id="B", name="g", arguments="{}")
    calls.add(index=0, arguments="}")
    assert told == [(1, "f", "{"), (2, "g", "{}"), (1, "f", "}")]


def test_the_output_limit_cuts_the_call_that_was_being_written() -> None:
    """a20, 3.9: also when its text reads as JSON."""
    parts = [
        {"index": 0, "call_id": "A", "name": "f", "arguments": '{"a":1}'},
        {"index": 1, "call_id": "B", "name": "f", "arguments": '{"path":"x"}'},
    ]
    first, second = assembled(*parts, cut_off=True)
    assert first == ToolCall("A", "f", {"a": 1})
    assert second == ToolCall("B", "f", raw_arguments='{"path":"x"}', cut_off=True)


def test_every_beginning_of_an_argument_text_is_cut_off() -> None:
    """a20: whatever the finish reason says."""
    whole = r'{"path": "a\u12cd\n", "n": -1.5e+10, "list": [true, false, null, {"k": "é"}], "q": "\"", "z": 12}'
    assert parse_arguments(whole).problem is None
    for length in range(1, len(whole)):
        assert parse_arguments(whole[:length]).cut_off, whole[:length]


@pytest.mark.parametrize("text", ["abc", '{"a":1]', '{"a":}', '{"a":1}}', '{"a":1}t', "{'a':1}", '{"a":1,}', "[1]x"])
def test_wrong_json_is_a_problem_with_its_place_and_keeps_its_text(text: str) -> None:
    """9.1."""
    (call,) = assembled({"index": 0, "call_id": "c", "name": "f", "arguments": text})
    assert call.raw_arguments == text
    assert not call.cut_off
    assert call.arguments == {}
    assert "invalid JSON" in str(call.problem)
    assert "line 1, column" in str(call.problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "a list"),
        ("null", "null"),
        ("true", "a boolean"),
        ("3", "a number"),
        ('"{}"', "a text"),
        ('{"a":NaN}', "NaN"),
        ('{"a":[-Infinity]}', "-Infinity"),
        ('{"a":1e999}', "too large"),
        ('{"a":' + "9" * 5000 + "}", "too many digits"),
        ('{"a":' + "[" * DEEPEST_ARGUMENTS + "]" * DEEPEST_ARGUMENTS + "}", "deeper"),
        ("[" * 200_000, "deeper"),
        ('{"a":"' + "x" * LONGEST_ARGUMENTS + '"}', "longer"),
    ],
    ids=lambda value: value[:12],
)
def test_json_that_no_tool_can_take_is_a_problem(text: str, problem: str) -> None:
    """9.1."""
    parsed = parse_arguments(text)
    assert parsed.arguments == {}
    assert problem in str(parsed.problem)


def test_arguments_may_be_nested_to_the_limit() -> None:
    text = '{"a":' + "[" * (DEEPEST_ARGUMENTS - 1) + "]" * (DEEPEST_ARGUMENTS - 1) + "}"
    assert parse_arguments(text).problem is None


def test_large_integers_stay_exact() -> None:
    """a32."""
    assert parse_arguments('{"id":2512292042121000001}').arguments == {"id": 2512292042121000001}


def test_duplicate_keys_are_named_and_the_last_value_counts() -> None:
    """9.1."""
    parsed = parse_arguments('{"a":1,"b":{"c":1,"c":2},"a":3}')
    assert parsed.arguments == {"a": 3, "b": {"c": 2}}
    assert set(parsed.duplicate_keys) == {"a", "c"}


def test_an_endless_argument_stream_is_not_kept_whole() -> None:
    calls = CallAssembler()
    for _ in range(30):
        calls.add(index=0, call_id="c", name="f", arguments="x" * 100_000)
    (call,) = calls.finish()
    assert "longer" in str(call.problem)
    assert len(call.raw_arguments or "") <= LONGEST_ARGUMENTS + 100_000


def test_halves_of_a_character_in_two_pieces_are_joined() -> None:
    """a25, in the form of JSON escapes."""
    (call,) = assembled(
        {"index": 0, "call_id": "c", "name": "f", "arguments": '{"t":"\ud83d'},
        {"index": 0, "arguments": '\ude00"}'},
    )
    assert call.arguments == {"t": "😀"}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=4), st.booleans(), st.lists(st.integers(0, 60)))
def test_arguments_survive_any_cut(arguments: dict[str, Any], escaped: bool, cuts: list[int]) -> None:
    """n2."""
    text = json.dumps(arguments, ensure_ascii=escaped)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(places)]
    calls = assembled(
        {"index": 0, "call_id": "c", "name": "f"}, *({"index": 0, "arguments": piece} for piece in pieces)
    )
    assert calls == [ToolCall("c", "f", arguments)]


@given(st.text())
def test_any_text_is_arguments_a_problem_or_cut_off(text: str) -> None:
    (call,) = assembled({"index": 0, "call_id": "c", "name": "f", "arguments": text})
    assert call.raw_arguments is None or call.cut_off or call.problem
