"""Odd streams in the words of Ollama."""

from __future__ import annotations

from typing import Any

from loopkit.messages import Text, ToolCall, Usage
from loopkit.providers.assembly import NAMELESS
from tests.providers.dialects import (
    OLLAMA,
    line,
)
from tests.providers.oddities.oddity import (
    CUT,
    CUT_WHOLE,
    DOUBLE,
    NO_NAME,
    NO_OBJECT,
    TWICE,
    F,
    G,
    Oddity,
    calls,
)
from tests.providers.streams import json_lines


def ollama(faults: str, name: str, *messages: Any, parts: Any, reason: str = "stop", **figures: Any) -> Oddity:
    end = {**line(done=True, content=""), "done_reason": reason, **figures}
    usage = Usage(figures["prompt_eval_count"], figures["eval_count"]) if "eval_count" in figures else None
    return Oddity(OLLAMA, faults, name, json_lines(*(line(**message) for message in messages), end), parts, usage)


def wish(name: Any = "f", arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": {"a": 1} if arguments is None else arguments}, **more}


OLLAMA_ODDITIES = [
    ollama("a3", "two in one line", {"tool_calls": [wish(id="A"), wish("g", {"b": 2}, id="B")]}, parts=calls(F, G)),
    ollama(
        "a3",
        "two without ids",
        {"tool_calls": [wish()]},
        {"tool_calls": [wish()]},
        parts=calls(ToolCall("call_1", "f", {"a": 1}), ToolCall("call_2", "f", {"a": 1})),
    ),
    ollama(
        "b9",
        "one id twice",
        {"tool_calls": [wish(id="A"), wish("g", {"b": 2}, id="A")]},
        parts=calls(F, ToolCall("A", "g", {"b": 2})),
    ),
    ollama("a6", "empty id", {"tool_calls": [wish(id="")]}, parts=calls(ToolCall("call_1", "f", {"a": 1}))),
    ollama(
        "a7",
        "nulls",
        {"tool_calls": None, "content": None},
        {"tool_calls": [None, {"function": None}], "content": "hi"},
        parts=(Text("hi"), ToolCall("call_1", "", problem=NAMELESS)),
    ),
    ollama("a7", "no name", {"tool_calls": [wish("", id="A")]}, parts=calls(NO_NAME)),
    ollama(
        "a11", "no arguments", {"tool_calls": [{"id": "A", "function": {"name": "f"}}]}, parts=calls(ToolCall("A", "f"))
    ),
    ollama("a11", "blank arguments", {"tool_calls": [wish(arguments=" ", id="A")]}, parts=calls(ToolCall("A", "f"))),
    ollama("a14", "arguments as text", {"tool_calls": [wish(arguments='{"a": 1}', id="A")]}, parts=calls(F)),
    ollama("9.1", "a key twice", {"tool_calls": [wish(arguments=TWICE, id="A")]}, parts=calls(DOUBLE)),
    ollama("9.1", "a list", {"tool_calls": [wish(arguments=[1], id="A")]}, parts=calls(NO_OBJECT)),
    ollama("a18", "calls under stop", {"tool_calls": [wish(id="A")]}, {"content": ""}, parts=calls(F)),
    ollama("a18", "calls under an unknown word", {"tool_calls": [wish(id="A")]}, parts=calls(F), reason="unload"),
    ollama("a20", "cut by the limit", {"tool_calls": [wish(id="A")]}, parts=calls(CUT_WHOLE), reason="length"),
    ollama("a20", "text that is cut", {"tool_calls": [wish(arguments='{"a": 1', id="A")]}, parts=calls(CUT)),
    ollama("a16", "figures", {"content": "hi"}, parts=(Text("hi"),), prompt_eval_count=5, eval_count=2),
    ollama("a16", "lines without a message", {"content": "hi"}, parts=(Text("hi"),)),
    Oddity(OLLAMA, "a24", "no last line end", OLLAMA.hello.rstrip(), (Text("hi"),), OLLAMA.usage),
    Oddity(OLLAMA, "a24", "byte order mark", b"\xef\xbb\xbf" + OLLAMA.hello, (Text("hi"),), OLLAMA.usage),
    Oddity(
        OLLAMA,
        "a25",
        "bytes that are no UTF-8",
        OLLAMA.hello.replace(b'"hi"', b'"h\xff\xe4i"'),
        (Text("h\ufffd\ufffdi"),),
        OLLAMA.usage,
    ),
    Oddity(OLLAMA, "a26", "empty lines", OLLAMA.hello.replace(b"\n", b"\n\r\n \n"), (Text("hi"),), OLLAMA.usage),
    Oddity(OLLAMA, "a26", "an error after words", OLLAMA.error, "overloaded"),
]
