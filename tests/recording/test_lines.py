"""One event is one line: nothing is lost on the way to the file and back."""

from __future__ import annotations

import dataclasses
import json
from types import MappingProxyType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopkit.encoding import DecodingError
from loopkit.events import FACT_CLASSES, Event, Fact, ModelReplied, ToolReturned, Unrecognised
from loopkit.messages import Message, ToolCall
from loopkit.recording.lines import ENVELOPE, event_line, read_event
from tests.strategies import events, instances, texts, unrecognised_facts

quick = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("cls", FACT_CLASSES.values(), ids=FACT_CLASSES)
@quick
@given(data=st.data())
def test_every_fact_comes_back_as_it_was_written(cls: type[Fact], data: st.DataObject) -> None:
    event = data.draw(events(fact=instances(cls)))
    line = event_line(event)
    assert read_event(line) == event
    assert event_line(read_event(line)) == line


@quick
@given(events(fact=unrecognised_facts()))
def test_unknown_types_come_back_as_they_were_written(event: Event) -> None:
    """spec/faults.md j17; raw data may use the envelope's own keys."""
    line = event_line(event)
    assert read_event(line) == event
    assert event_line(read_event(line)) == line


@pytest.mark.parametrize(
    "rest",
    [
        b'"z":1,"a":[1.5,2512292042121000001,null]',
        b'"data":{"a":1}',
        b'"data":{"type":"x"}',
        b'"data":{"data":{"seq":1}}',
    ],
)
def test_a_line_of_an_unknown_type_is_written_again_byte_for_byte(rest: bytes) -> None:
    """spec/faults.md j17."""
    line = b'{"seq":3,"t":0.5,"loop":"root","iteration":1,"type":"x/custom",' + rest + b"}\n"
    assert event_line(read_event(line)) == line


@quick
@given(texts(40))
def test_any_text_is_one_line_of_utf_8(text: str) -> None:
    """spec/faults.md e20, a23."""
    line = event_line(Event(1, 0.0, "root", 1, ToolReturned("root/1.1", text)))
    assert line.count(b"\n") == 1
    assert line.endswith(b"}\n")
    assert read_event(line).fact == ToolReturned("root/1.1", text)
    assert json.loads(line.decode())["content"] == text


def test_text_stays_readable_and_only_a_line_with_a_lone_surrogate_is_escaped() -> None:
    """spec/faults.md e20."""
    whole = event_line(Event(1, 0.0, "root", 1, ToolReturned("c", "你好😀\u2028")))
    torn = event_line(Event(1, 0.0, "root", 1, ToolReturned("c", "你好\ud800")))
    assert "你好😀\u2028".encode() in whole
    assert b"\\u4f60\\u597d\\ud800" in torn


def test_the_envelope_comes_first_in_a_fixed_order() -> None:
    line = event_line(Event(7, 1.234568, "root/3.2#1", 4, ToolReturned("c", "out", is_error=True)))
    assert line == (
        b'{"seq":7,"t":1.234568,"loop":"root/3.2#1","iteration":4,"type":"ToolReturned",'
        b'"call":"c","content":"out","is_error":true}\n'
    )


def test_no_fact_has_a_field_that_the_envelope_needs() -> None:
    clashes = {
        name: {field.name for field in dataclasses.fields(cls)} & set(ENVELOPE)  # type: ignore[arg-type]  # every fact is a dataclass
        for name, cls in FACT_CLASSES.items()
    }
    assert not {name: keys for name, keys in clashes.items() if keys}


def test_large_integers_stay_exact() -> None:
    """spec/faults.md a32."""
    call = ToolCall("c", "f", {"id": 2512292042121000001})
    event = Event(1, 0.0, "root", 1, ModelReplied(Message.assistant(tool_calls=[call])))
    assert read_event(event_line(event)) == event


def test_any_mapping_can_be_arguments() -> None:
    call = ToolCall("c", "f", {"inner": MappingProxyType({"a": 1})})
    read = read_event(event_line(Event(1, 0.0, "root", 1, ModelReplied(Message.assistant(tool_calls=[call])))))
    assert isinstance(read.fact, ModelReplied)
    assert read.fact.message.tool_calls[0].arguments == {"inner": {"a": 1}}


def _nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), object(), {1, 2}, b"\xc7", _nested(100_000)])
def test_what_json_does_not_have_is_never_written(value: object) -> None:
    event = Event(1, 0.0, "root", 1, Unrecognised("x", {"value": value}))
    with pytest.raises(ValueError, match=r"."):
        event_line(event)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"\xff", "not UTF-8"),
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "seq, t, loop, iteration, type missing"),
        (b'{"seq":0,"t":0,"loop":"","iteration":0,"type":""}', "seq"),
        (b'{"seq":true,"t":0,"loop":"","iteration":0,"type":""}', "seq"),
        (b'{"seq":1,"t":"0","loop":"","iteration":0,"type":""}', "t is not"),
        (b'{"seq":1,"t":' + b"9" * 400 + b',"loop":"","iteration":0,"type":""}', "t is not"),
        (b'{"seq":1,"t":0,"loop":1,"iteration":0,"type":""}', "loop"),
        (b'{"seq":1,"t":0,"loop":"","iteration":-1,"type":""}', "iteration"),
        (b'{"seq":1,"t":0,"loop":"","iteration":0,"type":[]}', "type"),
        (b'{"seq":1,"t":0,"loop":"","iteration":0,"type":"x","a":NaN}', "number"),
        (b'{"seq":1,"t":0,"loop":"","iteration":0,"type":"x","a":1e999}', "number"),
        (b'{"seq":1,"t":0,"loop":"","iteration":0,"type":"x","a":' + b"9" * 5000 + b"}", "number"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"seq":1,"t":0,"loop":"","iteration":0,"type":"ToolReturned"}', "'call' is missing"),
        (b'{"seq":1,"t":0,"loop":"","iteration":0,"type":"ClockRead","loop_seconds":' + b"9" * 400 + b"}", "too large"),
        (
            b'{"seq":1,"t":0,"loop":"","iteration":0,"type":"Decided","call":"","version":1,"decision":{"type":[]},"by":""}',
            "type",
        ),
    ],
)
def test_a_line_that_is_no_event_says_why(line: bytes, reason: str) -> None:
    with pytest.raises(DecodingError, match=reason) as caught:
        read_event(line)
    assert "\n" not in str(caught.value)


def test_a_later_format_may_change_the_fields_of_a_known_type() -> None:
    line = b'{"seq":1,"t":0.0,"loop":"root","iteration":0,"type":"ToolReturned","body":"x"}\n'
    assert read_event(line, lenient=True).fact == Unrecognised("ToolReturned", {"body": "x"})
