"""Answers that are none, or break: what is kept of them, whether they cost something, what the person is told."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from loopkit import Agent, ModelBinding, Recorder, RetryPolicy
from loopkit import events as e
from loopkit.errors import ProviderError
from loopkit.messages import Message
from loopkit.providers.http_model import HTTPModel
from loopkit.recording.reader import read_recording
from tests.providers.dialects import DIALECTS, OLLAMA, RESPONSES, Dialect
from tests.providers.streams import CUTS, Cut, answering, ask

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("dialect", DIALECTS, ids=str)]

KEY = "sk-live-0123456789abcdef"
PAGE = b"<!doctype html>\n<html><title>Sign in</title>\n<p>hello</html>\n"


def streaming(dialect: Dialect, body: Any, **options: Any) -> HTTPModel:
    return answering(body, **{"kind": dialect.kind, "content_type": dialect.content_type, **options})


async def failure_of(provider: HTTPModel) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(provider)
    return caught.value


def garbled(dialect: Dialect, text: str) -> bytes:
    """Return a stream whose second piece is no JSON."""
    beginning = dialect.broken[: dialect.broken.index(b"\n", 1) + 1]
    if dialect is OLLAMA:
        return beginning + f"{text}\n".encode()
    first = dialect.broken[: dialect.broken.index(b"\n\n") + 2]
    return first + f"data: {text}\n\n".encode()


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("body", [PAGE, b"hello", "\ufeffSign in first.\r\n".encode()], ids=["page", "word", "words"])
async def test_a_stream_that_is_none_asks_for_the_base_url(dialect: Dialect, cut: Cut, body: bytes) -> None:
    """a26: a gateway says 200 and the right content type to everything; trying again would not help."""
    error = await failure_of(streaming(dialect, body, cut=cut))
    assert "does the base URL end where /" in str(error)
    assert "the server failed" not in str(error)
    assert "\n" not in str(error)
    assert (error.retryable, error.unreported) == (False, False)
    assert error.unread == body.decode("utf-8-sig")


@pytest.mark.parametrize("cut", CUTS)
async def test_a_whole_answer_under_the_content_type_of_a_stream_is_read(dialect: Dialect, cut: Cut) -> None:
    """a26, n2: a server that streams nothing, whatever it calls its answer."""
    for indent in (None, 1):
        body = json.dumps(dialect.whole, ensure_ascii=False, indent=indent).encode()
        if dialect is OLLAMA and indent:
            continue
        response = await ask(streaming(dialect, body, cut=cut))
        assert (response.parts, response.usage) == (dialect.parts, dialect.usage)


@pytest.mark.parametrize("cut", CUTS)
async def test_an_error_under_the_content_type_of_a_stream_is_told(dialect: Dialect, cut: Cut) -> None:
    """a26."""
    body = json.dumps({"error": {"message": "no such model", "code": "model_not_found"}}).encode()
    error = await failure_of(streaming(dialect, body, cut=cut))
    assert "no such model" in str(error)
    assert not error.retryable


@pytest.mark.parametrize("cut", CUTS)
async def test_a_piece_that_can_not_be_read_is_kept(dialect: Dialect, cut: Cut) -> None:
    """a26: as it came, but for the key that a server echoes."""
    error = await failure_of(streaming(dialect, garbled(dialect, '{"torn": [1, \u2028'), cut=cut))
    assert error.unread == '{"torn": [1, \u2028'
    error = await failure_of(streaming(dialect, garbled(dialect, f"who is {KEY}?"), cut=cut, api_key=KEY))
    assert error.unread == "who is [key]?"
    long = await failure_of(streaming(dialect, garbled(dialect, "x" * 50_000), cut=CUTS[0]))
    assert long.unread == "x" * 16_000


async def test_the_torn_end_of_a_stream_is_kept(dialect: Dialect) -> None:
    """a24."""
    error = await failure_of(streaming(dialect, dialect.broken + dialect.piece))
    assert "broke off" in str(error)
    assert error.unread is not None
    assert dialect.piece.decode().endswith(error.unread)


async def test_only_what_the_server_worked_on_may_have_cost_something(dialect: Dialect) -> None:
    """3.7: usage that nobody told is unknown, what was refused cost nothing."""
    costly = [
        streaming(dialect, dialect.broken),
        streaming(dialect, [dialect.broken, httpx.ReadError("reset")]),
        streaming(dialect, [httpx.ReadTimeout("slow")]),
        streaming(dialect, dialect.error),
        streaming(dialect, garbled(dialect, "oops")),
    ]
    free = [
        streaming(dialect, b"{}", status=503),
        streaming(dialect, b"{}", status=400),
        streaming(dialect, [httpx.ConnectError("no")]),
        streaming(dialect, [httpx.ConnectTimeout("no")]),
        streaming(dialect, PAGE, content_type="text/html"),
    ]
    assert [(await failure_of(each)).unreported for each in costly] == [True] * len(costly)
    assert [(await failure_of(each)).unreported for each in free] == [False] * len(free)


async def test_the_log_keeps_what_came_before_an_answer_broke(dialect: Dialect, tmp_path: Path) -> None:
    """3.7, 9.2: the words, the text that could not be read, and that the cost is unknown; then it goes on."""
    bodies = [garbled(dialect, "oops"), dialect.hello]
    if dialect is RESPONSES:
        bodies[0] = dialect.broken[: dialect.broken.index(b"\n\n") + 2] + b"data: oops\n\n"

    class Server(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            body = bodies.pop(0)

            async def pieces() -> AsyncIterator[bytes]:
                yield body

            return httpx.Response(200, headers={"content-type": dialect.content_type}, content=pieces())

    provider = dialect.kind("m", base_url="http://model.test/v1", api_key="", transport=Server())
    binding = ModelBinding(provider, retry=RetryPolicy(base_delay=0))
    result = await Agent(binding).run("go", recorder=Recorder(tmp_path / "run.jsonl"))
    assert result.text == "hi"
    events = read_recording(tmp_path / "run.jsonl").events
    (attempt,) = [event.fact for event in events if isinstance(event.fact, e.ModelAttemptFailed)]
    said = "" if dialect.kind.__name__ == "AnthropicMessages" else "so"
    assert attempt.message == (Message.assistant(said) if said else None)
    assert (attempt.unread, attempt.unreported, attempt.retry) == ("oops", True, True)
    assert result.total_usage.unreported == (1 if dialect.kind is OLLAMA.kind else 2)
    assert [message.text for message in result.messages] == ["go", "hi"]
