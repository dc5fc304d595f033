"""Odd streams in the words of Anthropic's Messages."""

from __future__ import annotations

from typing import Any

from loopkit.messages import Reasoning, Text, ToolCall, Usage
from tests.providers.dialects import (
    ANTHROPIC,
    block,
    json_delta,
    message_end,
    message_start,
    text_delta,
    tool_use,
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


def anthropic(
    faults: str, name: str, *pieces: Any, parts: Any, stop: str | None = "tool_use", usage: Usage | None = None
) -> Oddity:
    flat = [each for piece in pieces for each in (piece if isinstance(piece, list) else [piece])]
    return Oddity(ANTHROPIC, faults, name, events(message_start(), *flat, *message_end(stop)), parts, usage)


def at(index: Any, piece: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": piece}


def opened(index: Any, start: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": start}


ANTHROPIC_ODDITIES = [
    anthropic("a1", "no index", opened(None, tool_use("A", "f")), at(None, json_delta('{"a": 1}')), parts=calls(F)),
    anthropic(
        "a3",
        "two at one index",
        block(0, tool_use("A", "f"), json_delta('{"a": 1}')),
        block(0, tool_use("B", "g"), json_delta('{"b": 2}')),
        parts=calls(F, G),
    ),
    anthropic(
        "a3",
        "fragments that take turns",
        opened(0, tool_use("A", "f")),
        opened(1, tool_use("B", "g")),
        at(0, json_delta('{"a"')),
        at(1, json_delta('{"b"')),
        at(0, json_delta(": 1}")),
        at(1, json_delta(": 2}")),
        parts=calls(F, G),
    ),
    anthropic("a7", "no name", block(0, tool_use("A", ""), json_delta('{"a": 1}')), parts=calls(NO_NAME)),
    anthropic(
        "a7",
        "null pieces",
        block(0, tool_use("A", "f"), json_delta('{"a": 1}'), {"type": "input_json_delta", "partial_json": None}),
        parts=calls(F),
    ),
    anthropic(
        "a7",
        "no block, no delta",
        {"type": "content_block_start", "index": 0, "content_block": None},
        at(0, text_delta("x")),
        {"type": "content_block_delta", "index": 0, "delta": None},
        parts=(),
    ),
    anthropic("a11", "no arguments", block(0, tool_use("A", "f")), parts=calls(ToolCall("A", "f"))),
    anthropic("a11", "arguments with the start", block(0, tool_use("A", "f", a=1)), parts=calls(F)),
    anthropic("a11", "arguments twice", block(0, tool_use("A", "f", a=9), json_delta('{"a": 1}')), parts=calls(F)),
    anthropic("a18", "calls under end_turn", block(0, tool_use("A", "f", a=1)), parts=calls(F), stop="end_turn"),
    anthropic("a18", "calls under no reason", block(0, tool_use("A", "f", a=1)), parts=calls(F), stop=None),
    anthropic("a19", "no calls under tool_use", parts=()),
    anthropic(
        "a20",
        "cut by the limit",
        block(0, tool_use("A", "f"), json_delta('{"a": 1')),
        parts=calls(CUT),
        stop="max_tokens",
    ),
    anthropic(
        "a20",
        "cut by a full context",
        block(0, tool_use("A", "f"), json_delta('{"a": 1}')),
        parts=calls(CUT_WHOLE),
        stop="model_context_window_exceeded",
    ),
    anthropic("a20", "cut under tool_use", block(0, tool_use("A", "f"), json_delta('{"a": 1')), parts=calls(CUT)),
    anthropic("9.1", "a key twice", block(0, tool_use("A", "f"), json_delta(TWICE)), parts=calls(DOUBLE)),
    anthropic("9.1", "too deep", block(0, tool_use("A", "f"), json_delta(DEEP)), parts=calls(TOO_DEEP)),
    anthropic(
        "b9",
        "one id twice",
        block(0, tool_use("A", "f", a=1)),
        block(1, tool_use("A", "g", b=2)),
        parts=calls(F, ToolCall("A", "g", {"b": 2})),
    ),
    anthropic(
        "a29",
        "signature with the start",
        block(0, {"type": "thinking", "thinking": "x", "signature": "ab"}),
        parts=(Reasoning("x", signature="ab"),),
    ),
    anthropic(
        "a29",
        "two redacted",
        block(0, {"type": "redacted_thinking", "data": "1="}),
        block(1, {"type": "redacted_thinking", "data": "2="}),
        parts=(Reasoning(encrypted="1="), Reasoning(encrypted="2=")),
    ),
    anthropic(
        "a26",
        "unknown blocks and pings",
        {"type": "ping"},
        block(0, {"type": "server_tool_use", "id": "x", "name": "web"}, json_delta("{}")),
        {"type": "new_event"},
        block(1, {"type": "text", "text": ""}, text_delta("hi"), {"type": "citations_delta", "citation": {}}),
        parts=(Text("hi"),),
        stop="end_turn",
    ),
    anthropic("a37", "refusal", block(0, {"type": "text", "text": "I"}), parts=(Text("I"),), stop="refusal"),
    Oddity(
        ANTHROPIC,
        "a16",
        "usage at the end only",
        events(
            {"type": "message_start", "message": {"content": []}},
            *block(0, {"type": "text", "text": "hi"}),
            *message_end("end_turn", input_tokens=5, output_tokens=2),
        ),
        (Text("hi"),),
        Usage(5, 2),
    ),
    Oddity(
        ANTHROPIC,
        "a16",
        "usage null",
        events(
            {"type": "message_start", "message": {"usage": None}},
            *block(0, {"type": "text", "text": "hi"}),
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": None},
            {"type": "message_stop"},
        ),
        (Text("hi"),),
    ),
    Oddity(ANTHROPIC, "a24", "byte order mark", b"\xef\xbb\xbf" + ANTHROPIC.hello, (Text("hi"),)),
    Oddity(
        ANTHROPIC,
        "a24",
        "no event names",
        b"\n".join(each for each in ANTHROPIC.hello.split(b"\n") if not each.startswith(b"event")),
        (Text("hi"),),
    ),
    Oddity(
        ANTHROPIC,
        "a25",
        "bytes that are no UTF-8",
        ANTHROPIC.hello.replace(b'"hi"', b'"h\xff\xe4i"'),
        (Text("h\ufffd\ufffdi"),),
    ),
    Oddity(ANTHROPIC, "a26", "comments", NOISE + ANTHROPIC.hello.replace(b"\n\n", b"\n\n: x\n\n"), (Text("hi"),)),
]
