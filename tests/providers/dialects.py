"""The same answers in the words of every dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loopkit.messages import Part, Reasoning, StopReason, Text, ToolCall, Usage
from loopkit.providers.anthropic import AnthropicMessages
from loopkit.providers.http_model import HTTPModel
from loopkit.providers.ollama import Ollama
from loopkit.providers.openai_chat import OpenAIChat
from loopkit.providers.openai_responses import OpenAIResponses
from tests.providers.streams import call_piece, chunk, events, json_lines, sse

LARGE = 2512292042121000001
SIGNATURE = "EqQBCgIYAhIM+/=="
REDACTED = "EmwKAhgBEgy3va3pzix/LafPsn4a"
ENCRYPTED = "gAAAAABo-/+=="
STREAM = "text/event-stream; charset=utf-8"
LINES = "application/x-ndjson"


@dataclass(frozen=True)
class Dialect:
    """One provider and what its server says.

    Args:
        content_type: of a stream.
        hello: a stream that says hi.
        rich: a stream with all that the dialect has, in each form that its lines may have.
        parts: what `rich` says.
        whole: the answer of `rich`, not streamed.
        broken: a stream that ends in the middle of a call's turn.
        piece: the beginning of a stream whose next piece is cut in the middle.
        error: a stream that says so and then tells an error.
    """

    kind: type[HTTPModel]
    content_type: str
    hello: bytes
    rich: tuple[bytes, ...]
    parts: tuple[Part, ...]
    usage: Usage
    stop: tuple[StopReason, str]
    whole: Mapping[str, Any]
    broken: bytes
    piece: bytes
    error: bytes

    def __str__(self) -> str:
        return self.kind.__name__


LOOK = f'{{"thing": "é\u2028", "id": {LARGE}}}'


def block(index: int, start: Mapping[str, Any], *deltas: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the events of one content block of Anthropic's."""
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def message_start(**usage: int) -> dict[str, Any]:
    return {"type": "message_start", "message": {"role": "assistant", "model": "m-1", "content": [], "usage": usage}}


def message_end(reason: str | None, **usage: int) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


def text_delta(text: str) -> dict[str, Any]:
    return {"type": "text_delta", "text": text}


def json_delta(text: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text}


def tool_use(call_id: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def response(status: str, output: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return the last event of a stream of OpenAI's Responses."""
    whole = {"id": "resp_1", "object": "response", "model": "m-1", "status": status, "output": output or [], **more}
    return {"type": f"response.{status}", "response": whole}


def item(kind: str, index: int, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": fields}


def delta(kind: str, index: int, text: str) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "item_id": f"x_{index}", "delta": text}


def said(*texts: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": t} for t in texts]}


def function_call(call_id: str, name: str, arguments: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        **more,
    }


CHAT_RICH = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "Let me see.\u2028"}),
    chunk({"content": "你好\ud83d"}),
    chunk({"content": "\ude00\u0085"}),
    chunk(call_piece(0, call_id="c1", name="look", arguments=LOOK[:12])),
    chunk(call_piece(1, call_id="c2", name="list", arguments="")),
    chunk(call_piece(0, arguments=LOOK[12:])),
    chunk({}, "tool_calls"),
    chunk(usage={"prompt_tokens": 20, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 16}}),
]
CHAT = Dialect(
    OpenAIChat,
    STREAM,
    hello=sse(chunk({"content": "hi"}, "stop")),
    rich=(sse(*CHAT_RICH), sse(*CHAT_RICH, ending="\r"), sse(*CHAT_RICH, ending="\r\n")),
    parts=(
        Reasoning("Let me see.\u2028"),
        Text("你好😀\u0085"),
        ToolCall("c1", "look", {"thing": "é\u2028", "id": LARGE}),
        ToolCall("c2", "list"),
    ),
    usage=Usage(20, 9, cache_read_tokens=16),
    stop=(StopReason.TOOL_CALLS, "tool_calls"),
    whole={
        "model": "m-1",
        "choices": [
            {
                "message": {
                    "reasoning": "Let me see.\u2028",
                    "content": "你好😀\u0085",
                    "tool_calls": [
                        {"id": "c1", "function": {"name": "look", "arguments": LOOK}},
                        {"id": "c2", "function": {"name": "list", "arguments": ""}},
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 20, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 16}},
    },
    broken=sse(chunk({"content": "so"}), chunk(call_piece(0, call_id="c", name="f", arguments="{}")), done=False),
    piece=b'data: {"choices": [{"ind',
    error=sse(chunk({"content": "so"}), {"error": {"message": "upstream overloaded", "code": 502}}),
)

RESPONSES_OUTPUT = [
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Let me see."}, {"type": "summary_text", "text": "Yes."}],
        "encrypted_content": ENCRYPTED,
    },
    said("你好😀\u0085"),
    function_call("c1", "look", LOOK, status="completed"),
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": ENCRYPTED[::-1]},
    function_call("c2", "list", "", status="completed"),
]
RESPONSES_USAGE = {
    "input_tokens": 20,
    "output_tokens": 9,
    "input_tokens_details": {"cached_tokens": 16},
    "output_tokens_details": {"reasoning_tokens": 4},
}
RESPONSES_RICH = [
    {"type": "response.created", "response": {"status": "in_progress", "model": "m-1"}, "sequence_number": 0},
    item("added", 0, type="reasoning", id="rs_1", summary=[], encrypted_content="not yet"),
    {"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 0},
    delta("reasoning_summary_text", 0, "Let me see."),
    {"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 1},
    delta("reasoning_summary_text", 0, "Yes."),
    delta("output_text", 1, "你好\ud83d"),
    delta("output_text", 1, "\ude00\u0085"),
    item("added", 2, **function_call("c1", "look", "")),
    item("added", 5, **function_call("c2", "list", "")),
    delta("function_call_arguments", 2, LOOK[:12]),
    delta("function_call_arguments", 2, LOOK[12:]),
    response("completed", RESPONSES_OUTPUT, usage=RESPONSES_USAGE),
]
RESPONSES = Dialect(
    OpenAIResponses,
    STREAM,
    hello=events(delta("output_text", 0, "hi"), response("completed", [said("hi")])),
    rich=tuple(events(*RESPONSES_RICH, ending=ending) for ending in ("\n", "\r", "\r\n")),
    parts=(
        Reasoning("Let me see.\n\nYes.", signature="rs_1", encrypted=ENCRYPTED),
        Text("你好😀\u0085"),
        ToolCall("c1", "look", {"thing": "é\u2028", "id": LARGE}),
        Reasoning(signature="rs_2", encrypted=ENCRYPTED[::-1]),
        ToolCall("c2", "list"),
    ),
    usage=Usage(20, 9, cache_read_tokens=16, reasoning_tokens=4),
    stop=(StopReason.TOOL_CALLS, "completed"),
    whole={"object": "response", "model": "m-1", "status": "completed", "error": None, "output": RESPONSES_OUTPUT}
    | {"usage": RESPONSES_USAGE},
    broken=events(
        delta("output_text", 0, "so"),
        item("added", 1, **function_call("c", "f", "")),
        delta("function_call_arguments", 1, "{}"),
        item("done", 1, **function_call("c", "f", "{}", status="completed")),
    ),
    piece=b'event: response.completed\ndata: {"type": "response.comp',
    error=events(
        delta("output_text", 0, "so"),
        response("failed", error={"code": "server_error", "message": "upstream overloaded"}),
    ),
)

ANTHROPIC_START = message_start(
    input_tokens=3, cache_read_input_tokens=16, cache_creation_input_tokens=1, output_tokens=1
)
ANTHROPIC_RICH = [
    ANTHROPIC_START,
    {"type": "ping"},
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "Let me "},
        {"type": "thinking_delta", "thinking": "see.\u2028"},
        {"type": "signature_delta", "signature": SIGNATURE},
    ),
    *block(1, {"type": "redacted_thinking", "data": REDACTED}),
    *block(2, {"type": "text", "text": ""}, text_delta("你好\ud83d"), text_delta("\ude00\u0085")),
    *block(3, tool_use("c1", "look"), json_delta(""), json_delta(LOOK[:12]), json_delta(LOOK[12:])),
    *block(
        4,
        {"type": "thinking", "thinking": ""},
        {"type": "signature_delta", "signature": SIGNATURE[::-1]},
    ),
    *block(5, tool_use("c2", "list")),
    *message_end("tool_use", output_tokens=9),
]
ANTHROPIC = Dialect(
    AnthropicMessages,
    STREAM,
    hello=events(message_start(), *block(0, {"type": "text", "text": ""}, text_delta("hi")), *message_end("end_turn")),
    rich=tuple(events(*ANTHROPIC_RICH, ending=ending) for ending in ("\n", "\r", "\r\n")),
    parts=(
        Reasoning("Let me see.\u2028", signature=SIGNATURE),
        Reasoning(encrypted=REDACTED),
        Text("你好😀\u0085"),
        ToolCall("c1", "look", {"thing": "é\u2028", "id": LARGE}),
        Reasoning(signature=SIGNATURE[::-1]),
        ToolCall("c2", "list"),
    ),
    usage=Usage(20, 9, cache_read_tokens=16, cache_write_tokens=1),
    stop=(StopReason.TOOL_CALLS, "tool_use"),
    whole={
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": [
            {"type": "thinking", "thinking": "Let me see.\u2028", "signature": SIGNATURE},
            {"type": "redacted_thinking", "data": REDACTED},
            {"type": "text", "text": "你好😀\u0085"},
            tool_use("c1", "look", **json.loads(LOOK)),
            {"type": "thinking", "thinking": "", "signature": SIGNATURE[::-1]},
            tool_use("c2", "list"),
        ],
        "stop_reason": "tool_use",
        "usage": {
            "input_tokens": 3,
            "cache_read_input_tokens": 16,
            "cache_creation_input_tokens": 1,
            "output_tokens": 9,
        },
    },
    broken=events(
        message_start(),
        *block(0, {"type": "text", "text": ""}, text_delta("so")),
        *block(1, tool_use("c", "f"), json_delta("{}")),
    ),
    piece=b'event: message_delta\ndata: {"type": "message_d',
    error=events(
        message_start(),
        *block(0, {"type": "text", "text": "so"}),
        {"type": "error", "error": {"type": "overloaded_error", "message": "upstream overloaded"}},
    ),
)


def line(done: bool = False, **message: Any) -> dict[str, Any]:
    return {"model": "m-1", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", **message}} | {
        "done": done
    }


OLLAMA_CALLS = [
    {"function": {"name": "look", "arguments": json.loads(LOOK)}},
    {"function": {"name": "list", "arguments": {}}},
]
OLLAMA_END = {"done_reason": "stop", "prompt_eval_count": 20, "eval_count": 9}
OLLAMA_RICH = json_lines(
    line(content="", thinking="Let me "),
    line(content="", thinking="see.\u2028"),
    line(content="你好\ud83d"),
    line(content="\ude00\u0085"),
    line(content="", tool_calls=OLLAMA_CALLS[:1]),
    line(content="", tool_calls=OLLAMA_CALLS[1:]),
    line(done=True, content="") | OLLAMA_END,
)
OLLAMA = Dialect(
    Ollama,
    LINES,
    hello=json_lines(line(content="hi"), line(done=True, content="") | OLLAMA_END),
    rich=(OLLAMA_RICH, OLLAMA_RICH.replace(b"\n", b"\r\n"), OLLAMA_RICH.replace(b"\n", b"\n\n"), OLLAMA_RICH.rstrip()),
    parts=(
        Reasoning("Let me see.\u2028"),
        Text("你好😀\u0085"),
        ToolCall("call_1", "look", {"thing": "é\u2028", "id": LARGE}),
        ToolCall("call_2", "list"),
    ),
    usage=Usage(20, 9),
    stop=(StopReason.TOOL_CALLS, "stop"),
    whole=line(done=True, content="你好😀\u0085", thinking="Let me see.\u2028", tool_calls=OLLAMA_CALLS) | OLLAMA_END,
    broken=json_lines(line(content="so"), line(content="", tool_calls=[{"function": {"name": "f", "arguments": {}}}])),
    piece=b'{"model": "m-1", "mess',
    error=json_lines(line(content="so"), {"error": "upstream overloaded"}),
)

DIALECTS = [CHAT, RESPONSES, ANTHROPIC, OLLAMA]

__all__ = ["DIALECTS", "Dialect"]
