"""Odd streams in the words of Chat Completions."""

from __future__ import annotations

from typing import Any

from loopkit.messages import Reasoning, Refusal, Text, ToolCall, Usage
from tests.providers.dialects import (
    CHAT,
)
from tests.providers.oddities.oddity import (
    CUT,
    CUT_WHOLE,
    DEEP,
    DOUBLE,
    FIGURES,
    NO_NAME,
    NO_NUMBER,
    NO_OBJECT,
    NOISE,
    TOO_DEEP,
    TWICE,
    F,
    G,
    Oddity,
    calls,
)
from tests.providers.streams import call_piece, chunk, sse


def f(index: int | None = 0, **changes: Any) -> dict[str, Any]:
    return call_piece(index, **{"call_id": "A", "name": "f", "arguments": '{"a": 1}', **changes})


def g(index: int | None = 1, **changes: Any) -> dict[str, Any]:
    return call_piece(index, **{"call_id": "B", "name": "g", "arguments": '{"b": 2}', **changes})


def chat(faults: str, name: str, *pieces: Any, parts: Any, usage: Usage | None = None, finish: Any = "stop") -> Oddity:
    chunks = [chunk(piece) if "choices" not in piece else piece for piece in pieces]
    return Oddity(CHAT, faults, name, sse(*chunks, chunk({}, finish)), parts, usage)


def _two_at_once(index: Any) -> dict[str, Any]:
    return {"tool_calls": [*f(index)["tool_calls"], *g(index)["tool_calls"]]}


CHAT_ODDITIES = [
    chat("a37", "refusal", {"content": None, "refusal": "no"}, {"refusal": "pe"}, parts=(Refusal("nope"),)),
    chat("a37", "refusal after words", {"content": "I "}, {"refusal": "no"}, parts=(Text("I "), Refusal("no"))),
    chat("a1", "no index", f(None), parts=calls(F)),
    chat("a1", "index that is a text", {"tool_calls": [{**f()["tool_calls"][0], "index": "0"}]}, parts=calls(F)),
    chat("a1", "two without index in one piece", _two_at_once(None), parts=calls(F, G)),
    chat(
        "a1",
        "ambiguous",
        f(None, arguments=""),
        g(None, arguments=""),
        call_piece(None, arguments="{}"),
        parts="can't be told apart",
    ),
    chat("a3", "two at index 0", f(0), g(0), parts=calls(F, G)),
    chat("a3", "two at index 0 in one piece", _two_at_once(0), parts=calls(F, G)),
    chat(
        "a3",
        "two at index 0 in fragments",
        *(
            f(0, arguments='{"a"'),
            call_piece(0, arguments=": 1}"),
            g(0, arguments='{"b"'),
            call_piece(0, arguments=": 2}"),
        ),
        parts=calls(F, G),
    ),
    chat("a3", "indexes that begin at 1", f(1), g(2), parts=calls(F, G)),
    chat("a3", "indexes in descending order", f(7), g(3), parts=calls(F, G)),
    chat(
        "a3",
        "fragments that take turns",
        *(
            f(0, arguments='{"a"'),
            g(1, arguments='{"b"'),
            call_piece(0, arguments=": 1}"),
            call_piece(1, arguments=": 2}"),
        ),
        parts=calls(F, G),
    ),
    chat("a4", "name in each piece", f(arguments='{"a"'), f(arguments=": 1"), f(arguments="}"), parts=calls(F)),
    chat(
        "a6",
        "empty id and name later",
        f(arguments='{"a"'),
        call_piece(0, call_id="", name="", arguments=": 1}"),
        parts=calls(F),
    ),
    chat("a6", "id that comes late", f(call_id="", arguments='{"a"'), f(name="", arguments=": 1}"), parts=calls(F)),
    chat("a7", "nulls later", f(arguments=None), call_piece(0, arguments='{"a": 1}'), parts=calls(F)),
    chat("a7", "no function", f(), {"tool_calls": [{"index": 0, "function": None}]}, parts=calls(F)),
    chat("a7", "no calls at all", {"tool_calls": None}, {"tool_calls": []}, {"content": "hi"}, parts=(Text("hi"),)),
    chat("a7", "never a name", f(name=""), parts=calls(NO_NAME)),
    chat("a9", "late name", f(name="", arguments='{"a"'), call_piece(0, name="f", arguments=": 1}"), parts=calls(F)),
    chat("a11", "blank arguments", f(arguments=" \n"), parts=calls(ToolCall("A", "f"))),
    chat("a11", "arguments as an object", f(arguments={"a": 1}), parts=calls(F)),
    chat(
        "a11",
        "arguments null",
        f(arguments="null"),
        parts=calls(ToolCall("A", "f", raw_arguments="null", problem="the arguments are null, not a JSON object")),
    ),
    chat(
        "a16",
        "pieces without choices",
        {"choices": [], "prompt_filter_results": []},
        {"content": "hi"},
        {"choices": [], "usage": FIGURES},
        parts=(Text("hi"),),
        usage=Usage(5, 2),
    ),
    chat(
        "a16",
        "usage in each piece",
        chunk({"content": "hi"}, usage={**FIGURES, "completion_tokens": 1}),
        chunk({"content": "!"}, usage=FIGURES),
        chunk({}, usage=None),
        parts=(Text("hi!"),),
        usage=Usage(5, 2),
    ),
    Oddity(
        CHAT,
        "a16",
        "usage after the reason of the end",
        sse(chunk({"content": "hi"}), chunk({}, "stop"), chunk(usage=FIGURES)),
        (Text("hi"),),
        Usage(5, 2),
    ),
    chat("a16", "choices null", {"choices": None}, {"content": "hi"}, parts=(Text("hi"),)),
    chat(
        "a16",
        "another choice",
        {"choices": [{"index": 1, "delta": {"content": "no"}}]},
        {"content": "hi"},
        parts=(Text("hi"),),
    ),
    chat("a18", "calls under stop", f(), g(), parts=calls(F, G)),
    chat("a18", "calls under an unknown word", f(), g(), parts=calls(F, G), finish="whatever"),
    chat(
        "a18",
        "a call of the old kind",
        {"function_call": {"name": "f", "arguments": '{"a"'}},
        {"function_call": {"arguments": ": 1}"}},
        parts=calls(ToolCall("call_1", "f", {"a": 1})),
        finish="function_call",
    ),
    chat(
        "a18",
        "each piece of a call in both kinds, as llama-cpp-python sends it",
        {**f(arguments='{"a"'), "function_call": {"name": "f", "arguments": '{"a"'}},
        {**f(arguments=": 1}"), "function_call": {"name": "f", "arguments": ": 1}"}},
        {"tool_calls": None, "function_call": None},
        parts=calls(F),
    ),
    chat("a19", "no calls under tool_calls", {"content": "hi"}, parts=(Text("hi"),), finish="tool_calls"),
    chat("a20", "cut by the limit", f(arguments='{"a": 1'), parts=calls(CUT), finish="length"),
    chat("a20", "cut under tool_calls", f(arguments='{"a": 1'), parts=calls(CUT), finish="tool_calls"),
    chat("a20", "reads as JSON but is cut", f(), parts=calls(CUT_WHOLE), finish="length"),
    chat("a20", "cut by a filter", f(), parts=calls(CUT_WHOLE), finish="content_filter"),
    chat(
        "a20",
        "the second is cut",
        f(),
        g(arguments="{"),
        parts=calls(F, ToolCall("B", "g", raw_arguments="{", cut_off=True)),
        finish="length",
    ),
    chat("9.1", "a key twice", f(arguments=TWICE), parts=calls(DOUBLE)),
    chat("9.1", "too deep", f(arguments=DEEP), parts=calls(TOO_DEEP)),
    chat("9.1", "no number", f(arguments='{"a": NaN}'), parts=calls(NO_NUMBER)),
    chat("9.1", "no object", f(arguments="[1]"), parts=calls(NO_OBJECT)),
    chat("b9", "one id twice", f(0), g(1, call_id="A"), parts=calls(F, ToolCall("A", "g", {"b": 2}))),
    chat(
        "a29",
        "reasoning between words",
        {"reasoning": "x"},
        {"content": "a"},
        {"reasoning_content": "y"},
        parts=(Reasoning("x"), Text("a"), Reasoning("y")),
    ),
    Oddity(CHAT, "a26", "noise", NOISE + CHAT.hello.replace(b"\n\n", b"\n\n" + NOISE), (Text("hi"),)),
    Oddity(CHAT, "a24", "byte order mark", b"\xef\xbb\xbf" + CHAT.hello, (Text("hi"),)),
    Oddity(
        CHAT,
        "a24",
        "no space, no end",
        CHAT.hello.replace(b"data: ", b"data:").replace(b"data:[DONE]\n\n", b"").rstrip(),
        (Text("hi"),),
    ),
    Oddity(
        CHAT, "a25", "bytes that are no UTF-8", CHAT.hello.replace(b'"hi"', b'"h\xff\xe4i"'), (Text("h\ufffd\ufffdi"),)
    ),
    Oddity(
        CHAT, "a26", "an error in its own event", b'event: error\ndata: {"message": "overloaded"}\n\n', "overloaded"
    ),
    Oddity(CHAT, "a26", "an error after words", sse(chunk({"content": "hi"}), {"error": "overloaded"}), "overloaded"),
    Oddity(CHAT, "a26", "an error that is null", sse(chunk({"content": "hi"}, "stop", error=None)), (Text("hi"),)),
]
