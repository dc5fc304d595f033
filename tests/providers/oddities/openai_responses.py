"""Odd streams in the words of OpenAI's Responses."""

from __future__ import annotations

from typing import Any

from loopkit.messages import Reasoning, Refusal, Text, ToolCall, Usage
from tests.providers.dialects import (
    RESPONSES,
    delta,
    function_call,
    item,
    response,
    said,
)
from tests.providers.oddities.oddity import (
    CUT,
    CUT_WHOLE,
    DEEP,
    DOUBLE,
    NO_NAME,
    NOISE,
    TOO_DEEP,
    TWICE,
    F,
    G,
    Oddity,
    calls,
)
from tests.providers.streams import events


def responses(
    faults: str, name: str, *pieces: Any, parts: Any, last: dict[str, Any] | None = None, usage: Usage | None = None
) -> Oddity:
    return Oddity(RESPONSES, faults, name, events(*pieces, last or response("completed")), parts, usage)


def called(*arguments: Any, **fields: Any) -> dict[str, Any]:
    return {"status": "completed", **function_call("A", "f", arguments[0] if arguments else '{"a": 1}'), **fields}


RESPONSES_ODDITIES = [
    responses(
        "a1",
        "no output_index",
        {"type": "response.output_item.added", "item": called("")},
        {"type": "response.function_call_arguments.delta", "delta": '{"a": 1}'},
        parts=calls(F),
    ),
    responses(
        "a1",
        "items done without output_index",
        {"type": "response.output_item.done", "item": called()},
        {"type": "response.output_item.done", "item": {**function_call("B", "g", '{"b": 2}')}},
        parts=calls(F, G),
    ),
    responses(
        "a3",
        "two at one output_index",
        item("added", 0, **function_call("A", "f", "")),
        delta("function_call_arguments", 0, '{"a": 1}'),
        item("added", 0, **function_call("B", "g", "")),
        delta("function_call_arguments", 0, '{"b": 2}'),
        parts=calls(F, G),
    ),
    responses(
        "a3",
        "two done at one output_index",
        item("done", 0, **called()),
        item("done", 0, **function_call("B", "g", '{"b": 2}')),
        parts=calls(F, G),
    ),
    responses("a7", "no name", parts=calls(NO_NAME), last=response("completed", [called(name=None)])),
    responses(
        "a7",
        "nulls",
        delta("output_text", 0, "hi"),
        {"type": "response.output_text.delta", "delta": None},
        item("done", 1),
        {"type": "response.output_item.done", "item": None},
        parts=(Text("hi"),),
        last=response("completed", None),
    ),
    responses("a11", "no arguments", parts=calls(ToolCall("A", "f")), last=response("completed", [called("")])),
    responses("a11", "arguments null", parts=calls(ToolCall("A", "f")), last=response("completed", [called(None)])),
    responses("a11", "arguments as an object", parts=calls(F), last=response("completed", [called({"a": 1})])),
    responses(
        "a20",
        "cut by the limit",
        parts=calls(CUT),
        last=response(
            "incomplete", [called('{"a": 1', status="incomplete")], incomplete_details={"reason": "max_output_tokens"}
        ),
    ),
    responses("a20", "cut without a word on it", parts=calls(CUT), last=response("completed", [called('{"a": 1')])),
    responses(
        "a20",
        "cut while it was streamed",
        item("added", 0, **function_call("A", "f", "")),
        delta("function_call_arguments", 0, '{"a": 1}'),
        parts=calls(CUT_WHOLE),
        last=response("incomplete"),
    ),
    responses("9.1", "a key twice", parts=calls(DOUBLE), last=response("completed", [called(TWICE)])),
    responses("9.1", "too deep", parts=calls(TOO_DEEP), last=response("completed", [called(DEEP)])),
    responses(
        "b9",
        "one id twice",
        parts=calls(F, ToolCall("A", "g", {"b": 2})),
        last=response("completed", [called(), called('{"b": 2}', name="g")]),
    ),
    responses(
        "a37", "refusal in pieces", delta("refusal", 0, "no"), delta("refusal", 0, "pe"), parts=(Refusal("nope"),)
    ),
    responses(
        "a37",
        "refusal",
        parts=(Refusal("no"),),
        last=response("completed", [{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]),
    ),
    responses(
        "a29",
        "thinking twice",
        parts=(Reasoning("", signature="r1", encrypted="a="), Reasoning("", signature="r2", encrypted="b=")),
        last=response(
            "completed",
            [
                {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "a="},
                {"type": "reasoning", "id": "r2", "summary": [], "encrypted_content": "b="},
            ],
        ),
    ),
    responses(
        "a26",
        "unknown events",
        {"type": "response.web_search_call.searching"},
        {"type": "keepalive"},
        {"type": "new"},
        parts=(Text("hi"),),
        last=response("completed", [said("hi"), {"type": "new_item"}]),
    ),
    responses(
        "a16",
        "usage in the last event",
        parts=(Text("hi"),),
        last=response("completed", [said("hi")], usage={"input_tokens": 5, "output_tokens": 2}),
        usage=Usage(5, 2),
    ),
    responses("a16", "usage null", parts=(Text("hi"),), last=response("completed", [said("hi")], usage=None)),
    Oddity(RESPONSES, "a24", "byte order mark", b"\xef\xbb\xbf" + RESPONSES.hello, (Text("hi"),)),
    Oddity(
        RESPONSES,
        "a24",
        "no event names",
        b"\n".join(each for each in RESPONSES.hello.split(b"\n") if not each.startswith(b"event")),
        (Text("hi"),),
    ),
    Oddity(
        RESPONSES,
        "a25",
        "bytes that are no UTF-8",
        RESPONSES.hello.replace(b'"hi"', b'"h\xff\xe4i"'),
        (Text("h\ufffd\ufffdi"),),
    ),
    Oddity(RESPONSES, "a26", "comments", NOISE + RESPONSES.hello.replace(b"\n\n", b"\n\n: x\n\n"), (Text("hi"),)),
    Oddity(
        RESPONSES,
        "a26",
        "an error event",
        events(delta("output_text", 0, "so"), {"type": "error", "code": "server_error", "message": "overloaded"}),
        "overloaded",
    ),
]
