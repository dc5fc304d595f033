"""What a provider adds to each piece of a stream, beside reading and splitting the same body over bare httpx."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from loopkit.messages import Message
from loopkit.providers.anthropic import AnthropicMessages
from loopkit.providers.http_model import HTTPModel
from loopkit.providers.ollama import Ollama
from loopkit.providers.openai_chat import OpenAIChat
from loopkit.providers.openai_responses import OpenAIResponses
from loopkit.providers.protocol import ChatRequest, Delta

PIECES = 1000
WORD = "word "
ADDRESS = "http://127.0.0.1:9/v1"
REQUEST = ChatRequest((Message.user("go"),))


@dataclass(frozen=True)
class Stream:
    """One dialect and a long answer in it.

    Args:
        pieces: what the server sends, one network read each.
        separator: what stands between two pieces.
        prefix: what stands before a piece's JSON.
    """

    model: type[HTTPModel]
    content_type: str
    pieces: tuple[bytes, ...]
    separator: bytes = b"\n\n"
    prefix: bytes = b"data: "


def streams() -> list[Stream]:
    """Return a stream of a thousand words in each dialect, its pieces as large as the services make them."""
    sse, ids = "text/event-stream", {"id": "chatcmpl-0123456789", "created": 1780000000, "model": "m-1"}
    chat = {**ids, "object": "chat.completion.chunk", "system_fingerprint": "fp_0123456789"}
    return [
        Stream(OpenAIChat, sse, _unnamed(({**chat, "choices": each} for each in _choices()), b"data: [DONE]\n\n")),
        Stream(OpenAIResponses, sse, _named(_responses())),
        Stream(AnthropicMessages, sse, _named(_blocks())),
        Stream(Ollama, "application/x-ndjson", tuple(_json(each) + b"\n" for each in _chat_lines()), b"\n", b""),
    ]


def bare_read(stream: Stream) -> float:
    """CPU microseconds a piece of httpx with a split and nothing else."""

    async def read() -> None:
        async with (
            httpx.AsyncClient(transport=_transport(stream)) as client,
            client.stream("POST", ADDRESS, content=b"{}") as response,
        ):
            rest = b""
            async for chunk in response.aiter_bytes():
                *pieces, rest = (rest + chunk).split(stream.separator)
                for piece in pieces:
                    piece.removeprefix(stream.prefix)

    return _cpu_a_piece(read)


def provider_read(stream: Stream) -> float:
    """CPU microseconds a piece of our provider, its deltas counted."""
    model = stream.model("m-1", base_url=ADDRESS, api_key="k", transport=_transport(stream))
    deltas: list[Delta] = []

    async def read() -> None:
        deltas.clear()
        response = await model.respond(REQUEST, deltas.append)
        if response.text != WORD * PIECES or len(deltas) != PIECES:
            raise AssertionError(f"{stream.model.__name__} did not say what was sent")

    return _cpu_a_piece(read)


def sdk_read(stream: Stream) -> float:
    """CPU microseconds a piece of the openai package, for a stream of Chat Completions."""
    import openai

    async def read() -> None:
        async with httpx.AsyncClient(transport=_transport(stream)) as http:
            client = openai.AsyncOpenAI(base_url=ADDRESS, api_key="k", http_client=http)  # type: ignore[arg-type]  # newer ones are typed for httpx2, and take both
            words = await client.chat.completions.create(
                model="m-1", messages=[{"role": "user", "content": "go"}], stream=True
            )
            said = [choice.delta.content or "" async for each in words for choice in each.choices]
        if "".join(said) != WORD * PIECES:
            raise AssertionError("the openai package did not say what was sent")

    return _cpu_a_piece(read)


def _cpu_a_piece(read: Callable[[], Awaitable[None]]) -> float:
    async def measured() -> float:
        await read()
        before = time.process_time()
        await read()
        return time.process_time() - before

    return asyncio.run(measured()) / PIECES * 1e6


class _Body(httpx.AsyncByteStream):
    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def _transport(stream: Stream) -> httpx.MockTransport:
    headers = {"content-type": stream.content_type}
    return httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, stream=_Body(stream.pieces)))


# ── what the services send ───────────────────────────────────────────────────────────────────────────────────────────


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _unnamed(values: Iterable[Mapping[str, Any]], end: bytes) -> tuple[bytes, ...]:
    return (*(b"data: " + _json(value) + b"\n\n" for value in values), end)


def _named(values: Iterable[Mapping[str, Any]]) -> tuple[bytes, ...]:
    return tuple(f"event: {value['type']}\ndata: ".encode() + _json(value) + b"\n\n" for value in values)


def _choices() -> list[list[dict[str, Any]]]:
    words = [{"index": 0, "delta": {"content": WORD}, "logprobs": None, "finish_reason": None}] * PIECES
    return [[word] for word in words] + [[{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}]]


def _responses() -> list[dict[str, Any]]:
    place = {"item_id": "msg_0123456789abcdef", "output_index": 0, "content_index": 0}
    words = [
        {"type": "response.output_text.delta", "sequence_number": number, **place, "delta": WORD, "logprobs": []}
        for number in range(PIECES)
    ]
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": WORD * PIECES}]}
    whole = {"id": "resp_1", "object": "response", "model": "m-1", "status": "completed", "output": [said]}
    return [*words, {"type": "response.completed", "response": whole}]


def _blocks() -> list[dict[str, Any]]:
    message = {"role": "assistant", "model": "m-1", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}
    words = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": WORD}}
        for _ in range(PIECES)
    ]
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *words,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": PIECES}},
        {"type": "message_stop"},
    ]


def _chat_lines() -> list[dict[str, Any]]:
    made = {"model": "m-1", "created_at": "2026-11-30T00:00:00.000000000Z"}
    words = [{**made, "message": {"role": "assistant", "content": WORD}, "done": False} for _ in range(PIECES)]
    end = {**made, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    return [*words, {**end, "prompt_eval_count": 1, "eval_count": PIECES}]
