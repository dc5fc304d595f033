"""What goes wrong at a server: one line that says what to do, and never a key."""

from __future__ import annotations

import json
import socket
import threading
import traceback
from contextlib import closing
from typing import Any

import anyio
import httpx
import pytest

from loopkit.errors import ProviderError
from loopkit.messages import Message, ToolCall, ToolResult
from loopkit.providers.http_failures import retry_after
from loopkit.providers.http_model import HTTPModel
from loopkit.providers.openai_chat import OpenAIChat
from tests.providers.servers import ENDING, HEAD, http_chunk, server
from tests.providers.streams import answering, ask, chunk, sse

pytestmark = pytest.mark.anyio

KEY = "sk-live-0123456789abcdef"


async def failure_of(provider: HTTPModel, *messages: Message) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(provider, *messages)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(provider)
    assert KEY not in shown
    assert "\n" not in str(caught.value)
    return caught.value


def refusing(status: int, body: Any, headers: dict[str, str] | None = None) -> HTTPModel:
    text = body if isinstance(body, str) else json.dumps(body)
    return answering(text.encode(), status=status, content_type="application/json", headers=headers, api_key=KEY)


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(301, False), (400, False), (401, False), (404, False), (408, True), (422, False), (429, True), (500, True)],
)
async def test_the_status_says_whether_trying_again_may_help(status: int, retryable: bool) -> None:
    """9.2, a39."""
    error = await failure_of(refusing(status, {"error": {"message": "so it is"}}, {"x-request-id": "r-1"}))
    assert (error.status, error.retryable, error.request_id) == (status, retryable, "r-1")
    assert str(error).startswith(f"http://model.test/v1 answered {status}: so it is")


async def test_a_used_up_quota_is_not_tried_again() -> None:
    error = await failure_of(refusing(429, {"error": {"message": "no money", "code": "insufficient_quota"}}))
    assert not error.retryable
    assert str(error).endswith("; the account's quota is used up: raise it, or use another key")


SERVER_FAILED = "the server failed: try again, and look into its log if it stays so"


@pytest.mark.parametrize(
    ("status", "headers", "advice"),
    [
        (400, {}, "check the model's name and the request's settings"),
        (403, {}, "is api_key right, and may it use this model?"),
        (404, {}, "is the model's name right, and does the base URL end where /chat/completions follows?"),
        (422, {}, "check the model's name and the request's settings"),
        (429, {}, "wait and try again, or send fewer requests at a time"),
        (429, {"retry-after": "2.5"}, "wait 3 s and try again, or send fewer requests at a time"),
        (500, {}, SERVER_FAILED),
        (502, {}, SERVER_FAILED),
        (503, {}, SERVER_FAILED),
    ],
)
async def test_every_refusal_says_what_to_do(status: int, headers: dict[str, str], advice: str) -> None:
    error = await failure_of(refusing(status, {"error": {"message": "so it is"}}, headers))
    assert str(error) == f"http://model.test/v1 answered {status}: so it is; {advice}"


@pytest.mark.parametrize(
    ("body", "content_type", "line"),
    [
        (
            b"<html><head><title>Welcome</title></head><p>\nhi</html>",
            "text/html",
            "the server sent what is no chat completion: a web page (Welcome); "
            "does the base URL end where /chat/completions follows?",
        ),
        (b"data: oops\n\n", "text/event-stream", f"the server sent what is no chat completion: oops; {SERVER_FAILED}"),
        (
            sse(chunk({"content": "x"}), done=False),
            "text/event-stream",
            f"the stream broke off before the answer was whole; {SERVER_FAILED}",
        ),
    ],
    ids=["a web page", "no JSON in a stream", "a cut stream"],
)
async def test_every_answer_that_is_none_says_what_to_do(body: bytes, content_type: str, line: str) -> None:
    """Spec/faults.md a26: what is no answer is one line, and no response."""
    error = await failure_of(answering(body, content_type=content_type))
    assert str(error) == f"http://model.test/v1: {line}"


@pytest.mark.parametrize(
    ("code", "advice"),
    [("overloaded", SERVER_FAILED), ("invalid_model", "check the model's name and the request's settings")],
)
async def test_an_error_in_a_stream_says_what_to_do(code: str, advice: str) -> None:
    body = sse({"error": {"message": "so it is", "code": code}}, done=False)
    assert str(await failure_of(answering(body))).endswith(f"broke off its answer with an error: so it is; {advice}")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "a\nb", "param": "messages.[0].content"}}, "a b (at messages.[0].content)"),
        ({"error": "plain"}, "plain"),
        ({"detail": [{"loc": ["body"], "msg": "bad"}]}, '"msg": "bad"'),
        ({"message": "short"}, "short"),
        ([{"error": {"message": "in a list"}}], "in a list"),
        ("<html><head><title>502 Bad\nGateway</title></head>", "a web page (502 Bad Gateway)"),
        ("just words", "just words"),
        ("", "answered 400"),
        ("x" * 100_000, "xxx…"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_what_the_server_says_is_told_in_one_line(body: Any, said: str) -> None:
    assert said in str(await failure_of(refusing(400, body)))


async def test_a_refused_key_says_where_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}."}}).encode()
    error = await failure_of(answering(body, status=401, api_key=None))
    assert "[key]" in str(error)
    assert "is OPENAI_API_KEY right" in str(error)
    assert "is api_key right" in str(await failure_of(answering(body, status=401, api_key=KEY)))


async def test_keys_that_a_server_echoes_are_hidden() -> None:
    error = await failure_of(refusing(400, f"got Bearer {KEY} and sk-other-*******1234"))
    assert "other" not in str(error)


async def test_a_refused_history_names_its_entry() -> None:
    """a39."""
    history = [
        Message.user("u"),
        Message.assistant("", [ToolCall("c1", "look")]),
        Message.tool(ToolResult("c1", "x")),
    ]
    body = {"error": {"message": "Invalid 'messages[1].tool_calls[0].function.name'", "param": "messages[1]"}}
    assert "history entry 1, counted from 0: assistant message that calls look" in str(
        await failure_of(refusing(400, body), *history)
    )
    body = {"error": {"message": "bad", "param": "messages.[2].content"}}
    assert "tool message for call c1" in str(await failure_of(refusing(400, body), *history))
    body = {"error": {"message": "messages[99] is bad"}}
    assert "history entry" not in str(await failure_of(refusing(400, body), *history))


async def test_a_redirect_says_where_to() -> None:
    error = await failure_of(refusing(308, "", {"location": "https://model.test/v1/chat/completions?key=x"}))
    assert str(error).endswith("set the base URL to where it points: https://model.test/v1/chat/completions")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}, 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    """RFC 9110 §10.2.3; a date counts from the server's own clock."""
    assert retry_after(headers) == seconds


async def test_retry_after_is_in_the_error() -> None:
    """9.2."""
    assert (await failure_of(refusing(429, "slow down", {"retry-after": "3"}))).retry_after == 3.0


def local(address: str, **options: Any) -> OpenAIChat:
    return OpenAIChat("m", base_url=address, api_key=KEY, **options)


async def test_a_refused_connection_asks_whether_the_server_runs() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    error = await failure_of(local(address))
    assert str(error) == f"can't reach {address} (connection refused): is the server running? check base_url"
    assert error.retryable
    assert error.status is None


@pytest.mark.parametrize(
    ("variable", "argument", "advice"),
    [
        ("http://one.test/v1", None, "check OPENAI_BASE_URL"),
        ("http://one.test/v1", "http://other.test/v1", "check base_url"),
        ("", None, "set OPENAI_BASE_URL for another server"),
    ],
)
async def test_the_advice_on_an_address_fits_where_it_came_from(
    variable: str, argument: str | None, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route", request=request)

    monkeypatch.setenv("OPENAI_BASE_URL", variable)
    error = await failure_of(OpenAIChat("m", base_url=argument, api_key=KEY, transport=httpx.MockTransport(refuse)))
    assert str(error).endswith(f"(no route): is the address right? {advice}")


async def test_tls_against_a_plain_server_says_so() -> None:
    with server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        error = await failure_of(local(address.replace("http", "https")))
    assert "http:// instead of https://?" in str(error)


async def test_an_unknown_host_asks_for_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = await failure_of(local("http://nowhere.invalid/v1"))
    assert str(error).startswith("can't reach http://nowhere.invalid/v1 (")
    assert str(error).endswith("is the address right? check base_url")


@pytest.mark.parametrize(
    "answer", [b"", b"garbage\r\n\r\n", HEAD + http_chunk(sse(chunk({"content": "x"}), done=False))]
)
async def test_a_connection_that_breaks_is_one_line(answer: bytes) -> None:
    with server(answer) as address:
        error = await failure_of(local(address))
    assert address in str(error)
    assert error.retryable


@pytest.mark.parametrize("answer", [b"", HEAD + http_chunk(sse(chunk({"content": "x"}), done=False))])
async def test_silence_is_a_timeout(answer: bytes) -> None:
    with server(answer, hold=True) as address:
        error = await failure_of(local(address, timeout=0.1))
    assert str(error).startswith(f"no word from {address} for 0.1 s")
    assert error.retryable


async def test_a_server_that_stays_open_after_the_end_is_not_waited_for() -> None:
    with server(HEAD + http_chunk(sse(chunk({"content": "hi"}, "stop"))), hold=True) as address:
        with anyio.fail_after(5):
            assert (await ask(local(address))).text == "hi"


async def test_a_request_can_be_cancelled() -> None:
    with server(HEAD, hold=True) as address:
        with anyio.move_on_after(0.05) as scope:
            await ask(local(address))
    assert scope.cancelled_caught


ANSWER = HEAD + http_chunk(sse(chunk({"content": "hi"}, "stop"))) + ENDING


def test_one_provider_serves_one_event_loop_after_another() -> None:
    """Connections belong to a loop, and are closed with it: an open one would be a warning, and fail."""
    with server(*[ANSWER] * 4) as address:
        provider = local(address)
        for backend in ("asyncio", "trio", "asyncio", "trio"):
            assert anyio.run(ask, provider, backend=backend).text == "hi"


def test_one_provider_serves_several_threads_at_once() -> None:
    texts: list[str] = []
    with server(*[ANSWER] * 4) as address:
        provider = local(address)
        threads = [
            threading.Thread(target=lambda kind=kind: texts.append(anyio.run(ask, provider, backend=kind).text))
            for kind in ("asyncio", "trio", "asyncio", "trio")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert texts == ["hi"] * 4


async def test_a_closed_provider_opens_again_when_asked() -> None:
    with server(ANSWER, ANSWER) as address:
        provider = local(address)
        await provider.aclose()
        assert (await ask(provider)).text == "hi"
        await provider.aclose()
        assert (await ask(provider)).text == "hi"
        await provider.aclose()


async def test_a_connection_is_used_again() -> None:
    """A new TLS handshake for each request would cost more than the request."""
    with server((ANSWER, ANSWER)) as address, anyio.fail_after(5):
        provider = local(address)
        assert (await ask(provider)).text == "hi"
        assert (await ask(provider)).text == "hi"
