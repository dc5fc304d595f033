"""What holds for every provider over HTTP, whatever its server's words."""

from __future__ import annotations

import json
import threading
import traceback
from typing import Any

import anyio
import httpx
import pytest

from loopkit.errors import AgentBuildError, ProviderError
from loopkit.messages import Message, StopReason, ToolCall, ToolResult
from loopkit.providers.http_model import HTTPModel
from loopkit.providers.protocol import (
    ArgumentsDelta,
    ChatRequest,
    Delta,
    Provider,
    ReasoningDelta,
    TextDelta,
    deltas_of,
)
from tests.providers.dialects import DIALECTS, OLLAMA, Dialect
from tests.providers.servers import ENDING, head, http_chunk, server
from tests.providers.streams import CUTS, Asked, Cut, answering, ask

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("dialect", DIALECTS, ids=str)]

KEY = "sk-live-0123456789abcdef"


def streaming(dialect: Dialect, body: Any, **options: Any) -> HTTPModel:
    return answering(body, **{"kind": dialect.kind, "content_type": dialect.content_type, **options})


def joined(told: list[Delta], kind: type[Delta]) -> str:
    return "".join(piece.text for piece in told if isinstance(piece, kind))


@pytest.mark.parametrize("cut", CUTS)
async def test_a_rich_stream_gives_the_same_response_in_every_cut(dialect: Dialect, cut: Cut) -> None:
    """n2, a23, a24, a25, a29, a32: also in every form that its line ends may have."""
    for body in dialect.rich:
        told: list[Delta] = []
        response = await ask(streaming(dialect, body, cut=cut), told=told)
        assert response.parts == dialect.parts
        assert response.usage == dialect.usage
        assert (response.stop_reason, response.raw_stop_reason) == dialect.stop
        assert response.model == "m-1"
        assert joined(told, TextDelta) == response.text
        assert joined(told, ReasoningDelta) == response.message.reasoning
        assert json.loads(joined([t for t in told if getattr(t, "position", 0) == 1], ArgumentsDelta)) == (
            response.tool_calls[0].arguments
        )


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
async def test_an_answer_that_is_not_streamed_is_the_same(dialect: Dialect, cut: Cut, content_type: str) -> None:
    """n2."""
    told: list[Delta] = []
    body = json.dumps(dialect.whole, ensure_ascii=False, indent=1).encode()
    response = await ask(answering(body, kind=dialect.kind, content_type=content_type, cut=cut), told=told)
    assert (response.parts, response.usage, response.stop_reason) == (dialect.parts, dialect.usage, dialect.stop[0])
    assert joined(told, TextDelta) == response.text
    positions = {piece.position for piece in deltas_of(dialect.parts) if isinstance(piece, ArgumentsDelta)}
    assert {piece.position for piece in told if isinstance(piece, ArgumentsDelta)} <= positions


async def test_a_stream_under_a_wrong_content_type_is_read_too(dialect: Dialect) -> None:
    assert (await ask(streaming(dialect, dialect.hello, content_type="text/plain"))).text == "hi"


@pytest.mark.parametrize("ending", ["ends", "ends in a piece", "breaks"])
async def test_a_stream_that_breaks_is_an_error_and_no_response(dialect: Dialect, ending: str) -> None:
    """3.9: no call of it can run; what had arrived was told."""
    rests: dict[str, list[bytes | Exception]] = {
        "ends": [],
        "ends in a piece": [dialect.piece],
        "breaks": [httpx.ReadError("connection reset")],
    }
    told: list[Delta] = []
    with pytest.raises(ProviderError, match=r"http://model.test/v1.* bro") as caught:
        await ask(streaming(dialect, [dialect.broken, *rests[ending]]), told=told)
    assert caught.value.retryable
    assert told == [TextDelta("so"), ArgumentsDelta(1, "f", "{}")]


async def test_a_connection_that_breaks_after_the_end_breaks_nothing(dialect: Dialect) -> None:
    body = [dialect.hello, httpx.ReadError("reset")]
    assert (await ask(streaming(dialect, body))).text == "hi"


@pytest.mark.parametrize("cut", CUTS)
async def test_an_error_in_a_stream_is_raised(dialect: Dialect, cut: Cut) -> None:
    told: list[Delta] = []
    with pytest.raises(ProviderError, match="broke off its answer with an error: upstream overloaded") as caught:
        await ask(streaming(dialect, dialect.error, cut=cut, headers={"x-request-id": "r-9"}), told=told)
    assert (caught.value.retryable, caught.value.request_id) == (True, "r-9")
    assert told == [TextDelta("so")]


@pytest.mark.parametrize("body", [b"", b"\n\n"], ids=repr)
async def test_an_answer_that_says_nothing_is_an_error(dialect: Dialect, body: bytes) -> None:
    with pytest.raises(ProviderError, match=r"model\.test"):
        await ask(streaming(dialect, body))


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"<!doctype html>\n<html>hello</html>", "text/html"), (b"{", "application/json"), (b"[]", "application/json")],
)
async def test_an_answer_that_is_none_asks_for_the_base_url(dialect: Dialect, body: bytes, content_type: str) -> None:
    with pytest.raises(ProviderError, match="does the base URL end where /") as caught:
        await ask(answering(body, kind=dialect.kind, content_type=content_type))
    assert "\n" not in str(caught.value)


async def test_a_piece_that_is_no_json_is_one_clear_line(dialect: Dialect) -> None:
    oops = b"oops\n" if dialect is OLLAMA else b"data: oops\n\n"
    with pytest.raises(ProviderError, match=r"what is no .*: oops") as caught:
        await ask(streaming(dialect, oops + dialect.hello))
    assert "\n" not in str(caught.value)


async def failure_of(provider: HTTPModel, *messages: Message) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(provider, *messages)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(provider)
    assert KEY not in shown
    return caught.value


def refusing(dialect: Dialect, status: int, body: Any, headers: dict[str, str] | None = None) -> HTTPModel:
    options: dict[str, Any] = {"content_type": "application/json", "headers": headers, "api_key": KEY}
    return answering(json.dumps(body).encode(), kind=dialect.kind, status=status, **options)


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (401, False), (404, False), (413, False), (429, True), (500, True), (529, True)],
)
@pytest.mark.parametrize("id_header", ["x-request-id", "request-id"])
async def test_the_status_says_whether_trying_again_may_help(
    dialect: Dialect, status: int, retryable: bool, id_header: str
) -> None:
    """9.2, a39."""
    headers = {id_header: "r-1", "retry-after": "3"}
    error = await failure_of(refusing(dialect, status, {"error": {"message": f"so it is {KEY}"}}, headers))
    assert (error.status, error.retryable, error.request_id, error.retry_after) == (status, retryable, "r-1", 3.0)
    assert "so it is [key]" in str(error)


@pytest.mark.parametrize(
    ("advice", "status", "retryable"), [("true", 400, True), ("false", 503, False), ("?", 503, True)]
)
async def test_a_server_that_says_whether_to_retry_is_believed(
    dialect: Dialect, advice: str, status: int, retryable: bool
) -> None:
    """9.2."""
    error = await failure_of(refusing(dialect, status, {}, {"x-should-retry": advice}))
    assert error.retryable is retryable


async def test_advice_names_what_the_person_can_set(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    service = dialect.kind.service
    monkeypatch.setenv(service.base_name, "http://model.test/v1")
    refused = answering(b"{}", kind=dialect.kind, status=401, base_url=None, api_key=None)
    assert f"is {service.key_name} right" in str(await failure_of(refused))
    assert f"where {service.path} follows" in str(await failure_of(refusing(dialect, 404, {})))
    unreachable = answering([httpx.ConnectError("no")], kind=dialect.kind, base_url=None)
    assert f"check {service.base_name}" in str(await failure_of(unreachable))


HISTORY = [
    Message.system("s"),
    Message.user("u"),
    Message.assistant("", [ToolCall("a", "look"), ToolCall("b", "list")]),
    Message.tool(ToolResult("a", "1")),
    Message.tool(ToolResult("b", "2")),
    Message.assistant("done"),
]


async def test_a_refused_history_names_its_entry(dialect: Dialect) -> None:
    """a39: whatever place the entry has in this dialect's request."""
    server = Asked(dialect.hello, dialect.content_type)
    provider = dialect.kind("m", base_url="http://x", api_key="", transport=httpx.MockTransport(server))
    await ask(provider, *HISTORY)
    field = "input" if "input" in server.body else "messages"
    place = len(server.body[field]) - 1
    error = await failure_of(refusing(dialect, 400, {"error": f"{field}[{place}] is bad"}), *HISTORY)
    assert "(history entry 5, counted from 0: assistant message)" in str(error)
    error = await failure_of(refusing(dialect, 400, {"error": f"{field}[{place - 1}] is bad"}), *HISTORY)
    assert "tool message for call b" in str(error)
    error = await failure_of(refusing(dialect, 400, {"error": f"{field}[99] is bad"}), *HISTORY)
    assert "history entr" not in str(error)


async def test_the_environment_gives_address_and_key(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    service = dialect.kind.service
    monkeypatch.setenv(service.base_name, "http://local:2/base")
    monkeypatch.setenv(service.key_name, " sk-from-env\n")
    server = Asked(dialect.hello, dialect.content_type)
    await ask(dialect.kind("m", transport=httpx.MockTransport(server)))
    (request,) = server.requests
    assert str(request.url) == f"http://local:2/base{service.path}"
    assert request.headers[service.key_header] == f"{service.key_prefix}sk-from-env"
    assert {name: request.headers[name] for name in service.headers} == service.headers


async def test_an_address_that_says_too_much_is_understood(dialect: Dialect) -> None:
    server = Asked(dialect.hello, dialect.content_type)
    path = dialect.kind.service.path
    for base_url in (f"http://h:1{path}", f"http://h:1{path}/?version=2", "http://h:1/"):
        await ask(dialect.kind("m", base_url=base_url, api_key="", transport=httpx.MockTransport(server)))
    assert [request.url.path for request in server.requests] == [path] * 3
    assert server.requests[1].url.query == b"version=2"


@pytest.mark.parametrize(
    "arguments",
    [{"base_url": "file:///etc"}, {"base_url": "http://user:sk-x@host:port/v1"}, {"base_url": "http://[::1/v1"}],
)
async def test_an_address_that_is_none_is_refused_while_built(dialect: Dialect, arguments: dict[str, Any]) -> None:
    with pytest.raises(AgentBuildError, match=dialect.kind.service.base_name) as caught:
        dialect.kind("m", **arguments)
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"api_key": "sk-a\nb"}, "the API key"),
        ({"headers": {"x": "ä"}}, "header 'x'"),
        ({"model": " "}, "no name"),
        ({"timeout": 0}, "timeout"),
    ],
)
async def test_what_can_not_be_sent_is_refused_while_built(
    dialect: Dialect, arguments: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(AgentBuildError, match=complaint) as caught:
        dialect.kind(**{"model": "m", "api_key": "", **arguments})
    assert "sk-" not in str(caught.value)


async def test_a_provider_is_one_and_shows_no_key(dialect: Dialect) -> None:
    provider = dialect.kind("m", base_url="http://user:pass@h/base?key=q", api_key=KEY)
    assert isinstance(provider, Provider)
    assert repr(provider) == f"{dialect.kind.__name__}('m', base_url='http://h/base')"


@pytest.mark.parametrize("setting", ["model", "tools"])
async def test_a_setting_that_loopkit_writes_itself_is_refused(dialect: Dialect, setting: str) -> None:
    with pytest.raises(ProviderError, match=f"the setting '{setting}' can't be given"):
        await streaming(dialect, dialect.hello).respond(ChatRequest((), settings={setting: []}), print)


async def test_the_output_limit_is_a_stop_reason(dialect: Dialect) -> None:
    body = dialect.hello
    for ended, cut in [
        (b'"stop"', b'"length"'),
        (b'"end_turn"', b'"max_tokens"'),
        (b'"status": "completed"', b'"incomplete_details": {"reason": "max_output_tokens"}, "status": "incomplete"'),
    ]:
        body = body.replace(ended, cut)
    response = await ask(streaming(dialect, body))
    assert (response.text, response.stop_reason) == ("hi", StopReason.MAX_TOKENS)


def test_one_provider_serves_several_event_loops_and_threads(dialect: Dialect) -> None:
    """Connections belong to a loop, and are closed with it: an open one would be a warning, and fail."""
    answer = head(dialect.content_type) + http_chunk(dialect.hello) + ENDING
    with server(*[answer] * 4) as address:
        provider = dialect.kind("m", base_url=address, api_key=KEY)
        texts = [anyio.run(ask, provider, backend=backend).text for backend in ("asyncio", "trio")]
        threads = [
            threading.Thread(target=lambda kind=kind: texts.append(anyio.run(ask, provider, backend=kind).text))
            for kind in ("asyncio", "trio")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert texts == ["hi"] * 4


async def test_a_connection_is_used_again(dialect: Dialect) -> None:
    answer = head(dialect.content_type) + http_chunk(dialect.hello) + ENDING
    with server((answer, answer)) as address, anyio.fail_after(5):
        provider = dialect.kind("m", base_url=address, api_key=KEY)
        assert (await ask(provider)).text == "hi"
        assert (await ask(provider)).text == "hi"
        await provider.aclose()
