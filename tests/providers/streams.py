"""Bodies of answers in every dialect, and transports that deliver them in any cut."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import httpx

from loopkit.messages import ChatResponse, Message, ToolDefinition
from loopkit.providers.http_model import HTTPModel
from loopkit.providers.openai_chat import OpenAIChat
from loopkit.providers.protocol import ChatRequest, Delta
from loopkit.providers.request_body import RequestEncoder

TOOL = ToolDefinition("look", "Look at a thing.", {"type": "object", "properties": {"thing": {"type": "string"}}})
Cut = Callable[[bytes], list[bytes]]


def whole(body: bytes) -> list[bytes]:
    return [body]


def line_by_line(body: bytes) -> list[bytes]:
    return body.splitlines(keepends=True)


def byte_by_byte(body: bytes) -> list[bytes]:
    return [body[place : place + 1] for place in range(len(body))]


CUTS = [whole, line_by_line, byte_by_byte]


class Pieces(httpx.AsyncByteStream):
    """A body in pieces; an exception in its place breaks it off."""

    def __init__(self, pieces: Iterable[bytes | Exception]) -> None:
        self._pieces = list(pieces)
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def aclose(self) -> None:
        self.closed = True


def chunk(delta: Mapping[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "x", "object": "chat.completion.chunk", "model": "m-1", "choices": choices, **more}


def call_piece(
    index: int | None = 0, *, call_id: Any = None, name: Any = None, arguments: Any = None
) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}]}


def as_json(value: Any) -> str:
    """Return JSON text as UTF-8 can hold it: characters as they are, halves of them as escapes."""
    try:
        text = json.dumps(value, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def sse(*chunks: Mapping[str, Any], done: bool = True, ending: str = "\n") -> bytes:
    lines = [f"data: {as_json(each)}{ending}{ending}" for each in chunks]
    return ("".join(lines) + (f"data: [DONE]{ending}{ending}" if done else "")).encode()


def events(*pieces: Mapping[str, Any], ending: str = "\n") -> bytes:
    """Return an event stream as Anthropic and OpenAI's Responses send it, each event named by its type."""
    lines = [f"event: {each['type']}{ending}data: {as_json(each)}{ending}{ending}" for each in pieces]
    return "".join(lines).encode()


def json_lines(*pieces: Mapping[str, Any]) -> bytes:
    return "".join(f"{as_json(each)}\n" for each in pieces).encode()


class Asked:
    """A server that keeps what it was asked, and always answers with one body."""

    def __init__(self, body: bytes, content_type: str = "text/event-stream") -> None:
        self.requests: list[httpx.Request] = []
        self._body = body
        self._content_type = content_type

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return httpx.Response(200, headers={"content-type": self._content_type}, content=self._body)

    @property
    def body(self) -> Any:
        return json.loads(self.requests[-1].content)


def answering(
    body: bytes | Iterable[bytes | Exception],
    *,
    kind: type[HTTPModel] = OpenAIChat,
    cut: Cut = whole,
    status: int = 200,
    content_type: str = "text/event-stream; charset=utf-8",
    headers: Mapping[str, str] | None = None,
    **options: Any,
) -> HTTPModel:
    """Return a provider whose server always answers with `body`."""

    def handle(request: httpx.Request) -> httpx.Response:
        pieces = cut(body) if isinstance(body, bytes) else body
        return httpx.Response(
            status, headers={"content-type": content_type, **(headers or {})}, stream=Pieces(pieces), request=request
        )

    given = {"base_url": "http://model.test/v1", "api_key": "", **options}
    return kind("m", transport=httpx.MockTransport(handle), **given)


async def ask(
    provider: HTTPModel,
    *messages: Message,
    told: list[Delta] | None = None,
    tools: tuple[ToolDefinition, ...] = (),
    **settings: Any,
) -> ChatResponse:
    emit = (lambda piece: None) if told is None else told.append
    return await provider.respond(ChatRequest(messages or (Message.user("hello"),), tools, settings), emit)


def sent_by(
    encoder: RequestEncoder, *messages: Message, tools: tuple[ToolDefinition, ...] = (), **settings: Any
) -> Any:
    """Return the body of a request as the server reads it."""
    return json.loads(encoder.body(ChatRequest(messages, tools, settings)))
